//! `GET /me`: who the agent is.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, AuthenticateError};
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::AgentView;

pub(crate) async fn show(
    AgentAuth(caller): AgentAuth,
    _: StrictQuery<NoQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    // An agent that was deleted a moment ago is nobody any more.
    let agent = accounts.agent_record(caller).await?.ok_or(AuthenticateError::Unauthorized)?;
    Ok(Data::ok(AgentView::new(&agent)))
}
