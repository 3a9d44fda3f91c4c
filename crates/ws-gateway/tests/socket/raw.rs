//! A client that writes raw bytes, for input that no WebSocket library would send.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::PATIENCE;

/// A frame that the server sent: its first byte and what it carries.
pub(crate) type Sent = (u8, Vec<u8>);

pub(crate) struct Raw(pub(crate) TcpStream);

/// A refused upgrade.
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Raw {
    /// Asks for an upgrade; the head of the answer.
    async fn ask(address: SocketAddr, query: &str, headers: &[(&str, &str)]) -> (Self, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut request = format!(
            "GET /api/v1/socket/websocket?{query} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n"
        );
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
        }
        (Self(stream), String::from_utf8(head).unwrap().to_lowercase())
    }

    /// An open socket of version 2.
    pub(crate) async fn open(address: SocketAddr, key: &str) -> Self {
        let (raw, head) = Self::ask(address, "vsn=2.0.0", &[("x-api-key", key)]).await;
        assert!(head.starts_with("http/1.1 101"), "{head}");
        raw
    }

    /// A refusal, in full.
    pub(crate) async fn refusal(address: SocketAddr, query: &str, headers: &[(&str, &str)]) -> Refusal {
        let (mut raw, head) = Self::ask(address, query, headers).await;
        let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        timeout(PATIENCE, raw.0.read_exact(&mut body)).await.unwrap().unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Refusal { status, head, body: serde_json::from_slice(&body).unwrap() }
    }

    /// Writes a frame with this first byte, masked by zeros.
    pub(crate) async fn write(&mut self, first: u8, payload: &[u8]) {
        let mut bytes = header(first, payload.len() as u64);
        bytes.extend_from_slice(payload);
        self.0.write_all(&bytes).await.unwrap();
    }

    /// Everything until the server hangs up, which it must.
    pub(crate) async fn rest(&mut self) -> Vec<Sent> {
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, self.0.read_to_end(&mut bytes)).await.expect("the server hangs up");
        // A reset after the last frame is a way to hang up too.
        let _ = read;
        frames(&bytes)
    }

    /// The code of the Close with which the server ends, after which it hangs up.
    pub(crate) async fn closed(&mut self) -> u16 {
        let sent = self.rest().await;
        match sent.last() {
            Some((0x88, payload)) => u16::from_be_bytes([payload[0], payload[1]]),
            other => panic!("a Close was expected: {other:?}"),
        }
    }
}

/// The head of a masked frame that announces so many bytes.
pub(crate) fn header(first: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![first];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) if short < 126 => bytes.push(0x80 | short),
        (_, Ok(middle)) => {
            bytes.push(0xfe);
            bytes.extend_from_slice(&middle.to_be_bytes());
        }
        _ => {
            bytes.push(0xff);
            bytes.extend_from_slice(&length.to_be_bytes());
        }
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// Unmasked frames.
fn frames(mut bytes: &[u8]) -> Vec<Sent> {
    let mut all = Vec::new();
    while let [first, second, rest @ ..] = bytes {
        let (length, rest) = match second {
            126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            127 => (usize::try_from(u64::from_be_bytes(rest[..8].try_into().unwrap())).unwrap(), &rest[8..]),
            short => (usize::from(*short), rest),
        };
        let (payload, rest) = rest.split_at(length);
        all.push((*first, payload.to_vec()));
        bytes = rest;
    }
    all
}
