//! What owners do with the webhooks of their agents.

use super::model::{Webhook, WebhookDelivery};
use super::port::{ChangeWebhook, ChangedWebhook, Resend, ResendRefused, WebhookRefused, WebhookStep};
use super::service::WebhookService;
use super::{WebhookMint, WebhookUrlFault};
use crate::audit::Actor;
use crate::change::Change;
use crate::id::{AgentId, UserId, WebhookDeliveryId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// The reason why a webhook was not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The owner has no such agent.
    #[error("there is no such agent of this owner")]
    AgentNotFound,
    /// The agent has no webhook.
    #[error("the agent has no webhook")]
    NoWebhook,
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

/// The reason why a delivery is not sent again.
#[derive(Debug, thiserror::Error)]
pub enum ResendError {
    /// The owner has no such agent.
    #[error("there is no such agent of this owner")]
    AgentNotFound,
    /// The agent has no such delivery.
    #[error("there is no such delivery")]
    NotFound,
    /// A request is in flight, or another one of its room has not ended.
    #[error("another delivery of this room has not ended")]
    InFlight,
    /// The agent is done with the message, or it is gone.
    #[error("the message does not wait for the agent any more")]
    Over,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WebhookService {
    /// The webhook of an agent of `owner`.
    pub async fn find(&self, owner: UserId, agent: AgentId) -> Result<Webhook, WebhookError> {
        if !self.owns(owner, agent).await? {
            return Err(WebhookError::AgentNotFound);
        }
        self.ports.webhooks.webhook(agent).await?.ok_or(WebhookError::NoWebhook)
    }

    /// Gives an agent of `owner` a webhook with this URL, or changes the URL.
    pub async fn set_url(
        &self,
        by: Actor,
        owner: UserId,
        agent: AgentId,
        url: &str,
    ) -> Result<ChangedWebhook, WebhookError> {
        let mint = self.mint().ok_or(WebhookError::Off)?;
        let (url, secret) = (mint.url(url).map_err(WebhookError::Url)?, mint.secret());
        self.change(by, owner, agent, WebhookStep::Set { url, secret }).await
    }

    /// Replaces the secret, see [`Webhook::rotate`].
    pub async fn rotate(
        &self,
        by: Actor,
        owner: UserId,
        agent: AgentId,
        revoke_previous: bool,
    ) -> Result<Webhook, WebhookError> {
        let secret = self.mint().ok_or(WebhookError::Off)?.secret();
        Ok(self.change(by, owner, agent, WebhookStep::Rotate { secret, revoke_previous }).await?.webhook)
    }

    /// Enables the webhook, and sends waiting deliveries immediately.
    pub async fn enable(&self, by: Actor, owner: UserId, agent: AgentId) -> Result<Webhook, WebhookError> {
        Ok(self.change(by, owner, agent, WebhookStep::Enable).await?.webhook)
    }

    /// Removes the webhook.
    pub async fn remove(&self, by: Actor, owner: UserId, agent: AgentId) -> Result<Webhook, WebhookError> {
        Ok(self.change(by, owner, agent, WebhookStep::Remove).await?.webhook)
    }

    /// The deliveries of an agent of `owner`, newest first.
    pub async fn deliveries(
        &self,
        owner: UserId,
        agent: AgentId,
        page: PageRequest,
    ) -> Result<Page<WebhookDelivery>, WebhookError> {
        if !self.owns(owner, agent).await? {
            return Err(WebhookError::AgentNotFound);
        }
        Ok(self.ports.webhooks.webhook_deliveries(agent, page).await?)
    }

    /// Returns whether the webhook of an agent is disabled, so that its deliveries wait.
    pub async fn is_disabled(&self, agent: AgentId) -> Result<bool, StoreError> {
        Ok(self.ports.webhooks.webhook(agent).await?.is_some_and(|webhook| webhook.disabled.is_some()))
    }

    /// Repeats a delivery with the same id, or sends a waiting one immediately, if the message still waits for the agent.
    pub async fn resend(
        &self,
        by: Actor,
        owner: UserId,
        agent: AgentId,
        delivery: WebhookDeliveryId,
    ) -> Result<WebhookDelivery, ResendError> {
        if !self.owns(owner, agent).await? {
            return Err(ResendError::AgentNotFound);
        }
        let command = Resend { agent, owner, by, delivery, now: self.ports.clock.now() };
        match self.ports.webhooks.resend_delivery(command).await? {
            Ok(delivery) => Ok(delivery),
            Err(ResendRefused::NotFound) => Err(ResendError::NotFound),
            Err(ResendRefused::InFlight) => Err(ResendError::InFlight),
            Err(ResendRefused::Over) => Err(ResendError::Over),
        }
    }

    async fn change(
        &self,
        by: Actor,
        owner: UserId,
        agent: AgentId,
        step: WebhookStep,
    ) -> Result<ChangedWebhook, WebhookError> {
        let command = ChangeWebhook { agent, owner, by, step, now: self.ports.clock.now() };
        let changed =
            self.ports.webhooks.change_webhook(command).await?.map_err(|refused| match refused {
                WebhookRefused::AgentNotFound => WebhookError::AgentNotFound,
                WebhookRefused::NoWebhook => WebhookError::NoWebhook,
            })?;
        // Other servers read it in the change log.
        self.ports.set.follow(Change::WebhookChanged(agent));
        Ok(changed)
    }

    pub(super) fn mint(&self) -> Option<&dyn WebhookMint> {
        self.ports.mint.as_deref()
    }

    async fn owns(&self, owner: UserId, agent: AgentId) -> Result<bool, StoreError> {
        let found = self.ports.accounts.find_agent(agent).await?;
        Ok(found.is_some_and(|agent| agent.owner == owner))
    }
}
