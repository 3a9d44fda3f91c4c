//! What the API answers, as far as this client reads it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::{clean, with_handles, without_address};

/// An API key. It is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApiKey(String);

impl ApiKey {
    /// The key that somebody gave, without surrounding whitespace.
    ///
    /// # Errors
    /// It is empty, or cannot be the value of a header.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        match text {
            "" => Err("is empty"),
            text if text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Self(text.to_owned())),
            _ => Err("contains characters that no API key has"),
        }
    }

    /// The key, for the header.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// The user that the key belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Profile {
    /// The id.
    pub id: String,
    /// Without `@`.
    pub handle: String,
}

/// A room in the user's list.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Room {
    /// The id.
    pub id: String,
    /// Whatever somebody chose; it may contain control characters.
    pub title: String,
    /// When something was last written, in the form of the API.
    pub last_message_at: Option<String>,
    /// When the room or its messages last changed.
    pub updated_at: String,
    /// What the user has not read, if it was asked for.
    pub unread: Option<Unread>,
}

impl Room {
    /// The number of texts to show as unread. If the user has muted the room, only mentions count.
    pub fn unread(&self) -> u64 {
        self.unread.as_ref().map_or(0, |it| if it.muted { it.mentions } else { it.count })
    }
}

/// What a user has not read in a room.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Unread {
    /// The number of texts of others.
    pub count: u64,
    /// How many of them mention the user, among the newest.
    #[serde(default)]
    pub mentions: u64,
    /// Whether the user has muted the room.
    #[serde(default)]
    pub muted: bool,
}

/// A participant of a room, or a peer.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Participant {
    /// The id.
    pub id: String,
    /// Without `@`.
    pub handle: String,
    /// `User` or `Agent`.
    #[serde(rename = "type")]
    pub kind: String,
}

impl Participant {
    /// Returns whether this is an agent.
    pub fn is_agent(&self) -> bool {
        self.kind == "Agent"
    }

    /// The part of an agent's handle behind that of its owner.
    pub(crate) fn slug(&self) -> Option<&str> {
        self.handle.split_once('/').map(|(_, slug)| slug)
    }
}

/// A mention in a stored text.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Mention {
    pub(crate) id: String,
    pub(crate) handle: String,
    /// `mention` or `reference`.
    pub(crate) kind: String,
}

/// What a message follows from.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Cause {
    pub(crate) root_id: String,
    #[serde(default)]
    pub(crate) ambiguous: bool,
}

/// What became of a text at an agent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub(crate) struct DeliveryRecord {
    pub(crate) dead_reason: Option<String>,
    #[serde(default)]
    pub(crate) attempts: Vec<Attempt>,
}

/// One try of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) error: Option<String>,
}

/// A text or an event in a room.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Message {
    /// The id.
    pub id: String,
    /// As it is stored: mentions are markers, and whatever somebody wrote is in it.
    pub content: String,
    /// `text`, or the kind of an event.
    pub message_type: String,
    /// The id of the sender.
    pub sender_id: String,
    /// The name of the sender at that time.
    pub sender_name: String,
    /// Without `@`.
    pub sender_handle: Option<String>,
    /// The id of the room.
    pub chat_room_id: String,
    /// When it was sent, in the form of the API.
    pub inserted_at: String,
    /// Its place in the room, from 1 on.
    pub sequence: i64,
    pub(crate) metadata: Value,
    #[serde(default)]
    pub(crate) attachments: Vec<Attachment>,
    /// The whole message as the API has it.
    #[serde(skip)]
    pub raw: Value,
}

#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Attachment {
    name: String,
}

impl Message {
    /// Returns whether this is a text, and not an event.
    pub fn is_text(&self) -> bool {
        self.message_type == "text"
    }

    /// The content for a terminal, with handles instead of markers.
    pub fn text(&self) -> String {
        self.cleaned(&self.content)
    }

    /// The same without the mention of this reader at its start.
    pub(crate) fn text_for(&self, reader: &str) -> String {
        self.cleaned(without_address(&self.content, reader))
    }

    fn cleaned(&self, content: &str) -> String {
        let mentions = self.mentions();
        let handle = |id: &str| mentions.iter().find(|mention| mention.id == id).map(|it| it.handle.as_str());
        clean(&with_handles(content, handle))
    }

    /// The names of its files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.attachments.iter().map(|file| file.name.as_str())
    }

    /// Returns whether it is addressed to this participant.
    pub(crate) fn addresses(&self, participant: &str) -> bool {
        self.mentions().iter().any(|mention| mention.id == participant && mention.kind == "mention")
    }

    /// What the server knows of its cause.
    pub(crate) fn cause(&self) -> Option<Cause> {
        serde_json::from_value(self.metadata["cause"].clone()).ok()
    }

    /// What became of it at an agent.
    pub(crate) fn delivery(&self, agent: &str) -> DeliveryRecord {
        serde_json::from_value(self.metadata["delivery_status"][agent].clone()).unwrap_or_default()
    }

    /// The metadata of an event is its sender's, who may have given a member of this name.
    fn mentions(&self) -> Vec<Mention> {
        let mentions = self.is_text().then(|| serde_json::from_value(self.metadata["mentions"].clone()).ok());
        mentions.flatten().unwrap_or_default()
    }
}

/// A text that was accepted.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Sent {
    /// The id.
    pub id: String,
    /// What the server warns of.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// A warning about an accepted text.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Warning {
    /// A sentence for people.
    pub message: String,
    /// The handles that it is about.
    pub handles: Vec<String>,
}

/// What became of a text at an agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) connected: bool,
    pub(crate) stopped: bool,
    pub(crate) paused: bool,
    pub(crate) in_room: bool,
    pub(crate) replaced_by: Option<String>,
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// The id of somebody who is mentioned.
    pub(crate) const ANN: &str = "0190c5a4-0000-7000-8000-0000000000a1";

    pub(crate) fn message(value: Value) -> Message {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_muted_room_counts_mentions_only() {
        for (muted, expected) in [(false, 5), (true, 2)] {
            let unread = Some(Unread { count: 5, mentions: 2, muted });
            let (id, title, updated_at) = (String::new(), String::new(), String::new());
            let room = Room { id, title, last_message_at: None, updated_at, unread };
            assert_eq!(room.unread(), expected);
        }
    }

    /// A text with this id, sequence, and time.
    pub(crate) fn text(id: &str, sequence: i64, time: &str) -> Message {
        message(json!({
            "id": id, "content": "hello", "message_type": "text", "sender_id": "s", "sender_name": "Echo",
            "sender_handle": "ann/echo", "chat_room_id": "r", "inserted_at": time, "sequence": sequence,
            "metadata": { "mentions": [] },
        }))
    }

    /// The same with this content and metadata.
    pub(crate) fn with(content: &str, metadata: Value) -> Message {
        Message { content: content.to_owned(), metadata, ..text("m", 1, "2026-11-30T09:00:00.000000Z") }
    }

    #[test]
    fn a_text_shows_handles() {
        let mentions = json!({ "mentions": [{ "id": ANN, "handle": "ann", "kind": "mention" }] });
        let message = with(&format!("@[[{ANN}]] yes\u{1b}[2J @[[{ANN}]]"), mentions);
        assert_eq!(message.text(), "@ann yes\u{fffd}[2J @ann");
        assert_eq!(message.text_for(ANN), "yes\u{fffd}[2J @ann");
        assert!(message.addresses(ANN) && !message.addresses("x"));
    }

    /// An event's metadata is its sender's. Whatever it is, the message can be read.
    #[test]
    fn the_metadata_of_an_event_is_not_trusted() {
        for metadata in [json!({ "mentions": 5, "cause": "x" }), json!({}), json!({ "delivery_status": [] })]
        {
            let event = Message { message_type: "thought".to_owned(), ..with("hm", metadata) };
            assert_eq!((event.text(), event.addresses(ANN), event.cause()), ("hm".to_owned(), false, None));
            assert_eq!(event.delivery(ANN), DeliveryRecord::default());
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        let key = ApiKey::new(" thnv_u_secret\n").unwrap();
        assert_eq!((key.reveal(), format!("{key:?}").as_str()), ("thnv_u_secret", "ApiKey(…)"));
        for bad in ["", " \n", "a b", "é", "a\u{1b}"] {
            assert!(ApiKey::new(bad).is_err(), "{bad:?}");
        }
    }
}
