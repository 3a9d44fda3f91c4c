//! What admins do with the webhook of their organization.

use super::filter::EventFilter;
use super::model::{EventDelivery, OrganizationWebhook};
use super::port::{ChangeOrganizationWebhook, EventsRefused, ResendEvent};
use crate::change::Change;
use crate::id::WebhookDeliveryId;
use crate::organization::{Authority, NotAdmin};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::webhook::port::{ChangedWebhook, WebhookStep};
use crate::webhook::{WebhookService, WebhookUrlFault};

/// The reason why the webhook of an organization, or its deliveries, were not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum OrganizationWebhookError {
    /// Only an admin of the organization may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The organization has no webhook.
    #[error("the organization has no webhook")]
    NoWebhook,
    /// It has no such delivery.
    #[error("there is no such delivery")]
    NoDelivery,
    /// A request is in flight, or another delivery has not ended.
    #[error("another delivery has not ended")]
    InFlight,
    /// The webhook is disabled.
    #[error("the webhook is disabled")]
    Disabled,
    /// Webhooks are off.
    #[error("webhooks are turned off on this server")]
    Off,
    /// The URL was not accepted.
    #[error("the URL {0}")]
    Url(WebhookUrlFault),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<EventsRefused> for OrganizationWebhookError {
    fn from(refused: EventsRefused) -> Self {
        match refused {
            EventsRefused::NotAdmin => Self::NotAdmin(NotAdmin),
            EventsRefused::NoWebhook => Self::NoWebhook,
            EventsRefused::NoDelivery => Self::NoDelivery,
            EventsRefused::InFlight => Self::InFlight,
            EventsRefused::Disabled => Self::Disabled,
        }
    }
}

impl WebhookService {
    /// The webhook of an organization.
    pub async fn find_of_organization(
        &self,
        by: Authority,
    ) -> Result<OrganizationWebhook, OrganizationWebhookError> {
        Ok(self.ports.events.organization_webhook(by).await??)
    }

    /// Gives an organization a webhook with this URL, or changes the URL, and what it receives, if that is given.
    pub async fn set_of_organization(
        &self,
        by: Authority,
        url: &str,
        events: Option<EventFilter>,
    ) -> Result<ChangedWebhook<OrganizationWebhook>, OrganizationWebhookError> {
        let mint = self.mint().ok_or(OrganizationWebhookError::Off)?;
        let url = mint.url(url).map_err(OrganizationWebhookError::Url)?;
        let step = WebhookStep::Set { url, secret: mint.secret() };
        self.change_of_organization(by, step, events).await
    }

    /// Replaces the secret, see [`Webhook::rotate`](crate::webhook::Webhook::rotate).
    pub async fn rotate_of_organization(
        &self,
        by: Authority,
        revoke_previous: bool,
    ) -> Result<OrganizationWebhook, OrganizationWebhookError> {
        let secret = self.mint().ok_or(OrganizationWebhookError::Off)?.secret();
        let step = WebhookStep::Rotate { secret, revoke_previous };
        Ok(self.change_of_organization(by, step, None).await?.webhook)
    }

    /// Enables the webhook, and sends what waits immediately.
    pub async fn enable_of_organization(
        &self,
        by: Authority,
    ) -> Result<OrganizationWebhook, OrganizationWebhookError> {
        let step = WebhookStep::Enable;
        Ok(self.change_of_organization(by, step, None).await?.webhook)
    }

    /// Removes the webhook, with the record of its deliveries.
    pub async fn remove_of_organization(
        &self,
        by: Authority,
    ) -> Result<OrganizationWebhook, OrganizationWebhookError> {
        let step = WebhookStep::Remove;
        Ok(self.change_of_organization(by, step, None).await?.webhook)
    }

    /// The deliveries of an organization, the newest entry first.
    pub async fn event_deliveries(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Page<EventDelivery>, OrganizationWebhookError> {
        Ok(self.ports.events.event_deliveries(by, page).await??)
    }

    /// Returns whether the webhook of an organization is disabled, so that its deliveries wait.
    pub async fn is_disabled_of_organization(&self, by: Authority) -> Result<bool, OrganizationWebhookError> {
        match self.ports.events.organization_webhook(by).await? {
            Ok(hook) => Ok(hook.webhook.disabled.is_some()),
            Err(EventsRefused::NoWebhook) => Ok(false),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Repeats a delivery with the same id, or sends a waiting one immediately.
    pub async fn resend_event(
        &self,
        by: Authority,
        delivery: WebhookDeliveryId,
    ) -> Result<EventDelivery, OrganizationWebhookError> {
        let command = ResendEvent { by, delivery, now: self.ports.clock.now() };
        Ok(self.ports.events.resend_event(command).await??)
    }

    async fn change_of_organization(
        &self,
        by: Authority,
        step: WebhookStep,
        events: Option<EventFilter>,
    ) -> Result<ChangedWebhook<OrganizationWebhook>, OrganizationWebhookError> {
        let command = ChangeOrganizationWebhook { by, step, events, now: self.ports.clock.now() };
        let changed = self.ports.events.change_organization_webhook(command).await??;
        // Other servers read it in the change log.
        self.ports.set.follow(Change::OrganizationWebhookChanged(by.organization()));
        Ok(changed)
    }
}
