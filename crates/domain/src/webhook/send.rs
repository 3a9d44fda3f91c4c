//! What a sender does.

use std::sync::PoisonError;

use super::port::{Backlog, Lease, RoomSearch, SettleDelivery, TakeDelivery, Taken, WebhookRoom};
use super::schedule::LEASE;
use super::service::{KEPT_DELIVERIES, KEPT_FOR, WebhookService};
use super::settle::{Notice, Reply, Settled};
use super::{DueDelivery, set::Wakes};
use crate::change::Change;
use crate::delivery::DeliveryKey;
use crate::id::{AgentId, WebhookDeliveryId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The maximum number of rooms, or organizations, of one search.
pub(super) const SEARCHED: u32 = 1_000;

/// The number of old deliveries that are read at a time.
const OLD_AT_ONCE: u32 = 10_000;

/// The number of deliveries that are erased at a time.
const FORGOTTEN_AT_ONCE: usize = 200;

impl WebhookService {
    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    /// Reads which agents have a webhook, and whether an organization has one.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let agents = self.ports.webhooks.agents_with_webhooks().await?;
        self.ports.set.replace(agents);
        self.ports.set.set_events(self.ports.events.has_organization_webhooks().await?);
        Ok(())
    }

    /// What is to be looked at because of events and changes.
    pub fn take_wakes(&self) -> Wakes {
        self.ports.set.take_wakes()
    }

    /// Rooms in which something is to be sent; none if no agent has a webhook. At most a bounded number of all and of each
    /// agent, so more may follow. A search of due rooms that does not find all is continued by the next one.
    pub async fn rooms(&self, search: RoomSearch) -> Result<Vec<WebhookRoom>, StoreError> {
        if self.ports.set.is_empty() {
            return Ok(Vec::new());
        }
        let reached = || self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let after = *reached();
        let found = self.ports.webhooks.webhook_rooms(search, after, self.now(), SEARCHED).await?;
        if search == RoomSearch::Due {
            let is_full = found.len() >= SEARCHED as usize;
            *reached() = found.last().filter(|_| is_full).map_or(AgentId::NIL, |room| room.agent);
        }
        Ok(found)
    }

    /// Takes the delivery of a room that is due, if there is one.
    pub async fn take(&self, room: WebhookRoom) -> Result<Option<Box<DueDelivery>>, StoreError> {
        loop {
            let now = self.now();
            let id = WebhookDeliveryId::new(self.ports.ids.generate(now));
            let command = TakeDelivery { room, id, stuck_after: self.ports.stuck_after, now };
            match self.ports.webhooks.take_delivery(command).await? {
                Taken::Nothing => return Ok(None),
                Taken::Ended => {}
                Taken::Send(due) => return Ok(Some(due)),
            }
        }
    }

    /// Renews the leases of requests that are in flight.
    pub async fn renew(&self, leases: Vec<Lease>) -> Result<(), StoreError> {
        if leases.is_empty() {
            return Ok(());
        }
        self.ports.webhooks.renew_leases(leases, self.now().plus(LEASE)).await
    }

    /// Ends the leases of requests that are cut off, so that the next sender need not wait.
    pub async fn release(&self, leases: Vec<Lease>) -> Result<(), StoreError> {
        if leases.is_empty() {
            return Ok(());
        }
        self.ports.webhooks.renew_leases(leases, self.now()).await
    }

    /// Stores the answer to a request. After a success the message is marked as delivered first: if the server dies in
    /// between, the next one sees that the receiver has it.
    pub async fn settle(&self, due: &DueDelivery, reply: Reply) -> Result<Option<Settled>, StoreError> {
        let delivery = &due.delivery;
        if reply.is_success() {
            let key = DeliveryKey { message: delivery.message, agent: delivery.agent };
            self.ports.deliveries.mark_delivered(vec![key]).await?;
        }
        let lease = Lease { delivery: delivery.id, attempt: delivery.attempts };
        let url = due.webhook.url.clone();
        let settled = self
            .ports
            .webhooks
            .settle_delivery(SettleDelivery { lease, url, reply, now: self.now() })
            .await?;
        if let Some(Settled { notice: Some(Notice::Disabled(_)), .. }) = &settled {
            self.ports.set.follow(Change::WebhookChanged(delivery.agent));
        }
        Ok(settled)
    }

    /// What waits.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.ports.webhooks.webhook_backlog().await
    }

    /// Erases old deliveries, in batches, so that no other write waits for long.
    pub async fn forget_old(&self, now: Timestamp) -> Result<(), StoreError> {
        let (webhooks, before) = (&self.ports.webhooks, now.minus(KEPT_FOR));
        loop {
            let old = webhooks.old_webhook_deliveries(before, KEPT_DELIVERIES, OLD_AT_ONCE).await?;
            for some in old.chunks(FORGOTTEN_AT_ONCE) {
                webhooks.forget_webhook_deliveries(some.to_vec()).await?;
            }
            if old.len() < OLD_AT_ONCE as usize {
                return Ok(());
            }
        }
    }
}
