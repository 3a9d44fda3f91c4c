//! Identifiers. Every kind of thing has its own type, so that one cannot be passed for another.
//!
//! All are UUIDs (version 7, made by [`crate::ports::IdGenerator`]), except the [`Sequence`] of a message, and the
//! [`ExecutionId`], which is derived (version 8). Text is parsed at the edge; the inner value is opened in the adapters.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words::{from_text, words};
use uuid::Uuid;

macro_rules! id_type {
    ($($(#[$doc:meta])+ $name:ident),+ $(,)?) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// Precedes every id of this kind, and is the id of nothing.
            pub const NIL: Self = Self(Uuid::nil());

            /// Wraps a UUID that is known to name this kind of thing.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Reads the canonical text form, upper or lower case; anything else is `None`.
            pub fn parse(text: &str) -> Option<Self> {
                parse_uuid(text).map(Self)
            }

            /// The UUID itself, for adapters.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        /// For the bus: 32 hexadecimal digits.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.0.simple().encode_lower(&mut Uuid::encode_buffer()))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer, |text| Uuid::try_parse(text).ok().map(Self))
            }
        }
    )+};
}

id_type! {
    /// A human account.
    UserId,
    /// An agent.
    AgentId,
    /// A chat.
    ChatId,
    /// A message or an event in a chat.
    MessageId,
    /// An API key (the record, not the secret).
    ApiKeyId,
    /// A session that a log-in has opened.
    SessionId,
    /// A passkey of a user.
    PasskeyId,
    /// A node: one run of a server in a cluster.
    NodeId,
    /// Something that an agent remembers.
    MemoryId,
    /// An organization; every user belongs to one.
    OrganizationId,
    /// An invitation to an organization.
    InvitationId,
    /// One side's record of a contact.
    ContactId,
    /// A request to be a contact.
    ContactRequestId,
    /// A task outside Parlance that a chat is about; not checked.
    TaskId,
    /// A task on the board of a chat.
    BoardTaskId,
    /// A file of a chat.
    FileId,
    /// A user or an agent, where the caller does not say which of the two.
    AccountId,
    /// An agent in one chat, from its join to its end.
    ExecutionId,
    /// A bulk deletion of agents or chats.
    BulkDeletionId,
    /// A text that is sent later.
    ReminderId,
    /// The requests for one message to the webhook of an agent.
    WebhookDeliveryId,
    /// A configuration of push notifications.
    PushConfigId,
    /// A notification channel of a user.
    NotificationChannelId,
    /// One message on one such way.
    NotificationId,
    /// A signal to an agent.
    SignalId,
    /// An entry of the audit log.
    AuditEntryId,
    /// What an entry of the change log or the audit log, or a hold of deliveries, is about; a word stored with it says
    /// its kind.
    SubjectId,
    /// A record whose kind follows from where the id is used: the last one of a page, what
    /// a repeated request created, or what a caller names as a contact.
    RecordId,
}

impl SubjectId {
    /// An originator in a chat.
    pub const fn of_originator(chat: ChatId, originator: ParticipantId) -> Self {
        Self(Uuid::from_u128(chat.0.as_u128() ^ originator.uuid().as_u128()))
    }

    /// Two agents in a chat, in any order, or an agent and itself. No other pair has the same, since ids are random.
    pub const fn of_pair(chat: ChatId, agents: [AgentId; 2]) -> Self {
        let [one, other] = [agents[0].0.as_u128(), agents[1].0.as_u128()];
        let agents = if one == other { one } else { one ^ other };
        Self(Uuid::from_u128(chat.0.as_u128() ^ agents))
    }
}

impl RecordId {
    /// Follows every other id.
    pub const MAX: Self = Self(Uuid::max());
}

macro_rules! is_a {
    ($wide:ident: $($name:ident),+) => {$(
        impl From<$name> for $wide {
            fn from(id: $name) -> Self {
                Self(id.uuid())
            }
        }
    )+};
}

is_a!(AccountId: UserId, AgentId, ParticipantId);
is_a!(SubjectId: MessageId, ChatId, AgentId, OrganizationId);
is_a!(RecordId: UserId, AgentId, ParticipantId, ChatId, MessageId, ApiKeyId, MemoryId);
is_a!(RecordId: InvitationId, ContactId, ContactRequestId, AuditEntryId, BoardTaskId, WebhookDeliveryId);
is_a!(RecordId: PushConfigId, ReminderId, NotificationChannelId, NotificationId);

/// The number of a message in its chat, counted from 1; 0 is before the first. The number of a deleted
/// message is not reused, so only deletions leave gaps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(i64);

impl Sequence {
    /// Wraps a number that is known to be a sequence.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number itself, for adapters.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The sequence after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The sequence before this one.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0 - 1)
    }
}

/// The hyphenated form of 36 characters only: braces, URNs and bare hex are not ids here.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

/// A user or an agent, as a participant of chats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParticipantId {
    /// A human.
    User(UserId),
    /// An agent.
    Agent(AgentId),
}

impl ParticipantId {
    /// The UUID, unique over users and agents together.
    pub const fn uuid(self) -> Uuid {
        match self {
            Self::User(id) => id.uuid(),
            Self::Agent(id) => id.uuid(),
        }
    }

    /// Which of the two it is.
    pub const fn kind(self) -> ParticipantKind {
        match self {
            Self::User(_) => ParticipantKind::User,
            Self::Agent(_) => ParticipantKind::Agent,
        }
    }

    /// The agent's id, if it is an agent.
    pub const fn agent(self) -> Option<AgentId> {
        match self {
            Self::Agent(id) => Some(id),
            Self::User(_) => None,
        }
    }

    /// The user's id, if it is a human.
    pub const fn user(self) -> Option<UserId> {
        match self {
            Self::User(id) => Some(id),
            Self::Agent(_) => None,
        }
    }
}

impl fmt::Display for ParticipantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uuid().fmt(f)
    }
}

words! {
    /// The kind of a participant.
    #[derive(PartialOrd, Ord)]
    ParticipantKind {
        /// A human; `User` on the wire.
        User = "User",
        /// An agent; `Agent` on the wire.
        Agent = "Agent",
    }
}

impl ParticipantKind {
    /// The id of this kind that wraps `uuid`.
    pub const fn with_uuid(self, uuid: Uuid) -> ParticipantId {
        match self {
            Self::User => ParticipantId::User(UserId::new(uuid)),
            Self::Agent => ParticipantId::Agent(AgentId::new(uuid)),
        }
    }
}
