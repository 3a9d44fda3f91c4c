//! The routes of webhooks.

use http_wire::openapi::{Endpoint, delete, get, post, put};
use http_wire::page::{CursorQuery, PageMetadata};
use http_wire::view::{SecretWebhookView, WebhookDeliveryView, WebhookView};

use crate::webhook;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/agents/{agent_id}/webhook", webhook::find)
            .named("findWebhook", "Show the webhook of one of the caller's agents, without its secret")
            .answers::<WebhookView<'_>>(200),
        put("/agents/{agent_id}/webhook", webhook::set)
            .named(
                "setWebhook",
                "Create the webhook of an agent, and show its secret once (201), or change its URL (200)",
            )
            .body::<webhook::WebhookBody>()
            .answers::<SecretWebhookView<'_>>(200)
            .answers::<SecretWebhookView<'_>>(201),
        delete("/agents/{agent_id}/webhook", webhook::remove)
            .named("removeWebhook", "Remove the webhook of an agent, and its delivery log")
            .answers_nothing(),
        post("/agents/{agent_id}/webhook/rotate-secret", webhook::rotate)
            .named(
                "rotateWebhookSecret",
                "Replace the secret and show the new one once. Earlier secrets stay valid for 24 hours unless you revoke them",
            )
            .body::<webhook::RotateBody>()
            .answers::<SecretWebhookView<'_>>(200),
        post("/agents/{agent_id}/webhook/enable", webhook::enable)
            .named("enableWebhook", "Enable a disabled webhook and send waiting deliveries immediately")
            .answers::<WebhookView<'_>>(200),
        get("/agents/{agent_id}/webhook/deliveries", webhook::list_deliveries)
            .named("listWebhookDeliveries", "List the deliveries to the webhook of an agent, newest first")
            .query::<CursorQuery>()
            .lists::<WebhookDeliveryView<'_>, PageMetadata>(),
        post("/agents/{agent_id}/webhook/deliveries/{delivery_id}/resend", webhook::resend)
            .named("resendWebhookDelivery", "Repeat a delivery with the same id, or send a waiting one immediately")
            .answers::<WebhookDeliveryView<'_>>(200)
            .refuses(&[409]),
    ]
}
