//! Topics: what a client can join, and who may join it.

use domain::bus::Interest;
use domain::caller::Caller;
use domain::id::{AgentId, ChatId, ParticipantId, UserId, parse_uuid};

/// The topic of a subscription.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Topic {
    /// The messages of a chat.
    ChatRoom(ChatId),
    /// The participants of a chat.
    RoomParticipants(ChatId),
    /// The agents at work in a chat.
    RoomActivity(ChatId),
    /// The board of a chat.
    RoomTasks(ChatId),
    /// An agent's chats.
    AgentRooms(AgentId),
    /// An agent's contacts.
    AgentContacts(AgentId),
    /// Signals to an agent.
    AgentControl(AgentId),
    /// A user's chats.
    UserRooms(UserId),
    /// A user's contacts.
    UserContacts(UserId),
    /// A user's agents.
    UserAgents(UserId),
    /// A user's personal tasks.
    Tasks(UserId),
}

/// The meaning of a topic's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopicName {
    /// A topic.
    Topic(Topic),
    /// A known pattern with a malformed id.
    Closed,
    /// No such pattern.
    Unmatched,
}

/// The access rule of a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopicAccess {
    /// Granted to this caller.
    Granted,
    /// Denied to this caller.
    Denied,
    /// Granted if the caller takes part in the chat or owns an agent that does.
    Participant(ChatId),
}

impl Topic {
    /// Parses the text of a topic; ids can be in upper or lower case.
    pub fn parse(text: &str) -> TopicName {
        let Some((pattern, id)) = text.split_once(':') else { return TopicName::Unmatched };
        let id = parse_uuid(id);
        let topic = match pattern {
            "chat_room" => id.map(|id| Self::ChatRoom(ChatId::new(id))),
            "room_participants" => id.map(|id| Self::RoomParticipants(ChatId::new(id))),
            "room_activity" => id.map(|id| Self::RoomActivity(ChatId::new(id))),
            "agent_rooms" => id.map(|id| Self::AgentRooms(AgentId::new(id))),
            "agent_contacts" => id.map(|id| Self::AgentContacts(AgentId::new(id))),
            "agent_control" => id.map(|id| Self::AgentControl(AgentId::new(id))),
            "user_rooms" => id.map(|id| Self::UserRooms(UserId::new(id))),
            "user_contacts" => id.map(|id| Self::UserContacts(UserId::new(id))),
            "user_agents" => id.map(|id| Self::UserAgents(UserId::new(id))),
            "tasks" => id.map(|id| Self::Tasks(UserId::new(id))),
            "room_tasks" => id.map(|id| Self::RoomTasks(ChatId::new(id))),
            _ => return TopicName::Unmatched,
        };
        topic.map_or(TopicName::Closed, TopicName::Topic)
    }

    /// The access of `caller` to the topic.
    pub fn access(self, caller: Caller) -> TopicAccess {
        let own_agent = |id| matches!(caller, Caller::Agent(agent) if agent.agent == id);
        let own_user = |id| matches!(caller, Caller::User(user) if user.user == id);
        let owned = |own| if own { TopicAccess::Granted } else { TopicAccess::Denied };
        match self {
            Self::ChatRoom(chat) | Self::RoomParticipants(chat) | Self::RoomTasks(chat) => {
                TopicAccess::Participant(chat)
            }
            Self::RoomActivity(chat) => match caller {
                Caller::User(_) => TopicAccess::Participant(chat),
                Caller::Agent(_) => TopicAccess::Denied,
            },
            Self::AgentRooms(id) | Self::AgentContacts(id) | Self::AgentControl(id) => owned(own_agent(id)),
            Self::UserRooms(id) | Self::UserContacts(id) | Self::UserAgents(id) | Self::Tasks(id) => {
                owned(own_user(id))
            }
        }
    }

    /// The chat of the topic, if it has one.
    pub fn chat(self) -> Option<ChatId> {
        match self {
            Self::ChatRoom(chat)
            | Self::RoomParticipants(chat)
            | Self::RoomActivity(chat)
            | Self::RoomTasks(chat) => Some(chat),
            _ => None,
        }
    }

    /// The events that this node needs from others while a human or an agent is subscribed.
    pub fn interests(self, is_human: bool) -> impl Iterator<Item = Interest> {
        let both = match self {
            Self::ChatRoom(chat)
            | Self::RoomParticipants(chat)
            | Self::RoomActivity(chat)
            | Self::RoomTasks(chat) => {
                [Some(Interest::Room(chat)), is_human.then_some(Interest::RoomAsHuman(chat))]
            }
            Self::AgentRooms(agent) | Self::AgentContacts(agent) | Self::AgentControl(agent) => {
                [Some(Interest::Agent(agent)), None]
            }
            Self::UserRooms(user) | Self::UserContacts(user) | Self::UserAgents(user) => {
                [Some(Interest::User(user)), None]
            }
            // It has no events.
            Self::Tasks(_) => [None, None],
        };
        both.into_iter().flatten()
    }

    /// The topic of the rooms of a user or agent.
    pub fn rooms_of(who: ParticipantId) -> Self {
        match who {
            ParticipantId::User(user) => Self::UserRooms(user),
            ParticipantId::Agent(agent) => Self::AgentRooms(agent),
        }
    }

    /// The topic of the contacts of a user or agent.
    pub fn contacts_of(who: ParticipantId) -> Self {
        match who {
            ParticipantId::User(user) => Self::UserContacts(user),
            ParticipantId::Agent(agent) => Self::AgentContacts(agent),
        }
    }

    /// The topics of a chat.
    pub fn of_chat(chat: ChatId) -> [Self; 4] {
        [Self::ChatRoom(chat), Self::RoomParticipants(chat), Self::RoomActivity(chat), Self::RoomTasks(chat)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::caller::{AgentCaller, UserCaller};
    use domain::id::OrganizationId;
    use uuid::Uuid;

    const ID: &str = "0190c5a4-0000-7000-8000-00000000000a";

    fn own() -> Uuid {
        parse_uuid(ID).unwrap()
    }

    fn agent(id: u128) -> Caller {
        agent_named(Uuid::from_u128(id))
    }

    fn agent_named(id: Uuid) -> Caller {
        let organization = OrganizationId::new(own());
        Caller::Agent(AgentCaller {
            agent: AgentId::new(id),
            owner: UserId::new(own()),
            organization,
            claims: domain::delivery::Claims::Shared,
        })
    }

    fn user(id: Uuid) -> Caller {
        Caller::User(UserCaller { user: UserId::new(id), organization: OrganizationId::new(own()) })
    }

    #[test]
    fn texts() {
        let room = Topic::ChatRoom(ChatId::new(own()));
        assert_eq!(Topic::parse(&format!("chat_room:{ID}")), TopicName::Topic(room));
        assert_eq!(Topic::parse(&format!("chat_room:{}", ID.to_uppercase())), TopicName::Topic(room));
        for closed in ["chat_room:not-a-uuid", "agent_rooms:", "room_tasks:1", &format!("tasks:{{{ID}}}")] {
            assert_eq!(Topic::parse(closed), TopicName::Closed, "{closed}");
        }
        for unmatched in ["", "nonsense:1", "chat_room", "phoenix", &format!("x_chat_room:{ID}")] {
            assert_eq!(Topic::parse(unmatched), TopicName::Unmatched, "{unmatched}");
        }
    }

    #[test]
    fn own_topics_are_for_their_owner_only() {
        let (user, stranger, this_agent) = (user(own()), user(Uuid::from_u128(3)), agent_named(own()));
        for pattern in ["agent_rooms", "agent_contacts", "agent_control"] {
            let TopicName::Topic(topic) = Topic::parse(&format!("{pattern}:{ID}")) else {
                panic!("{pattern}")
            };
            assert_eq!(topic.access(this_agent), TopicAccess::Granted, "{pattern}");
            assert_eq!(topic.access(agent(4)), TopicAccess::Denied, "{pattern}");
            assert_eq!(topic.access(user), TopicAccess::Denied, "{pattern}: not even the same id as a user");
        }
        for pattern in ["user_rooms", "user_contacts", "user_agents", "tasks"] {
            let TopicName::Topic(topic) = Topic::parse(&format!("{pattern}:{ID}")) else {
                panic!("{pattern}")
            };
            assert_eq!(topic.access(user), TopicAccess::Granted, "{pattern}");
            assert_eq!(topic.access(stranger), TopicAccess::Denied, "{pattern}");
            assert_eq!(topic.access(this_agent), TopicAccess::Denied, "{pattern}");
        }
    }

    #[test]
    fn rooms_are_for_participants_and_indicators_for_humans() {
        let chat = ChatId::new(own());
        let user = user(Uuid::from_u128(3));
        assert_eq!(Topic::ChatRoom(chat).access(agent(4)), TopicAccess::Participant(chat));
        assert_eq!(Topic::RoomParticipants(chat).access(user), TopicAccess::Participant(chat));
        for caller in [user, agent(4)] {
            assert_eq!(Topic::RoomTasks(chat).access(caller), TopicAccess::Participant(chat));
        }
        assert_eq!(Topic::RoomActivity(chat).access(user), TopicAccess::Participant(chat));
        assert_eq!(Topic::RoomActivity(chat).access(agent(4)), TopicAccess::Denied);
    }
}
