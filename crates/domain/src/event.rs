//! Events for clients in real time.
//!
//! The gateway decides which topics and sockets an event reaches; its audience is part of the
//! event.

use crate::account::Agent;
use crate::activity::AgentActivity;
use crate::board::{Board, Task};
use crate::chat::{Chat, ChatDetails, Participant, Role, Unread};
use crate::contact::{ContactOf, ContactRequest};
use crate::control::ControlSignal;
use crate::id::{AgentId, ApiKeyId, ChatId, ContactId, MessageId, ParticipantId, SessionId, UserId};
use crate::message::Message;
use crate::time::Timestamp;

/// A committed change that clients are notified of.
#[derive(Clone, Debug)]
pub enum DomainEvent {
    /// A text was stored: for every user in the chat, and of the agents only for `recipients`.
    MessageCreated {
        /// The message as stored.
        message: Message,
        /// The addressed agents that are not stopped; never its sender.
        recipients: Vec<AgentId>,
    },
    /// A text was edited, or a delivery record of it changed; for users only.
    MessageUpdated {
        /// The message with all its delivery records.
        message: Message,
    },
    /// A text was deleted; for users only.
    MessageDeleted {
        /// The chat.
        chat_id: ChatId,
        /// The message.
        id: MessageId,
    },
    /// An event message was stored; for users only.
    EventCreated {
        /// The event message.
        message: Message,
    },
    /// A user or agent joined a chat, including its creator.
    RoomAdded {
        /// The user or agent.
        to: ParticipantId,
        /// The owner of an agent, who sees the chat through it.
        owner: Option<UserId>,
        /// The chat.
        chat: Chat,
        /// The role there.
        role: Role,
    },
    /// A participant left a chat, or it was deleted.
    RoomRemoved {
        /// The user or agent.
        from: ParticipantId,
        /// The chat in its last state.
        chat: Chat,
        /// The time of the removal.
        removed_at: Timestamp,
    },
    /// For the participants of a chat: a participant joined.
    ParticipantAdded {
        /// The chat.
        chat_id: ChatId,
        /// The new participant.
        participant: Participant,
    },
    /// For the participants of a chat: a participant left or was removed. Its channels of the chat
    /// end.
    ParticipantRemoved {
        /// The chat.
        chat_id: ChatId,
        /// The user or agent.
        participant: Participant,
    },
    /// A chat was deleted. This is its last event; its channels end.
    RoomDeleted {
        /// The chat.
        chat_id: ChatId,
    },
    /// A chat got a new title, or its first.
    RoomTitleChanged {
        /// The chat.
        chat_id: ChatId,
        /// The new title.
        title: String,
    },
    /// An agent was created; for its owner.
    AgentCreated {
        /// The agent.
        agent: Agent,
    },
    /// An agent changed; for its owner.
    AgentUpdated {
        /// The agent after the change.
        agent: Agent,
    },
    /// An agent was deleted; for its owner. Its sockets end.
    AgentDeleted {
        /// The agent in its last state.
        agent: Agent,
    },
    /// A key was revoked; not sent to clients. The sockets that were opened with it end.
    KeyRevoked {
        /// The key.
        key: ApiKeyId,
    },
    /// A participant of a chat has another role; for its humans.
    ParticipantUpdated {
        /// The chat.
        chat_id: ChatId,
        /// The participant with the new role.
        participant: Participant,
    },
    /// A user has another password; not sent to clients. The sockets that older tokens have opened
    /// end.
    TokensEnded {
        /// The user.
        user: UserId,
        /// The time of the new password.
        password_set_at: Timestamp,
    },
    /// A session ended; not sent to clients. The sockets that its access tokens have opened end.
    SessionEnded {
        /// The session.
        session: SessionId,
    },
    /// A user belongs to another organization; not sent to clients. The sockets that the user's
    /// tokens have opened end.
    UserMoved {
        /// The user.
        user: UserId,
    },
    /// A chat changed in a way that lists of chats show.
    RoomUpdated {
        /// The humans in the chat.
        to: Vec<UserId>,
        /// The chat in its new state.
        chat: Chat,
        /// The parts that humans see.
        details: ChatDetails,
    },
    /// A task was put on the board of a chat.
    TaskCreated {
        /// The task.
        task: Task,
    },
    /// A task changed, or somebody commented on it.
    TaskUpdated {
        /// The task after the change.
        task: Task,
        /// Set on the server that made the change, which then announces the counts, if those of the chat have changed.
        has_moved: bool,
    },
    /// The goal of a chat was set or changed.
    BoardUpdated {
        /// The board after the change.
        board: Board,
    },
    /// A human has read a chat, marked messages as unread, or muted it; for that human.
    RoomRead {
        /// The human.
        by: UserId,
        /// The chat.
        chat_id: ChatId,
        /// What is unread now.
        unread: Unread,
    },
    /// An agent's "is working" indicator went on or off; for users only.
    ActivityChanged {
        /// The chat.
        chat_id: ChatId,
        /// The agent, with its new state.
        activity: AgentActivity,
    },
    /// An agent reported what its "is working" indicator shows already; for other nodes only, which end an
    /// indicator that is not renewed.
    ActivityReported {
        /// The chat.
        chat_id: ChatId,
        /// The agent, with its state.
        activity: AgentActivity,
    },
    /// An agent was stopped, plays again, or is interrupted; for its own sockets.
    AgentControlled {
        /// The agent.
        agent: AgentId,
        /// The signal.
        signal: ControlSignal,
    },
    /// For its recipient: a contact request was sent.
    ContactRequestReceived {
        /// The request, pending.
        request: ContactRequest,
    },
    /// For both sides: a contact request was answered, cancelled, or expired.
    ContactRequestUpdated {
        /// The request with its new status.
        request: ContactRequest,
    },
    /// For one side of a contact: it began.
    ContactAdded {
        /// That side's record.
        contact: ContactOf,
    },
    /// For one side of a contact: it ended.
    ContactRemoved {
        /// The side.
        owner: ParticipantId,
        /// The id that its record had.
        id: ContactId,
    },
}

impl DomainEvent {
    /// The chat, if this can change what its participants read there.
    pub const fn changed_chat(&self) -> Option<ChatId> {
        match self {
            Self::MessageCreated { message, .. }
            | Self::MessageUpdated { message }
            | Self::EventCreated { message } => Some(message.chat_id),
            Self::MessageDeleted { chat_id, .. }
            | Self::ParticipantAdded { chat_id, .. }
            | Self::ParticipantRemoved { chat_id, .. }
            | Self::RoomDeleted { chat_id } => Some(*chat_id),
            _ => None,
        }
    }
}
