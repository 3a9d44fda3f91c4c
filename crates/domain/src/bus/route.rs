//! Where events are told, and who wants to hear them there.

use serde::{Deserialize, Serialize};

use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId, ParticipantId, UserId};

/// Where events are told to other nodes: everything of one room, one user or one agent in its order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Address {
    /// What those hear who listen to a room.
    Room(ChatId),
    /// What a user hears of their own.
    User(UserId),
    /// What an agent hears of its own.
    Agent(AgentId),
    /// What every node has to know, whoever listens there.
    Everywhere,
}

/// What sockets of a node listen to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interest {
    /// A room, as whoever.
    Room(ChatId),
    /// A room, as a human. Where only agents listen, most of what is told in a room is of no interest.
    RoomAsHuman(ChatId),
    /// A user's rooms, contacts and agents.
    User(UserId),
    /// An agent's rooms and contacts.
    Agent(AgentId),
}

impl Interest {
    /// Where it is told; a node with this interest takes what comes there.
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

/// One way of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Where it is told.
    pub to: Address,
    /// Which interest it needs; `None` where every node has to know.
    pub wanted_by: Option<Interest>,
}

/// The ways of an event to other nodes.
pub fn routes(event: &DomainEvent) -> Vec<Route> {
    let to = |interest: Interest| vec![route(interest)];
    match event {
        // Agents hear of it only if it is for them.
        DomainEvent::MessageCreated { message, recipients } if recipients.is_empty() => {
            to(Interest::RoomAsHuman(message.chat_id))
        }
        DomainEvent::MessageCreated { message, .. } => to(Interest::Room(message.chat_id)),
        DomainEvent::MessageUpdated { message } | DomainEvent::EventCreated { message } => {
            to(Interest::RoomAsHuman(message.chat_id))
        }
        DomainEvent::MessageDeleted { chat_id, .. } | DomainEvent::ActivityChanged { chat_id, .. } => {
            to(Interest::RoomAsHuman(*chat_id))
        }
        DomainEvent::ParticipantAdded { chat_id, .. }
        | DomainEvent::ParticipantRemoved { chat_id, .. }
        | DomainEvent::RoomDeleted { chat_id }
        | DomainEvent::RoomTitleChanged { chat_id, .. } => to(Interest::Room(*chat_id)),
        DomainEvent::RoomAdded { to: who, .. } | DomainEvent::RoomRemoved { from: who, .. } => {
            to(Interest::of(*who))
        }
        DomainEvent::RoomUpdated { to: users, .. } => {
            users.iter().map(|user| route(Interest::User(*user))).collect()
        }
        DomainEvent::AgentCreated { agent } => to(Interest::User(agent.owner)),
        // They end sockets, or make untrue what is known of callers.
        DomainEvent::AgentUpdated { .. }
        | DomainEvent::AgentDeleted { .. }
        | DomainEvent::KeyRevoked { .. }
        | DomainEvent::TokensEnded { .. }
        | DomainEvent::SessionEnded { .. }
        | DomainEvent::UserMoved { .. } => vec![Route { to: Address::Everywhere, wanted_by: None }],
        DomainEvent::ContactRequestReceived { request } => to(Interest::of(request.recipient.id)),
        DomainEvent::ContactRequestUpdated { request } => {
            [request.requester.id, request.recipient.id].map(|side| route(Interest::of(side))).to_vec()
        }
        DomainEvent::ContactAdded { contact } => to(Interest::of(contact.owner)),
        DomainEvent::ContactRemoved { owner, .. } => to(Interest::of(*owner)),
    }
}

/// What of an event is sent to one of its addresses, where that is less than all: a user is told of a room, and not who
/// else is told. Else `None`; whoever takes it at several addresses tells it once.
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
        let activity = AgentActivity { agent, working: true };
        let told =
            |event| routes(&event).into_iter().map(|route| (route.to, route.wanted_by)).collect::<Vec<_>>();
        let humans = (Address::Room(chat), Some(Interest::RoomAsHuman(chat)));
        assert_eq!(told(DomainEvent::ActivityChanged { chat_id: chat, activity }), [humans]);
        let all = (Address::Room(chat), Some(Interest::Room(chat)));
        assert_eq!(told(DomainEvent::RoomDeleted { chat_id: chat }), [all]);
        let key = ApiKeyId::new(Uuid::from_u128(3));
        assert_eq!(told(DomainEvent::KeyRevoked { key }), [(Address::Everywhere, None)]);
        let id = crate::id::ContactId::new(Uuid::from_u128(4));
        let owner = ParticipantId::Agent(agent);
        let own = (Address::Agent(agent), Some(Interest::Agent(agent)));
        assert_eq!(told(DomainEvent::ContactRemoved { owner, id }), [own]);
    }
}
