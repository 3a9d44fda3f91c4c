//! A client that is light beside what it measures: the bytes of a request are made once, and of an answer only
//! its status and its length are looked at.

use std::net::SocketAddr;

use e2e::Api;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Headers that an answer may have.
const HEADERS: usize = 32;

/// One connection, kept open; one request after the other.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What came back; the body lies in the connection's buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'c> {
    pub(crate) status: u16,
    pub(crate) body: &'c [u8],
    head: usize,
}

impl Answer<'_> {
    /// How many bytes came, head and body.
    pub(crate) const fn bytes(self) -> usize {
        self.head + self.body.len()
    }
}

impl Connection {
    /// Opens one to `HOST:PORT`.
    pub(crate) async fn open(address: &str) -> Self {
        let address = address.parse::<SocketAddr>().unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::with_capacity(16 * 1024) }
    }

    /// Sends a request and waits for the whole answer; panics if there is none.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Answer<'_> {
        self.stream.write_all(request).await.unwrap();
        self.buffer.clear();
        let (status, head, length) = loop {
            assert!(self.stream.read_buf(&mut self.buffer).await.unwrap() > 0, "the connection was closed");
            if let Some(head) = head(&self.buffer) {
                break head;
            }
        };
        while self.buffer.len() < head + length {
            assert!(self.stream.read_buf(&mut self.buffer).await.unwrap() > 0, "the answer has no end");
        }
        assert_eq!(self.buffer.len(), head + length, "more came than was asked for");
        Answer { status, body: &self.buffer[head..], head }
    }
}

/// Status, bytes of the head and bytes of the body, once the head is whole.
fn head(bytes: &[u8]) -> Option<(u16, usize, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = answer.parse(bytes).unwrap() else { return None };
    let status = answer.code.unwrap();
    let length = answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    assert!(length.is_some() || status == 204, "an answer without a length");
    let length = length.map_or(0, |length| std::str::from_utf8(length.value).unwrap().parse().unwrap());
    Some((status, head, length))
}

/// The bytes of a request to a path of the server, by whoever has this key.
pub(crate) fn request(method: &str, path: &str, key: &str, body: &str) -> Vec<u8> {
    let content = match body {
        "" if method == "GET" => String::new(),
        body => format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()),
    };
    format!("{method} {path} HTTP/1.1\r\nhost: bench\r\nx-api-key: {key}\r\n{content}\r\n{body}").into_bytes()
}

/// The bytes of an agent's request.
pub(crate) fn of_agent(method: &str, agent: &Api, path: &str, body: &str) -> Vec<u8> {
    request(method, &format!("/api/v1/agent{path}"), &agent.key, body)
}
