//! The store of webhooks and their deliveries.

use std::time::Duration;

use async_trait::async_trait;

use super::events::EventDelivery;
use super::model::{FailingWebhook, Webhook, WebhookDelivery, WebhookOutcome, WebhookSecret, WebhookUrl};
use super::schedule::{HALTED_PAUSE, LEASE};
use super::settle::{Notice, Reply, Resumption, Settled};
use crate::audit::Actor;
use crate::delivery::{Delivery, DeliveryStatus};
use crate::id::{AgentId, ChatId, OrganizationId, UserId, WebhookDeliveryId};
use crate::message::Message;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;

/// A change of a webhook by its owner, or of that of an organization by an admin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WebhookStep {
    /// Give it this URL; a new webhook gets this secret.
    Set {
        /// The URL.
        url: WebhookUrl,
        /// The secret of a new webhook.
        secret: WebhookSecret,
    },
    /// Replace the secret.
    Rotate {
        /// The new one.
        secret: WebhookSecret,
        /// Set if earlier secrets are revoked immediately.
        revoke_previous: bool,
    },
    /// Enable it, and send waiting deliveries immediately.
    Enable,
    /// Remove it, with the record of its deliveries.
    Remove,
}

impl WebhookStep {
    /// Applies the change to the stored webhook; `None` if there is none to be changed.
    pub(super) fn apply(&self, stored: Option<Webhook>, now: Timestamp) -> Option<Applied> {
        let before = stored.clone();
        let webhook = match (stored, self) {
            (None, Self::Set { url, secret }) => Webhook::new(url.clone(), secret.clone(), now),
            (None, _) => return None,
            (Some(mut webhook), step) => {
                match step {
                    Self::Set { url, .. } => webhook.set_url(url.clone(), now),
                    Self::Rotate { secret, revoke_previous } => {
                        webhook.rotate(secret.clone(), *revoke_previous, now);
                    }
                    Self::Enable if webhook.disabled.is_some() => webhook.enable(now),
                    Self::Enable | Self::Remove => {}
                }
                webhook
            }
        };
        let has_changed = *self == Self::Remove || before.as_ref() != Some(&webhook);
        let has_moved = before.as_ref().is_some_and(|before| before.url != webhook.url);
        let is_due = *self == Self::Enable || has_moved;
        Some(Applied { webhook, is_new: before.is_none(), has_changed, is_due })
    }
}

/// A change of a webhook to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeWebhook {
    /// The agent.
    pub agent: AgentId,
    /// Its owner.
    pub owner: UserId,
    /// The actor.
    pub by: Actor,
    /// The change.
    pub step: WebhookStep,
    /// The current time.
    pub now: Timestamp,
}

/// The result of [`ChangeWebhook::apply`], or of the change of the webhook of an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied<W = Webhook> {
    /// The webhook after the change, or in its last state.
    pub webhook: W,
    /// Set if it is new.
    pub is_new: bool,
    /// Set if it differs from the stored one.
    pub has_changed: bool,
    /// Set if what waits for its next request is due now.
    pub is_due: bool,
}

impl ChangeWebhook {
    /// Applies the change to the stored webhook.
    ///
    /// # Errors
    /// [`WebhookRefused::NoWebhook`].
    pub fn apply(&self, stored: Option<Webhook>) -> Result<Applied, WebhookRefused> {
        self.step.apply(stored, self.now).ok_or(WebhookRefused::NoWebhook)
    }
}

/// A stored change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedWebhook<W = Webhook> {
    /// The webhook after the change, or in its last state.
    pub webhook: W,
    /// Set if it is new.
    pub is_new: bool,
}

/// The reason why a webhook was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WebhookRefused {
    /// The owner has no such agent.
    AgentNotFound,
    /// The agent has no webhook.
    NoWebhook,
}

/// A delivery to be sent again, or sooner than planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resend {
    /// The agent.
    pub agent: AgentId,
    /// Its owner.
    pub owner: UserId,
    /// The actor.
    pub by: Actor,
    /// The delivery.
    pub delivery: WebhookDeliveryId,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a delivery is not sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResendRefused {
    /// The agent has no such delivery.
    NotFound,
    /// A request is in flight, or another one of its room has not ended.
    InFlight,
    /// The agent is done with the message, or it is gone.
    Over,
}

/// Whose an agent with a webhook is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WebhookOwner {
    /// The owner.
    pub user: UserId,
    /// The owner's organization.
    pub organization: OrganizationId,
}

/// A room of an agent with a webhook.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WebhookRoom {
    /// The agent.
    pub agent: AgentId,
    /// The chat.
    pub chat: ChatId,
}

/// Which rooms are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomSearch {
    /// Those with a delivery whose next request is due, or whose lease has expired.
    Due,
    /// Those with a message that waits, has no delivery since it was last offered, and need not wait for that of another one.
    New,
}

/// The maximum number of rooms of one agent that a search finds.
pub const ROOMS_OF_AGENT: u32 = 16;

/// The next delivery of a room to be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TakeDelivery {
    /// The room.
    pub room: WebhookRoom,
    /// The id of a new delivery.
    pub id: WebhookDeliveryId,
    /// The age at which an open attempt counts as stuck.
    pub stuck_after: Duration,
    /// The current time.
    pub now: Timestamp,
}

impl TakeDelivery {
    /// A delivery of this message, which had none.
    pub fn first(&self, message: &Message) -> WebhookDelivery {
        let WebhookRoom { agent, chat } = self.room;
        let mut sent = WebhookDelivery::new(self.id, agent, chat, message.id, message.sequence, self.now);
        sent.created_at = self.since(message, agent);
        sent
    }

    /// What becomes of the delivery of the room, which is not leased, as it is to be stored; it starts over if its message was
    /// offered again. `message` is `None` if it is gone.
    pub fn decide(
        &self,
        mut sent: WebhookDelivery,
        message: Option<Message>,
        webhook: Webhook,
    ) -> (WebhookDelivery, Taken) {
        let Some(message) = message else {
            sent.end(WebhookOutcome::Dropped, self.now);
            return (sent, Taken::Ended);
        };
        if offered_again_at(&message, sent.agent) > Some(sent.created_at) {
            sent.restart(self.now);
            sent.created_at = self.since(&message, sent.agent);
        }
        let ledger = record_of(&message, sent.agent);
        let taken = match Resumption::of(&sent, ledger, self.stuck_after, self.now) {
            // It is not due yet; only its end would change anything.
            Resumption::Send | Resumption::Wait(_) if self.now < sent.next_attempt_at => Taken::Nothing,
            Resumption::Send => {
                sent.begin(self.now.plus(LEASE), self.now);
                Taken::Send(Box::new(DueDelivery { delivery: sent.clone(), message, webhook }))
            }
            Resumption::Wait(until) => {
                sent.next_attempt_at = until;
                Taken::Nothing
            }
            Resumption::End(outcome) => {
                sent.end(outcome, self.now);
                Taken::Ended
            }
        };
        (sent, taken)
    }

    /// The time at which a delivery of this message begins. If the message was offered again by somebody whose clock is ahead, it
    /// is that time: a delivery that seemed earlier would not count, and would be repeated without pauses.
    fn since(&self, message: &Message, agent: AgentId) -> Timestamp {
        offered_again_at(message, agent).map_or(self.now, |at| at.max(self.now))
    }

    /// Returns whether the delivery of the room is put aside for an earlier message that was offered again: agents take their
    /// oldest one. It is not while the agent may work on it.
    pub fn gives_way(&self, sent: &WebhookDelivery, message: Option<&Message>) -> bool {
        let ledger = message.and_then(|message| record_of(message, sent.agent));
        !sent.is_leased(self.now)
            && Resumption::of(sent, ledger, self.stuck_after, self.now) == Resumption::Send
    }

    /// The delivery of the room if its agent cannot be sent anything now.
    pub fn put_off(&self, sent: WebhookDelivery) -> WebhookDelivery {
        let next_attempt_at = sent.next_attempt_at.max(self.now.plus(HALTED_PAUSE));
        WebhookDelivery { next_attempt_at, ..sent }
    }
}

/// The time at which the message was last offered to the agent as if it were new; earlier deliveries do not count.
pub fn offered_again_at(message: &Message, agent: AgentId) -> Option<Timestamp> {
    record_of(message, agent)?.restart().map(|restart| restart.at)
}

fn record_of(message: &Message, agent: AgentId) -> Option<&Delivery> {
    message.deliveries.iter().find(|one| one.agent() == agent)
}

impl Resend {
    /// The delivery as it is sent again, or sooner. `is_busy` tells whether the room has another one that has not ended.
    ///
    /// # Errors
    /// [`ResendRefused`].
    pub fn apply(
        &self,
        mut sent: WebhookDelivery,
        message: Option<&Message>,
        is_busy: bool,
    ) -> Result<WebhookDelivery, ResendRefused> {
        if is_busy || sent.is_leased(self.now) {
            return Err(ResendRefused::InFlight);
        }
        let ledger = message.and_then(|message| record_of(message, sent.agent));
        let status = ledger.filter(|ledger| ledger.is_addressed()).map(Delivery::status);
        if matches!(
            status,
            None | Some(DeliveryStatus::Processed | DeliveryStatus::Dead | DeliveryStatus::Held)
        ) {
            return Err(ResendRefused::Over);
        }
        if sent.ended.is_some() {
            sent.restart(self.now);
        } else {
            sent.next_attempt_at = self.now;
        }
        Ok(sent)
    }
}

/// A delivery to be sent, on a lease.
#[derive(Clone, PartialEq, Debug)]
pub struct DueDelivery {
    /// The delivery, with this request counted.
    pub delivery: WebhookDelivery,
    /// The message, with the agent's own delivery record only.
    pub message: Message,
    /// The webhook.
    pub webhook: Webhook,
}

/// The result of [`TakeDelivery`].
#[derive(Clone, PartialEq, Debug)]
pub enum Taken {
    /// Nothing is due in the room, or another sender works on it.
    Nothing,
    /// A delivery has ended without a request. The next one may be due.
    Ended,
    /// A delivery to be sent.
    Send(Box<DueDelivery>),
}

/// A lease to be renewed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    /// The delivery.
    pub delivery: WebhookDeliveryId,
    /// The number of its request.
    pub attempt: u32,
}

/// The answer to a request, to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettleDelivery {
    /// The request.
    pub lease: Lease,
    /// Where it went.
    pub url: WebhookUrl,
    /// The answer.
    pub reply: Reply,
    /// The current time.
    pub now: Timestamp,
}

impl SettleDelivery {
    /// Records the answer in the delivery and in the webhook. A response from an earlier URL says nothing about the
    /// webhook; after a failure there, the request is repeated immediately. `message` is `None` if it is gone.
    pub fn apply(
        &self,
        sent: &mut WebhookDelivery,
        webhook: Option<&mut Webhook>,
        message: Option<&Message>,
    ) -> Option<Notice> {
        let ledger = message.and_then(|message| record_of(message, sent.agent));
        sent.settle(&self.reply, ledger, self.now);
        self.note(webhook?, &mut sent.next_attempt_at)
    }

    /// The same of a delivery to the webhook of an organization.
    pub fn apply_to_event(&self, sent: &mut EventDelivery, webhook: Option<&mut Webhook>) -> Option<Notice> {
        sent.settle(&self.reply, self.now);
        self.note(webhook?, &mut sent.next_attempt_at)
    }

    fn note(&self, webhook: &mut Webhook, next_attempt_at: &mut Timestamp) -> Option<Notice> {
        if webhook.url == self.url {
            return webhook.settle(&self.reply, self.now);
        }
        if !self.reply.is_success() {
            *next_attempt_at = self.now;
        }
        None
    }
}

/// What waits for webhooks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Backlog {
    /// The number of deliveries that have begun and not ended.
    pub deliveries: u64,
    /// The beginning of the oldest one.
    pub oldest: Option<Timestamp>,
}

impl Backlog {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let oldest = self.oldest.into_iter().chain(other.oldest).min();
        Self { deliveries: self.deliveries + other.deliveries, oldest }
    }
}

/// Webhooks of agents and their deliveries, and the upkeep of all deliveries.
#[async_trait]
pub trait WebhookRepository: Send + Sync {
    /// The webhook of an agent.
    async fn webhook(&self, agent: AgentId) -> Result<Option<Webhook>, StoreError>;

    /// Applies a change with [`ChangeWebhook::apply`], with an entry in the audit log and in the change log if something
    /// has changed. Deliveries that wait are due afterwards if [`Applied::is_due`] is set.
    async fn change_webhook(
        &self,
        command: ChangeWebhook,
    ) -> Result<Result<ChangedWebhook, WebhookRefused>, StoreError>;

    /// The agents with a webhook that is not disabled, and whose they are.
    async fn agents_with_webhooks(&self) -> Result<Vec<(AgentId, WebhookOwner)>, StoreError>;

    /// At most `limit` webhooks of the agents of `owner` that are disabled, or whose requests have failed for a day, in any
    /// order.
    async fn failing_webhooks(&self, owner: UserId, limit: u32) -> Result<Vec<FailingWebhook>, StoreError>;

    /// The deliveries of an agent, newest first; the position is (creation, id).
    async fn webhook_deliveries(
        &self,
        agent: AgentId,
        page: PageRequest,
    ) -> Result<Page<WebhookDelivery>, StoreError>;

    /// Sends a delivery again, or sooner, with [`Resend::apply`], and with an entry in the audit log.
    async fn resend_delivery(
        &self,
        command: Resend,
    ) -> Result<Result<WebhookDelivery, ResendRefused>, StoreError>;

    /// At most `limit` rooms of enabled webhooks, and [`ROOMS_OF_AGENT`] of each agent. Those that are due are of agents
    /// after `after`, in order of their agents, and the longest due ones of each.
    async fn webhook_rooms(
        &self,
        search: RoomSearch,
        after: AgentId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<WebhookRoom>, StoreError>;

    /// Takes the delivery of a room that is due: the one that has not ended, or a new one for the oldest open message that
    /// had none since it was last offered. [`Resumption::of`](super::Resumption::of) decides. One that waits ends if the
    /// message does not; it is erased, to be taken later, if it [gives way](TakeDelivery::gives_way) to an earlier message,
    /// which is taken with the next call.
    ///
    /// Nothing is taken if the agent is stopped, paused, or disabled, or if its webhook is disabled; a delivery that is due then
    /// waits for [`HALTED_PAUSE`]. One of an agent that is no participant is erased. Of several calls at the same time, one
    /// takes the delivery.
    async fn take_delivery(&self, command: TakeDelivery) -> Result<Taken, StoreError>;

    /// Moves the end of leases to `until`, of requests that are still the last ones of their deliveries, also of organizations.
    async fn renew_leases(&self, leases: Vec<Lease>, until: Timestamp) -> Result<(), StoreError>;

    /// Stores the answer to a request with [`SettleDelivery::apply`]. `None`, and no change, if the
    /// request is no longer the last one of its delivery, or the delivery is gone. A webhook that becomes disabled has an
    /// entry in the audit log and in the change log.
    async fn settle_delivery(&self, command: SettleDelivery) -> Result<Option<Settled>, StoreError>;

    /// What waits for webhooks that are not disabled, also of organizations.
    async fn webhook_backlog(&self) -> Result<Backlog, StoreError>;

    /// At most `limit` deliveries that ended at `before` or earlier, or before the `kept` newest ones of their agent began, or
    /// are about earlier entries than the `kept` newest ones of their organization. The latest one of a room with open messages
    /// is kept, and so is one whose open message was offered again: otherwise, these messages would be sent again.
    async fn old_webhook_deliveries(
        &self,
        before: Timestamp,
        kept: u32,
        limit: u32,
    ) -> Result<Vec<WebhookDeliveryId>, StoreError>;

    /// Erases those that have ended.
    async fn forget_webhook_deliveries(&self, ids: Vec<WebhookDeliveryId>) -> Result<(), StoreError>;
}
