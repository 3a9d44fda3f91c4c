//! Changing work: having it offered again, taking it out of the queue, and sending it again as a new
//! message.

use std::collections::HashSet;

use super::flag::WorkFlag;
use super::port::{FindWork, WorkItem, WorkScope};
use super::resend::{Replacement, Resend};
use super::service::{ListWorkError, WorkFilter, WorkService};
use crate::audit::Actor;
use crate::budget::{Budget, BudgetScope};
use crate::change::Change;
use crate::delivery::{
    AttemptNumber, AttemptOutcome, DeadLetterReason, Delivery, DeliveryStatus, InterventionRefused,
};
use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId, MessageId};
use crate::message::{AppendRefused, Appended, EndedHold, Message};
use crate::organization::NotAdmin;
use crate::page::{PageRequest, Position, Slice};
use crate::plan::LimitReached;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A requested change of a work item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkChange {
    /// Offer it as if it were new.
    Retry,
    /// Take it out of the queue.
    DeadLetter(DeadLetterReason),
    /// Take it out of the queue, and send its text again.
    Resend(Resend),
}

/// A change of a work item, with everything that the store needs for it.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkStep {
    /// Offer it as if it were new ([`Delivery::retry`]).
    Retry,
    /// Take it out of the queue ([`Delivery::dead_letter`]).
    DeadLetter(DeadLetterReason),
    /// Take it out of the queue, and store a message instead ([`Delivery::replace`]).
    Replace(Box<Replacement>),
}

/// A change to be stored.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangeWork {
    /// The item.
    pub item: FindWork,
    /// The change.
    pub step: WorkStep,
    /// The state that the item must have; `None` for any that the change allows.
    pub if_state: Option<DeliveryStatus>,
    /// The attempt that must be its newest one; `None` for any.
    pub if_attempt: Option<AttemptNumber>,
    /// An attempt that began at this time or before, and is open, is stuck.
    pub stuck_since: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

/// A changed item.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedItem {
    /// The message of the item, with all its deliveries.
    pub message: Message,
    /// The message that replaces it.
    pub new: Option<Appended>,
}

/// The reason why an item was not changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
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
    /// Its text was sent again as this message.
    #[error("already replaced by message {0}")]
    Replaced(MessageId),
    /// The human who would send the new message is not a participant of the chat.
    #[error("the sender is not a participant of the room")]
    NotInChat,
    /// The agent that would get the new message is not a participant of the chat.
    #[error("the other agent is not in the room")]
    AgentNotInChat,
    /// The other agent is the one of the item.
    #[error("this agent already has the work")]
    SameAgent,
    /// The plan of the chat's organization allows no new message.
    #[error(transparent)]
    Limit(#[from] LimitReached),
}

impl From<AppendRefused> for ChangeWorkRefused {
    fn from(refused: AppendRefused) -> Self {
        match refused {
            AppendRefused::Limit(reached) => Self::Limit(reached),
            AppendRefused::NotParticipant | AppendRefused::Stopped => Self::NotInChat,
            // The message mentions one agent, and has no idempotency key that could be repeated.
            AppendRefused::MentionLeft { .. }
            | AppendRefused::Repeated(_)
            | AppendRefused::RepeatedDeleted(_)
            | AppendRefused::KeyReused
            | AppendRefused::Answered => Self::AgentNotInChat,
            // Its files end with the original, which was deleted meanwhile.
            AppendRefused::UnknownAttachment(_) => Self::NotFound,
        }
    }
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
        if matches!(self.item.scope, WorkScope::SentBy(_)) && !matches!(self.step, WorkStep::DeadLetter(_)) {
            return Err(ChangeWorkRefused::NotFound);
        }
        let state = delivery.status();
        let is_another = self.if_state.is_some_and(|required| required != state)
            || self.if_attempt.is_some_and(|required| delivery.current_attempt() != Some(required));
        let changed = match &self.step {
            WorkStep::Retry => delivery.retry(self.stuck_since, self.now),
            WorkStep::DeadLetter(reason) => delivery.dead_letter(reason, self.now),
            WorkStep::Replace(replacement) => {
                let reason = replacement.reason.clone();
                delivery.replace(replacement.new.id, reason, self.stuck_since, self.now)
            }
        };
        match changed {
            // This says more than the state to those who repeat a request whose answer was lost.
            Err(InterventionRefused::Replaced(by)) => Err(ChangeWorkRefused::Replaced(by)),
            _ if is_another => Err(ChangeWorkRefused::State(state)),
            Err(InterventionRefused::Status(state)) => Err(ChangeWorkRefused::State(state)),
            Err(InterventionRefused::InProgress) => Err(ChangeWorkRefused::InProgress),
            Err(InterventionRefused::NotAddressed) => Err(ChangeWorkRefused::NotAddressed),
            Ok(changed) => Ok(changed),
        }
    }

    /// The hold that the change ends, if the delivery is held before it. If it is [of the chat](EndedHold::is_of_chat),
    /// only the operator and users of the organization of the chat end it: others change the delivery, and leave the
    /// limits as they are.
    pub fn ends_hold(&self, before: &Delivery) -> Option<EndedHold> {
        let is_released = !matches!(self.step, WorkStep::DeadLetter(_));
        before.held_by().map(|by| EndedHold { by, is_released })
    }

    /// Returns whether the change lets the subject of a budget use the amount again. `is_of_chat` is set for the
    /// operator and users of the organization of the chat. Others release the budget of their own agents, and admins
    /// that of their organization.
    pub fn releases_budget(&self, ended: EndedHold, budget: Budget, is_of_chat: bool) -> bool {
        ended.is_released
            && match budget.scope() {
                BudgetScope::Tree | BudgetScope::Room => is_of_chat,
                BudgetScope::Agent => true,
                BudgetScope::Organization => {
                    !matches!(self.item.scope, WorkScope::OwnedBy(_) | WorkScope::SentBy(_))
                }
            }
    }

    /// The entries of the change log. A command publishes no events: the servers announce what it changes and
    /// sends.
    pub fn logged(&self, chat: ChatId) -> Vec<Change> {
        let is_of_command = self.item.scope == WorkScope::Everything;
        let updated = is_of_command.then_some(Change::MessageUpdated(self.item.message));
        let more = match &self.step {
            WorkStep::Retry => Some(Change::WorkRetried(chat)),
            WorkStep::Replace(replacement) if is_of_command => Some(Change::MessageSent(replacement.new.id)),
            WorkStep::DeadLetter(_) | WorkStep::Replace(_) => None,
        };
        updated.into_iter().chain(more).collect()
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
    /// The items that moved on before their turn, or that the change is not possible for.
    pub refused: Vec<(MessageId, AgentId, ChangeWorkRefused)>,
    /// The number of items that were not reassigned because the other agent is not in their chats.
    pub skipped: u32,
    /// The position after the last examined item; `None` if there are no more.
    pub next: Option<Position>,
}

/// The reason why several items were not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeAllError {
    /// The filter has no condition, and not all items were asked for.
    #[error("the filter is empty")]
    NoFilter,
    /// A retry of several items needs a state or a flag of items that can be retried.
    #[error(
        "a retry needs the state delivered, failed, dead, or held, or the flag stuck, failing, dead, or held"
    )]
    NotRetryable,
    /// Several items are only sent again to an agent that does not have them: what is sent would match as
    /// before.
    #[error("several messages are only sent again to another agent")]
    SameAgent,
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
        match self {
            Self::SentBy(sender) => Actor::Participant(sender),
            Self::Everything | Self::OwnedBy(_) | Self::Of(_) => {
                self.reader().map_or(Actor::Operator, Actor::from)
            }
        }
    }
}

impl WorkService {
    /// Changes one item, and notifies the humans in the chat. With `if_state`, an item that is in another
    /// state meanwhile is refused. A change that is refused changes nothing. An item whose text is sent again
    /// names the new message ([`Delivery::replaced_by`]); repeating the request sends nothing twice.
    pub async fn change(
        &self,
        scope: WorkScope,
        message: MessageId,
        agent: AgentId,
        change: WorkChange,
        if_state: Option<DeliveryStatus>,
    ) -> Result<WorkItem, ChangeWorkError> {
        let item = FindWork { scope, message, agent };
        self.change_one(item, change, (if_state, None)).await?;
        self.found(item).await
    }

    /// The item, in any state.
    pub(super) async fn found(&self, item: FindWork) -> Result<WorkItem, ChangeWorkError> {
        let found = self.ports.work.find_work(item).await?.map_err(ChangeWorkRefused::from)?;
        Ok(found.ok_or(ChangeWorkRefused::NotFound)?)
    }

    /// Stores a change, and publishes its events.
    async fn change_one(
        &self,
        item: FindWork,
        change: WorkChange,
        (if_state, if_attempt): (Option<DeliveryStatus>, Option<AttemptNumber>),
    ) -> Result<(), ChangeWorkError> {
        let now = self.now();
        let step = match change {
            WorkChange::Retry => WorkStep::Retry,
            WorkChange::DeadLetter(reason) => WorkStep::DeadLetter(reason),
            WorkChange::Resend(resend) => {
                WorkStep::Replace(Box::new(self.replacement(item, &resend, now).await?))
            }
        };
        let stuck_since = self.thresholds.at(now).stuck;
        let command = ChangeWork { item, step, if_state, if_attempt, stuck_since, now };
        let (events, attempts) = (self.ports.events.clone(), self.ports.attempts.clone());
        let on_commit = OnCommit::new(move |changed: &ChangedItem| {
            let message = &changed.message;
            let delivery = message.deliveries.iter().find(|delivery| delivery.agent() == item.agent);
            attempts.count(delivery.and_then(|delivery| AttemptOutcome::of_intervention(delivery, now)));
            events.publish(DomainEvent::MessageUpdated { message: message.clone() });
            if let Some(new) = &changed.new {
                new.announce(&*events);
            }
        });
        self.ports.work.change_work(command, on_commit).await??;
        Ok(())
    }

    /// Changes the items that match the filter, at most [`CHANGED_AT_ONCE`], from the oldest one after
    /// `after`, in separate transactions: if one fails, the items before it stay changed. Going on after
    /// [`ChangedWork::next`] reaches all of them. An empty filter needs `all`.
    ///
    /// Items that another message replaces, and those of the agent to which others are reassigned, do not
    /// count as matching.
    pub async fn change_all(
        &self,
        scope: WorkScope,
        filter: WorkFilter,
        all: bool,
        change: WorkChange,
        after: Option<Position>,
    ) -> Result<ChangedWork, ChangeAllError> {
        if filter.is_empty() && !all {
            return Err(ChangeAllError::NoFilter);
        }
        if change == WorkChange::Retry && !is_of_retryable(&filter) {
            return Err(ChangeAllError::NotRetryable);
        }
        if let WorkChange::Resend(resend) = &change
            && (resend.to.is_none() || resend.to == filter.agent)
        {
            return Err(ChangeAllError::SameAgent);
        }
        let mut changed = ChangedWork { next: after, ..ChangedWork::default() };
        let mut passed_over = PassedOver::default();
        for _ in 0..PAGES {
            let limit = CHANGED_AT_ONCE - changed.changed;
            let slice = Slice::After { after: changed.next.take(), limit };
            let page = self.list(scope, filter.clone(), PageRequest { slice, count: false }).await;
            let page = page.map_err(|error| match error {
                ListWorkError::NotAdmin(refused) => ChangeAllError::from(refused),
                ListWorkError::Store(error) => error.into(),
            })?;
            self.change_page(scope, page.rows, &change, &mut passed_over, &mut changed).await?;
            changed.next = page.next;
            if changed.next.is_none() || changed.changed == CHANGED_AT_ONCE {
                break;
            }
        }
        Ok(changed)
    }

    /// Changes the items of a page in separate transactions, unless they have changed since they were listed.
    async fn change_page(
        &self,
        scope: WorkScope,
        items: Vec<WorkItem>,
        change: &WorkChange,
        passed_over: &mut PassedOver,
        changed: &mut ChangedWork,
    ) -> Result<(), ChangeAllError> {
        let target = match change {
            WorkChange::Resend(resend) => resend.to,
            WorkChange::Retry | WorkChange::DeadLetter(_) => None,
        };
        for item in items {
            if item.delivery.replaced_by().is_some() || target == Some(item.agent.id) {
                continue;
            }
            if passed_over.chats.contains(&item.chat) || passed_over.messages.contains(&item.message) {
                changed.skipped += 1;
                continue;
            }
            let as_listed = (Some(item.delivery.status()), item.delivery.current_attempt());
            let found = FindWork { scope, message: item.message, agent: item.agent.id };
            match self.change_one(found, change.clone(), as_listed).await {
                Ok(()) => {
                    changed.changed += 1;
                    if target.is_some() {
                        passed_over.messages.insert(item.message);
                    }
                }
                Err(ChangeWorkError::Refused(ChangeWorkRefused::NotAdmin(refused))) => {
                    return Err(refused.into());
                }
                Err(ChangeWorkError::Refused(ChangeWorkRefused::AgentNotInChat)) => {
                    passed_over.chats.insert(item.chat);
                    changed.skipped += 1;
                }
                Err(ChangeWorkError::Refused(
                    refused @ (ChangeWorkRefused::NotInChat | ChangeWorkRefused::Limit(_)),
                )) => {
                    passed_over.chats.insert(item.chat);
                    changed.refused.push((item.message, item.agent.id, refused));
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

/// What a change of several items passes over.
#[derive(Default)]
struct PassedOver {
    /// Chats that lack the agent to which the items are reassigned, lack the sender, or may get no message.
    chats: HashSet<ChatId>,
    /// Messages that were reassigned already: the agent gets a text once.
    messages: HashSet<MessageId>,
}

/// Returns whether a retried item does not match the filter any more.
fn is_of_retryable(filter: &WorkFilter) -> bool {
    let state = matches!(
        filter.state,
        Some(
            DeliveryStatus::Delivered | DeliveryStatus::Failed | DeliveryStatus::Dead | DeliveryStatus::Held
        )
    );
    let flag =
        matches!(filter.flag, Some(WorkFlag::Stuck | WorkFlag::Failing | WorkFlag::Dead | WorkFlag::Held));
    state || flag
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
        let step = WorkStep::DeadLetter(reason);
        let command = |if_state| ChangeWork {
            item,
            step: step.clone(),
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
