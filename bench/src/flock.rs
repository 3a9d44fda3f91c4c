//! Many sockets, and what reaches them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt, stream};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

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
}

/// What has reached the sockets of a flock.
#[derive(Default)]
struct Heard {
    frames: AtomicU64,
    restarts: AtomicUsize,
    ended: AtomicUsize,
}

/// Open sockets, all joined, all read.
pub(crate) struct Flock {
    tasks: Vec<AbortHandle>,
    heard: Arc<Heard>,
    /// Each frame of the first socket, and when each other one came to any.
    first: UnboundedReceiver<(Instant, Utf8Bytes)>,
}

/// Who gets the frames' texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Those of the first socket.
    First,
    /// Those of all.
    All,
}

impl Flock {
    /// Opens them all; each is joined when this returns.
    pub(crate) async fn open(wishes: Vec<Wish>, keep: Keep) -> Self {
        let (sender, first) = unbounded_channel();
        let heard = Arc::new(Heard::default());
        let opened = wishes.into_iter().enumerate().map(|(index, wish)| {
            let sender = (keep == Keep::All || index == 0).then(|| sender.clone());
            let heard = heard.clone();
            async move {
                let stream = joined(&wish).await;
                tokio::spawn(listen(stream, heard, sender)).abort_handle()
            }
        });
        let tasks = stream::iter(opened).buffer_unordered(AT_ONCE).collect().await;
        Self { tasks, heard, first }
    }

    /// How many frames came, to all together.
    pub(crate) fn frames(&self) -> u64 {
        self.heard.frames.load(Ordering::Relaxed)
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

    /// The next frame that is kept.
    pub(crate) async fn next(&mut self) -> (Instant, Utf8Bytes) {
        tokio::time::timeout(PATIENCE, self.first.recv()).await.expect("a frame comes").unwrap()
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
    let mut request = wish.url.as_str().into_client_request().unwrap();
    let host = request.uri().authority().unwrap().to_string();
    request.headers_mut().insert("x-api-key", HeaderValue::from_str(&wish.key).unwrap());
    let stream = TcpStream::connect(host).await.unwrap();
    stream.set_nodelay(true).unwrap();
    // The load is to be light beside what it measures.
    let config = WebSocketConfig::default().read_buffer_size(4096).write_buffer_size(0);
    let (mut stream, _) = client_async_with_config(request, stream, Some(config)).await.unwrap();
    for (index, topic) in wish.topics.iter().enumerate() {
        let join = format!("[\"{index}\",\"{index}\",\"{topic}\",\"phx_join\",{{}}]");
        stream.send(Message::text(join)).await.unwrap();
        let answer = stream.next().await.unwrap().unwrap();
        assert!(answer.to_text().unwrap().contains("\"ok\""), "{answer}");
    }
    stream
}

async fn listen(
    mut stream: WebSocketStream<TcpStream>,
    heard: Arc<Heard>,
    sender: Option<UnboundedSender<(Instant, Utf8Bytes)>>,
) {
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Text(text) => {
                if let Some(sender) = &sender {
                    // Whoever reads them may have gone.
                    let _ = sender.send((Instant::now(), text));
                }
                heard.frames.fetch_add(1, Ordering::Relaxed);
            }
            Message::Close(frame) => {
                let restart = frame.is_some_and(|frame| u16::from(frame.code) == 1012);
                heard.restarts.fetch_add(usize::from(restart), Ordering::Relaxed);
            }
            _ => {}
        }
    }
    heard.ended.fetch_add(1, Ordering::Relaxed);
}
