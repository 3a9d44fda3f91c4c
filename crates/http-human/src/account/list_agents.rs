//! `GET /agents`: newest first.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::{PageMetadata, PageQuery};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::AgentView;
use serde::Serialize;

use crate::DEFAULT_ROWS;

pub(crate) struct ListAgentsQuery {
    page: PageQuery,
}

impl FromQuery for ListAgentsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        Ok(Self { page: PageQuery::read(query)? })
    }
}

/// Clients want the two lists; they are empty, because the list takes no filter and has one
/// order.
#[derive(Serialize)]
struct ListAgentsMetadata {
    #[serde(flatten)]
    page: PageMetadata,
    available_filters: [(); 0],
    sortable_fields: [(); 0],
}

pub(crate) async fn list_agents(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListAgentsQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/agents").of(caller.user.uuid());
    let window = query.page.window(scope, DEFAULT_ROWS)?;
    let page = accounts.list_agents(caller, window.request).await?;
    let metadata =
        ListAgentsMetadata { page: window.metadata(&page), available_filters: [], sortable_fields: [] };
    Ok(List::ok(page.rows.iter().map(AgentView::new), metadata))
}
