//! Routing between nodes: the addresses of an event, and the interests in it.

use serde::{Deserialize, Serialize};

use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId, ParticipantId, UserId};

/// The address of events for other nodes: the events of one chat, user, or agent are in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Address {
    /// Events for the subscribers of a chat.
    Room(ChatId),
    /// A user's own events.
    User(UserId),
    /// An agent's own events.
    Agent(AgentId),
    /// Events that every node needs.
    Everywhere,
}

/// The interest of a node's sockets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interest {
    /// A chat, for users and agents.
    Room(ChatId),
    /// A chat, for users. With agents only, most of its events are not needed.
    RoomAsHuman(ChatId),
    /// A user's chats, contacts, and agents.
    User(UserId),
    /// An agent's chats, contacts, and signals.
    Agent(AgentId),
}

impl Interest {
    /// The address of its events; a node with this interest receives them.
    pub const fn address(self) -> Address {
        match self {
            Self::Room(chat) | Self::RoomAsHuman(chat) => Address::Room(chat),
            Self::User(user) => Address::User(user),
            Self::Agent(agent) => Address::Agent(agent),
        }
    }

    const fn of(who: ParticipantId) -> Self {
        match who {
            ParticipantId::User(user) => Self::User(user),
            ParticipantId::Agent(agent) => Self::Agent(agent),
        }
    }
}

/// One route of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The address.
    pub to: Address,
    /// The interest that it needs; `None` if every node needs the event.
    pub wanted_by: Option<Interest>,
}

/// The routes of an event to other nodes.
pub fn routes(event: &DomainEvent) -> Vec<Route> {
    let to = |interest: Interest| vec![route(interest)];
    match event {
        // Agents only receive it as recipients.
        DomainEvent::MessageCreated { message, recipients } if recipients.is_empty() => {
            to(Interest::RoomAsHuman(message.chat_id))
        }
        DomainEvent::MessageCreated { message, .. } => to(Interest::Room(message.chat_id)),
        DomainEvent::MessageUpdated { message } | DomainEvent::EventCreated { message } => {
            to(Interest::RoomAsHuman(message.chat_id))
        }
        DomainEvent::MessageDeleted { chat_id, .. }
        | DomainEvent::ActivityChanged { chat_id, .. }
        | DomainEvent::ActivityReported { chat_id, .. }
        | DomainEvent::ParticipantUpdated { chat_id, .. } => to(Interest::RoomAsHuman(*chat_id)),
        DomainEvent::ParticipantAdded { chat_id, .. }
        | DomainEvent::ParticipantRemoved { chat_id, .. }
        | DomainEvent::RoomDeleted { chat_id }
        | DomainEvent::RoomTitleChanged { chat_id, .. } => to(Interest::Room(*chat_id)),
        DomainEvent::TaskCreated { task } | DomainEvent::TaskUpdated { task, .. } => {
            to(Interest::Room(task.chat))
        }
        DomainEvent::BoardUpdated { board } => to(Interest::Room(board.chat)),
        // The owner of an agent sees the chat, too.
        DomainEvent::RoomAdded { to: who, owner, .. } => {
            let owner = owner.map(Interest::User);
            [Some(Interest::of(*who)), owner].into_iter().flatten().map(route).collect()
        }
        DomainEvent::RoomRemoved { from: who, .. } => to(Interest::of(*who)),
        DomainEvent::RoomUpdated { to: users, .. } => {
            users.iter().map(|user| route(Interest::User(*user))).collect()
        }
        DomainEvent::RoomRead { by, .. } => to(Interest::User(*by)),
        DomainEvent::AgentCreated { agent } => to(Interest::User(agent.owner)),
        // They end sockets, or invalidate cached callers.
        DomainEvent::AgentUpdated { .. }
        | DomainEvent::AgentDeleted { .. }
        | DomainEvent::KeyRevoked { .. }
        | DomainEvent::TokensEnded { .. }
        | DomainEvent::SessionEnded { .. }
        | DomainEvent::UserMoved { .. } => vec![Route { to: Address::Everywhere, wanted_by: None }],
        DomainEvent::AgentControlled { agent, .. } => to(Interest::Agent(*agent)),
        DomainEvent::ContactRequestReceived { request } => to(Interest::of(request.recipient.id)),
        DomainEvent::ContactRequestUpdated { request } => {
            [request.requester.id, request.recipient.id].map(|side| route(Interest::of(side))).to_vec()
        }
        DomainEvent::ContactAdded { contact } => to(Interest::of(contact.owner)),
        DomainEvent::ContactRemoved { owner, .. } => to(Interest::of(*owner)),
    }
}

/// The part of an event for one of its addresses, if that is less than all: a user receives a
/// change of a chat without the other receivers. Else `None`; a node that receives the event at
/// several addresses publishes it once.
pub fn narrowed(event: &DomainEvent, to: Address) -> Option<DomainEvent> {
    match (event, to) {
        (DomainEvent::RoomUpdated { to: users, chat, details }, Address::User(user)) if users.len() > 1 => {
            let (chat, details) = (chat.clone(), details.clone());
            Some(DomainEvent::RoomUpdated { to: vec![user], chat, details })
        }
        _ => None,
    }
}

const fn route(interest: Interest) -> Route {
    Route { to: interest.address(), wanted_by: Some(interest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::AgentActivity;
    use crate::id::ApiKeyId;
    use uuid::Uuid;

    #[test]
    fn events_go_where_somebody_may_listen() {
        let chat = ChatId::new(Uuid::from_u128(1));
        let agent = AgentId::new(Uuid::from_u128(2));
        let activity = AgentActivity { agent, execution: None, working: true, doing: None };
        let addressed =
            |event| routes(&event).into_iter().map(|route| (route.to, route.wanted_by)).collect::<Vec<_>>();
        let humans = (Address::Room(chat), Some(Interest::RoomAsHuman(chat)));
        assert_eq!(addressed(DomainEvent::ActivityChanged { chat_id: chat, activity }), [humans]);
        let all = (Address::Room(chat), Some(Interest::Room(chat)));
        assert_eq!(addressed(DomainEvent::RoomDeleted { chat_id: chat }), [all]);
        let key = ApiKeyId::new(Uuid::from_u128(3));
        assert_eq!(addressed(DomainEvent::KeyRevoked { key }), [(Address::Everywhere, None)]);
        let id = crate::id::ContactId::new(Uuid::from_u128(4));
        let owner = ParticipantId::Agent(agent);
        let own = (Address::Agent(agent), Some(Interest::Agent(agent)));
        assert_eq!(addressed(DomainEvent::ContactRemoved { owner, id }), [own]);
    }
}
