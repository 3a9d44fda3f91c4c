//! `DELETE /agents/{agent_id}`.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::AgentPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::DeletedAgentView;

/// Allows the deletion of an agent that has worked, together with the record of its work.
pub(crate) struct DeleteAgentQuery {
    force: bool,
}

impl FromQuery for DeleteAgentQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let description = "Delete the agent even if it has worked, together with the record of its work.";
        Ok(Self { force: query.flag("force", description)?.unwrap_or(false) })
    }
}

pub(crate) async fn delete_agent(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    StrictQuery(query): StrictQuery<DeleteAgentQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let deleted = accounts.delete_agent(caller, path.agent, query.force).await?;
    Ok(Data::ok(DeletedAgentView::new(&deleted)))
}
