//! Who listens to a room's messages as an agent, and pushing to them once more.

use domain::delivery::{DeliveryKey, Listening};
use domain::message::Message;

use super::listeners::Listeners;
use super::{Hub, Stay};
use crate::payload;
use crate::topic::Topic;

/// An agent that listens, and whether its client has read all that was meant for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    pub(crate) listening: Listening,
    pub(crate) is_idle: bool,
}

/// What became of a message that was to be pushed once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pushed {
    /// It is on its way.
    OnItsWay,
    /// It is on its way unless the whole frame is too large, so nothing is to be expected.
    Perhaps,
    /// It is larger than an agent's client would take.
    TooLarge,
    /// It was taken a moment ago; that is only not written down yet.
    Taken,
    /// The listener has gone, or enough waits for its client.
    NotNow,
}

impl Hub {
    /// How many parts [`Self::listening`] has.
    pub(crate) fn parts(&self) -> usize {
        self.shards.len()
    }

    /// The agents that listen to rooms, one part of them.
    pub(crate) fn listening(&self, part: usize) -> Vec<Listener> {
        let shard = self.shard_at(part);
        let mut all = Vec::new();
        for (topic, listeners) in shard.iter() {
            let Topic::ChatRoom(chat) = *topic else { continue };
            for listener in listeners.values() {
                let (Some(agent), Stay::Own { since }) = (listener.who.agent(), &listener.stay) else {
                    continue;
                };
                let listening = Listening { stay: listener.ticket.0, agent, chat, since: *since };
                all.push(Listener { listening, is_idle: listener.inbox.is_idle() });
            }
        }
        all
    }

    /// The store is about to be asked what is new for some who are [idle](Listener::is_idle): what
    /// they have taken is remembered until the next look.
    pub(crate) fn look_begins(&self) {
        self.taken.look_begins();
    }

    /// Pushes a message to a listener once more.
    pub(crate) fn push_again(&self, to: &Listening, message: &Message) -> Pushed {
        if self.taken.holds(DeliveryKey { message: message.id, agent: to.agent }) {
            return Pushed::Taken;
        }
        let payload = payload::message_for_agent(message, to.agent);
        let bytes = payload.json.len();
        if bytes >= payload::MAX_AGENT_BYTES {
            return Pushed::TooLarge;
        }
        let topic = Topic::ChatRoom(to.chat);
        let shard = self.shard(topic);
        let mut listeners = shard.get(&topic).into_iter().flat_map(Listeners::values);
        match listeners.find(|one| one.ticket.0 == to.stay && one.who.agent() == Some(to.agent)) {
            Some(listener) if listener.inbox.offer(topic, listener.ticket, payload) => {
                self.count_again();
                let surely = bytes + payload::MAX_FRAME_BYTES < payload::MAX_AGENT_BYTES;
                if surely { Pushed::OnItsWay } else { Pushed::Perhaps }
            }
            _ => Pushed::NotNow,
        }
    }
}
