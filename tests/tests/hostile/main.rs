//! Malformed and hostile input: each request gets its error, and the server and other clients are not disturbed.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod content;
mod http;
mod sockets;
mod unread;

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Server, Socket};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A well-behaved client that must not be disturbed.
struct Witness {
    socket: Socket,
    topic: String,
}

impl Witness {
    async fn on(server: &Server, cast: &Cast) -> Self {
        let topic = format!("chat_room:{}", cast.r1);
        let mut socket = Socket::of(server, &cast.a1).await;
        socket.join("w", &topic).await;
        Self { socket, topic }
    }

    async fn is_well(&mut self, cast: &Cast) {
        self.socket.alive().await;
        let id = cast.u1.sent(&cast.r1, "all well?", &[&cast.a1.id]).await;
        assert_eq!(self.socket.event("w", &self.topic, "message_created").await["id"], json!(id));
    }
}

/// The server's response to raw bytes; it must respond or hang up in time.
async fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    // The server may hang up while the bytes are still on their way.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await.expect("it ends");
    String::from_utf8_lossy(&answer).into_owned()
}
