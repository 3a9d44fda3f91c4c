//! `GET /me`: the calling agent.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, AuthenticateError};
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::features::Features;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::AgentView;

pub(crate) async fn show(
    AgentAuth(caller): AgentAuth,
    _: StrictQuery<NoQuery>,
    accounts: web::Data<AccountService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    // The agent may have been deleted since it was authenticated.
    let agent = accounts.agent_record(caller).await?.ok_or(AuthenticateError::Unauthorized)?;
    Ok(Data::ok(AgentView::own(&agent, **features)))
}
