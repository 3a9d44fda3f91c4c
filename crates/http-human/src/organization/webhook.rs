//! `/organization/webhook`: the webhook of the caller's organization, and the record of its deliveries.

use std::convert::Infallible;

use actix_web::{HttpResponse, web};
use domain::organization::Authority;
use domain::webhook::{EventFilter, WebhookService, WebhookUrl};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::openapi::schema::text;
use http_wire::page::CursorQuery;
use http_wire::path::EventDeliveryPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::{EventDeliveryView, OrganizationWebhookView};

use crate::webhook::RotateBody;

/// The URL of a webhook, and what it receives.
pub(crate) struct OrganizationWebhookBody {
    url: String,
    events: EventFilter,
}

impl FromBody for OrganizationWebhookBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let about = "A URL that begins with https://, without a user, a password, and a fragment.";
        let url = text().min(1).max(WebhookUrl::MAX_CHARS).about(about);
        let url = body.text("url", url, Ok::<_, Infallible>);
        let about = "An action of the audit log, such as agent.deleted, or an area, such as agent.*. The webhook receives \
                     all actions if the list is empty or missing.";
        let name = text().min(1).max(EventFilter::MAX_CHARS).about(about);
        let events = body.texts_if_given("events", name, EventFilter::MAX, EventFilter::check);
        Ok(Self { url: url?, events: EventFilter::new(events?.unwrap_or_default()) })
    }
}

pub(crate) async fn find_webhook(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let hook = webhooks.find_of_organization(Authority::Admin(caller)).await?;
    Ok(Data::ok(OrganizationWebhookView::new(&hook, false, webhooks.now())))
}

pub(crate) async fn set_webhook(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<OrganizationWebhookBody>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let OrganizationWebhookBody { url, events } = body;
    let set = webhooks.set_of_organization(Authority::Admin(caller), &url, Some(events)).await?;
    let view = OrganizationWebhookView::new(&set.webhook, set.is_new, webhooks.now());
    Ok(if set.is_new { Data::created(view) } else { Data::ok(view) })
}

pub(crate) async fn remove_webhook(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    webhooks.remove_of_organization(Authority::Admin(caller)).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(crate) async fn rotate_webhook_secret(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<RotateBody>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let hook = webhooks.rotate_of_organization(Authority::Admin(caller), body.revoke_previous).await?;
    Ok(Data::ok(OrganizationWebhookView::new(&hook, true, webhooks.now())))
}

pub(crate) async fn enable_webhook(
    UserAuth(caller): UserAuth,
    _: StrictJson<NoBody>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let hook = webhooks.enable_of_organization(Authority::Admin(caller)).await?;
    Ok(Data::ok(OrganizationWebhookView::new(&hook, false, webhooks.now())))
}

pub(crate) async fn list_event_deliveries(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/organization/webhook/deliveries");
    let window = query.window(scope.of(caller.organization.uuid()))?;
    let by = Authority::Admin(caller);
    let page = webhooks.event_deliveries(by, window.request.clone()).await?;
    let (is_disabled, now) = (webhooks.is_disabled_of_organization(by).await?, webhooks.now());
    let views = page.rows.iter().map(|sent| EventDeliveryView::new(sent, is_disabled, now));
    Ok(List::ok(views, window.metadata(&page)))
}

pub(crate) async fn resend_event(
    UserAuth(caller): UserAuth,
    path: EventDeliveryPath,
    _: StrictJson<NoBody>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let resent = webhooks.resend_event(Authority::Admin(caller), path.delivery).await?;
    Ok(Data::ok(EventDeliveryView::new(&resent, false, webhooks.now())))
}
