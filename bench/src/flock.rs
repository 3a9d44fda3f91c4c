//! Many sockets, and what reaches them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt, stream};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::skim::{Came, Skimmer};
use crate::stats::wait;

/// How many connects are under way at once.
const AT_ONCE: usize = 128;

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// One socket that is to be opened.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// `ws://…`.
    pub(crate) url: String,
    /// For `x-api-key`.
    pub(crate) key: String,
    /// What it joins.
    pub(crate) topics: Vec<String>,
    /// The address that it comes from, if the system is not to choose one: an address has about 28,000 ports.
    pub(crate) source: Option<Ipv4Addr>,
}

/// What has reached the sockets of a flock.
#[derive(Default)]
struct Heard {
    frames: AtomicU64,
    bytes: AtomicU64,
    restarts: AtomicUsize,
    ended: AtomicUsize,
}

/// Open sockets, all joined, all read.
pub(crate) struct Flock {
    tasks: Vec<AbortHandle>,
    heard: Arc<Heard>,
    first: UnboundedReceiver<String>,
    waits: Arc<Mutex<Vec<u32>>>,
}

/// What is made of the frames, beside counting them.
#[derive(Clone, Copy)]
pub(crate) enum Keep {
    /// The texts of the first socket.
    First,
    /// How long each took since it was due: its text says `sent=` and the microseconds from this moment.
    Waits(Instant),
}

/// The ear of one socket.
struct Ear {
    heard: Arc<Heard>,
    texts: Option<UnboundedSender<String>>,
    waits: Option<(Instant, Arc<Mutex<Vec<u32>>>)>,
}

impl Flock {
    /// Opens them all; each is joined when this returns.
    pub(crate) async fn open(wishes: Vec<Wish>, keep: Keep) -> Self {
        let (sender, first) = unbounded_channel();
        let (heard, waits) = (Arc::new(Heard::default()), Arc::<Mutex<Vec<u32>>>::default());
        let opened = wishes.into_iter().enumerate().map(|(index, wish)| {
            let ear = Ear {
                heard: heard.clone(),
                texts: (matches!(keep, Keep::First) && index == 0).then(|| sender.clone()),
                waits: match keep {
                    Keep::Waits(origin) => Some((origin, waits.clone())),
                    Keep::First => None,
                },
            };
            async move {
                let opened = tokio::time::timeout(PATIENCE, skimmed(&wish)).await;
                let socket = opened.expect("a server takes a socket while it has room for it");
                tokio::spawn(listen(socket, ear)).abort_handle()
            }
        });
        let tasks = stream::iter(opened).buffer_unordered(AT_ONCE).collect().await;
        Self { tasks, heard, first, waits }
    }

    /// How many sockets these are.
    pub(crate) fn len(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// How many frames came, to all together.
    pub(crate) fn frames(&self) -> u64 {
        self.heard.frames.load(Ordering::Relaxed)
    }

    /// How many bytes their texts had.
    pub(crate) fn bytes(&self) -> u64 {
        self.heard.bytes.load(Ordering::Relaxed)
    }

    /// Waits until so many frames came.
    pub(crate) async fn until_frames(&self, count: u64) {
        until("the frames came", || self.frames() >= count).await;
    }

    /// Waits until all sockets have ended; how many of them were told that the server restarts.
    pub(crate) async fn until_ended(&self) -> usize {
        until("the sockets ended", || self.heard.ended.load(Ordering::Relaxed) == self.tasks.len()).await;
        self.heard.restarts.load(Ordering::Relaxed)
    }

    /// The next text of the first socket.
    pub(crate) async fn next(&mut self) -> String {
        tokio::time::timeout(PATIENCE, self.first.recv()).await.expect("a frame comes").unwrap()
    }

    /// How long the frames took that came since this was asked last, in microseconds.
    pub(crate) fn take_waits(&self) -> Vec<u32> {
        std::mem::take(&mut *self.waits.lock().unwrap())
    }
}

impl Drop for Flock {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Waits until something is so.
async fn until(what: &str, probe: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !probe() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        sleep(Duration::from_micros(500)).await;
    }
}

/// A socket that has joined what it wants.
pub(crate) async fn joined(wish: &Wish) -> WebSocketStream<TcpStream> {
    try_joined(wish).await.unwrap()
}

/// The same, where the server may refuse it.
pub(crate) async fn try_joined(wish: &Wish) -> Result<WebSocketStream<TcpStream>, Error> {
    let mut request = wish.url.as_str().into_client_request()?;
    let server = request.uri().authority().unwrap().as_str().parse::<SocketAddr>().unwrap();
    request.headers_mut().insert("x-api-key", HeaderValue::from_str(&wish.key).unwrap());
    let socket = TcpSocket::new_v4()?;
    if let Some(source) = wish.source {
        socket.bind((source, 0).into())?;
    }
    let stream = socket.connect(server).await?;
    stream.set_nodelay(true)?;
    // The load is to be light beside what it measures.
    let config = WebSocketConfig::default().read_buffer_size(4096).write_buffer_size(0);
    let (mut stream, _) = client_async_with_config(request, stream, Some(config)).await?;
    for (index, topic) in wish.topics.iter().enumerate() {
        let join = format!("[\"{index}\",\"{index}\",\"{topic}\",\"phx_join\",{{}}]");
        stream.send(Message::text(join)).await?;
        let answer = stream.next().await.ok_or(Error::ConnectionClosed)??;
        match &answer {
            Message::Text(text) => assert!(text.contains("\"ok\""), "{answer}"),
            // The server stops.
            _ => return Err(Error::ConnectionClosed),
        }
    }
    Ok(stream)
}

/// The same, read cheaply from now on.
pub(crate) async fn skimmed(wish: &Wish) -> Skimmer {
    Skimmer::new(joined(wish).await.into_inner(), !wish.topics.is_empty())
}

async fn listen(mut socket: Skimmer, ear: Ear) {
    while let Some(came) = socket.next().await {
        match came {
            Came::Text(text) => {
                if let Some(texts) = &ear.texts {
                    // Whoever reads them may have gone.
                    let _ = texts.send(String::from_utf8(text.to_vec()).unwrap());
                }
                if let Some((origin, waits)) = &ear.waits
                    && let Some(due) = stamp(text)
                {
                    waits.lock().unwrap().push(wait(origin.elapsed().saturating_sub(due)));
                }
                ear.heard.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
                ear.heard.frames.fetch_add(1, Ordering::Relaxed);
            }
            Came::Close(code) => {
                ear.heard.restarts.fetch_add(usize::from(code == 1012), Ordering::Relaxed);
            }
        }
    }
    ear.heard.ended.fetch_add(1, Ordering::Relaxed);
}

/// When a message was due, as its text says.
pub(crate) fn stamp(text: &[u8]) -> Option<Duration> {
    let mark = STAMP.as_bytes();
    let begin = text.windows(mark.len()).position(|part| part == mark)? + mark.len();
    let digits = text.get(begin..begin + STAMP_DIGITS)?;
    Some(Duration::from_micros(std::str::from_utf8(digits).ok()?.parse().ok()?))
}

/// What stands before the microseconds in a text, which have this many digits.
pub(crate) const STAMP: &str = "sent=";
pub(crate) const STAMP_DIGITS: usize = 12;
