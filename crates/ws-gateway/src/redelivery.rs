//! Redelivery of unacknowledged messages, in rounds over all subscriptions of agents.
//!
//! A round reads the unacknowledged deliveries from the store, for some hundreds of subscriptions
//! at a time, and [`RedeliverySchedule`] decides which are due. A subscription whose client has not
//! read its queue is left out, since the message may be in that queue.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use domain::delivery::{DeliveryKey, DeliveryService, Due, Listening, RedeliveryPolicy, RedeliverySchedule};
use domain::id::{ChatId, Sequence};
use domain::message::Message;
use domain::store::OnCommit;
use measure::Outage;
use tokio::time::{MissedTickBehavior, interval};

use crate::hub::{Hub, ListeningAgent};
use crate::payload::{self, MAX_AGENT_BYTES, MAX_FRAME_BYTES};

/// The subscriptions of one query.
const LISTENERS: usize = 256;

/// The chats whose newest messages one query reads.
const CHATS: usize = 1000;

/// The outcome of a redelivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pushed {
    /// The message is in the queue of the socket.
    Queued,
    /// The message is in the queue, but its frame may prove too large to be sent, so no acknowledgement is
    /// expected.
    MaybeQueued,
    /// The message is larger than an agent's client accepts.
    TooLarge,
    /// A socket took the message; the acknowledgement is not stored yet.
    Acknowledged,
    /// The subscription has ended, or the queue of its socket is full.
    Unavailable,
}

/// The background task that redelivers.
pub struct Redeliverer {
    hub: Arc<Hub>,
    deliveries: Arc<DeliveryService>,
    schedule: RedeliverySchedule,
    outage: Outage,
    /// Of this round: set if the store has answered, and if it has failed.
    answered: bool,
    failed: bool,
}

impl Redeliverer {
    /// Redelivers to the sockets of `hub`.
    pub fn new(hub: Arc<Hub>, deliveries: Arc<DeliveryService>, policy: RedeliveryPolicy) -> Self {
        let (schedule, outage) = (RedeliverySchedule::new(policy), Outage::default());
        Self { hub, deliveries, schedule, outage, answered: false, failed: false }
    }

    /// Runs until it is dropped, with two rounds in each [`RedeliveryPolicy::after`].
    pub async fn run(mut self) {
        let mut rounds = interval(self.schedule.policy().after / 2);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            self.round().await;
        }
    }

    /// Runs one round, and returns the number of messages that were pushed. Subscriptions for which
    /// the store failed are part of the next round, and do not stop this one.
    pub async fn round(&mut self) -> usize {
        let (resumed, mut newest) = (self.hub.take_resumed(), HashMap::new());
        if self.hub.take_pauses_changed() {
            self.schedule.search_all();
        }
        self.schedule.begin_round(self.hub.take_retried(), &resumed);
        let (mut idle, mut count) = (Vec::with_capacity(LISTENERS), 0);
        for part in 0..self.hub.parts() {
            let listening = self.hub.listening(part);
            let last = self.last_sequences(&listening).await;
            for mut listener in listening {
                if resumed.contains(&listener.listening.chat) {
                    listener.listening = self.restart_backlog(listener.listening, &mut newest).await;
                }
                if !listener.is_idle {
                    self.schedule.pass_over(&listener.listening);
                    continue;
                }
                let last = last.get(&listener.listening.chat).copied();
                if self.schedule.is_quiet(&listener.listening, last) {
                    continue;
                }
                idle.push(listener.listening);
                if idle.len() == LISTENERS {
                    count += self.push_due(std::mem::take(&mut idle)).await;
                }
            }
        }
        count += self.push_due(idle).await;
        self.schedule.end_round();
        let (answered, failed) = (std::mem::take(&mut self.answered), std::mem::take(&mut self.failed));
        if answered
            && !failed
            && let Some(lasted) = self.outage.ends()
        {
            tracing::info!(duration_ms = lasted.as_millis(), "redelivery available again");
        }
        if count > 0 {
            tracing::debug!(deliveries = count, "redelivered messages");
        }
        count
    }

    /// The newest messages of the chats of these listeners; of no chat, if the store fails.
    async fn last_sequences(&self, listening: &[ListeningAgent]) -> HashMap<ChatId, Sequence> {
        let chats = listening.iter().map(|one| one.listening.chat).collect::<HashSet<_>>();
        let mut last = HashMap::with_capacity(chats.len());
        for chats in chats.into_iter().collect::<Vec<_>>().chunks(CHATS) {
            // The search that follows reports the failure.
            last.extend(self.deliveries.last_sequences(chats.to_vec()).await.unwrap_or_default());
        }
        last
    }

    /// Treats what waits for an agent that plays again as backlog, as after a join. `newest` has the newest sequence
    /// of the chats that were read in this round.
    async fn restart_backlog(
        &mut self,
        listening: Listening,
        newest: &mut HashMap<ChatId, Sequence>,
    ) -> Listening {
        let since = match newest.get(&listening.chat) {
            Some(since) => *since,
            None => match self.deliveries.last_sequence(listening.agent, listening.chat).await {
                Ok(since) => *newest.entry(listening.chat).or_insert(since),
                // All of it is pushed at once.
                Err(_) => return listening,
            },
        };
        self.schedule.forget(listening.subscription);
        self.hub.restart_backlog(listening, since)
    }

    async fn push_due(&mut self, listening: Vec<Listening>) -> usize {
        if listening.is_empty() {
            return 0;
        }
        self.hub.acknowledgements().begin_redelivery_query();
        let asked = listening.clone();
        let all = match self.deliveries.due(&mut self.schedule, listening).await {
            Ok(all) => {
                self.answered = true;
                all
            }
            Err(error) => {
                self.failed = true;
                for one in &asked {
                    self.schedule.pass_over(one);
                }
                if self.outage.begins() {
                    tracing::warn!(error = ?error, "redelivery unavailable, retrying");
                }
                return 0;
            }
        };
        let mut count = 0;
        for due in all {
            let pushed = Arc::new(Mutex::new(Vec::new()));
            let (hub, to, outcome) = (self.hub.clone(), due.listening, pushed.clone());
            let push = OnCommit::new(move |messages: &Vec<Message>| {
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = push(&hub, &to, messages);
            });
            if let Err(error) = self.deliveries.push_new(&due, push).await {
                self.failed = true;
                if self.outage.begins() {
                    let participant = due.listening.agent;
                    tracing::warn!(%participant, error = ?error, "redelivery unavailable, retrying");
                }
            }
            let pushed = std::mem::take(&mut *pushed.lock().unwrap_or_else(PoisonError::into_inner));
            count += self.record(&due, pushed);
        }
        count
    }

    /// Records the outcomes, and returns the number of messages that were pushed.
    fn record(&mut self, due: &Due, pushed: Vec<(Sequence, Pushed)>) -> usize {
        let (subscription, mut count) = (due.listening.subscription, 0);
        for (sequence, pushed) in pushed {
            match pushed {
                Pushed::Queued => {
                    self.schedule.pushed(subscription, sequence, due.at);
                    count += 1;
                }
                Pushed::MaybeQueued => {
                    self.schedule.skip(subscription, sequence);
                    count += 1;
                }
                Pushed::TooLarge => self.schedule.skip(subscription, sequence),
                Pushed::Acknowledged | Pushed::Unavailable => {}
            }
        }
        count
    }
}

/// Pushes messages until the listener takes no more; returns each outcome with the sequence of the message.
fn push(hub: &Hub, to: &Listening, messages: &[Message]) -> Vec<(Sequence, Pushed)> {
    let pushed = messages.iter().map(|message| (message.sequence, redeliver(hub, to, message)));
    pushed.take_while(|(_, pushed)| *pushed != Pushed::Unavailable).collect()
}

/// Pushes a message to a subscription again.
pub(crate) fn redeliver(hub: &Hub, to: &Listening, message: &Message) -> Pushed {
    if hub.acknowledgements().holds(DeliveryKey { message: message.id, agent: to.agent }) {
        return Pushed::Acknowledged;
    }
    let payload = payload::message_for_agent(message, to.agent);
    let bytes = payload.json.len();
    if bytes >= MAX_AGENT_BYTES {
        Pushed::TooLarge
    } else if !hub.push_again(to, payload) {
        Pushed::Unavailable
    } else if bytes + MAX_FRAME_BYTES < MAX_AGENT_BYTES {
        Pushed::Queued
    } else {
        Pushed::MaybeQueued
    }
}

#[cfg(test)]
pub(crate) mod tests;
