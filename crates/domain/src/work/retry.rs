//! A retry, and whether the agent takes the work up.

use std::time::Duration;

use super::change::{ChangeWorkError, WorkChange};
use super::port::{WorkItem, WorkScope};
use super::service::WorkService;
use crate::delivery::DeliveryStatus;
use crate::id::{AgentId, MessageId};

/// How long a retry waits for its agent to begin.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(3);

/// The pause between two reads of the item.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A retried item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetriedWork {
    /// The item as it was read last.
    pub item: WorkItem,
    /// Set if its agent has begun an attempt since the retry. An agent that has given the message up
    /// may ignore it until its process restarts.
    pub is_taken_up: bool,
}

impl WorkService {
    /// Has one item offered again, as [`WorkService::change`] does. If its agent is connected, waits up
    /// to three seconds for an attempt; `sleep` lets a pause pass.
    pub async fn retry(
        &self,
        scope: WorkScope,
        message: MessageId,
        agent: AgentId,
        if_state: Option<DeliveryStatus>,
        sleep: impl AsyncFn(Duration),
    ) -> Result<RetriedWork, ChangeWorkError> {
        let mut item = self.change(scope, message, agent, WorkChange::Retry, if_state).await?;
        let mut waited = Duration::ZERO;
        while !item.is_taken_up()
            && self.is_connected(item.agent.id, item.agent.is_external)
            && waited < TAKEN_UP_WITHIN
        {
            sleep(POLL_INTERVAL).await;
            waited += POLL_INTERVAL;
            // The retry is stored, whatever becomes of the read.
            let Ok(found) = self.find(scope, message, agent).await else { break };
            item = found;
        }
        let is_taken_up = item.is_taken_up();
        Ok(RetriedWork { item, is_taken_up })
    }
}

impl WorkItem {
    /// Returns whether an attempt was begun since the last retry.
    fn is_taken_up(&self) -> bool {
        self.delivery.attempts().last().is_some_and(|newest| self.delivery.counts(newest))
    }
}
