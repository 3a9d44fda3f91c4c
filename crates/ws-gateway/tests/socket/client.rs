//! A client that exposes every frame.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::harness::PATIENCE;

/// How long nothing must come for it to count as silence.
const SILENCE: Duration = Duration::from_millis(200);

pub(crate) struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    /// Connects, or gives the status of the refusal.
    pub(crate) async fn try_open(
        address: SocketAddr,
        query: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let url = format!("ws://{address}/api/v1/socket/websocket?{query}");
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).unwrap();
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
        match timeout(PATIENCE, connect_async(request)).await.unwrap() {
            Ok((stream, answer)) => {
                assert!(!answer.headers().contains_key("sec-websocket-extensions"));
                Ok(Self(stream))
            }
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn open(address: SocketAddr, query: &str, headers: &[(&'static str, &str)]) -> Self {
        Self::try_open(address, query, headers).await.unwrap_or_else(|status| panic!("{status}: {query}"))
    }

    pub(crate) async fn send(&mut self, message: Message) {
        self.0.send(message).await.unwrap();
    }

    pub(crate) async fn say(&mut self, frame: &Value) {
        self.send(Message::text(frame.to_string())).await;
    }

    /// The next message; the code when it is a Close.
    pub(crate) async fn receive(&mut self) -> Result<Message, u16> {
        match timeout(PATIENCE, self.0.next()).await.expect("something comes") {
            Some(Ok(Message::Close(frame))) => Err(frame.map_or(1005, |frame| frame.code.into())),
            Some(Ok(message)) => Ok(message),
            Some(Err(error)) => panic!("{error}"),
            None => Err(1006),
        }
    }

    pub(crate) async fn frame(&mut self) -> Value {
        match self.receive().await {
            Ok(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("a frame was expected: {other:?}"),
        }
    }

    /// The payload of the next frame, which must be this event, pushed under this join.
    pub(crate) async fn event(&mut self, join_ref: &str, topic: &str, event: &str) -> Value {
        let mut frame = self.frame().await;
        let payload = frame[4].take();
        assert_eq!(frame, json!([join_ref, null, topic, event, null]));
        payload
    }

    pub(crate) async fn ask(&mut self, join_ref: &str, topic: &str) {
        self.say(&json!([join_ref, join_ref, topic, "phx_join", {}])).await;
    }

    /// The next frame must be the answer to a join.
    pub(crate) async fn answer(&mut self, join_ref: &str, topic: &str, status: &str, response: Value) {
        let payload = json!({ "status": status, "response": response });
        assert_eq!(self.frame().await, json!([join_ref, join_ref, topic, "phx_reply", payload]));
    }

    pub(crate) async fn join(&mut self, join_ref: &str, topic: &str) {
        if topic.starts_with("room_participants:") {
            self.join_people(join_ref, topic).await;
            return;
        }
        self.ask(join_ref, topic).await;
        self.answer(join_ref, topic, "ok", json!({})).await;
    }

    /// Joins a room's people; who of them is there.
    pub(crate) async fn join_people(&mut self, join_ref: &str, topic: &str) -> Value {
        self.ask(join_ref, topic).await;
        self.answer_of_people(join_ref, topic).await
    }

    /// The next frame must grant a join of a room's people; who of them is there.
    pub(crate) async fn answer_of_people(&mut self, join_ref: &str, topic: &str) -> Value {
        let mut frame = self.frame().await;
        let people = frame[4]["response"]["participant_presence"].take();
        let payload = json!({ "status": "ok", "response": { "participant_presence": null } });
        assert_eq!(frame, json!([join_ref, join_ref, topic, "phx_reply", payload]));
        people
    }

    pub(crate) async fn refused(&mut self, join_ref: &str, topic: &str, reason: &str) {
        self.ask(join_ref, topic).await;
        self.answer(join_ref, topic, "error", json!({ "reason": reason })).await;
    }

    /// The next frame must be the end of a channel.
    pub(crate) async fn ended(&mut self, join_ref: &str, topic: &str) {
        assert_eq!(self.frame().await, json!([join_ref, join_ref, topic, "phx_close", {}]));
    }

    /// Nothing came before the answer to a heartbeat: what was published before it would have.
    pub(crate) async fn nothing_came(&mut self) {
        self.say(&json!([null, "hb", "phoenix", "heartbeat", {}])).await;
        let payload = json!({ "status": "ok", "response": {} });
        assert_eq!(self.frame().await, json!([null, "hb", "phoenix", "phx_reply", payload]));
    }

    pub(crate) async fn silent(&mut self) {
        if let Ok(received) = timeout(SILENCE, self.0.next()).await {
            panic!("silence was expected: {received:?}");
        }
    }

    /// The code with which the server closes; what came before it is passed over.
    pub(crate) async fn closed(&mut self) -> u16 {
        loop {
            if let Err(code) = self.receive().await {
                return code;
            }
        }
    }
}
