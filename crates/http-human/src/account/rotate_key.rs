//! `POST /agents/{agent_id}/rotate-key`: replaces an agent's key, and shows the new one once.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::features::Features;
use http_wire::idempotent::IdempotentJson;
use http_wire::path::AgentPath;
use http_wire::view::RegisteredAgentView;

use crate::confirm::{ConfirmBody, Confirmation};

pub(crate) async fn rotate_key(
    UserAuth(caller): UserAuth,
    confirmation: Confirmation,
    path: AgentPath,
    IdempotentJson { body, once, .. }: IdempotentJson<ConfirmBody>,
    accounts: web::Data<AccountService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    confirmation.check_body(body).await?;
    let rotated = accounts.rotate_key_once(caller.user, path.agent, once).await?;
    Ok(Data::ok(RegisteredAgentView::new(&rotated, **features)))
}
