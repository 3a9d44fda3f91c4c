//! `GET /organization/audit`: the audit log of the caller's organization, newest first; `GET /api/v1/operator/audit`:
//! that of the server.

use actix_web::{HttpResponse, web};
use domain::audit::{AuditAction, AuditFilter, AuditScope, AuditService};
use domain::id::SubjectId;
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
    until: Option<Timestamp>,
    action: Option<AuditAction>,
    actor: Option<SubjectId>,
    subject: Option<SubjectId>,
}

impl FromQuery for ListAuditQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let since = instant::since(query, "Only entries since this time.");
        let until = instant::named(query, "until", "Only entries up to and including this time.");
        let action =
            query.word("action", AuditAction::WORDS, "Only entries with this action.", AuditAction::parse);
        let actor = query.id("actor_id", "Only actions of this user or agent.", SubjectId::parse);
        let subject = query.id(
            "subject_id",
            "Only actions on this user, agent, room, message, key, or organization.",
            SubjectId::parse,
        );
        Ok(Self {
            page: page?,
            since: since?,
            until: until?,
            action: action?,
            actor: actor?,
            subject: subject?,
        })
    }
}

impl ListAuditQuery {
    /// A cursor is only valid for the same filters.
    fn scoped(&self, scope: CursorScope) -> CursorScope {
        let Self { page: _, since, until, action, actor, subject } = self;
        let filters = [
            ("since", since.map(|since| since.to_string())),
            ("until", until.map(|until| until.to_string())),
            ("action", action.map(|action| action.as_str().to_owned())),
            ("actor_id", actor.map(|actor| actor.to_string())),
            ("subject_id", subject.map(|subject| subject.to_string())),
        ];
        let given = filters.into_iter().filter_map(|(name, value)| Some((name, value?)));
        given.fold(scope, |scope, (name, value)| scope.filtered(name, &value))
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListAuditQuery>,
    log: web::Data<AuditService>,
) -> Result<HttpResponse, ApiError> {
    let cursors = CursorScope::list("me/organization/audit").of(caller.organization.uuid());
    listed(query, cursors, AuditScope::Of(Authority::Admin(caller)), &log).await
}

pub(crate) async fn list_all(
    UserAuth(operator): UserAuth,
    StrictQuery(query): StrictQuery<ListAuditQuery>,
    log: web::Data<AuditService>,
) -> Result<HttpResponse, ApiError> {
    let cursors = CursorScope::list("operator/audit").of(operator.user.uuid());
    listed(query, cursors, AuditScope::Everything, &log).await
}

async fn listed(
    query: ListAuditQuery,
    cursors: CursorScope,
    scope: AuditScope,
    log: &AuditService,
) -> Result<HttpResponse, ApiError> {
    let cursors = query.scoped(cursors);
    let ListAuditQuery { page, since, until, action, actor, subject } = query;
    let window = page.window(cursors)?;
    let filter = AuditFilter { scope, since, until, action, actor, subject };
    let page = log.list(filter.clone(), window.request.clone()).await?;
    let view = |record| match filter.scope {
        AuditScope::Of(_) => AuditEntryView::new(record),
        AuditScope::Everything => AuditEntryView::new(record).without_titles(),
    };
    Ok(window.mark(List::ok(page.rows.iter().map(view), window.metadata(&page))))
}
