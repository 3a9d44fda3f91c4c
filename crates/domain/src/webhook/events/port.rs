//! The store of webhooks of organizations, and the deliveries to them.

use async_trait::async_trait;

use super::filter::EventFilter;
use super::model::{EventDelivery, OrganizationWebhook};
use crate::audit::AuditRecord;
use crate::id::{OrganizationId, WebhookDeliveryId};
use crate::organization::{Authority, NotAdmin};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::webhook::Webhook;
use crate::webhook::port::{Applied, ChangedWebhook, Lease, SettleDelivery, WebhookStep};
use crate::webhook::settle::Settled;

/// The maximum number of entries of the log that are looked at in one transaction.
pub const ENTRIES_AT_ONCE: u32 = 200;

/// A change of the webhook of an organization by an admin or the operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeOrganizationWebhook {
    /// The authority.
    pub by: Authority,
    /// The change.
    pub step: WebhookStep,
    /// What it receives, if it is set; `None` leaves that as it is, which is everything of a new one.
    pub events: Option<EventFilter>,
    /// The current time.
    pub now: Timestamp,
}

impl ChangeOrganizationWebhook {
    /// Applies the change to the stored webhook. `newest` is the number of the newest sealed entry, after which a new webhook
    /// begins.
    ///
    /// # Errors
    /// [`EventsRefused::NoWebhook`].
    pub fn apply(
        &self,
        stored: Option<OrganizationWebhook>,
        newest: i64,
    ) -> Result<Applied<OrganizationWebhook>, EventsRefused> {
        let (stored, before, seen) = match stored {
            Some(stored) => (Some(stored.webhook), stored.events, stored.seen),
            None => (None, EventFilter::default(), newest),
        };
        let applied = self.step.apply(stored, self.now).ok_or(EventsRefused::NoWebhook)?;
        let Applied { mut webhook, is_new, mut has_changed, mut is_due } = applied;
        let events = self.events.clone().unwrap_or_else(|| before.clone());
        if events != before {
            // A delivery that waits may be dropped now.
            (has_changed, is_due) = (true, true);
            webhook.updated_at = self.now;
        }
        let organization = self.by.organization();
        let webhook = OrganizationWebhook { organization, webhook, events, seen };
        Ok(Applied { webhook, is_new, has_changed, is_due })
    }
}

/// The reason why nothing was read or changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventsRefused {
    /// Only an admin of the organization may.
    NotAdmin,
    /// The organization has no webhook.
    NoWebhook,
    /// It has no such delivery.
    NoDelivery,
    /// A request is in flight, or another delivery has not ended.
    InFlight,
    /// The webhook is disabled.
    Disabled,
}

impl From<NotAdmin> for EventsRefused {
    fn from(_: NotAdmin) -> Self {
        Self::NotAdmin
    }
}

/// A delivery to be sent again, or sooner than planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResendEvent {
    /// The authority.
    pub by: Authority,
    /// The delivery.
    pub delivery: WebhookDeliveryId,
    /// The current time.
    pub now: Timestamp,
}

impl ResendEvent {
    /// The delivery as it is sent again, or sooner. `is_busy` tells whether another one has not ended. Its requests are counted
    /// on, so that a late answer to an earlier one is not taken for one to the next.
    ///
    /// # Errors
    /// [`EventsRefused::InFlight`].
    pub fn apply(&self, mut sent: EventDelivery, is_busy: bool) -> Result<EventDelivery, EventsRefused> {
        if is_busy || sent.is_leased(self.now) {
            return Err(EventsRefused::InFlight);
        }
        if sent.ended.take().is_some() {
            (sent.leased_until, sent.created_at) = (None, self.now);
            (sent.attempted_at, sent.status, sent.error) = (None, None, None);
        }
        sent.next_attempt_at = self.now;
        Ok(sent)
    }
}

/// The next delivery of an organization to be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TakeEvent {
    /// The organization.
    pub organization: OrganizationId,
    /// The current time.
    pub now: Timestamp,
}

/// A delivery to be sent, on a lease.
#[derive(Clone, PartialEq, Debug)]
pub struct DueEvent {
    /// The delivery, with this request counted.
    pub delivery: EventDelivery,
    /// The entry.
    pub record: AuditRecord,
    /// The webhook.
    pub webhook: Webhook,
}

impl DueEvent {
    /// Its lease.
    pub const fn lease(&self) -> Lease {
        Lease { delivery: self.delivery.id, attempt: self.delivery.attempts }
    }
}

/// The result of [`TakeEvent`].
#[derive(Clone, PartialEq, Debug)]
pub enum TakenEvent {
    /// Nothing is due, or another sender works on it.
    Nothing,
    /// Entries were passed over, or a delivery was dropped. A later one may be due.
    Passed,
    /// A delivery to be sent.
    Send(Box<DueEvent>),
}

/// Webhooks of organizations, and their deliveries.
///
/// [`WebhookRepository`](crate::webhook::WebhookRepository) renews the leases of these deliveries, counts those that wait, and
/// erases old ones, with those of agents.
#[async_trait]
pub trait OrganizationWebhookRepository: Send + Sync {
    /// The webhook of an organization. Refused without the [`Authority`], as is everything that names one.
    async fn organization_webhook(
        &self,
        by: Authority,
    ) -> Result<Result<OrganizationWebhook, EventsRefused>, StoreError>;

    /// Applies a change with [`ChangeOrganizationWebhook::apply`], with an entry in the audit log and in the change log if
    /// something has changed. A delivery that waits is due afterwards if [`Applied::is_due`] is set.
    async fn change_organization_webhook(
        &self,
        command: ChangeOrganizationWebhook,
    ) -> Result<Result<ChangedWebhook<OrganizationWebhook>, EventsRefused>, StoreError>;

    /// The deliveries of an organization, the newest entry first; the position is its number.
    async fn event_deliveries(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Result<Page<EventDelivery>, EventsRefused>, StoreError>;

    /// Sends a delivery again, or sooner, with [`ResendEvent::apply`], and with an entry in the audit log. Refused while the
    /// webhook is disabled.
    async fn resend_event(
        &self,
        command: ResendEvent,
    ) -> Result<Result<EventDelivery, EventsRefused>, StoreError>;

    /// Returns whether an organization has a webhook that is not disabled.
    async fn has_organization_webhooks(&self) -> Result<bool, StoreError>;

    /// At most `limit` organizations after `after`, in their order, whose webhook is not disabled, and that have a delivery that
    /// is due, or none that has not ended and sealed entries after the one that was seen last.
    async fn organizations_with_events(
        &self,
        after: OrganizationId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OrganizationId>, StoreError>;

    /// Takes the delivery of an organization that is due: the one that has not ended ([`OrganizationWebhook::resume`]), or a new
    /// one for the next entry ([`OrganizationWebhook::next`], with at most [`ENTRIES_AT_ONCE`]). Of several calls at the same time, one takes it.
    async fn take_event(&self, command: TakeEvent) -> Result<TakenEvent, StoreError>;

    /// Stores the answer to a request with [`SettleDelivery::apply_to_event`]. `None`, and no change, if the request is no
    /// longer the last one of its delivery, or the delivery is gone. A webhook that becomes disabled has an entry in the audit
    /// log and in the change log.
    async fn settle_event(
        &self,
        command: SettleDelivery,
    ) -> Result<Option<Settled<EventDelivery>>, StoreError>;
}
