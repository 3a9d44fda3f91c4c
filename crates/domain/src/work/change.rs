//! Changing work: having it offered again, and taking it out of the queue.

use super::flag::WorkFlag;
use super::port::{FindWork, WorkItem, WorkScope};
use super::service::{ListWorkError, WorkFilter, WorkService};
use crate::audit::Actor;
use crate::delivery::{
    AttemptNumber, AttemptOutcome, DeadLetterReason, Delivery, DeliveryStatus, InterventionRefused,
};
use crate::event::DomainEvent;
use crate::id::{AgentId, MessageId};
use crate::message::Message;
use crate::organization::NotAdmin;
use crate::page::{PageRequest, Slice};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A change of a work item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkChange {
    /// Offer it as if it were new ([`Delivery::retry`]).
    Retry,
    /// Take it out of the queue ([`Delivery::dead_letter`]).
    DeadLetter(DeadLetterReason),
}

/// A change to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeWork {
    /// The item.
    pub item: FindWork,
    /// The change.
    pub change: WorkChange,
    /// The state that the item must have; `None` for any that the change allows.
    pub if_state: Option<DeliveryStatus>,
    /// The attempt that must be its newest one; `None` for any.
    pub if_attempt: Option<AttemptNumber>,
    /// An attempt that began at this time or before, and is open, is stuck.
    pub stuck_since: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why an item was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChangeWorkRefused {
    /// The message was not sent to such an agent of the scope, or the agent has left the chat.
    #[error("there is no such work")]
    NotFound,
    /// Only an admin of the organization may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// Its state does not allow the change, or is another than the required one.
    #[error("the work is {}", .0.as_str())]
    State(DeliveryStatus),
    /// An attempt is open that is not stuck yet.
    #[error("an attempt is in progress")]
    InProgress,
    /// The message does not mention the agent, so it is never offered.
    #[error("the message does not mention the agent")]
    NotAddressed,
}

/// The reason why an item was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeWorkError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] ChangeWorkRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChangeWork {
    /// The delivery after the change. Pure; the stores call this on the locked record.
    pub fn decide(&self, delivery: Delivery) -> Result<Delivery, ChangeWorkRefused> {
        let state = delivery.status();
        let is_other_attempt =
            self.if_attempt.is_some_and(|required| delivery.current_attempt() != Some(required));
        if is_other_attempt || self.if_state.is_some_and(|required| required != state) {
            return Err(ChangeWorkRefused::State(state));
        }
        let changed = match &self.change {
            WorkChange::Retry => delivery.retry(self.stuck_since, self.now),
            WorkChange::DeadLetter(reason) => delivery.dead_letter(reason, self.now),
        };
        changed.map_err(|refused| match refused {
            InterventionRefused::Status(state) => ChangeWorkRefused::State(state),
            InterventionRefused::InProgress => ChangeWorkRefused::InProgress,
            InterventionRefused::NotAddressed => ChangeWorkRefused::NotAddressed,
        })
    }
}

/// The number of items that one change of several changes.
pub const CHANGED_AT_ONCE: u32 = 100;

/// The number of pages that one change of several examines, since items can be refused.
const PAGES: u32 = 10;

/// The result of a change of several items.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangedWork {
    /// The number of changed items.
    pub changed: u32,
    /// The items that moved on before their turn, or whose open attempt is not stuck.
    pub refused: Vec<(MessageId, AgentId, ChangeWorkRefused)>,
    /// Set if more items may match.
    pub more: bool,
}

/// The reason why several items were not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeAllError {
    /// The filter has no condition, and not all items were asked for.
    #[error("the filter is empty")]
    NoFilter,
    /// A retry of several items needs a state or a flag of items that can be retried.
    #[error("a retry needs the state delivered, failed, or dead, or the flag stuck, failing, or dead")]
    NotRetryable,
    /// Only an admin of the organization may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorkScope {
    /// The actor of a change.
    pub fn actor(self) -> Actor {
        self.reader().map_or(Actor::Operator, Actor::from)
    }
}

impl WorkService {
    /// Changes one item, and notifies the humans in the chat. With `if_state`, an item that is in another
    /// state meanwhile is refused. A change that is refused changes nothing.
    pub async fn change(
        &self,
        scope: WorkScope,
        message: MessageId,
        agent: AgentId,
        change: WorkChange,
        if_state: Option<DeliveryStatus>,
    ) -> Result<WorkItem, ChangeWorkError> {
        self.change_one(scope, message, agent, change, (if_state, None)).await?;
        let changed = self.work.find_work(FindWork { scope, message, agent }).await?;
        Ok(changed.map_err(ChangeWorkRefused::from)?.ok_or(ChangeWorkRefused::NotFound)?)
    }

    async fn change_one(
        &self,
        scope: WorkScope,
        message: MessageId,
        agent: AgentId,
        change: WorkChange,
        (if_state, if_attempt): (Option<DeliveryStatus>, Option<AttemptNumber>),
    ) -> Result<(), ChangeWorkError> {
        let now = self.clock.now();
        let item = FindWork { scope, message, agent };
        let stuck_since = self.thresholds.at(now).stuck;
        let command = ChangeWork { item, change, if_state, if_attempt, stuck_since, now };
        let (events, attempts) = (self.events.clone(), self.attempts.clone());
        let on_commit = OnCommit::new(move |message: &Message| {
            let changed = message.deliveries.iter().find(|delivery| delivery.agent() == agent);
            attempts.count(changed.and_then(|changed| AttemptOutcome::of_intervention(changed, now)));
            events.publish(DomainEvent::MessageUpdated { message: message.clone() });
        });
        self.work.change_work(command, on_commit).await??;
        Ok(())
    }

    /// Changes the oldest items that match the filter, at most [`CHANGED_AT_ONCE`], in separate
    /// transactions: if one fails, the items before it stay changed. A changed item no longer matches,
    /// so repeating the call reaches all of them. An empty filter needs `all`.
    pub async fn change_all(
        &self,
        scope: WorkScope,
        filter: WorkFilter,
        all: bool,
        change: WorkChange,
    ) -> Result<ChangedWork, ChangeAllError> {
        if filter == WorkFilter::default() && !all {
            return Err(ChangeAllError::NoFilter);
        }
        if change == WorkChange::Retry && !is_of_retryable(&filter) {
            return Err(ChangeAllError::NotRetryable);
        }
        let (mut changed, mut after) = (ChangedWork::default(), None);
        for _ in 0..PAGES {
            let limit = CHANGED_AT_ONCE - changed.changed;
            let request = PageRequest { slice: Slice::After { after, limit }, count: false };
            let page = self.list(scope, filter.clone(), request).await.map_err(|error| match error {
                ListWorkError::NotAdmin(refused) => ChangeAllError::from(refused),
                ListWorkError::Store(error) => error.into(),
            })?;
            self.change_page(scope, page.rows, &change, &mut changed).await?;
            changed.more = page.next.is_some();
            if !changed.more || changed.changed == CHANGED_AT_ONCE {
                break;
            }
            after = page.next;
        }
        Ok(changed)
    }

    /// Changes the items of a page in separate transactions, unless they have changed since they were listed.
    async fn change_page(
        &self,
        scope: WorkScope,
        items: Vec<WorkItem>,
        change: &WorkChange,
        changed: &mut ChangedWork,
    ) -> Result<(), ChangeAllError> {
        for item in items {
            let as_listed = (Some(item.delivery.status()), item.delivery.current_attempt());
            match self.change_one(scope, item.message, item.agent.id, change.clone(), as_listed).await {
                Ok(()) => changed.changed += 1,
                Err(ChangeWorkError::Refused(ChangeWorkRefused::NotAdmin(refused))) => {
                    return Err(refused.into());
                }
                Err(ChangeWorkError::Refused(refused)) => {
                    changed.refused.push((item.message, item.agent.id, refused));
                }
                Err(ChangeWorkError::Store(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Returns whether a retried item does not match the filter any more.
fn is_of_retryable(filter: &WorkFilter) -> bool {
    let state = matches!(
        filter.state,
        Some(DeliveryStatus::Delivered | DeliveryStatus::Failed | DeliveryStatus::Dead)
    );
    state || matches!(filter.flag, Some(WorkFlag::Stuck | WorkFlag::Failing | WorkFlag::Dead))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::delivery::DeliveryStep;

    #[test]
    fn an_item_that_is_in_another_state_is_not_changed() {
        let (agent, now) = (AgentId::new(Uuid::from_u128(1)), Timestamp::from_micros(9));
        let item = FindWork { scope: WorkScope::Everything, message: MessageId::new(Uuid::nil()), agent };
        let reason = DeadLetterReason::new("no key".to_owned()).unwrap();
        let change = WorkChange::DeadLetter(reason);
        let command = |if_state| ChangeWork {
            item,
            change: change.clone(),
            if_state,
            if_attempt: None,
            stuck_since: now,
            now,
        };
        let begun = Delivery::new(agent).step(&DeliveryStep::Begin, None, now).unwrap();
        let refused = command(Some(DeliveryStatus::Failed)).decide(begun.clone());
        assert_eq!(refused, Err(ChangeWorkRefused::State(DeliveryStatus::Processing)));
        for if_state in [None, Some(DeliveryStatus::Processing)] {
            let dead = command(if_state).decide(begun.clone()).unwrap();
            assert_eq!(dead.status(), DeliveryStatus::Dead);
            let again = command(if_state).decide(dead);
            assert_eq!(again, Err(ChangeWorkRefused::State(DeliveryStatus::Dead)));
        }
    }
}
