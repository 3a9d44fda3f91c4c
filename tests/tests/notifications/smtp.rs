//! A small SMTP server that keeps the messages it gets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use e2e::until;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A message as it came.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    /// The address of its recipient.
    pub(crate) to: String,
    /// The headers with the text, as they were sent.
    pub(crate) source: String,
}

impl Mail {
    /// The lines of the headers, of which some may be folded.
    pub(crate) fn head(&self) -> Vec<&str> {
        self.source.split("\r\n\r\n").next().unwrap().split("\r\n").collect()
    }

    /// The value of a header that is in one line.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.head().into_iter().find_map(|line| line.strip_prefix(&prefix))
    }
}

/// A small SMTP server.
pub(crate) struct Smtp {
    port: u16,
    mails: Arc<Mutex<Vec<Mail>>>,
    connections: Arc<AtomicUsize>,
    reply: Arc<Mutex<&'static str>>,
}

impl Smtp {
    /// Answers each recipient with this reply.
    pub(crate) async fn start(reply: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mails, reply) = (Arc::<Mutex<Vec<Mail>>>::default(), Arc::new(Mutex::new(reply)));
        let (kept, replies) = (mails.clone(), reply.clone());
        let connections = Arc::<AtomicUsize>::default();
        let count = connections.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let (kept, replies) = (kept.clone(), replies.clone());
                tokio::spawn(async move { talk(stream, &kept, &replies).await });
            }
        });
        Self { port, mails, connections, reply }
    }

    /// From now on answers with this reply.
    pub(crate) fn answer(&self, reply: &'static str) {
        *self.reply.lock().unwrap() = reply;
    }

    pub(crate) fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// The number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn mails(&self) -> Vec<Mail> {
        self.mails.lock().unwrap().clone()
    }

    /// Waits for this number of messages.
    pub(crate) async fn wait(&self, count: usize) -> Vec<Mail> {
        until("the messages do not come", async || self.mails().len() >= count).await;
        self.mails()
    }
}

async fn talk(stream: TcpStream, kept: &Mutex<Vec<Mail>>, replies: &Mutex<&'static str>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 receiver\r\n").await.ok()?;
    let mut to = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let verb = line.split([' ', '\r']).next()?.to_ascii_uppercase();
        let reply = match verb.as_str() {
            "RCPT" => {
                to = line.split(['<', '>']).nth(1)?.to_owned();
                *replies.lock().unwrap()
            }
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await.ok()?;
                let mut source = String::new();
                while !source.ends_with("\r\n.\r\n") {
                    if stream.read_line(&mut source).await.ok()? == 0 {
                        return None;
                    }
                }
                let source = source.trim_end_matches("\r\n.\r\n").replace("\r\n..", "\r\n.");
                kept.lock().unwrap().push(Mail { to: to.clone(), source });
                "250 taken"
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await.ok()?;
                return Some(());
            }
            _ => "250 ok",
        };
        stream.write_all(format!("{reply}\r\n").as_bytes()).await.ok()?;
    }
}
