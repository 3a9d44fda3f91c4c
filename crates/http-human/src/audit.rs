//! `GET /organization/audit`: who did what in the caller's organization, newest first.

use actix_web::{HttpResponse, web};
use domain::audit::{AuditFilter, AuditScope, AuditService};
use domain::organization::Authority;
use domain::time::Timestamp;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{Parameter, parameter};
use http_wire::page::PageQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::AuditEntryView;
use serde_json::json;

use crate::instant::instant;

pub(crate) struct ListAuditQuery {
    page: PageQuery,
    since: Option<Timestamp>,
}

impl FromQuery for ListAuditQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        let page = PageQuery::from_query(query);
        let since = query.parsed("since", "must be an ISO 8601 time", instant);
        Ok(Self { page: page?, since: since? })
    }

    fn parameters() -> Vec<Parameter> {
        let mut all = PageQuery::parameters();
        let instant = json!({"type": "string", "format": "date-time"});
        all.push(parameter("since", instant, "Only entries since this time."));
        all
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListAuditQuery>,
    log: web::Data<AuditService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/organization/audit").of(caller.organization.uuid());
    let window = query.page.window(scope)?;
    let filter = AuditFilter { scope: AuditScope::Of(Authority::Admin(caller)), since: query.since };
    let page = log.list(filter, window.request.clone()).await?;
    Ok(window.mark(List::ok(page.rows.iter().map(AuditEntryView::new), window.metadata(&page))))
}
