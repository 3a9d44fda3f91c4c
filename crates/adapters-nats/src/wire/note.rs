//! What nodes tell each other of themselves.

use domain::bus::{Interest, Note};
use domain::id::{AgentId, ChatId, NodeId, UserId};
use serde::{Deserialize, Serialize};

use super::Malformed;
use super::plain::{Id, json};

/// The kinds of notes; events have others.
const HERE: u8 = 201;
const CHANGED: u8 = 202;
const WHOLE: u8 = 203;
const ASK: u8 = 204;
const GONE: u8 = 205;

/// How many bytes of a note one interest takes at most, and how many there are beside all of them.
pub(crate) const INTEREST: usize = 64;
pub(crate) const BESIDE_INTERESTS: usize = 128;

/// Whether a kind is one of a note, also of one that only newer nodes know.
pub(crate) const fn is_note(kind: u8) -> bool {
    kind >= 200
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireInterest {
    Room(Id),
    RoomAsHuman(Id),
    User(Id),
    Agent(Id),
}

#[derive(Serialize, Deserialize)]
struct Here {
    revision: u64,
}

#[derive(Serialize, Deserialize)]
struct Changed {
    revision: u64,
    begun: Vec<WireInterest>,
    over: Vec<WireInterest>,
}

#[derive(Serialize, Deserialize)]
struct Whole {
    revision: u64,
    part: u32,
    parts: u32,
    interests: Vec<WireInterest>,
}

#[derive(Serialize, Deserialize)]
struct Ask {
    of: Option<Id>,
}

impl From<Interest> for WireInterest {
    fn from(interest: Interest) -> Self {
        match interest {
            Interest::Room(chat) => Self::Room(Id(chat.uuid())),
            Interest::RoomAsHuman(chat) => Self::RoomAsHuman(Id(chat.uuid())),
            Interest::User(user) => Self::User(Id(user.uuid())),
            Interest::Agent(agent) => Self::Agent(Id(agent.uuid())),
        }
    }
}

impl From<WireInterest> for Interest {
    fn from(interest: WireInterest) -> Self {
        match interest {
            WireInterest::Room(Id(id)) => Self::Room(ChatId::new(id)),
            WireInterest::RoomAsHuman(Id(id)) => Self::RoomAsHuman(ChatId::new(id)),
            WireInterest::User(Id(id)) => Self::User(UserId::new(id)),
            WireInterest::Agent(Id(id)) => Self::Agent(AgentId::new(id)),
        }
    }
}

fn wire(interests: &[Interest]) -> Vec<WireInterest> {
    interests.iter().copied().map(WireInterest::from).collect()
}

fn interests(wire: Vec<WireInterest>) -> Vec<Interest> {
    wire.into_iter().map(Interest::from).collect()
}

/// The kind and the body of a note.
pub(crate) fn encode(note: &Note) -> (u8, Vec<u8>) {
    match note {
        Note::Here { revision } => (HERE, json(&Here { revision: *revision })),
        Note::Changed { revision, begun, over } => {
            (CHANGED, json(&Changed { revision: *revision, begun: wire(begun), over: wire(over) }))
        }
        Note::Whole { revision, part, parts, interests } => {
            let interests = wire(interests);
            (WHOLE, json(&Whole { revision: *revision, part: *part, parts: *parts, interests }))
        }
        Note::Ask { of } => (ASK, json(&Ask { of: of.map(|node| Id(node.uuid())) })),
        Note::Gone => (GONE, Vec::new()),
    }
}

/// Reads [`encode`] back; `None` for a kind that only newer nodes know.
pub(crate) fn decode(kind: u8, body: &[u8]) -> Result<Option<Note>, Malformed> {
    Ok(Some(match kind {
        HERE => {
            let Here { revision } = serde_json::from_slice(body)?;
            Note::Here { revision }
        }
        CHANGED => {
            let Changed { revision, begun, over } = serde_json::from_slice(body)?;
            Note::Changed { revision, begun: interests(begun), over: interests(over) }
        }
        WHOLE => {
            let Whole { revision, part, parts, interests: all } = serde_json::from_slice(body)?;
            Note::Whole { revision, part, parts, interests: interests(all) }
        }
        ASK => {
            let Ask { of } = serde_json::from_slice(body)?;
            Note::Ask { of: of.map(|Id(id)| NodeId::new(id)) }
        }
        GONE => Note::Gone,
        _ => return Ok(None),
    }))
}
