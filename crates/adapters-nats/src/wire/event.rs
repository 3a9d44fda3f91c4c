//! Every event of the domain, with its kind.

use domain::activity::AgentActivity;
use domain::chat::{Chat, ChatDetails, Participant, Role};
use domain::contact::ContactOf;
use domain::event::DomainEvent;
use domain::id::{AgentId, ApiKeyId, ChatId, ContactId, MessageId, ParticipantId, SessionId, UserId};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Malformed;
use super::agent::WireAgent;
use super::contact::{WireContact, WireRequest};
use super::message::WireMessage;
use super::plain::{At, Id, Text, Who, json, word};
use super::room::{WireChat, WireDetails, WireParticipant};

/// The kinds; a number is never given to anything else.
const MESSAGE_CREATED: u8 = 1;
const MESSAGE_UPDATED: u8 = 2;
const MESSAGE_DELETED: u8 = 3;
const EVENT_CREATED: u8 = 4;
const ROOM_ADDED: u8 = 5;
const ROOM_REMOVED: u8 = 6;
const PARTICIPANT_ADDED: u8 = 7;
const PARTICIPANT_REMOVED: u8 = 8;
const ROOM_DELETED: u8 = 9;
const ROOM_TITLE_CHANGED: u8 = 10;
const AGENT_CREATED: u8 = 11;
const AGENT_UPDATED: u8 = 12;
const AGENT_DELETED: u8 = 13;
const KEY_REVOKED: u8 = 14;
const TOKENS_ENDED: u8 = 15;
const USER_MOVED: u8 = 16;
const ROOM_UPDATED: u8 = 17;
const ACTIVITY_CHANGED: u8 = 18;
const CONTACT_REQUEST_RECEIVED: u8 = 19;
const CONTACT_REQUEST_UPDATED: u8 = 20;
const CONTACT_ADDED: u8 = 21;
const CONTACT_REMOVED: u8 = 22;
const SESSION_ENDED: u8 = 23;

/// Whether a kind is one of an event, also of one that only newer nodes know.
pub(crate) const fn is_event(kind: u8) -> bool {
    kind > 0 && !super::is_note(kind)
}

#[derive(Serialize, Deserialize)]
struct Created<'a> {
    message: WireMessage<'a>,
    recipients: Vec<Id>,
}

#[derive(Serialize, Deserialize)]
struct OfMessage<'a> {
    message: WireMessage<'a>,
}

#[derive(Serialize, Deserialize)]
struct Deleted {
    chat: Id,
    id: Id,
}

#[derive(Serialize, Deserialize)]
struct Added<'a> {
    to: Who,
    chat: WireChat<'a>,
    role: Text<'a>,
}

#[derive(Serialize, Deserialize)]
struct Gone<'a> {
    from: Who,
    chat: WireChat<'a>,
    removed_at: At,
}

#[derive(Serialize, Deserialize)]
struct OfParticipant<'a> {
    chat: Id,
    participant: WireParticipant<'a>,
}

#[derive(Serialize, Deserialize)]
struct OfRoom {
    chat: Id,
}

#[derive(Serialize, Deserialize)]
struct Titled<'a> {
    chat: Id,
    title: Text<'a>,
}

#[derive(Serialize, Deserialize)]
struct OfAgent<'a> {
    agent: WireAgent<'a>,
}

#[derive(Serialize, Deserialize)]
struct OfKey {
    key: Id,
}

#[derive(Serialize, Deserialize)]
struct Ended {
    user: Id,
    password_set_at: At,
}

#[derive(Serialize, Deserialize)]
struct OfSession {
    session: Id,
}

#[derive(Serialize, Deserialize)]
struct Moved {
    user: Id,
}

#[derive(Serialize, Deserialize)]
struct Updated<'a> {
    to: Vec<Id>,
    chat: WireChat<'a>,
    details: WireDetails<'a>,
}

#[derive(Serialize, Deserialize)]
struct Active {
    chat: Id,
    agent: Id,
    working: bool,
}

#[derive(Serialize, Deserialize)]
struct OfRequest<'a> {
    request: WireRequest<'a>,
}

#[derive(Serialize, Deserialize)]
struct OfContact<'a> {
    owner: Who,
    contact: WireContact<'a>,
}

#[derive(Serialize, Deserialize)]
struct NoContact {
    owner: Who,
    id: Id,
}

/// The kind and the body of an event.
pub(crate) fn encode(event: &DomainEvent) -> (u8, Vec<u8>) {
    match event {
        DomainEvent::MessageCreated { message, recipients } => {
            let recipients = recipients.iter().map(|agent| Id(agent.uuid())).collect();
            (MESSAGE_CREATED, json(&Created { message: message.into(), recipients }))
        }
        DomainEvent::MessageUpdated { message } => {
            (MESSAGE_UPDATED, json(&OfMessage { message: message.into() }))
        }
        DomainEvent::MessageDeleted { chat_id, id } => {
            (MESSAGE_DELETED, json(&Deleted { chat: Id(chat_id.uuid()), id: Id(id.uuid()) }))
        }
        DomainEvent::EventCreated { message } => {
            (EVENT_CREATED, json(&OfMessage { message: message.into() }))
        }
        DomainEvent::KeyRevoked { key } => (KEY_REVOKED, json(&OfKey { key: Id(key.uuid()) })),
        DomainEvent::TokensEnded { user, password_set_at } => {
            let ended = Ended { user: Id(user.uuid()), password_set_at: (*password_set_at).into() };
            (TOKENS_ENDED, json(&ended))
        }
        DomainEvent::SessionEnded { session } => {
            (SESSION_ENDED, json(&OfSession { session: Id(session.uuid()) }))
        }
        DomainEvent::UserMoved { user } => (USER_MOVED, json(&Moved { user: Id(user.uuid()) })),
        DomainEvent::AgentCreated { agent } => (AGENT_CREATED, json(&OfAgent { agent: agent.into() })),
        DomainEvent::AgentUpdated { agent } => (AGENT_UPDATED, json(&OfAgent { agent: agent.into() })),
        DomainEvent::AgentDeleted { agent } => (AGENT_DELETED, json(&OfAgent { agent: agent.into() })),
        DomainEvent::ContactRequestReceived { request } => {
            (CONTACT_REQUEST_RECEIVED, json(&OfRequest { request: request.into() }))
        }
        DomainEvent::ContactRequestUpdated { request } => {
            (CONTACT_REQUEST_UPDATED, json(&OfRequest { request: request.into() }))
        }
        DomainEvent::ContactAdded { contact: ContactOf { owner, contact } } => {
            (CONTACT_ADDED, json(&OfContact { owner: (*owner).into(), contact: contact.into() }))
        }
        DomainEvent::ContactRemoved { owner, id } => {
            (CONTACT_REMOVED, json(&NoContact { owner: (*owner).into(), id: Id(id.uuid()) }))
        }
        DomainEvent::RoomAdded { to, chat, role } => room_added(*to, chat, *role),
        DomainEvent::RoomRemoved { from, chat, removed_at } => room_removed(*from, chat, *removed_at),
        DomainEvent::ParticipantAdded { chat_id, participant } => {
            (PARTICIPANT_ADDED, of_participant(*chat_id, participant))
        }
        DomainEvent::ParticipantRemoved { chat_id, participant } => {
            (PARTICIPANT_REMOVED, of_participant(*chat_id, participant))
        }
        DomainEvent::RoomDeleted { chat_id } => (ROOM_DELETED, json(&OfRoom { chat: Id(chat_id.uuid()) })),
        DomainEvent::RoomTitleChanged { chat_id, title } => {
            (ROOM_TITLE_CHANGED, json(&Titled { chat: Id(chat_id.uuid()), title: title.into() }))
        }
        DomainEvent::RoomUpdated { to, chat, details } => room_updated(to, chat, details),
        DomainEvent::ActivityChanged { chat_id, activity } => activity_changed(*chat_id, *activity),
    }
}

fn room_added(to: ParticipantId, chat: &Chat, role: Role) -> (u8, Vec<u8>) {
    (ROOM_ADDED, json(&Added { to: to.into(), chat: chat.into(), role: role.as_str().into() }))
}

fn room_removed(from: ParticipantId, chat: &Chat, removed_at: Timestamp) -> (u8, Vec<u8>) {
    (ROOM_REMOVED, json(&Gone { from: from.into(), chat: chat.into(), removed_at: removed_at.into() }))
}

fn of_participant(chat: ChatId, participant: &Participant) -> Vec<u8> {
    json(&OfParticipant { chat: Id(chat.uuid()), participant: participant.into() })
}

fn room_updated(to: &[UserId], chat: &Chat, details: &ChatDetails) -> (u8, Vec<u8>) {
    let to = to.iter().map(|user| Id(user.uuid())).collect();
    (ROOM_UPDATED, json(&Updated { to, chat: chat.into(), details: details.into() }))
}

fn activity_changed(chat: ChatId, AgentActivity { agent, working }: AgentActivity) -> (u8, Vec<u8>) {
    (ACTIVITY_CHANGED, json(&Active { chat: Id(chat.uuid()), agent: Id(agent.uuid()), working }))
}

/// Reads [`encode`] back; `None` for a kind that only newer nodes know.
pub(crate) fn decode(kind: u8, body: &[u8]) -> Result<Option<DomainEvent>, Malformed> {
    Ok(Some(match kind {
        MESSAGE_CREATED => {
            let Created { message, recipients } = serde_json::from_slice(body)?;
            let recipients = recipients.into_iter().map(|id| AgentId::new(id.0)).collect();
            DomainEvent::MessageCreated { message: message.try_into()?, recipients }
        }
        MESSAGE_UPDATED => {
            let OfMessage { message } = serde_json::from_slice(body)?;
            DomainEvent::MessageUpdated { message: message.try_into()? }
        }
        MESSAGE_DELETED => {
            let Deleted { chat, id } = serde_json::from_slice(body)?;
            DomainEvent::MessageDeleted { chat_id: ChatId::new(chat.0), id: MessageId::new(id.0) }
        }
        EVENT_CREATED => {
            let OfMessage { message } = serde_json::from_slice(body)?;
            DomainEvent::EventCreated { message: message.try_into()? }
        }
        AGENT_CREATED | AGENT_UPDATED | AGENT_DELETED => {
            let OfAgent { agent } = serde_json::from_slice(body)?;
            let agent = agent.try_into()?;
            match kind {
                AGENT_CREATED => DomainEvent::AgentCreated { agent },
                AGENT_UPDATED => DomainEvent::AgentUpdated { agent },
                _ => DomainEvent::AgentDeleted { agent },
            }
        }
        KEY_REVOKED => {
            let OfKey { key } = serde_json::from_slice(body)?;
            DomainEvent::KeyRevoked { key: ApiKeyId::new(key.0) }
        }
        TOKENS_ENDED => {
            let Ended { user, password_set_at } = serde_json::from_slice(body)?;
            DomainEvent::TokensEnded { user: UserId::new(user.0), password_set_at: password_set_at.into() }
        }
        SESSION_ENDED => {
            let OfSession { session } = serde_json::from_slice(body)?;
            DomainEvent::SessionEnded { session: SessionId::new(session.0) }
        }
        USER_MOVED => {
            let Moved { user } = serde_json::from_slice(body)?;
            DomainEvent::UserMoved { user: UserId::new(user.0) }
        }
        CONTACT_REQUEST_RECEIVED => {
            let OfRequest { request } = serde_json::from_slice(body)?;
            DomainEvent::ContactRequestReceived { request: request.try_into()? }
        }
        CONTACT_REQUEST_UPDATED => {
            let OfRequest { request } = serde_json::from_slice(body)?;
            DomainEvent::ContactRequestUpdated { request: request.try_into()? }
        }
        CONTACT_ADDED => {
            let OfContact { owner, contact } = serde_json::from_slice(body)?;
            let contact = ContactOf { owner: owner.into(), contact: contact.into() };
            DomainEvent::ContactAdded { contact }
        }
        CONTACT_REMOVED => {
            let NoContact { owner, id } = serde_json::from_slice(body)?;
            DomainEvent::ContactRemoved { owner: owner.into(), id: ContactId::new(id.0) }
        }
        _ => return decode_of_room(kind, body),
    }))
}

fn decode_of_room(kind: u8, body: &[u8]) -> Result<Option<DomainEvent>, Malformed> {
    Ok(Some(match kind {
        ROOM_ADDED => {
            let Added { to, chat, role } = serde_json::from_slice(body)?;
            let role = word(&role, Role::parse)?;
            DomainEvent::RoomAdded { to: to.into(), chat: chat.try_into()?, role }
        }
        ROOM_REMOVED => {
            let Gone { from, chat, removed_at } = serde_json::from_slice(body)?;
            let removed_at = removed_at.into();
            DomainEvent::RoomRemoved { from: from.into(), chat: chat.try_into()?, removed_at }
        }
        PARTICIPANT_ADDED | PARTICIPANT_REMOVED => {
            let OfParticipant { chat, participant } = serde_json::from_slice(body)?;
            let (chat_id, participant) = (ChatId::new(chat.0), participant.try_into()?);
            if kind == PARTICIPANT_ADDED {
                DomainEvent::ParticipantAdded { chat_id, participant }
            } else {
                DomainEvent::ParticipantRemoved { chat_id, participant }
            }
        }
        ROOM_DELETED => {
            let OfRoom { chat } = serde_json::from_slice(body)?;
            DomainEvent::RoomDeleted { chat_id: ChatId::new(chat.0) }
        }
        ROOM_TITLE_CHANGED => {
            let Titled { chat, title } = serde_json::from_slice(body)?;
            DomainEvent::RoomTitleChanged { chat_id: ChatId::new(chat.0), title: title.into_owned() }
        }
        ROOM_UPDATED => {
            let Updated { to, chat, details } = serde_json::from_slice(body)?;
            let to = to.into_iter().map(|id| UserId::new(id.0)).collect();
            DomainEvent::RoomUpdated { to, chat: chat.try_into()?, details: details.try_into()? }
        }
        ACTIVITY_CHANGED => {
            let Active { chat, agent, working } = serde_json::from_slice(body)?;
            let activity = AgentActivity { agent: AgentId::new(agent.0), working };
            DomainEvent::ActivityChanged { chat_id: ChatId::new(chat.0), activity }
        }
        _ => return Ok(None),
    }))
}
