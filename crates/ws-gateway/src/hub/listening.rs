//! The subscriptions of agents to chats, and redelivery to them.

use domain::delivery::{DeliveryKey, Listening};
use domain::message::Message;

use super::listeners::Listeners;
use super::{Hub, SubscriptionBasis};
use crate::payload;
use crate::topic::Topic;

/// A subscription of an agent, with a flag for a client that has read its whole queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    pub(crate) listening: Listening,
    pub(crate) is_idle: bool,
}

/// The outcome of a redelivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pushed {
    /// The message is in the queue of the socket.
    Queued,
    /// The message is in the queue, but its frame may prove too large to be sent, so no receipt is expected.
    MaybeQueued,
    /// The message is larger than an agent's client accepts.
    TooLarge,
    /// A socket took the message; the receipt is not stored yet.
    Acknowledged,
    /// The subscription has ended, or the queue of its socket is full.
    Unavailable,
}

impl Hub {
    /// The number of parts of [`Self::listening`].
    pub(crate) fn parts(&self) -> usize {
        self.shards.len()
    }

    /// One part of the subscriptions of agents to chats.
    pub(crate) fn listening(&self, part: usize) -> Vec<Listener> {
        let shard = self.shard_at(part);
        let mut all = Vec::new();
        for (topic, listeners) in shard.iter() {
            let Topic::ChatRoom(chat) = *topic else { continue };
            for listener in listeners.values() {
                let (Some(agent), SubscriptionBasis::Own { since }) = (listener.who.agent(), &listener.basis)
                else {
                    continue;
                };
                let listening = Listening { subscription: listener.ticket.0, agent, chat, since: *since };
                all.push(Listener { listening, is_idle: listener.inbox.is_idle() });
            }
        }
        all
    }

    /// Must precede each query for unacknowledged deliveries: receipts that the query may not see
    /// are kept until the next one.
    pub(crate) fn begin_redelivery_query(&self) {
        self.receipts.begin_redelivery_query();
    }

    /// Pushes a message to a subscription again.
    pub(crate) fn redeliver(&self, to: &Listening, message: &Message) -> Pushed {
        if self.receipts.holds(DeliveryKey { message: message.id, agent: to.agent }) {
            return Pushed::Acknowledged;
        }
        let payload = payload::message_for_agent(message, to.agent);
        let bytes = payload.json.len();
        if bytes >= payload::MAX_AGENT_BYTES {
            return Pushed::TooLarge;
        }
        let topic = Topic::ChatRoom(to.chat);
        let shard = self.shard(topic);
        let mut listeners = shard.get(&topic).into_iter().flat_map(Listeners::values);
        match listeners.find(|one| one.ticket.0 == to.subscription && one.who.agent() == Some(to.agent)) {
            Some(listener) if listener.inbox.offer(topic, listener.ticket, payload) => {
                self.count_redelivery();
                let surely = bytes + payload::MAX_FRAME_BYTES < payload::MAX_AGENT_BYTES;
                if surely { Pushed::Queued } else { Pushed::MaybeQueued }
            }
            _ => Pushed::Unavailable,
        }
    }
}
