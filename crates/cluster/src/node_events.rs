//! Events of other nodes.
//!
//! They can arrive late and out of order. They are pushed to subscribers, but never change who may
//! subscribe: a participant that was added according to an event may have been removed since. The
//! chat is stale until its subscriptions have been compared with the store ([`Hub::revalidate`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::activity::{ActivityService, ReportedWork, WorkingAgent};
use domain::event::DomainEvent;
use domain::id::ChatId;
use domain::node::Entrant;
use domain::ports::{Clock, EventPublisher};
use ws_gateway::Hub;
use ws_gateway::topic::Topic;

use crate::recent_joins::RecentJoins;
use crate::revalidator::StaleChats;

/// The events of a node in a cluster, on their way to its sockets. As a publisher, it takes those
/// that the node itself has made.
pub struct NodeEvents {
    hub: Arc<Hub>,
    clock: Arc<dyn Clock>,
    stale_chats: Arc<StaleChats>,
    recent_joins: Mutex<RecentJoins>,
}

/// Receives the events of other nodes.
pub struct RemoteEventSink {
    events: Arc<NodeEvents>,
    activity: Arc<ActivityService>,
}

impl NodeEvents {
    /// Pushes events to the sockets of `hub`.
    pub fn new(hub: Arc<Hub>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let (stale_chats, recent_joins) = Default::default();
        Arc::new(Self { hub, clock, stale_chats, recent_joins })
    }

    /// The receiver of the events of other nodes.
    pub fn of_others(self: &Arc<Self>, activity: Arc<ActivityService>) -> RemoteEventSink {
        RemoteEventSink { events: self.clone(), activity }
    }

    /// The hub that has the sockets.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Handles a join that the store lists: sends `room_added` unless it was sent, and marks the
    /// chat as stale if there are subscriptions to it.
    pub(crate) fn apply_join(&self, entrant: Entrant) {
        let Entrant { entered_at, who, chat, role } = entrant;
        let chat_id = chat.id;
        let is_for_here = self.hub.has_subscribers(Topic::rooms_of(who));
        let has_chat_subscribers =
            Topic::of_chat(chat_id).into_iter().any(|topic| self.hub.has_subscribers(topic));
        if !(is_for_here || has_chat_subscribers) || self.recent_joins().was_sent(who, chat_id, entered_at) {
            return;
        }
        if is_for_here {
            self.hub.publish(DomainEvent::RoomAdded { to: who, owner: None, chat, role });
        }
        if has_chat_subscribers {
            self.stale_chats.add(chat_id, Duration::ZERO);
        }
        self.recent_joins().record(who, chat_id, entered_at, self.clock.now());
    }

    /// The chats whose participants have changed according to other nodes.
    pub(crate) fn stale_chats(&self) -> Arc<StaleChats> {
        self.stale_chats.clone()
    }

    fn recent_joins(&self) -> MutexGuard<'_, RecentJoins> {
        self.recent_joins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventPublisher for NodeEvents {
    fn publish(&self, event: DomainEvent) {
        match &event {
            DomainEvent::RoomAdded { to, chat, .. } => {
                let now = self.clock.now();
                self.recent_joins().record(*to, chat.id, now, now);
            }
            DomainEvent::RoomRemoved { from, chat, .. } => self.recent_joins().forget(*from, chat.id),
            _ => {}
        }
        self.hub.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.hub.has_human_subscribers(chat)
    }
}

impl EventPublisher for RemoteEventSink {
    fn publish(&self, event: DomainEvent) {
        let Self { events, activity } = self;
        let chat = match &event {
            DomainEvent::ParticipantAdded { chat_id, participant } => {
                // Revalidation corrects it if it is outdated.
                events.hub.added_elsewhere(*chat_id, participant);
                *chat_id
            }
            DomainEvent::ParticipantRemoved { chat_id, participant } => {
                events.hub.push_removed(*chat_id, participant);
                *chat_id
            }
            DomainEvent::ActivityChanged { chat_id, activity: reported }
            | DomainEvent::ActivityReported { chat_id, activity: reported } => {
                // An older node does not name the execution, and reports changes only.
                let Some(execution) = reported.execution else { return events.publish(event) };
                let who = WorkingAgent { agent: reported.agent, execution };
                // An older node does not say what the agent is doing.
                let doing = reported.working.then(|| reported.doing.clone().unwrap_or_default());
                return activity.observe(*chat_id, who, ReportedWork(doing), &*events.hub);
            }
            // Other events do not change who may subscribe, so late ones can be forwarded.
            _ => return events.publish(event),
        };
        events.stale_chats.add(chat, Duration::ZERO);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.events.has_human_subscribers(chat)
    }
}

#[cfg(test)]
mod tests;
