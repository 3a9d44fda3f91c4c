//! The right to be a live socket: taken before the upgrade, given up at the end.

use std::sync::Arc;
use std::time::Duration;

use domain::account::Presented;
use domain::caller::Caller;
use domain::chat::Entrance;
use tokio::time::timeout;

use super::quotas::{CallerQuota, ConnectionSlot};
use super::{Departure, Hub, Listener, SocketId, SubscriptionBasis};
use crate::inbox::{Inbox, SocketCommand, Ticket};
use crate::topic::Topic;

/// How long a client that says good-bye waits for its answer, at the most, until other nodes know that it goes.
const LONGEST_FAREWELL: Duration = Duration::from_secs(1);

/// Why a socket cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClaimRefused {
    /// The agent was deleted, the caller disabled, the key revoked, or the token ended, after the caller was
    /// authenticated.
    Ended,
    /// The agent has one.
    Conflict,
    /// The caller has too many.
    TooMany,
    /// The server stops.
    Stopping,
    /// The store does not say whether the agent may have one.
    Unavailable,
}

/// The right to be a live socket; given up when it is dropped.
pub(crate) struct SocketClaim {
    pub(super) hub: Arc<Hub>,
    /// Whose socket it is.
    pub(crate) caller: Caller,
    /// What it was opened with.
    pub(super) presented: Presented,
    pub(super) id: SocketId,
    pub(super) inbox: Inbox,
    pub(super) quota: Arc<CallerQuota>,
    /// Counts the connection; for the body of its response.
    pub(crate) slot: Option<ConnectionSlot>,
}

impl SocketClaim {
    /// From now on events of the topic come in. A socket listens to a topic once: an earlier
    /// subscription ends with the new one.
    pub(crate) fn subscribe(&self, topic: Topic) -> Ticket {
        let ticket = Ticket(self.hub.number());
        let (who, inbox, basis) = (self.caller.participant(), self.inbox.clone(), SubscriptionBasis::asked());
        let held = self.hub.hold(topic, who);
        let listener = Listener { who, ticket, inbox, basis, _topic: self.topic_slot(), _held: held };
        let mut shard = self.hub.shard(topic);
        let listeners = shard.entry(topic).or_default();
        if let (true, Topic::RoomParticipants(chat)) = (listeners.is_empty(), topic) {
            self.hub.watch().begin(chat);
        }
        listeners.insert(self.id, listener);
        ticket
    }

    /// The store has told how the caller stands to the topic's room, and how far it is written. The
    /// subscription ends at once if that no longer holds.
    pub(crate) fn settle(&self, topic: Topic, ticket: Ticket, entrance: &Entrance) {
        let mut shard = self.hub.shard(topic);
        let Some(listeners) = shard.get_mut(&topic) else { return };
        let Some(listener) = listeners.get_mut(self.id).filter(|one| one.ticket == ticket) else { return };
        listener.basis.settle(entrance);
        if listener.basis.is_over() {
            listeners.remove(self.id);
            self.inbox.order(SocketCommand::End { topic, ticket });
            self.hub.vacate(&mut shard, topic);
        }
    }

    /// Stops the events of this subscription.
    pub(crate) fn unsubscribe(&self, topic: Topic, ticket: Ticket) {
        let mut shard = self.hub.shard(topic);
        let Some(listeners) = shard.get_mut(&topic) else { return };
        if listeners.get_mut(self.id).is_some_and(|listener| listener.ticket == ticket) {
            listeners.remove(self.id);
        }
        self.hub.vacate(&mut shard, topic);
    }

    /// Gives the place up, so that a newcomer finds it free.
    pub(crate) fn release(&self, departure: Departure) {
        let who = self.caller.participant();
        let turn = self.hub.turn(who);
        let mut sockets = self.hub.sockets();
        if sockets.inboxes.remove(&self.id).is_none() {
            return;
        }
        sockets.stand_down(self.caller.accountable_user(), self.id);
        sockets.opened_with.remove(self.presented, self.id);
        let last = match self.caller {
            Caller::Agent(agent) => {
                let live = sockets.agents.get(&agent.agent) == Some(&self.id);
                if live {
                    sockets.agents.remove(&agent.agent);
                    sockets.numbers.remove(&agent.agent);
                }
                live
            }
            Caller::User(user) => {
                let open = sockets.users.remove(&user.user).unwrap_or_default();
                if open > 1 {
                    sockets.users.insert(user.user, open - 1);
                }
                open == 1
            }
        };
        let is_news = last && sockets.depart(self.caller, departure, self.hub.clock.steady());
        drop(sockets);
        if last {
            self.hub.note(who);
        }
        if is_news {
            self.hub.tell_presence(who, false);
        }
        drop(turn);
    }

    /// Ready when other nodes can find it free as well, or soon after.
    pub(crate) async fn is_free_everywhere(&self) {
        if let Some(claim_queue) = self.hub.claim_queue.get() {
            // Nobody is held up for long by a store that does not answer.
            let _ = timeout(LONGEST_FAREWELL, claim_queue.written()).await;
        }
    }

    /// Whether there are other nodes.
    pub(crate) fn is_of_several(&self) -> bool {
        self.hub.claim_queue.get().is_some()
    }
}

impl Drop for SocketClaim {
    fn drop(&mut self) {
        self.release(Departure::Dropped);
    }
}
