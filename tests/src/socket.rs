//! A client of the channel protocol that exposes every frame.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::rest::Api;
use crate::server::Server;

/// The maximum wait for an expected frame.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time without a frame that counts as silence.
const SILENCE: Duration = Duration::from_millis(300);

/// The event of a room that has changed.
const ROOM_CHANGED: &str = "room_changed";

/// An open socket.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

/// The end of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// With a close frame of this code.
    Code(u16),
    /// Without one.
    Dropped,
}

impl Socket {
    /// Connects; the status when that is refused. `query` begins behind the question mark.
    pub async fn connect(server: &Server, query: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        Self::connect_to(&server.for_socket().address(), query, headers).await
    }

    /// The same to an address at which something passes it on to a server.
    pub async fn connect_to(address: &str, query: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let url = format!("ws://{address}/api/v1/socket/websocket?{query}");
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).unwrap();
            request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
        }
        match timeout(PATIENCE, connect_async(request)).await.expect("the server answers the upgrade") {
            Ok((stream, _)) => Ok(Self { stream }),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Connects as the Python client does: by header, in version 2.
    pub async fn of(server: &Server, who: &Api) -> Self {
        Self::connect(server, "vsn=2.0.0", &[("x-api-key", &who.key)]).await.expect("the upgrade is granted")
    }

    /// Sends a text as it is.
    pub async fn send_raw(&mut self, text: &str) {
        self.stream.send(Message::text(text)).await.unwrap();
    }

    /// Sends any message of the WebSocket protocol.
    pub async fn send_message(&mut self, message: Message) -> Result<(), Error> {
        self.stream.send(message).await
    }

    /// The next message, whatever it is, but for Pings.
    pub async fn receive(&mut self) -> Result<Message, Closed> {
        match timeout(PATIENCE, self.stream.next()).await.expect("something comes") {
            Some(Ok(Message::Close(frame))) => {
                Err(frame.map_or(Closed::Code(1005), |frame| Closed::Code(frame.code.into())))
            }
            Some(Ok(message)) => Ok(message),
            Some(Err(_)) | None => Err(Closed::Dropped),
        }
    }

    /// The next frame, which must be a text. Changes of rooms come at any time, so they are left out.
    pub async fn frame(&mut self) -> Value {
        loop {
            let frame = self.any_frame().await;
            if frame[3] != ROOM_CHANGED {
                return frame;
            }
        }
    }

    /// The row of the next change of a room for a user's list; other frames are left out.
    pub async fn changed_room(&mut self) -> Value {
        self.payload(ROOM_CHANGED).await
    }

    /// The payload of the next event of this name, on any topic; other frames are left out.
    pub async fn payload(&mut self, event: &str) -> Value {
        loop {
            let mut frame = self.any_frame().await;
            if frame[3] == event {
                return frame[4].take();
            }
        }
    }

    async fn any_frame(&mut self) -> Value {
        match self.receive().await {
            Ok(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("a frame was expected: {other:?}"),
        }
    }

    /// The payload of the next frame, which must be this event on this topic under this join.
    pub async fn event(&mut self, join_ref: &str, topic: &str, event: &str) -> Value {
        let frame = self.frame().await;
        assert_eq!(frame[0], join_ref, "{frame}");
        assert_eq!(frame[1], Value::Null, "{frame}");
        assert_eq!((&frame[2], &frame[3]), (&json!(topic), &json!(event)), "{frame}");
        frame[4].clone()
    }

    /// Asks to join; the answer.
    pub async fn ask(&mut self, join_ref: &str, topic: &str) -> Value {
        self.send_raw(&json!([join_ref, join_ref, topic, "phx_join", {}]).to_string()).await;
        self.frame().await
    }

    /// Joins; it must be granted.
    pub async fn join(&mut self, join_ref: &str, topic: &str) {
        if topic.starts_with("room_participants:") {
            self.join_people(join_ref, topic).await;
            return;
        }
        self.join_with(join_ref, topic, json!({})).await;
    }

    /// Joins a room's people; who of them is there.
    pub async fn join_people(&mut self, join_ref: &str, topic: &str) -> Value {
        let mut answer = self.ask(join_ref, topic).await;
        let people = answer[4]["response"]["participant_presence"].take();
        let response = json!({ "participant_presence": null });
        assert_eq!(answer, reply(json!(join_ref), json!(join_ref), topic, "ok", response));
        people
    }

    /// Joins; it must be granted with this answer.
    pub async fn join_with(&mut self, join_ref: &str, topic: &str, response: Value) {
        assert_eq!(
            self.ask(join_ref, topic).await,
            reply(json!(join_ref), json!(join_ref), topic, "ok", response)
        );
    }

    /// Asks to join; it must be refused for this reason, with both references.
    pub async fn refused(&mut self, join_ref: &str, topic: &str, reason: &str) {
        let expected = reply(json!(join_ref), json!(join_ref), topic, "error", json!({ "reason": reason }));
        assert_eq!(self.ask(join_ref, topic).await, expected);
    }

    /// Nothing comes for a while.
    pub async fn silent(&mut self) {
        if let Ok(received) = timeout(SILENCE, self.frame()).await {
            panic!("silence was expected: {received:?}");
        }
    }

    /// Answers a heartbeat, so everything before it has been handled and nothing else came.
    pub async fn alive(&mut self) {
        self.send_raw(r#"[null,"hb","phoenix","heartbeat",{}]"#).await;
        let expected = reply(Value::Null, json!("hb"), "phoenix", "ok", json!({}));
        assert_eq!(self.frame().await, expected);
    }

    /// Itself, unless it is ended within this time, which only another one that has taken over may do.
    pub async fn stays(mut self, time: Duration) -> Option<Self> {
        match timeout(time, self.closed()).await {
            Err(_) => Some(self),
            Ok(closed) => {
                assert_eq!(closed, Closed::Code(1001));
                None
            }
        }
    }

    /// Waits for the end, skipping other frames.
    pub async fn closed(&mut self) -> Closed {
        loop {
            if let Err(closed) = self.receive().await {
                return closed;
            }
        }
    }
}

/// A `phx_reply` frame.
pub fn reply(join_ref: Value, reference: Value, topic: &str, status: &str, response: Value) -> Value {
    json!([join_ref, reference, topic, "phx_reply", { "status": status, "response": response }])
}
