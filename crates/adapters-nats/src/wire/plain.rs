//! What all bodies are made of.

use std::borrow::Cow;
use std::fmt;

use domain::id::{AgentId, ParticipantId, UserId};
use domain::time::Timestamp;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use super::Malformed;

/// A text, which is copied only where it comes in.
pub(super) type Text<'a> = Cow<'a, str>;

/// An id of any kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Id(pub(super) Uuid);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut buffer = Uuid::encode_buffer();
        serializer.serialize_str(self.0.simple().encode_lower(&mut buffer))
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads;
        impl Visitor<'_> for Reads {
            type Value = Id;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an id")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
                Uuid::try_parse(text).map(Id).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Reads)
    }
}

/// A user or an agent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Who {
    User(Id),
    Agent(Id),
}

impl From<ParticipantId> for Who {
    fn from(id: ParticipantId) -> Self {
        match id {
            ParticipantId::User(user) => Self::User(Id(user.uuid())),
            ParticipantId::Agent(agent) => Self::Agent(Id(agent.uuid())),
        }
    }
}

impl From<Who> for ParticipantId {
    fn from(who: Who) -> Self {
        match who {
            Who::User(Id(id)) => Self::User(UserId::new(id)),
            Who::Agent(Id(id)) => Self::Agent(AgentId::new(id)),
        }
    }
}

/// A point in time, in microseconds since the epoch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct At(i64);

impl From<Timestamp> for At {
    fn from(time: Timestamp) -> Self {
        Self(time.micros())
    }
}

impl From<At> for Timestamp {
    fn from(At(micros): At) -> Self {
        Self::from_micros(micros)
    }
}

/// Reads a word that stands for something.
pub(super) fn word<T>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Malformed> {
    parse(text).ok_or(Malformed)
}

/// A text, or none, without a copy.
pub(super) fn text(of: Option<&String>) -> Option<Text<'_>> {
    of.map(|text| Cow::Borrowed(text.as_str()))
}

/// Takes such a text.
pub(super) fn owned(text: Option<Text<'_>>) -> Option<String> {
    text.map(Cow::into_owned)
}

/// A body.
pub(super) fn json(of: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(of).expect("maps of JSON have texts as keys, and nothing else could fail")
}
