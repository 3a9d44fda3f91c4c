//! Pushing again what no socket took: rounds over all agents that listen.
//!
//! A round asks the store, for some hundreds of listeners at a time, what is still new for them;
//! [`PushAgain`] decides what of it is due. Whoever has not read what waits is passed over: it
//! would only wait there twice.

use std::sync::{Arc, Mutex, PoisonError};

use domain::delivery::{AgainRule, DeliveryService, Due, Listening, PushAgain};
use domain::message::Message;
use domain::store::Announce;
use tokio::time::{MissedTickBehavior, interval};

use crate::hub::{Hub, Pushed};

/// For how many listeners the store is asked at once.
const LISTENERS: usize = 256;

/// Pushes again, for as long as it runs.
pub struct Repeater {
    hub: Arc<Hub>,
    deliveries: Arc<DeliveryService>,
    again: PushAgain,
}

impl Repeater {
    /// Pushes to the sockets of `hub` what the store says is due.
    pub fn new(hub: Arc<Hub>, deliveries: Arc<DeliveryService>, rule: AgainRule) -> Self {
        Self { hub, deliveries, again: PushAgain::new(rule) }
    }

    /// Round after round, two in the time after which a message is pushed again for the first time.
    pub async fn run(mut self) {
        let mut rounds = interval(self.again.rule().after / 2);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            self.round().await;
        }
    }

    /// One round. How many messages were pushed again. Whomever the store gave no answer for is in
    /// the next one, and keeps nobody else waiting.
    pub async fn round(&mut self) -> usize {
        let (mut asked, mut count) = (Vec::with_capacity(LISTENERS), 0);
        for part in 0..self.hub.parts() {
            for listener in self.hub.listening(part) {
                if !listener.is_idle {
                    self.again.meet(listener.listening);
                    continue;
                }
                asked.push(listener.listening);
                if asked.len() == LISTENERS {
                    count += self.push_due(std::mem::take(&mut asked)).await;
                }
            }
        }
        count += self.push_due(asked).await;
        self.again.end_round();
        if count > 0 {
            tracing::debug!(deliveries = count, "redelivered messages");
        }
        count
    }

    async fn push_due(&mut self, listening: Vec<Listening>) -> usize {
        if listening.is_empty() {
            return 0;
        }
        self.hub.look_begins();
        let all = match self.deliveries.due(&mut self.again, listening).await {
            Ok(all) => all,
            Err(error) => {
                tracing::warn!(error = ?error, "redelivery query failed");
                return 0;
            }
        };
        let mut count = 0;
        for due in all {
            let pushed = Arc::new(Mutex::new(Vec::new()));
            let (hub, to, outcome) = (self.hub.clone(), due.listening, pushed.clone());
            let push = Announce::new(move |messages: &Vec<Message>| {
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = push(&hub, &to, messages);
            });
            if let Err(error) = self.deliveries.push_new(&due, push).await {
                let participant = due.listening.agent;
                tracing::warn!(%participant, error = ?error, "redelivery failed");
            }
            let pushed = std::mem::take(&mut *pushed.lock().unwrap_or_else(PoisonError::into_inner));
            count += self.note(&due, pushed);
        }
        count
    }

    /// Notes what became of what was due. How many messages were pushed.
    fn note(&mut self, due: &Due, pushed: Vec<(i64, Pushed)>) -> usize {
        let (stay, mut count) = (due.listening.stay, 0);
        for (sequence, pushed) in pushed {
            match pushed {
                Pushed::OnItsWay => {
                    self.again.pushed(stay, sequence, due.at);
                    count += 1;
                }
                Pushed::Perhaps => {
                    self.again.left(stay, sequence);
                    count += 1;
                }
                Pushed::TooLarge => self.again.left(stay, sequence),
                Pushed::Taken | Pushed::NotNow => {}
            }
        }
        count
    }
}

/// Pushes messages to a listener until it is enough; what became of each, by its place.
fn push(hub: &Hub, to: &Listening, messages: &[Message]) -> Vec<(i64, Pushed)> {
    let pushed = messages.iter().map(|message| (message.sequence, hub.push_again(to, message)));
    pushed.take_while(|(_, pushed)| *pushed != Pushed::NotNow).collect()
}

#[cfg(test)]
pub(crate) mod tests;
