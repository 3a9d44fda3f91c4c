//! The operations of the API that this client uses, with a key, over one connection.

use std::fmt::{self, Write};
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::access::Access;
use crate::connection::{Connection, Outgoing};
use crate::error::ClientError;
use crate::model::{ApiKey, Message, Participant, Profile, Receipt, Room, Sent};
use crate::retry::Backoff;
use crate::text::on_one_line;
use crate::work::{Retried, WorkItem};

/// The largest number of rows in a page.
const PAGE: usize = 100;

/// A caller of a server.
pub struct Session {
    connection: Connection,
    key: ApiKey,
    /// Whether the server has ever answered.
    was_reached: bool,
}

/// The name of a request that is done once, however often it is sent.
#[derive(Clone, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// A name that no other request has.
    ///
    /// # Panics
    /// If the system has no randomness.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system's random source answers");
        Self(format!("{:032x}", u128::from_be_bytes(bytes)))
    }
}

/// Which messages to read.
#[derive(Clone, Debug)]
pub(crate) enum Window<'a> {
    /// The newest ones.
    Newest(usize),
    /// Those after this message.
    After(&'a str),
    /// Those around the first one with this sequence or a larger one, or else the newest.
    From(i64),
    /// Those around the first one at this time or later, or else the newest.
    At(&'a str),
    /// One message.
    One(&'a str),
}

/// Messages, oldest first.
pub(crate) struct Messages {
    pub(crate) rows: Vec<Message>,
    /// Whether there are newer ones.
    pub(crate) has_newer: bool,
}

/// Some rooms, the last changed first.
pub struct Rooms {
    /// The rooms.
    pub rows: Vec<Room>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// An answer with one object.
#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

/// An answer with a list.
#[derive(Deserialize)]
struct List {
    data: Vec<Value>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    next_cursor: Option<String>,
    #[serde(default)]
    has_newer: bool,
}

impl Session {
    /// Connects with the first request.
    ///
    /// # Errors
    /// If TLS cannot be used.
    pub fn new(access: &Access) -> Result<Self, ClientError> {
        let connection = Connection::new(access.address.clone())?;
        Ok(Self { connection, key: access.key.clone(), was_reached: false })
    }

    /// Another one for the same server, with a connection of its own.
    ///
    /// # Errors
    /// If TLS cannot be used.
    pub fn another(&self, access: &Access) -> Result<Self, ClientError> {
        Ok(Self { was_reached: self.was_reached, ..Self::new(access)? })
    }

    /// Repeats `call` until it succeeds, fails for good, or could only be tried again after `until`. If the server has never
    /// answered, its address may be wrong, so `call` is not repeated. `notice` is called before each pause.
    ///
    /// # Errors
    /// The last failure.
    pub async fn persist<T>(
        &mut self,
        until: Instant,
        mut notice: impl FnMut(&ClientError, Duration),
        mut call: impl AsyncFnMut(&mut Self) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let mut backoff = Backoff::default();
        loop {
            let error = match call(self).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let Some(pause) = self.pause(&mut backoff, &error) else { return Err(error) };
            if Instant::now() + pause >= until {
                return Err(error);
            }
            notice(&error, pause);
            tokio::time::sleep(pause).await;
        }
    }

    /// The pause after which a failed request may be tried again, if it may.
    pub fn pause(&self, backoff: &mut Backoff, error: &ClientError) -> Option<Duration> {
        let is_unknown = !self.was_reached && matches!(error, ClientError::Unreachable { .. });
        if is_unknown { None } else { backoff.pause(error) }
    }

    /// Whose key it is.
    pub async fn profile(&mut self) -> Result<Profile, ClientError> {
        self.get("/profile").await
    }

    /// The rooms in which the user takes part, the last changed first, a page at a time; with what is unread, if asked for.
    pub async fn rooms(&mut self, cursor: Option<&str>, with_unread: bool) -> Result<Rooms, ClientError> {
        let unread = if with_unread { "&include=unread" } else { "" };
        let mut path = format!("/chats?sort_by=updated_at&order=desc&limit={PAGE}{unread}");
        if let Some(cursor) = cursor {
            let _ = write!(path, "&cursor={}", InQuery(cursor));
        }
        let List { data, metadata } = self.list(&path).await?;
        let rows =
            data.into_iter().map(|row| serde_json::from_value(row).map_err(|error| self.foreign(&error)));
        Ok(Rooms { rows: rows.collect::<Result<_, _>>()?, next: metadata.next_cursor })
    }

    /// One room.
    pub async fn room(&mut self, id: &str) -> Result<Room, ClientError> {
        self.get(&format!("/chats/{}", InQuery(id))).await
    }

    /// Everybody in a room.
    pub async fn participants(&mut self, room: &str) -> Result<Vec<Participant>, ClientError> {
        self.all(&format!("/chats/{room}/participants?limit={PAGE}")).await
    }

    /// The agents that the user may add to rooms and whose name or handle contains a text.
    pub async fn agents(&mut self, part: &str) -> Result<Vec<Participant>, ClientError> {
        self.all(&format!("/peers?type=Agent&limit={PAGE}&q={}", InQuery(part))).await
    }

    /// Makes a room, which gets its title from its first text.
    pub async fn create_room(&mut self, once: &IdempotencyKey) -> Result<Room, ClientError> {
        self.post("/chats", &json!({ "chat": {} }), Some(once)).await
    }

    /// Deletes a room for everybody.
    pub async fn delete_room(&mut self, room: &str) -> Result<(), ClientError> {
        let request = Outgoing {
            method: Method::DELETE,
            path: format!("/api/v1/me/chats/{room}"),
            body: String::new(),
            once: None,
        };
        self.call::<Value>(request).await.map(drop)
    }

    /// Marks a room as read up to a message.
    pub async fn mark_read(&mut self, room: &str, message: &str) -> Result<(), ClientError> {
        let request = Outgoing {
            method: Method::PUT,
            path: format!("/api/v1/me/chats/{room}/read"),
            body: json!({ "message_id": message }).to_string(),
            once: None,
        };
        self.call::<Value>(request).await.map(drop)
    }

    /// The oldest messages that the user's agents have not processed, and whether there are more.
    pub async fn work(&mut self) -> Result<(Vec<WorkItem>, bool), ClientError> {
        let List { data, metadata } = self.list(&format!("/work?limit={PAGE}")).await?;
        let rows =
            data.into_iter().map(|row| serde_json::from_value(row).map_err(|error| self.foreign(&error)));
        Ok((rows.collect::<Result<_, _>>()?, metadata.next_cursor.is_some()))
    }

    /// Offers a message to its agent as if it were new, if the work is still in the state that was read.
    pub async fn retry_work(&mut self, item: &WorkItem) -> Result<Retried, ClientError> {
        self.post(&format!("{}/retry", item.path()), &json!({ "if_state": item.state }), None).await
    }

    /// Takes a message out of the queue of its agent, if the work is still in the state that was read.
    pub async fn dead_letter_work(&mut self, item: &WorkItem, reason: &str) -> Result<(), ClientError> {
        let body = json!({ "if_state": item.state, "reason": reason });
        self.post::<Value>(&format!("{}/dead-letter", item.path()), &body, None).await.map(drop)
    }

    /// Adds an agent or a user to a room. It is no error if a request before has added it.
    pub async fn add(&mut self, room: &str, participant: &str) -> Result<(), ClientError> {
        let body = json!({ "participant": { "participant_id": participant } });
        match self.post::<Value>(&format!("/chats/{room}/participants"), &body, None).await {
            Err(error) if !error.is_conflict() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Sends a text that is addressed to participants.
    pub async fn send(
        &mut self,
        room: &str,
        text: &str,
        mentions: &[&str],
        once: &IdempotencyKey,
    ) -> Result<Sent, ClientError> {
        let mentions = mentions.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>();
        let body = json!({ "message": { "content": text, "mentions": mentions } });
        self.post(&format!("/chats/{room}/messages"), &body, Some(once)).await
    }

    /// What became of a text at each agent that it is addressed to.
    pub(crate) async fn receipts(&mut self, room: &str, message: &str) -> Result<Vec<Receipt>, ClientError> {
        self.all(&format!("/chats/{room}/messages/{message}/receipts")).await
    }

    /// Messages of a room.
    pub(crate) async fn messages(
        &mut self,
        room: &str,
        window: Window<'_>,
        texts_only: bool,
    ) -> Result<Messages, ClientError> {
        let window = match window {
            Window::Newest(limit) => format!("limit={limit}"),
            Window::After(id) => format!("limit={PAGE}&after={}", InQuery(id)),
            Window::From(sequence) => format!("limit={PAGE}&from_sequence={sequence}"),
            Window::At(time) => format!("limit={PAGE}&at={}", InQuery(time)),
            Window::One(id) => format!("limit=1&around={}", InQuery(id)),
        };
        let kinds = if texts_only { "&message_type=text" } else { "" };
        let List { data, metadata } = self.list(&format!("/chats/{room}/messages?{window}{kinds}")).await?;
        let rows = data.into_iter().map(|raw| {
            let message = Message::deserialize(&raw).map_err(|error| self.foreign(&error))?;
            Ok(Message { raw, ..message })
        });
        let mut rows = rows.collect::<Result<Vec<_>, ClientError>>()?;
        rows.sort_by_key(|message| message.sequence);
        Ok(Messages { rows, has_newer: metadata.has_newer })
    }

    /// All rows of a list, page after page.
    async fn all<T: DeserializeOwned>(&mut self, path: &str) -> Result<Vec<T>, ClientError> {
        let mut rows = Vec::new();
        let mut cursor = String::new();
        loop {
            let List { data, metadata } = self.list(&format!("{path}{cursor}")).await?;
            for row in data {
                rows.push(serde_json::from_value(row).map_err(|error| self.foreign(&error))?);
            }
            let Some(next) = metadata.next_cursor else { return Ok(rows) };
            cursor = format!("&cursor={}", InQuery(&next));
        }
    }

    async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        let data = self.call::<Data<T>>(Self::reading(path)).await?;
        Ok(data.data)
    }

    async fn list(&mut self, path: &str) -> Result<List, ClientError> {
        self.call(Self::reading(path)).await
    }

    fn reading(path: &str) -> Outgoing {
        Outgoing { method: Method::GET, path: format!("/api/v1/me{path}"), body: String::new(), once: None }
    }

    async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &Value,
        once: Option<&IdempotencyKey>,
    ) -> Result<T, ClientError> {
        let request = Outgoing {
            method: Method::POST,
            path: format!("/api/v1/me{path}"),
            body: body.to_string(),
            once: once.map(|key| key.0.clone()),
        };
        Ok(self.call::<Data<T>>(request).await?.data)
    }

    async fn call<T: DeserializeOwned>(&mut self, request: Outgoing) -> Result<T, ClientError> {
        let answer = self.connection.send(&request, &self.key).await?;
        if !answer.status.is_success() {
            let server = self.connection.server();
            let error = ClientError::of(server, answer.status, answer.retry_after, &answer.body);
            self.was_reached |= !matches!(error, ClientError::Foreign { .. });
            return Err(error);
        }
        let read = serde_json::from_slice(&answer.body).map_err(|error| self.foreign(&error))?;
        self.was_reached = true;
        Ok(read)
    }

    fn foreign(&self, error: &serde_json::Error) -> ClientError {
        // It may quote the answer.
        ClientError::Foreign { server: self.connection.server(), reason: on_one_line(&error.to_string()) }
    }
}

/// A text in the query or as a part of the path of a URL.
struct InQuery<'a>(&'a str);

impl fmt::Display for InQuery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.bytes().try_for_each(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => f.write_char(byte.into()),
            _ => write!(f, "%{byte:02X}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_encoded_for_urls() {
        assert_eq!(
            InQuery("ann/e_c-h.o~ é&a=b%+?#").to_string(),
            "ann%2Fe_c-h.o~%20%C3%A9%26a%3Db%25%2B%3F%23"
        );
    }

    #[test]
    fn no_two_requests_have_the_same_key() {
        let (one, other) = (IdempotencyKey::random().0, IdempotencyKey::random().0);
        assert!(one != other && one.len() == 32, "{one} {other}");
    }
}
