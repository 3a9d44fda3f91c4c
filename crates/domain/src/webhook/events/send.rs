//! What a sender does for organizations.

use std::sync::PoisonError;

use super::model::EventDelivery;
use super::port::{DueEvent, TakeEvent, TakenEvent};
use crate::change::Change;
use crate::id::OrganizationId;
use crate::store::StoreError;
use crate::webhook::WebhookService;
use crate::webhook::port::SettleDelivery;
use crate::webhook::send::SEARCHED;
use crate::webhook::settle::{Notice, Reply, Settled};

impl WebhookService {
    /// Organizations for which something is to be sent; none if none has a webhook. At most a bounded number, so more may
    /// follow: a search that does not find all is continued by the next one.
    pub async fn organizations_with_events(&self) -> Result<Vec<OrganizationId>, StoreError> {
        if !self.ports.set.has_events() {
            return Ok(Vec::new());
        }
        let reached = || self.reached_organization.lock().unwrap_or_else(PoisonError::into_inner);
        let after = *reached();
        let found = self.ports.events.organizations_with_events(after, self.now(), SEARCHED).await?;
        let is_full = found.len() >= SEARCHED as usize;
        *reached() = found.last().filter(|_| is_full).copied().unwrap_or(OrganizationId::NIL);
        Ok(found)
    }

    /// Takes the delivery of an organization that is due, if there is one, or passes over some entries.
    pub async fn take_event(&self, organization: OrganizationId) -> Result<TakenEvent, StoreError> {
        self.ports.events.take_event(TakeEvent { organization, now: self.now() }).await
    }

    /// Stores the answer to a request.
    pub async fn settle_event(
        &self,
        due: &DueEvent,
        reply: Reply,
    ) -> Result<Option<Settled<EventDelivery>>, StoreError> {
        let (lease, url) = (due.lease(), due.webhook.url.clone());
        let command = SettleDelivery { lease, url, reply, now: self.now() };
        let settled = self.ports.events.settle_event(command).await?;
        if let Some(Settled { notice: Some(Notice::Disabled(_)), .. }) = &settled {
            self.ports.set.follow(Change::OrganizationWebhookChanged(due.delivery.organization));
        }
        Ok(settled)
    }
}
