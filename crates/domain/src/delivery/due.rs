//! Finds the deliveries that are due for redelivery.

use std::collections::HashMap;

use super::redelivery::{Listening, RedeliverySchedule};
use super::service::DeliveryService;
use crate::id::{AgentId, ChatId, ParticipantId, Sequence};
use crate::message::Message;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The messages that are due for one subscription.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Due {
    /// The listener.
    pub listening: Listening,
    /// The sequences of the messages, oldest first.
    pub sequences: Vec<Sequence>,
    /// The time at which they were found to be due.
    pub at: Timestamp,
}

impl DeliveryService {
    /// Finds what is due for these listeners according to `schedule`. Listeners for which nothing
    /// is due are left out.
    pub async fn due(
        &self,
        schedule: &mut RedeliverySchedule,
        listening: Vec<Listening>,
    ) -> Result<Vec<Due>, StoreError> {
        let at = self.clock.now();
        let met = listening.iter().map(|one| schedule.meet(*one, at)).collect::<Vec<_>>();
        let limit = schedule.policy().in_flight;
        let searched = self.deliveries.unacknowledged(met.clone(), limit).await?;
        let mut all = Vec::new();
        for ((listening, met), searched) in listening.into_iter().zip(met).zip(searched) {
            let mut sequences = schedule.due(listening, met, &searched, at);
            let Listening { agent, chat, since, .. } = listening;
            if sequences.first().is_some_and(|first| *first <= since) {
                let work = self.deliveries.backlog_work(agent, chat, since).await?;
                if schedule.leaves_backlog(listening, work, at) {
                    sequences.retain(|sequence| *sequence > since);
                }
            }
            if !sequences.is_empty() {
                all.push(Due { listening, sequences, at });
            }
        }
        Ok(all)
    }

    /// The sequences of the newest messages in these chats.
    pub async fn last_sequences(&self, chats: Vec<ChatId>) -> Result<HashMap<ChatId, Sequence>, StoreError> {
        self.deliveries.last_sequences(chats).await
    }

    /// The sequence of the newest message in a chat of `agent`.
    pub async fn last_sequence(&self, agent: AgentId, chat: ChatId) -> Result<Sequence, StoreError> {
        Ok(self.chats.entrance(ParticipantId::Agent(agent), chat).await?.last_sequence)
    }

    /// Passes the messages of `due` that are still unacknowledged to `push`, as their agent sees
    /// them; large messages may be cut off at the end. `push` runs in commit order, like the
    /// publication of events: no step or edit of such a message is published before the message is
    /// offered as new.
    pub async fn push_new(&self, due: &Due, push: OnCommit<Vec<Message>>) -> Result<(), StoreError> {
        let Listening { agent, chat, .. } = due.listening;
        self.deliveries.new_messages(agent, chat, due.sequences.clone(), push).await
    }
}
