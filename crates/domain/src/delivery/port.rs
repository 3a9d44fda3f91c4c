//! The store of deliveries.

use async_trait::async_trait;

use super::redelivery::{Listening, Unacknowledged};
use super::state::{Delivery, FailureText};
use crate::chat::ParticipantStatus;
use crate::id::{AgentId, ChatId, MessageId};
use crate::message::Message;
use crate::page::{Order, Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// Which deliveries an agent wants to see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DeliveryFilter {
    /// Everything that is not processed.
    #[default]
    Open,
    /// New, delivered or failed: everything that waits for an attempt.
    Pending,
    /// With an open attempt.
    Processing,
    /// Done.
    Processed,
    /// Failed the last time.
    Failed,
    /// All.
    All,
}

/// What waits for an agent in a room.
#[derive(Clone, PartialEq, Debug)]
pub struct NextMessage {
    /// The agent's membership, so that a first visit can make it active.
    pub membership: ParticipantStatus,
    /// The oldest open message, with the agent's own delivery record; `None` when nothing waits.
    pub message: Option<Message>,
}

/// A step of an agent's work on a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeliveryStep {
    /// Open the next attempt.
    Begin,
    /// Close the open attempt as done.
    Succeed,
    /// Close the open attempt as failed.
    Fail(FailureText),
}

/// A step to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdvanceDelivery {
    /// Who works.
    pub agent: AgentId,
    /// The room.
    pub chat: ChatId,
    /// On what.
    pub message: MessageId,
    /// Which step.
    pub step: DeliveryStep,
    /// When.
    pub now: Timestamp,
}

/// A stored step.
#[derive(Clone, PartialEq, Debug)]
pub struct Advanced {
    /// The message with all its deliveries, the changed one among them.
    pub message: Message,
    /// The delivery after the step.
    pub delivery: Delivery,
}

/// Why a step was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdvanceRefused {
    /// The agent is not in the room, or the message is not of this room.
    NotFound,
    /// There is no open attempt to close.
    NoActiveAttempt,
}

/// Names one delivery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeliveryKey {
    /// What.
    pub message: MessageId,
    /// To whom.
    pub agent: AgentId,
}

/// Says of which rooms somebody wants to hear; called within the write, so it must not block.
pub type Heard = Box<dyn Fn(ChatId) -> bool + Send + Sync>;

/// Deliveries and their attempts.
///
/// Lists and `next` hold texts of others that mention the agent, by the room's sequence; the
/// position is (`sequence`, nil). The messages carry the agent's own delivery record only.
#[async_trait]
pub trait DeliveryRepository: Send + Sync {
    /// The oldest message of the room that `agent` has not processed; `None` if it is no
    /// participant. Costs the same however many processed ones lie behind.
    async fn next(&self, agent: AgentId, chat: ChatId) -> Result<Option<NextMessage>, StoreError>;

    /// Messages by state; `None` if `agent` is no participant.
    async fn list(
        &self,
        agent: AgentId,
        chat: ChatId,
        filter: DeliveryFilter,
        order: Order,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError>;

    /// Takes one step as the state machine of [`Delivery`] decides, on the locked record.
    /// Opening an attempt on a message that does not mention the agent makes a record that is
    /// not addressed. The agent's membership becomes active.
    async fn advance(
        &self,
        command: AdvanceDelivery,
        on_commit: OnCommit<Advanced>,
    ) -> Result<Result<Advanced, AdvanceRefused>, StoreError>;

    /// Makes *delivered*, at `now`, those of `taken` that are still new ([`Delivery::delivered`]).
    /// All others stay as they are, and what there is no record of is passed over. Nothing else
    /// changes, the agent's membership included.
    ///
    /// Announced are the messages that changed, each once with all its deliveries, of the rooms
    /// that `heard` names; nothing when there are none.
    async fn mark_delivered(
        &self,
        taken: Vec<DeliveryKey>,
        now: Timestamp,
        heard: Heard,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError>;

    /// Announces those of `messages` that are in the rooms that `heard` names, as
    /// [`Self::mark_delivered`] would, as they are now and in the order of the commits. Changes
    /// nothing.
    async fn tell_delivered(
        &self,
        messages: Vec<MessageId>,
        heard: Heard,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError>;

    /// Finds the oldest unacknowledged deliveries of each listener whose messages come after its `since`: at most
    /// `limit` of each, in the order of their sequences, with the index of the listener in `listening`, in that order.
    /// The cost depends only on the number of listeners and of deliveries found.
    async fn unacknowledged(
        &self,
        listening: Vec<Listening>,
        limit: u32,
    ) -> Result<Vec<(usize, Unacknowledged)>, StoreError>;

    /// Announces the messages of the room at `places` that are still new for `agent`, in their order
    /// and with its own record only; nothing if there are none, or if it is no participant. What would
    /// exceed [`NUMBERED_PAGE_BYTES`](crate::page::NUMBERED_PAGE_BYTES) is left out at the end; as the
    /// messages that are too large to be pushed count as well, a smaller bound would hold up those behind them.
    ///
    /// Changes nothing, but has its place in the order of the commits: what is announced before a
    /// step, an edit or a deletion of such a message was new then, and is not announced after it.
    async fn new_messages(
        &self,
        agent: AgentId,
        chat: ChatId,
        places: Vec<i64>,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError>;
}
