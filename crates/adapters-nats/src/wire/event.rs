//! The kinds of all events of the domain.

use domain::account::Agent;
use domain::activity::AgentActivity;
use domain::board::{Board, Task};
use domain::chat::{Chat, ChatDetails, Participant, Role, Unread};
use domain::contact::{ContactOf, ContactRequest};
use domain::control::ControlSignal;
use domain::event::DomainEvent;
use domain::id::{AgentId, ApiKeyId, ChatId, ContactId, MessageId, ParticipantId, SessionId, UserId};
use domain::message::Message;
use domain::time::Timestamp;

/// Returns whether a kind is that of an event, including those that only newer nodes know.
pub(crate) const fn is_event(kind: u8) -> bool {
    kind > 0 && !super::is_peer_message(kind)
}

/// Keeps a member on the server of the event.
const fn is_local<T>(_: &T) -> bool {
    true
}

super::bodies! {
    DomainEvent
    1 MessageCreated { message: Message, recipients: Vec<AgentId> }
    2 MessageUpdated { message: Message }
    3 MessageDeleted { #[serde(rename = "chat")] chat_id: ChatId, id: MessageId }
    4 EventCreated { message: Message }
    5 RoomAdded { to: ParticipantId, chat: Chat, role: Role, #[serde(default, skip_serializing_if = "Option::is_none")] owner: Option<UserId> }
    6 RoomRemoved { from: ParticipantId, chat: Chat, removed_at: Timestamp }
    7 ParticipantAdded { #[serde(rename = "chat")] chat_id: ChatId, participant: Participant }
    8 ParticipantRemoved { #[serde(rename = "chat")] chat_id: ChatId, participant: Participant }
    9 RoomDeleted { #[serde(rename = "chat")] chat_id: ChatId }
    10 RoomTitleChanged { #[serde(rename = "chat")] chat_id: ChatId, title: String }
    11 AgentCreated { agent: Agent }
    12 AgentUpdated { agent: Agent }
    13 AgentDeleted { agent: Agent }
    14 KeyRevoked { key: ApiKeyId }
    15 TokensEnded { user: UserId, password_set_at: Timestamp }
    16 UserMoved { user: UserId }
    17 RoomUpdated { to: Vec<UserId>, chat: Chat, details: ChatDetails }
    18 ActivityChanged { #[serde(rename = "chat")] chat_id: ChatId, #[serde(flatten)] activity: AgentActivity }
    19 ContactRequestReceived { request: ContactRequest }
    20 ContactRequestUpdated { request: ContactRequest }
    21 ContactAdded { #[serde(flatten)] contact: ContactOf }
    22 ContactRemoved { owner: ParticipantId, id: ContactId }
    23 SessionEnded { session: SessionId }
    24 AgentControlled { agent: AgentId, signal: ControlSignal }
    25 ActivityReported { #[serde(rename = "chat")] chat_id: ChatId, #[serde(flatten)] activity: AgentActivity }
    26 RoomRead { by: UserId, #[serde(rename = "chat")] chat_id: ChatId, #[serde(flatten)] unread: Unread }
    27 ParticipantUpdated { #[serde(rename = "chat")] chat_id: ChatId, participant: Participant }
    40 TaskCreated { task: Task }
    41 TaskUpdated { task: Task, #[serde(default, skip_serializing_if = "is_local")] has_moved: bool }
    42 BoardUpdated { board: Board }
}
