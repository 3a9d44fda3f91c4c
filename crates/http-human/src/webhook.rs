//! `/agents/{agent_id}/webhook`: the webhook of an agent, and the record of its deliveries.

use std::convert::Infallible;

use actix_web::{HttpResponse, web};
use domain::audit::Actor;
use domain::webhook::{WebhookService, WebhookUrl};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::openapi::schema::{flag, text};
use http_wire::page::CursorQuery;
use http_wire::path::{AgentPath, WebhookDeliveryPath};
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::{SecretWebhookView, WebhookDeliveryView, WebhookView};

/// The URL of a webhook.
pub(crate) struct WebhookBody {
    url: String,
}

impl FromBody for WebhookBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let about = "A URL that begins with https://, without a user, a password, and a fragment.";
        let url = text().min(1).max(WebhookUrl::MAX_CHARS).about(about);
        Ok(Self { url: body.text("url", url, Ok::<_, Infallible>)? })
    }
}

/// What becomes of earlier secrets.
pub(crate) struct RotateBody {
    pub(crate) revoke_previous: bool,
}

impl FromBody for RotateBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let about = "If true, earlier secrets are revoked immediately. Otherwise, requests are also signed \
                     with them for 24 hours.";
        Ok(Self { revoke_previous: body.flag_if_given("revoke_previous", flag().about(about))? })
    }
}

pub(crate) async fn find(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    _: StrictQuery<NoQuery>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let webhook = webhooks.find(caller.user, path.agent).await?;
    Ok(Data::ok(WebhookView::new(&webhook, webhooks.now())))
}

pub(crate) async fn set(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    StrictJson { body, .. }: StrictJson<WebhookBody>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let set = webhooks.set_url(Actor::from(caller.user), caller.user, path.agent, &body.url).await?;
    let view = SecretWebhookView::new(&set.webhook, set.is_new, webhooks.now());
    Ok(if set.is_new { Data::created(view) } else { Data::ok(view) })
}

pub(crate) async fn remove(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    _: StrictQuery<NoQuery>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    webhooks.remove(Actor::from(caller.user), caller.user, path.agent).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(crate) async fn rotate(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    StrictJson { body, .. }: StrictJson<RotateBody>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let (by, revoke_previous) = (Actor::from(caller.user), body.revoke_previous);
    let webhook = webhooks.rotate(by, caller.user, path.agent, revoke_previous).await?;
    Ok(Data::ok(SecretWebhookView::new(&webhook, true, webhooks.now())))
}

pub(crate) async fn enable(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    _: StrictJson<NoBody>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let webhook = webhooks.enable(Actor::from(caller.user), caller.user, path.agent).await?;
    Ok(Data::ok(WebhookView::new(&webhook, webhooks.now())))
}

pub(crate) async fn list_deliveries(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    StrictQuery(query): StrictQuery<CursorQuery>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let scope =
        CursorScope::list("me/agents/webhook/deliveries").filtered("agent_id", &path.agent.to_string());
    let window = query.window(scope.of(caller.user.uuid()))?;
    let page = webhooks.deliveries(caller.user, path.agent, window.request.clone()).await?;
    let (is_disabled, now) = (webhooks.is_disabled(path.agent).await?, webhooks.now());
    let views = page.rows.iter().map(|sent| WebhookDeliveryView::new(sent, is_disabled, now));
    Ok(List::ok(views, window.metadata(&page)))
}

pub(crate) async fn resend(
    UserAuth(caller): UserAuth,
    path: WebhookDeliveryPath,
    _: StrictJson<NoBody>,
    webhooks: web::Data<WebhookService>,
) -> Result<HttpResponse, ApiError> {
    let resent = webhooks.resend(Actor::from(caller.user), caller.user, path.agent, path.delivery).await?;
    let is_disabled = webhooks.is_disabled(path.agent).await?;
    Ok(Data::ok(WebhookDeliveryView::new(&resent, is_disabled, webhooks.now())))
}
