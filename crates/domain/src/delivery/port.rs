//! The store of deliveries.

use std::collections::HashMap;

use async_trait::async_trait;

use super::claim::{Claim, ClaimLease, Claims, StepTerms};
use super::receipts::{DeliveryReceipt, ReceiptsRefused};
use super::redelivery::{BacklogWork, Listening, Searched};
use super::state::{AttemptNumber, Delivery, FailureText, MaxAttempts, StepRefused};
use crate::chat::ParticipantStatus;
use crate::id::{AgentId, ChatId, MessageId, ParticipantId, Sequence};
use crate::message::Message;
use crate::page::{Order, Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The deliveries that an agent requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DeliveryFilter {
    /// All that are neither processed nor dead.
    #[default]
    Open,
    /// New, delivered, or failed: all that wait for an attempt.
    Pending,
    /// With an open attempt.
    Processing,
    /// Processed.
    Processed,
    /// The last attempt has failed.
    Failed,
    /// All.
    All,
}

/// The next message for an agent in a chat.
#[derive(Clone, PartialEq, Debug)]
pub struct NextMessage {
    /// The status of the agent's membership, which the first visit makes active.
    pub status: ParticipantStatus,
    /// The oldest open message that is not claimed, with the agent's own delivery record; `None` if there is none, or if
    /// the agent is stopped.
    pub message: Option<Message>,
}

/// A step of an agent's work on a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeliveryStep {
    /// Open the next attempt.
    Begin,
    /// Go on with the open attempt, and renew its claim.
    Renew,
    /// Close the open attempt as done.
    Succeed,
    /// Close the open attempt as failed.
    Fail(FailureText),
}

/// A step to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdvanceDelivery {
    /// The agent.
    pub agent: AgentId,
    /// The chat.
    pub chat: ChatId,
    /// The message.
    pub message: MessageId,
    /// The step.
    pub step: DeliveryStep,
    /// The attempt that must be the open one; `None` for any.
    pub attempt: Option<AttemptNumber>,
    /// How long a claim lasts.
    pub lease: ClaimLease,
    /// The current time.
    pub now: Timestamp,
}

impl AdvanceDelivery {
    /// The terms of the step for an agent with these settings.
    pub fn terms(&self, max_attempts: Option<MaxAttempts>, claims: Claims) -> StepTerms {
        let lease = claims.is_exclusive().then_some(self.lease);
        StepTerms { max_attempts, lease, attempt: self.attempt }
    }

    /// The stored step: the message, and the delivery after the step.
    pub fn advanced(&self, message: Message, delivery: Delivery) -> Advanced {
        Advanced { message, delivery, is_renewal: self.step == DeliveryStep::Renew }
    }
}

/// A stored step.
#[derive(Clone, PartialEq, Debug)]
pub struct Advanced {
    /// The message with all its deliveries, including the changed one.
    pub message: Message,
    /// The delivery after the step.
    pub delivery: Delivery,
    /// Set if the step has renewed a claim, and changed nothing else.
    pub is_renewal: bool,
}

/// The reason why a step was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdvanceRefused {
    /// The agent is not in the chat, or the message is not part of it.
    NotFound,
    /// There is no open attempt to close.
    NoActiveAttempt,
    /// The delivery is dead, so no attempt can be opened.
    Dead,
    /// The agent is stopped in the chat.
    Stopped,
    /// Another attempt claims the message.
    AlreadyClaimed(Claim),
    /// The message was processed at this time, and the agent opens nothing again.
    AlreadyProcessed(Timestamp),
}

impl From<StepRefused> for AdvanceRefused {
    fn from(refused: StepRefused) -> Self {
        match refused {
            StepRefused::NoActiveAttempt => Self::NoActiveAttempt,
            StepRefused::Dead => Self::Dead,
            StepRefused::AlreadyClaimed(claim) => Self::AlreadyClaimed(claim),
            StepRefused::AlreadyProcessed(at) => Self::AlreadyProcessed(at),
        }
    }
}

/// The claims of an agent in a chat that are to be renewed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RenewClaims {
    /// The agent.
    pub agent: AgentId,
    /// The chat.
    pub chat: ChatId,
    /// Only the claim of this message.
    pub message: Option<MessageId>,
    /// When the claims will end.
    pub until: Timestamp,
    /// Claims that end later stay as they are.
    pub fresh_after: Timestamp,
    /// Without a message, claims of attempts that began earlier stay as they are.
    pub begun_after: Timestamp,
    /// The current time. Claims that have ended are not renewed.
    pub now: Timestamp,
}

/// Identifies a delivery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeliveryKey {
    /// The message.
    pub message: MessageId,
    /// The receiving agent.
    pub agent: AgentId,
}

/// Returns whether humans are subscribed to a chat; called within the write, so it must not block.
pub type HasHumanSubscribers = Box<dyn Fn(ChatId) -> bool + Send + Sync>;

/// Deliveries and their attempts.
///
/// Lists and `next` contain texts of others that mention the agent, by the chat's sequence; the
/// position is (`sequence`, nil). The messages contain the agent's own delivery record only.
#[async_trait]
pub trait DeliveryRepository: Send + Sync {
    /// The oldest open message of the chat for `agent` that is not claimed at `now`; `None` if it is no participant. The
    /// cost does not depend on the number of processed or dead ones.
    async fn next(
        &self,
        agent: AgentId,
        chat: ChatId,
        now: Timestamp,
    ) -> Result<Option<NextMessage>, StoreError>;

    /// Messages by state; `None` if `agent` is no participant.
    async fn list(
        &self,
        agent: AgentId,
        chat: ChatId,
        filter: DeliveryFilter,
        order: Order,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError>;

    /// The receipts of a message, one for each agent that it is addressed to, by id, if
    /// [`may_see_receipts`](super::may_see_receipts) allows them to `viewer`. Deliveries that are not
    /// addressed count neither as receipts nor in the queue. The cost does not depend on the number of
    /// processed messages.
    async fn receipts(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Result<Vec<DeliveryReceipt>, ReceiptsRefused>, StoreError>;

    /// Takes one step as the state machine of [`Delivery`] decides, on the locked record and with the
    /// agent's maximum number of attempts and [`Claims`]. Of attempts at a message that are begun at once, also by other
    /// processes, one claims it. Nothing changes while the agent is stopped, whatever the message is. An
    /// attempt on a message that does not mention the agent creates a record that is not addressed.
    /// The agent's membership becomes active.
    async fn advance(
        &self,
        command: AdvanceDelivery,
        on_commit: OnCommit<Advanced>,
    ) -> Result<Result<Advanced, AdvanceRefused>, StoreError>;

    /// Renews the claims of an agent in a chat. Nothing else changes, and nothing is announced.
    async fn renew_claims(&self, command: RenewClaims) -> Result<(), StoreError>;

    /// Marks those of `taken` as *delivered*, at `now`, that are still new
    /// ([`Delivery::delivered`]). All others stay as they are, and missing records are skipped.
    /// Nothing else changes, the agent's membership included.
    ///
    /// The messages that changed are announced, each once with all its deliveries, in the chats
    /// that `selected` contains; nothing if there are none.
    async fn mark_delivered(
        &self,
        taken: Vec<DeliveryKey>,
        now: Timestamp,
        selected: HasHumanSubscribers,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError>;

    /// Announces those of `messages` that are in the chats that `selected` contains, as
    /// [`Self::mark_delivered`] would, in their current state and in commit order. Changes nothing.
    async fn announce_delivered(
        &self,
        messages: Vec<MessageId>,
        selected: HasHumanSubscribers,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError>;

    /// The sequences of the newest messages in these chats. Later reads of the store see the deliveries of all messages up
    /// to these sequences.
    async fn last_sequences(&self, chats: Vec<ChatId>) -> Result<HashMap<ChatId, Sequence>, StoreError>;

    /// Finds the oldest unacknowledged deliveries of each subscription whose messages come after
    /// its `since`, at most `limit` of each; one result for each of `listening`, in its order. None are found for an
    /// agent that is stopped. A search ends after [`EXAMINED`](super::EXAMINED) open deliveries.
    async fn unacknowledged(
        &self,
        listening: Vec<Listening>,
        limit: u32,
    ) -> Result<Vec<Searched>, StoreError>;

    /// The agent's latest work on the messages of the chat up to `until`, read along indexes of open
    /// work: the cost does not depend on the number of processed messages. At most
    /// [`EXAMINED`](super::EXAMINED) deliveries with attempts are read.
    async fn backlog_work(
        &self,
        agent: AgentId,
        chat: ChatId,
        until: Sequence,
    ) -> Result<BacklogWork, StoreError>;

    /// Announces the messages of the chat at `sequences` that are still new for `agent`, in order and
    /// with its own record only; nothing if there are none, or if it is no participant or stopped. Messages
    /// beyond [`NUMBERED_PAGE_BYTES`](crate::page::NUMBERED_PAGE_BYTES) are left out at the end;
    /// since messages that are too large to be pushed count as well, a smaller limit would block
    /// those behind them.
    ///
    /// Changes nothing, but takes a slot in commit order: a message that is announced before a
    /// step, an edit, or a deletion of it was new then, and is not announced after it.
    async fn new_messages(
        &self,
        agent: AgentId,
        chat: ChatId,
        sequences: Vec<Sequence>,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError>;
}
