//! Routing: the topics and sockets that receive each event.

use domain::account::Agent;
use domain::chat::{Chat, Participant, Role};
use domain::contact::{ContactOf, ContactRequest};
use domain::event::DomainEvent;
use domain::id::{ChatId, ParticipantId};
use domain::ports::{EventPublisher, Presence};

use super::{Hub, Listener, Person};
use crate::payload;
use crate::topic::Topic;

impl EventPublisher for Hub {
    fn publish(&self, event: DomainEvent) {
        let _step = measure::step("push");
        match event {
            DomainEvent::MessageCreated { message, recipients } => {
                self.message_created(&message, &recipients);
            }
            DomainEvent::MessageUpdated { message } => {
                self.tell_users(Topic::ChatRoom(message.chat_id), || payload::message_updated(&message));
            }
            DomainEvent::MessageDeleted { chat_id, id } => {
                self.tell_users(Topic::ChatRoom(chat_id), || payload::message_deleted(chat_id, id));
            }
            DomainEvent::EventCreated { message } => {
                let make = || payload::message_for_user("event_created", &message);
                self.tell_users(Topic::ChatRoom(message.chat_id), make);
            }
            DomainEvent::RoomAdded { to, chat, role } => {
                self.record_join(to, chat.id);
                self.tell_entered(to, &chat, role);
            }
            DomainEvent::RoomRemoved { from, chat, removed_at } => {
                self.forget_join(from, chat.id);
                self.tell(rooms_of(from), || payload::room_removed(&chat, removed_at));
            }
            DomainEvent::ParticipantAdded { chat_id, participant } => {
                self.participant_added(chat_id, &participant);
            }
            DomainEvent::ParticipantRemoved { chat_id, participant } => {
                self.participant_removed(chat_id, &participant);
            }
            DomainEvent::RoomDeleted { chat_id } => {
                self.tell(Topic::RoomParticipants(chat_id), || payload::room_deleted(chat_id));
                self.end(chat_id, |_| true);
            }
            DomainEvent::RoomTitleChanged { chat_id, title } => {
                self.tell(Topic::RoomParticipants(chat_id), || payload::title_changed(chat_id, &title));
            }
            DomainEvent::AgentCreated { agent } => self.agent_changed("agent_created", &agent),
            DomainEvent::AgentUpdated { agent } => self.agent_changed("agent_updated", &agent),
            DomainEvent::AgentDeleted { agent } => {
                self.agent_changed("agent_deleted", &agent);
                self.end_agent(agent.id);
            }
            DomainEvent::KeyRevoked { key } => self.end_key(key),
            DomainEvent::TokensEnded { user, password_set_at } => self.end_tokens(user, password_set_at),
            DomainEvent::SessionEnded { session } => self.end_session(session),
            DomainEvent::UserMoved { user } => self.end_all_tokens(user),
            DomainEvent::ContactRequestReceived { request } => self.request_received(&request),
            DomainEvent::ContactRequestUpdated { request } => self.request_updated(&request),
            DomainEvent::ContactAdded { contact: ContactOf { owner, contact } } => {
                self.tell(contacts_of(owner), || payload::contact_added(&contact));
            }
            DomainEvent::ContactRemoved { owner, id } => {
                self.tell(contacts_of(owner), || payload::contact_removed(id));
            }
            DomainEvent::RoomUpdated { to, chat, details } => {
                for user in to {
                    self.tell(Topic::UserRooms(user), || payload::room_updated(&chat, &details));
                }
            }
            DomainEvent::ActivityChanged { chat_id, activity } => {
                self.tell_users(Topic::RoomActivity(chat_id), || payload::activity(chat_id, activity));
            }
        }
    }

    fn is_heard(&self, chat: ChatId) -> bool {
        let topic = Topic::ChatRoom(chat);
        let is_human = |listener: &Listener| listener.who.user().is_some();
        self.shard(topic).get(&topic).is_some_and(|listeners| listeners.values().any(is_human))
    }
}

impl Hub {
    fn participant_added(&self, chat: ChatId, participant: &Participant) {
        self.note_change(Some(chat));
        self.joined(chat, participant);
        self.watch().came(chat, Person::of(participant));
        self.tell_added(chat, participant);
    }

    pub(super) fn tell_added(&self, chat: ChatId, participant: &Participant) {
        let online = || self.is_there(participant.id, participant.is_external);
        self.tell(Topic::RoomParticipants(chat), || payload::participant_added(participant, online()));
    }

    fn participant_removed(&self, chat: ChatId, participant: &Participant) {
        self.note_change(Some(chat));
        self.tell_removed(chat, participant);
        self.left(chat, participant.id);
        self.watch().left(chat, participant.id);
    }

    pub(super) fn tell_removed(&self, chat: ChatId, participant: &Participant) {
        self.tell(Topic::RoomParticipants(chat), || payload::participant_removed(participant));
    }

    pub(super) fn tell_entered(&self, who: ParticipantId, chat: &Chat, role: Role) {
        self.tell(rooms_of(who), || payload::room_added(chat, role));
    }

    pub(super) fn is_listening_for_rooms(&self, who: ParticipantId) -> bool {
        let topic = rooms_of(who);
        self.shard(topic).contains_key(&topic)
    }

    fn agent_changed(&self, event: &'static str, agent: &Agent) {
        self.tell(Topic::UserAgents(agent.owner), || payload::agent(event, agent));
    }

    fn request_received(&self, request: &ContactRequest) {
        self.tell(contacts_of(request.recipient.id), || payload::contact_request_received(request));
    }

    fn request_updated(&self, request: &ContactRequest) {
        for side in [request.requester.id, request.recipient.id] {
            self.tell(contacts_of(side), || payload::contact_request_updated(request));
        }
    }
}

fn rooms_of(who: ParticipantId) -> Topic {
    match who {
        ParticipantId::User(user) => Topic::UserRooms(user),
        ParticipantId::Agent(agent) => Topic::AgentRooms(agent),
    }
}

fn contacts_of(who: ParticipantId) -> Topic {
    match who {
        ParticipantId::User(user) => Topic::UserContacts(user),
        ParticipantId::Agent(agent) => Topic::AgentContacts(agent),
    }
}
