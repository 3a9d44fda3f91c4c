//! The claim of a live socket: taken before the upgrade, released at the end.

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

/// How long the reply to a client that leaves is delayed at most, until other nodes know of it.
const LONGEST_FAREWELL: Duration = Duration::from_secs(1);

/// Why a socket cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClaimRefused {
    /// The agent was deleted, the caller disabled, the key revoked, or the token ended, after the caller was
    /// authenticated.
    Ended,
    /// The agent has a live socket.
    Conflict,
    /// The caller has too many sockets.
    TooMany,
    /// The server is shutting down.
    Stopping,
    /// The store did not answer the claim of the agent.
    Unavailable,
}

/// The claim of a live socket; released when it is dropped.
pub(crate) struct SocketClaim {
    pub(super) hub: Arc<Hub>,
    /// The caller of the socket.
    pub(crate) caller: Caller,
    /// The credential that opened the socket.
    pub(super) presented: Presented,
    pub(super) id: SocketId,
    pub(super) inbox: Inbox,
    pub(super) quota: Arc<CallerQuota>,
    /// Counts the connection; moved to the body of its response.
    pub(crate) slot: Option<ConnectionSlot>,
}

impl SocketClaim {
    /// Subscribes to a topic: its events arrive from now on. A socket has one subscription per
    /// topic, so an earlier one is replaced.
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

    /// Applies the caller's access to the topic's chat as read from the store, with the last
    /// sequence. Ends the subscription at once if the access no longer holds.
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

    /// Ends this subscription.
    pub(crate) fn unsubscribe(&self, topic: Topic, ticket: Ticket) {
        let mut shard = self.hub.shard(topic);
        let Some(listeners) = shard.get_mut(&topic) else { return };
        if listeners.get_mut(self.id).is_some_and(|listener| listener.ticket == ticket) {
            listeners.remove(self.id);
        }
        self.hub.vacate(&mut shard, topic);
    }

    /// Releases the claim, so that another socket can take it.
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

    /// Resolves when other nodes see the claim as released, or shortly after.
    pub(crate) async fn is_free_everywhere(&self) {
        if let Some(claim_queue) = self.hub.claim_queue.get() {
            // A store that does not answer must not delay the close for long.
            let _ = timeout(LONGEST_FAREWELL, claim_queue.written()).await;
        }
    }

    /// Returns whether there are other nodes.
    pub(crate) fn is_of_several(&self) -> bool {
        self.hub.claim_queue.get().is_some()
    }
}

impl Drop for SocketClaim {
    fn drop(&mut self) {
        self.release(Departure::Dropped);
    }
}
