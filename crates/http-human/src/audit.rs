//! `GET /organization/audit`: the audit log of the caller's organization, newest first; `GET /api/v1/operator/audit`:
//! that of the server.

use actix_web::{HttpResponse, web};
use domain::audit::{AuditAction, AuditFilter, AuditScope, AuditService};
use domain::id::SubjectId;
use domain::organization::Authority;
use domain::time::Timestamp;
use http_wire::auth::{OperatorAuth, UserAuth};
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::{CursorQuery, PageQuery};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::AuditEntryView;

use crate::instant;

pub(crate) struct ListAuditQuery<P = PageQuery> {
    page: P,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    action: Option<AuditAction>,
    actor: Option<SubjectId>,
    subject: Option<SubjectId>,
}

impl<P: FromQuery> FromQuery for ListAuditQuery<P> {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = P::from_query(query);
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

impl<P> ListAuditQuery<P> {
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

    fn filter(self, scope: AuditScope) -> (P, AuditFilter) {
        let Self { page, since, until, action, actor, subject } = self;
        (page, AuditFilter { scope, since, until, action, actor, subject })
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListAuditQuery>,
    log: web::Data<AuditService>,
) -> Result<HttpResponse, ApiError> {
    let cursors = query.scoped(CursorScope::list("me/organization/audit").of(caller.organization.uuid()));
    let (page, filter) = query.filter(AuditScope::Of(Authority::Admin(caller)));
    let window = page.window(cursors)?;
    let page = log.list(filter, window.request.clone()).await?;
    Ok(window.mark(List::ok(page.rows.iter().map(AuditEntryView::new), window.metadata(&page))))
}

/// By cursor only: the log of all organizations is not counted.
pub(crate) async fn list_all(
    OperatorAuth(operator): OperatorAuth,
    StrictQuery(query): StrictQuery<ListAuditQuery<CursorQuery>>,
    log: web::Data<AuditService>,
) -> Result<HttpResponse, ApiError> {
    let cursors = query.scoped(CursorScope::list("operator/audit").of(operator.user().uuid()));
    let (page, filter) = query.filter(AuditScope::Everything);
    let window = page.window(cursors)?;
    let page = log.list_without_contents(operator, filter, window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(AuditEntryView::new), window.metadata(&page)))
}
