//! What happened, for those who listen in real time.
//!
//! Which topic and which socket an event reaches is decided by the gateway; who may see it is
//! part of the event.

use crate::account::Agent;
use crate::activity::AgentActivity;
use crate::chat::{Chat, ChatDetails, Participant, Role};
use crate::contact::{ContactOf, ContactRequest};
use crate::id::{AgentId, ApiKeyId, ChatId, ContactId, MessageId, ParticipantId, SessionId, UserId};
use crate::message::Message;
use crate::time::Timestamp;

/// A committed change that clients hear about.
#[derive(Clone, Debug)]
pub enum DomainEvent {
    /// A text message was stored: for every user in the room, and for `recipients` only among
    /// the agents.
    MessageCreated {
        /// The message as stored.
        message: Message,
        /// The agents it was addressed to; never its sender.
        recipients: Vec<AgentId>,
    },
    /// A text was edited, or a delivery record of it changed; for users only.
    MessageUpdated {
        /// The message with all its delivery records.
        message: Message,
    },
    /// A text was deleted; for users only.
    MessageDeleted {
        /// The room.
        chat_id: ChatId,
        /// Which.
        id: MessageId,
    },
    /// An informational record was stored; for users only.
    EventCreated {
        /// The record.
        message: Message,
    },
    /// Somebody became a participant of a room, its creator included.
    RoomAdded {
        /// Who.
        to: ParticipantId,
        /// The room.
        chat: Chat,
        /// The role there.
        role: Role,
    },
    /// Somebody is no longer a participant, or the room is gone.
    RoomRemoved {
        /// Who.
        from: ParticipantId,
        /// The room as it was.
        chat: Chat,
        /// When.
        removed_at: Timestamp,
    },
    /// For those in the room: somebody came.
    ParticipantAdded {
        /// The room.
        chat_id: ChatId,
        /// Who came.
        participant: Participant,
    },
    /// For those in the room: somebody left or was removed. Their channels of the room end.
    ParticipantRemoved {
        /// The room.
        chat_id: ChatId,
        /// Who.
        participant: Participant,
    },
    /// The room was deleted. The last event of the room; its channels end.
    RoomDeleted {
        /// The room.
        chat_id: ChatId,
    },
    /// The room got another title, or its first.
    RoomTitleChanged {
        /// The room.
        chat_id: ChatId,
        /// The new title.
        title: String,
    },
    /// An agent was made; for its owner.
    AgentCreated {
        /// The agent.
        agent: Agent,
    },
    /// What is known of an agent changed; for its owner.
    AgentUpdated {
        /// The agent after the change.
        agent: Agent,
    },
    /// An agent was deleted; for its owner. Its sockets end.
    AgentDeleted {
        /// The agent as it was.
        agent: Agent,
    },
    /// A key was revoked; nobody is told. The sockets that were opened with it end.
    KeyRevoked {
        /// Which.
        key: ApiKeyId,
    },
    /// A user has another password; nobody is told. The sockets that older tokens of theirs have opened end.
    TokensEnded {
        /// Who.
        user: UserId,
        /// When the new password was set.
        password_set_at: Timestamp,
    },
    /// A session ended; nobody is told. The sockets that its access tokens have opened end.
    SessionEnded {
        /// Which.
        session: SessionId,
    },
    /// A user belongs to another organization; nobody is told. The sockets that tokens of theirs have opened end.
    UserMoved {
        /// Who.
        user: UserId,
    },
    /// A room's record changed in a way that lists of rooms show.
    RoomUpdated {
        /// The humans in it.
        to: Vec<UserId>,
        /// The room as it is now.
        chat: Chat,
        /// What humans see of it beside.
        details: ChatDetails,
    },
    /// An agent's "is working" indicator went on or off; for users only.
    ActivityChanged {
        /// The room.
        chat_id: ChatId,
        /// Whose indicator, and its new state.
        activity: AgentActivity,
    },
    /// For its recipient: somebody asks to be a contact.
    ContactRequestReceived {
        /// The request, pending.
        request: ContactRequest,
    },
    /// For both sides: a contact request was answered, taken back, or expired.
    ContactRequestUpdated {
        /// The request with its new status.
        request: ContactRequest,
    },
    /// For one side of a contact: it has come to be.
    ContactAdded {
        /// That side's record.
        contact: ContactOf,
    },
    /// For one side of a contact: it is no more.
    ContactRemoved {
        /// The side.
        owner: ParticipantId,
        /// The id that its record had.
        id: ContactId,
    },
}
