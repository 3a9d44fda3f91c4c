//! `GET /organization/audit`: the audit log of the caller's organization, newest first.

use actix_web::{HttpResponse, web};
use domain::audit::{AuditFilter, AuditScope, AuditService};
use domain::organization::Authority;
use domain::time::Timestamp;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::PageQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::AuditEntryView;

use crate::instant;

pub(crate) struct ListAuditQuery {
    page: PageQuery,
    since: Option<Timestamp>,
}

impl FromQuery for ListAuditQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let since = instant::since(query, "Only entries since this time.");
        Ok(Self { page: page?, since: since? })
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
