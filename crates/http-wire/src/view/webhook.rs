//! Webhooks, and the record of their deliveries.

use domain::id::{ChatId, MessageId, WebhookDeliveryId};
use domain::time::Timestamp;
use domain::webhook::{EventDelivery, OrganizationWebhook, Webhook, WebhookDelivery, WebhookSecret};
use serde::Serialize;

use super::Shown;

/// A webhook, of an agent or of an organization.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct WebhookView<'a> {
    url: &'a str,
    /// `active`, `failing` if all requests have failed for a day, or `disabled`.
    status: &'static str,
    /// The first failure since the last success.
    #[schema(value_type = Option<super::Instant>)]
    failing_since: Option<Shown<Timestamp>>,
    #[schema(value_type = Option<super::Instant>)]
    disabled_at: Option<Shown<Timestamp>>,
    /// `gone` if the receiver responded with 410, or `failing` if requests kept failing for two days after the warning.
    disabled_reason: Option<&'static str>,
    /// Until then, requests are also signed with the secret before the last rotation.
    #[schema(value_type = Option<super::Instant>)]
    previous_secret_valid_until: Option<Shown<Timestamp>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
}

impl<'a> WebhookView<'a> {
    /// Shows `webhook`, without its secret.
    pub fn new(webhook: &'a Webhook, now: Timestamp) -> Self {
        Self {
            url: webhook.url.as_str(),
            status: webhook.status(),
            failing_since: webhook.failing_since.map(Shown),
            disabled_at: webhook.disabled.map(|disabled| Shown(disabled.at)),
            disabled_reason: webhook.disabled.map(|disabled| disabled.reason.as_str()),
            previous_secret_valid_until: webhook.valid_previous(now).map(|previous| Shown(previous.until)),
            inserted_at: Shown(webhook.created_at),
            updated_at: Shown(webhook.updated_at),
        }
    }
}

/// A webhook with its secret, if that is new.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SecretWebhookView<'a> {
    #[serde(flatten)]
    webhook: WebhookView<'a>,
    /// The secret, shown only once: `whsec_` and base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

impl<'a> SecretWebhookView<'a> {
    /// Shows `webhook`; with its secret if `has_new_secret` is set.
    pub fn new(webhook: &'a Webhook, has_new_secret: bool, now: Timestamp) -> Self {
        let secret = has_new_secret.then_some(&webhook.secret).map(WebhookSecret::reveal);
        Self { webhook: WebhookView::new(webhook, now), secret }
    }
}

/// The webhook of an organization, with its secret if that is new.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OrganizationWebhookView<'a> {
    #[serde(flatten)]
    webhook: SecretWebhookView<'a>,
    /// The actions of the audit log that it receives, and areas such as `agent.*`. All if it is empty.
    events: Vec<&'a str>,
}

impl<'a> OrganizationWebhookView<'a> {
    /// Shows `hook`; with its secret if `has_new_secret` is set.
    pub fn new(hook: &'a OrganizationWebhook, has_new_secret: bool, now: Timestamp) -> Self {
        Self {
            webhook: SecretWebhookView::new(&hook.webhook, has_new_secret, now),
            events: hook.events.names().iter().map(String::as_str).collect(),
        }
    }
}

/// The requests for one message.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct WebhookDeliveryView<'a> {
    /// The header `webhook-id` of each request.
    #[schema(value_type = super::Id)]
    id: Shown<WebhookDeliveryId>,
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    #[schema(value_type = super::Id)]
    message_id: Shown<MessageId>,
    /// `sending`, `waiting` for the next attempt, `delivered`, or `dropped` because the message was deleted, is dead or
    /// held, or is no longer for the agent.
    status: &'static str,
    /// The number of requests.
    attempts: u32,
    /// The status of the last response.
    last_status: Option<u16>,
    /// The reason why the last request got no response.
    last_error: Option<&'a str>,
    #[schema(value_type = Option<super::Instant>)]
    last_attempt_at: Option<Shown<Timestamp>>,
    /// Null while no request is planned, as when the webhook is disabled.
    #[schema(value_type = Option<super::Instant>)]
    next_attempt_at: Option<Shown<Timestamp>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = Option<super::Instant>)]
    ended_at: Option<Shown<Timestamp>>,
}

impl<'a> WebhookDeliveryView<'a> {
    /// Shows `sent`; `is_disabled` says whether its webhook is.
    pub fn new(sent: &'a WebhookDelivery, is_disabled: bool, now: Timestamp) -> Self {
        Self {
            id: Shown(sent.id),
            chat_room_id: Shown(sent.chat),
            message_id: Shown(sent.message),
            status: sent.state(now),
            attempts: sent.attempts,
            last_status: sent.status,
            last_error: sent.error.as_deref(),
            last_attempt_at: sent.attempted_at.map(Shown),
            next_attempt_at: sent.next_attempt(is_disabled, now).map(Shown),
            inserted_at: Shown(sent.created_at),
            ended_at: sent.ended.map(|ended| Shown(ended.at)),
        }
    }
}

/// The requests for one entry of the audit log.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct EventDeliveryView<'a> {
    /// The id of the entry, which is the header `webhook-id` of each request.
    #[schema(value_type = super::Id)]
    id: Shown<WebhookDeliveryId>,
    /// The action of the entry.
    event: &'a str,
    /// `sending`, `waiting` for the next attempt, `delivered`, or `dropped` because the webhook did not receive the action any
    /// more.
    status: &'static str,
    /// The number of requests.
    attempts: u32,
    /// The status of the last response.
    last_status: Option<u16>,
    /// The reason why the last request got no response.
    last_error: Option<&'a str>,
    #[schema(value_type = Option<super::Instant>)]
    last_attempt_at: Option<Shown<Timestamp>>,
    /// Null while no request is planned, as when the webhook is disabled.
    #[schema(value_type = Option<super::Instant>)]
    next_attempt_at: Option<Shown<Timestamp>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = Option<super::Instant>)]
    ended_at: Option<Shown<Timestamp>>,
}

impl<'a> EventDeliveryView<'a> {
    /// Shows `sent`; `is_disabled` says whether its webhook is.
    pub fn new(sent: &'a EventDelivery, is_disabled: bool, now: Timestamp) -> Self {
        Self {
            id: Shown(sent.id),
            event: &sent.action,
            status: sent.state(now),
            attempts: sent.attempts,
            last_status: sent.status,
            last_error: sent.error.as_deref(),
            last_attempt_at: sent.attempted_at.map(Shown),
            next_attempt_at: sent.next_attempt(is_disabled, now).map(Shown),
            inserted_at: Shown(sent.created_at),
            ended_at: sent.ended.map(|ended| Shown(ended.at)),
        }
    }
}
