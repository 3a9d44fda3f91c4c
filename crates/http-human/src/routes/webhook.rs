//! The routes of webhooks.

use http_wire::openapi::{Endpoint, delete, get, post, put};
use http_wire::page::{CursorQuery, PageMetadata};
use http_wire::view::{
    EventDeliveryView, OrganizationWebhookView, SecretWebhookView, WebhookDeliveryView, WebhookView,
};

use crate::{organization, webhook};

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

/// Those of organizations, which receive the entries of the audit log.
pub(super) fn endpoints_of_organizations() -> Vec<Endpoint> {
    let endpoints = vec![
        get("/organization/webhook", organization::find_webhook)
            .named(
                "findOrganizationWebhook",
                "Show the webhook of the caller's organization, without its secret (admins only)",
            )
            .answers::<OrganizationWebhookView<'_>>(200)
            .refuses(&[404]),
        put("/organization/webhook", organization::set_webhook)
            .named(
                "setOrganizationWebhook",
                "Create the webhook of the organization, and show its secret once (201), or change its URL and events (200) \
                 (admins only)",
            )
            .body::<organization::OrganizationWebhookBody>()
            .answers::<OrganizationWebhookView<'_>>(200)
            .answers::<OrganizationWebhookView<'_>>(201)
            .refuses(&[404]),
        delete("/organization/webhook", organization::remove_webhook)
            .named(
                "removeOrganizationWebhook",
                "Remove the webhook of the organization, and its delivery log (admins only)",
            )
            .answers_nothing()
            .refuses(&[404]),
        post("/organization/webhook/rotate-secret", organization::rotate_webhook_secret)
            .named(
                "rotateOrganizationWebhookSecret",
                "Replace the secret and show the new one once. Earlier secrets stay valid for 24 hours unless you revoke \
                 them (admins only)",
            )
            .body::<webhook::RotateBody>()
            .answers::<OrganizationWebhookView<'_>>(200)
            .refuses(&[404]),
        post("/organization/webhook/enable", organization::enable_webhook)
            .named(
                "enableOrganizationWebhook",
                "Enable a disabled webhook and send what waits immediately (admins only)",
            )
            .answers::<OrganizationWebhookView<'_>>(200)
            .refuses(&[404]),
        get("/organization/webhook/deliveries", organization::list_event_deliveries)
            .named(
                "listOrganizationWebhookDeliveries",
                "List the deliveries to the webhook of the organization, the newest event first (admins only)",
            )
            .query::<CursorQuery>()
            .lists::<EventDeliveryView<'_>, PageMetadata>(),
        post("/organization/webhook/deliveries/{delivery_id}/resend", organization::resend_event)
            .named(
                "resendOrganizationWebhookDelivery",
                "Repeat a delivery with the same id, or send a waiting one immediately (admins only)",
            )
            .answers::<EventDeliveryView<'_>>(200)
            .refuses(&[409]),
    ];
    endpoints.into_iter().map(|endpoint| endpoint.refuses(&[403])).collect()
}
