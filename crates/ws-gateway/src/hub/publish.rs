//! Routing: the topics and sockets that receive each event.

use domain::account::Agent;
use domain::change::Change;
use domain::contact::{ContactOf, ContactRequest};
use domain::control::ControlMode;
use domain::event::DomainEvent;
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::ports::EventPublisher;

use super::Hub;
use crate::payload;
use crate::topic::Topic;

impl EventPublisher for Hub {
    fn publish(&self, event: DomainEvent) {
        let _step = measure::step("push");
        let topics = &self.subscriptions;
        match event {
            DomainEvent::MessageCreated { message, recipients } => {
                self.message_created(&message, &recipients);
            }
            DomainEvent::MessageUpdated { message } => {
                topics.push_to_users(Topic::ChatRoom(message.chat_id), || payload::message_updated(&message));
            }
            DomainEvent::MessageDeleted { chat_id, id } => {
                topics.push_to_users(Topic::ChatRoom(chat_id), || payload::message_deleted(chat_id, id));
            }
            DomainEvent::EventCreated { message } => {
                let make = || payload::message_for_user("event_created", &message);
                topics.push_to_users(Topic::ChatRoom(message.chat_id), make);
            }
            DomainEvent::RoomAdded { to, chat, role } => {
                topics.push(Topic::rooms_of(to), || payload::room_added(&chat, role));
            }
            DomainEvent::RoomRemoved { from, chat, removed_at } => {
                let make = || payload::room_removed(&chat, removed_at);
                topics.push(Topic::rooms_of(from), make);
            }
            DomainEvent::ParticipantAdded { chat_id, participant } => {
                self.subscriptions.add(chat_id, &participant);
                self.push_added(chat_id, &participant);
            }
            DomainEvent::ParticipantRemoved { chat_id, participant } => {
                self.push_removed(chat_id, &participant);
                self.subscriptions.remove(chat_id, participant.id);
            }
            DomainEvent::RoomDeleted { chat_id } => {
                topics.push(Topic::RoomParticipants(chat_id), || payload::room_deleted(chat_id));
                self.subscriptions.end_chat(chat_id);
            }
            DomainEvent::RoomTitleChanged { chat_id, title } => {
                topics.push(Topic::RoomParticipants(chat_id), || payload::title_changed(chat_id, &title));
            }
            DomainEvent::AgentCreated { agent } => self.agent_changed("agent_created", &agent),
            DomainEvent::AgentUpdated { agent } => self.agent_changed("agent_updated", &agent),
            DomainEvent::AgentDeleted { agent } => {
                self.agent_changed("agent_deleted", &agent);
                // The removals from its chats follow as events of their own.
                self.open_sockets.follow(Change::AgentDeleted(agent.id));
            }
            DomainEvent::KeyRevoked { key } => self.open_sockets.follow(Change::KeyRevoked(key)),
            DomainEvent::TokensEnded { user, password_set_at } => {
                self.open_sockets.follow(Change::TokensEnded { user, password_set_at });
            }
            DomainEvent::SessionEnded { session } => self.open_sockets.follow(Change::SessionEnded(session)),
            DomainEvent::UserMoved { user } => self.open_sockets.follow(Change::UserMoved(user)),
            DomainEvent::ContactRequestReceived { request } => self.request_received(&request),
            DomainEvent::ContactRequestUpdated { request } => self.request_updated(&request),
            DomainEvent::ContactAdded { contact: ContactOf { owner, contact } } => {
                topics.push(Topic::contacts_of(owner), || payload::contact_added(&contact));
            }
            DomainEvent::ContactRemoved { owner, id } => {
                topics.push(Topic::contacts_of(owner), || payload::contact_removed(id));
            }
            DomainEvent::RoomUpdated { to, chat, details } => {
                for user in to {
                    topics.push(Topic::UserRooms(user), || payload::room_updated(&chat, &details));
                }
            }
            DomainEvent::RoomRead { by, chat_id, unread } => {
                topics.push(Topic::UserRooms(by), || payload::room_read(chat_id, &unread));
            }
            DomainEvent::AgentControlled { agent, signal } => {
                if let (ControlMode::Play, Some(chat), true) = (signal.mode, signal.chat, signal.is_change) {
                    self.note_resumed(chat);
                }
                topics.push(Topic::AgentControl(agent), || payload::agent_control(agent, &signal));
            }
            DomainEvent::ActivityChanged { chat_id, activity } => {
                topics.push_to_users(Topic::RoomActivity(chat_id), || payload::activity(chat_id, activity));
            }
            // The sockets of this node know it.
            DomainEvent::ActivityReported { .. } => {}
        }
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.subscriptions.has(Topic::ChatRoom(chat), |who| who.user().is_some())
    }
}

impl Hub {
    fn message_created(&self, message: &Message, recipients: &[AgentId]) {
        let topic = Topic::ChatRoom(message.chat_id);
        self.subscriptions.push_to_users(topic, || payload::message_for_user("message_created", message));
        // The state of a new delivery is the same for every recipient.
        let Some(reader) = recipients.first() else { return };
        let addressed = |who: ParticipantId| who.agent().is_some_and(|agent| recipients.contains(&agent));
        self.subscriptions.push_to(topic, addressed, || {
            let payload = payload::message_for_agent(message, *reader);
            (payload.json.len() < payload::MAX_AGENT_BYTES).then_some(payload)
        });
    }

    fn agent_changed(&self, event: &'static str, agent: &Agent) {
        self.subscriptions.push(Topic::UserAgents(agent.owner), || payload::agent(event, agent));
    }

    fn request_received(&self, request: &ContactRequest) {
        self.subscriptions
            .push(Topic::contacts_of(request.recipient.id), || payload::contact_request_received(request));
    }

    fn request_updated(&self, request: &ContactRequest) {
        for side in [request.requester.id, request.recipient.id] {
            self.subscriptions.push(Topic::contacts_of(side), || payload::contact_request_updated(request));
        }
    }
}
