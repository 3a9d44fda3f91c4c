//! A small web server that keeps the requests it gets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::until;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// The path.
    pub path: String,
    /// The headers, whose names are in small letters.
    pub headers: BTreeMap<String, String>,
    /// The body as text.
    pub body: String,
    /// The body.
    pub bytes: Vec<u8>,
}

impl Received {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A status with more headers.
pub type Answer = (u16, &'static str);

/// A small web server.
pub struct Receiver {
    port: u16,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// Responds with the result of `answer`.
    pub async fn start<F>(answer: F) -> Self
    where
        F: Fn(Received) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let (all, answer) = (received.clone(), Arc::new(answer));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (all, answer) = (all.clone(), answer.clone());
                tokio::spawn(async move {
                    let Some(request) = read(&mut stream).await else { return };
                    all.lock().unwrap().push(request.clone());
                    let (status, head) = answer(request).await;
                    let text = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n{head}\r\nok");
                    let _ = stream.write_all(text.as_bytes()).await;
                });
            }
        });
        Self { port, received }
    }

    /// Gives every request the same response.
    pub async fn always(status: u16, head: &'static str) -> Self {
        Self::start(move |_| Box::pin(async move { (status, head) })).await
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in", self.port)
    }

    /// The address, without a path.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Waits for this number of requests.
    pub async fn wait(&self, count: usize) -> Vec<Received> {
        until("the requests do not come", async || self.received().len() >= count).await;
        self.received()
    }
}

async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers =
        headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect::<BTreeMap<_, _>>();
    let length = headers["content-length"].parse::<usize>().unwrap();
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let bytes = bytes[end + 4..].to_vec();
    Some(Received { path, headers, body: String::from_utf8_lossy(&bytes).into_owned(), bytes })
}
