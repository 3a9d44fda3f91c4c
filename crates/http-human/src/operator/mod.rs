//! `/api/v1/operator`: accounts, organizations, work, and the condition of the server, for operators. Nothing here
//! shows contents of rooms.

mod accounts;
mod server;

use actix_web::{HttpResponse, web};
use domain::caller::UserCaller;
use domain::plan::PlanService;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::CursorQuery;
use http_wire::query::StrictQuery;
use http_wire::view::OrganizationInUseView;

pub(crate) use accounts::{
    disable_agent, disable_user, enable_agent, enable_user, list_agents, list_users, list_work,
};
pub(crate) use server::{
    ConnectionsMetadata, list_connections, list_disconnects, show_overview, show_throughput,
};

/// The scope of the cursors of a list.
fn cursors(list: &str, operator: UserCaller) -> CursorScope {
    CursorScope::list(&format!("operator/{list}")).of(operator.user.uuid())
}

pub(crate) async fn list_organizations(
    UserAuth(operator): UserAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    plans: web::Data<PlanService>,
) -> Result<HttpResponse, ApiError> {
    let window = query.window(cursors("organizations", operator))?;
    let page = plans.page(window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(OrganizationInUseView::new), window.metadata(&page)))
}
