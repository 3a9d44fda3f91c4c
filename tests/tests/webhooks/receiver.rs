//! A small web server that keeps what it gets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::until;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    body: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The message that it brings.
    pub(crate) fn message(&self) -> String {
        self.json()["payload"]["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn room(&self) -> String {
        self.json()["room_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    /// Whether one of the signatures is that of the secret.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let signed = format!("{}.{}.{}", self.id(), self.headers["webhook-timestamp"], self.body);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), signed.as_bytes());
        let signature = format!("v1,{}", STANDARD.encode(tag));
        self.headers["webhook-signature"].split(' ').any(|one| one == signature)
    }
}

/// A status with more lines of the head.
pub(crate) type Answer = (u16, &'static str);

/// A small web server.
pub(crate) struct Receiver {
    port: u16,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// Answers with what `answer` gives.
    pub(crate) async fn start<F>(answer: F) -> Self
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

    /// Answers every request alike.
    pub(crate) async fn always(status: u16, head: &'static str) -> Self {
        Self::start(move |_| Box::pin(async move { (status, head) })).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in", self.port)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Waits for so many requests.
    pub(crate) async fn wait(&self, count: usize) -> Vec<Received> {
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
    Some(Received { path, headers, body: String::from_utf8(bytes[end + 4..].to_vec()).unwrap() })
}
