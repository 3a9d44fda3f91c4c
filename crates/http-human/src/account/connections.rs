//! `GET /agents/{agent_id}/connections`.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::AgentPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::ConnectionView;

/// Lists all at once: there are at most [`domain::account::Connection::KEPT`].
pub(crate) async fn list_connections(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    _: StrictQuery<NoQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let ended = accounts.connections(caller, path.agent).await?;
    Ok(Data::ok(ended.iter().map(ConnectionView::new).collect::<Vec<_>>()))
}
