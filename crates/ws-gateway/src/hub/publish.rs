//! Routing: the topics and sockets that receive each event.

use domain::account::Agent;
use domain::change::Change;
use domain::chat::{Chat, Role};
use domain::contact::{ContactOf, ContactRequest};
use domain::control::ControlMode;
use domain::event::DomainEvent;
use domain::id::{AgentId, ChatId, ParticipantId, UserId};
use domain::message::Message;
use domain::ports::EventPublisher;
use domain::time::Timestamp;

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
                self.note_changed_room(message.chat_id);
                topics.push_to_users(Topic::ChatRoom(message.chat_id), || payload::message_updated(&message));
            }
            DomainEvent::MessageDeleted { chat_id, id } => {
                self.note_changed_room(chat_id);
                topics.push_to_users(Topic::ChatRoom(chat_id), || payload::message_deleted(chat_id, id));
            }
            DomainEvent::EventCreated { message } => {
                self.note_changed_room(message.chat_id);
                let make = || payload::message_for_user("event_created", &message);
                topics.push_to_users(Topic::ChatRoom(message.chat_id), make);
            }
            DomainEvent::RoomAdded { to, owner, chat, role } => self.room_added(to, owner, &chat, role),
            DomainEvent::RoomRemoved { from, chat, removed_at } => self.room_removed(from, &chat, removed_at),
            DomainEvent::ParticipantAdded { chat_id, participant } => {
                self.subscriptions.add(chat_id, &participant);
                self.push_added(chat_id, &participant);
            }
            DomainEvent::ParticipantUpdated { chat_id, participant } => {
                self.note_changed_room(chat_id);
                let make =
                    || payload::participant_updated(&participant, self.is_participant_present(&participant));
                topics.push_to_users(Topic::RoomParticipants(chat_id), make);
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
                self.note_changed_room(chat_id);
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
            DomainEvent::TaskCreated { task } => {
                topics.push(Topic::RoomTasks(task.chat), || payload::task("task_created", &task));
            }
            DomainEvent::TaskUpdated { task, .. } => {
                topics.push(Topic::RoomTasks(task.chat), || payload::task("task_updated", &task));
            }
            DomainEvent::BoardUpdated { board } => {
                topics.push(Topic::RoomTasks(board.chat), || payload::board_updated(&board));
            }
            DomainEvent::RoomRead { by, chat_id, unread } => {
                self.listed_rooms.note_mark(chat_id);
                topics.push(Topic::UserRooms(by), || payload::room_read(chat_id, &unread));
            }
            DomainEvent::AgentControlled { agent, signal } => {
                if let (ControlMode::Play, Some(chat), true) = (signal.mode, signal.chat, signal.is_change) {
                    self.note_resumed(chat);
                }
                topics.push(Topic::AgentControl(agent), || payload::agent_control(agent, &signal));
            }
            DomainEvent::ActivityChanged { chat_id, activity } => {
                self.note_changed_room(chat_id);
                topics.push_to_users(Topic::RoomActivity(chat_id), || payload::activity(chat_id, &activity));
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
    fn room_added(&self, to: ParticipantId, owner: Option<UserId>, chat: &Chat, role: Role) {
        if let Some(user) = to.user().or(owner) {
            self.list_rooms(user, [chat.id]);
            self.note_changed_room(chat.id);
        }
        self.subscriptions.push(Topic::rooms_of(to), || payload::room_added(chat, role));
    }

    fn room_removed(&self, from: ParticipantId, chat: &Chat, removed_at: Timestamp) {
        if let Some(user) = from.user() {
            self.unlist_room(user, chat.id);
        }
        self.subscriptions.push(Topic::rooms_of(from), || payload::room_removed(chat, removed_at));
    }

    fn message_created(&self, message: &Message, recipients: &[AgentId]) {
        let topic = Topic::ChatRoom(message.chat_id);
        self.note_changed_room(message.chat_id);
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
        let make = || payload::agent(event, agent, self.config.features);
        self.subscriptions.push(Topic::UserAgents(agent.owner), make);
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
