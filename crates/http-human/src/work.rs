//! `/work`: the messages that the caller's agents have to answer, and `/organization/work`: those of
//! the agents of the caller's organization. Both read and change them.

pub(crate) mod summary;

use std::convert::Infallible;
use std::time::Duration;

use actix_web::rt::time::sleep;
use actix_web::{HttpResponse, web};
use domain::caller::UserCaller;
use domain::delivery::{DeadLetterReason, DeliveryStatus};
use domain::id::{AgentId, ChatId, MessageId};
use domain::organization::Authority;
use domain::text::bounded;
use domain::work::{
    MAX_ERROR_FILTER_CHARS, Resend, WorkChange, WorkFilter, WorkFlag, WorkItem, WorkScope, WorkService,
};
use http_wire::auth::UserAuth;
use http_wire::cursor::{CursorScope, CursorSeal};
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::openapi::schema::{self, some_text, uuid, word};
use http_wire::page::CursorQuery;
use http_wire::path::WorkPath;
use http_wire::query::{FromQuery, NoQuery, QueryReader, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson, id, known};
use http_wire::view::{ChangedWorkView, RetriedWorkView, WorkItemView};

/// The states of work that is not processed.
const STATES: [(&str, DeliveryStatus); 6] = [
    (DeliveryStatus::New.as_str(), DeliveryStatus::New),
    (DeliveryStatus::Delivered.as_str(), DeliveryStatus::Delivered),
    (DeliveryStatus::Processing.as_str(), DeliveryStatus::Processing),
    (DeliveryStatus::Failed.as_str(), DeliveryStatus::Failed),
    (DeliveryStatus::Dead.as_str(), DeliveryStatus::Dead),
    (DeliveryStatus::Held.as_str(), DeliveryStatus::Held),
];

/// The words of [`STATES`].
const STATE_WORDS: &[&str] = &[STATES[0].0, STATES[1].0, STATES[2].0, STATES[3].0, STATES[4].0, STATES[5].0];

pub(crate) struct ListWorkQuery {
    page: CursorQuery,
    filter: WorkFilter,
}

/// The query of [`list_of_organization`]. It has no filter by error: errors may quote messages of rooms
/// that an admin cannot read.
pub(crate) struct ListOrganizationWorkQuery(ListWorkQuery);

impl FromQuery for ListWorkQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let error = error_filter(query);
        let mut read = Self::without_error(query)?;
        read.filter.error = error?;
        Ok(read)
    }
}

impl FromQuery for ListOrganizationWorkQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        ListWorkQuery::without_error(query).map(Self)
    }
}

impl ListWorkQuery {
    fn without_error(query: &mut QueryReader) -> Result<Self, Rejected> {
        let (page, filter) = (CursorQuery::from_query(query), filter_without_error(query));
        Ok(Self { page: page?, filter: filter? })
    }
}

/// Reads the filter by error.
fn error_filter(query: &mut QueryReader) -> Result<Option<String>, Rejected> {
    query.parsed(
        "error",
        schema::text(),
        "Only work whose last error contains this text; the case of ASCII letters does not matter.",
        "must be 1 to 200 characters, and not blank",
        |text| bounded(text.to_owned(), MAX_ERROR_FILTER_CHARS).ok(),
    )
}

/// Reads the other filters.
fn filter_without_error(query: &mut QueryReader) -> Result<WorkFilter, Rejected> {
    let agent = query.id("agent_id", "Only work of this agent.", AgentId::parse);
    let chat = query.id("chat_id", "Only work in this room.", ChatId::parse);
    let root = query.id("root", "Only messages of the tree that this message began.", MessageId::parse);
    let state = query.named("state", &STATES, "Only work in this state.");
    let flag = query.word("flag", WorkFlag::WORDS, "Only work with this flag.", WorkFlag::parse);
    let age = query.positive("min_age_seconds", "Only messages that are at least this old.");
    let attempts = query.positive("min_attempts", "Only work with at least this many attempts.");
    Ok(WorkFilter {
        agent: agent?,
        chat: chat?,
        root: root?,
        state: state?.map(|(_, state)| state),
        flag: flag?,
        min_age: age?.map(|seconds| Duration::from_secs(seconds.into())),
        min_attempts: attempts?.unwrap_or(0),
        error: None,
    })
}

/// A cursor is only valid for the same filters.
fn cursor_scope(list: CursorScope, filter: &WorkFilter) -> CursorScope {
    let WorkFilter { agent, chat, root, state, flag, min_age, min_attempts, error } = filter;
    let text = |id: Option<String>| id.unwrap_or_default();
    list.filtered("agent_id", &text(agent.map(|id| id.to_string())))
        .filtered("chat_id", &text(chat.map(|id| id.to_string())))
        .filtered("root", &text(root.map(|id| id.to_string())))
        .filtered("state", state.map_or("", DeliveryStatus::as_str))
        .filtered("flag", flag.map_or("", WorkFlag::as_str))
        .filtered("min_age_seconds", &text(min_age.map(|age| age.as_secs().to_string())))
        .filtered("min_attempts", &min_attempts.to_string())
        .filtered("error", error.as_deref().unwrap_or(""))
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListWorkQuery>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    listed::<Own>(&work, caller, query).await
}

pub(crate) async fn list_of_organization(
    UserAuth(caller): UserAuth,
    StrictQuery(ListOrganizationWorkQuery(query)): StrictQuery<ListOrganizationWorkQuery>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    listed::<OfOrganization>(&work, caller, query).await
}

async fn listed<S: Scope>(
    work: &WorkService,
    caller: UserCaller,
    query: ListWorkQuery,
) -> Result<HttpResponse, ApiError> {
    let window = query.page.window(S::cursors(caller, &query.filter))?;
    let page = work.list(S::of(caller), query.filter, window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(|item| view(work, item)), window.metadata(&page)))
}

/// The body of a retry.
pub(crate) struct RetryWorkBody {
    if_state: Option<DeliveryStatus>,
}

/// The body of a dead letter.
pub(crate) struct DeadLetterWorkBody {
    reason: DeadLetterReason,
    if_state: Option<DeliveryStatus>,
}

/// The body of a reassignment.
pub(crate) struct ReassignWorkBody {
    to: AgentId,
    again: SendAgainWorkBody,
}

/// The body of sending a message again.
pub(crate) struct SendAgainWorkBody {
    reason: Option<DeadLetterReason>,
    if_state: Option<DeliveryStatus>,
}

/// The filter of a change of several items, and the body of a retry.
pub(crate) struct ManyBody {
    filter: WorkFilter,
    all: bool,
    cursor: Option<String>,
}

/// The body of a dead letter of several items.
pub(crate) struct DeadLetterManyBody {
    many: ManyBody,
    reason: DeadLetterReason,
}

/// The body of a reassignment of several items.
pub(crate) struct ReassignManyBody {
    many: ManyBody,
    resend: Resend,
}

/// The state of an item that is not processed.
fn state(word: &str) -> Option<DeliveryStatus> {
    STATES.iter().find(|(name, _)| *name == word).map(|(_, state)| *state)
}

fn state_of_body(
    body: &mut ObjectReader<'_>,
    name: &'static str,
) -> Result<Option<DeliveryStatus>, Rejected> {
    body.text_if_given(name, word(STATE_WORDS), known(state))
}

fn reason(body: &mut ObjectReader<'_>) -> Result<DeadLetterReason, Rejected> {
    body.text("reason", some_text(DeadLetterReason::MAX_CHARS), DeadLetterReason::new)
}

fn reason_if_given(body: &mut ObjectReader<'_>) -> Result<Option<DeadLetterReason>, Rejected> {
    body.text_if_given("reason", some_text(DeadLetterReason::MAX_CHARS), DeadLetterReason::new)
}

impl FromBody for ReassignWorkBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let to = body.text("agent_id", uuid(), id(AgentId::parse));
        let again = SendAgainWorkBody::from_body(body);
        Ok(Self { to: to?, again: again? })
    }
}

impl FromBody for SendAgainWorkBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let (reason, if_state) = (reason_if_given(body), state_of_body(body, "if_state"));
        Ok(Self { reason: reason?, if_state: if_state? })
    }
}

impl FromBody for ReassignManyBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let many = ManyBody::from_body(body);
        let to = body.text("to_agent_id", uuid(), id(AgentId::parse));
        let reason = reason_if_given(body);
        Ok(Self { many: many?, resend: Resend { to: Some(to?), reason: reason? } })
    }
}

impl FromBody for RetryWorkBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        Ok(Self { if_state: state_of_body(body, "if_state")? })
    }
}

impl FromBody for DeadLetterWorkBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let (reason, if_state) = (reason(body), state_of_body(body, "if_state"));
        Ok(Self { reason: reason?, if_state: if_state? })
    }
}

impl FromBody for ManyBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let agent = body.text_if_given("agent_id", uuid(), id(AgentId::parse));
        let chat = body.text_if_given("chat_id", uuid(), id(ChatId::parse));
        let root = body.text_if_given("root", uuid(), id(MessageId::parse));
        let state = state_of_body(body, "state");
        let flag = body.text_if_given("flag", word(WorkFlag::WORDS), known(WorkFlag::parse));
        let age = body.positive_if_given("min_age_seconds");
        let attempts = body.positive_if_given("min_attempts");
        let all = body.optional_flag("all", schema::flag());
        let cursor = body.text_if_given("cursor", schema::text(), Ok::<_, Infallible>);
        let filter = WorkFilter {
            agent: agent?,
            chat: chat?,
            root: root?,
            state: state?,
            flag: flag?,
            min_age: age?.map(|seconds| Duration::from_secs(seconds.into())),
            min_attempts: attempts?.unwrap_or(0),
            error: None,
        };
        Ok(Self { filter, all: all?.unwrap_or(false), cursor: cursor? })
    }
}

impl FromBody for DeadLetterManyBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let (many, reason) = (ManyBody::from_body(body), reason(body));
        Ok(Self { many: many?, reason: reason? })
    }
}

/// The scope of a path: `/work` or `/organization/work`.
pub(crate) trait Scope: 'static {
    /// The scope for this caller.
    fn of(caller: UserCaller) -> WorkScope;

    /// The scope of the cursors of a list with this name, without its filters.
    fn list(name: &str, caller: UserCaller) -> CursorScope;

    /// The scope of the cursors of a list of work with this filter.
    fn cursors(caller: UserCaller, filter: &WorkFilter) -> CursorScope {
        cursor_scope(Self::list("work", caller), filter)
    }
}

/// The work of the caller's agents.
pub(crate) struct Own;

/// The work of the agents of the caller's organization.
pub(crate) struct OfOrganization;

impl Scope for Own {
    fn of(caller: UserCaller) -> WorkScope {
        WorkScope::OwnedBy(caller.user)
    }

    fn list(name: &str, caller: UserCaller) -> CursorScope {
        CursorScope::list(&format!("me/{name}")).of(caller.user.uuid())
    }
}

impl Scope for OfOrganization {
    fn of(caller: UserCaller) -> WorkScope {
        WorkScope::Of(Authority::Admin(caller))
    }

    fn list(name: &str, caller: UserCaller) -> CursorScope {
        CursorScope::list(&format!("me/organization/{name}")).of(caller.organization.uuid())
    }
}

pub(crate) async fn find<S: Scope>(
    UserAuth(caller): UserAuth,
    path: WorkPath,
    _: StrictQuery<NoQuery>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let item = work.find(S::of(caller), path.message, path.agent).await?;
    Ok(Data::ok(view(&work, &item)))
}

pub(crate) async fn retry<S: Scope>(
    UserAuth(caller): UserAuth,
    path: WorkPath,
    StrictJson { body, .. }: StrictJson<RetryWorkBody>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let retried = work.retry(S::of(caller), path.message, path.agent, body.if_state, sleep).await?;
    Ok(Data::ok(RetriedWorkView::new(view(&work, &retried.item), retried.is_taken_up)))
}

pub(crate) async fn dead_letter<S: Scope>(
    UserAuth(caller): UserAuth,
    path: WorkPath,
    StrictJson { body, .. }: StrictJson<DeadLetterWorkBody>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let change = WorkChange::DeadLetter(body.reason);
    let item = work.change(S::of(caller), path.message, path.agent, change, body.if_state).await?;
    Ok(Data::ok(view(&work, &item)))
}

pub(crate) async fn reassign<S: Scope>(
    UserAuth(caller): UserAuth,
    path: WorkPath,
    StrictJson { body, .. }: StrictJson<ReassignWorkBody>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    resend::<S>(caller, path, Some(body.to), body.again, &work).await
}

pub(crate) async fn send_again<S: Scope>(
    UserAuth(caller): UserAuth,
    path: WorkPath,
    StrictJson { body, .. }: StrictJson<SendAgainWorkBody>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    resend::<S>(caller, path, None, body, &work).await
}

async fn resend<S: Scope>(
    caller: UserCaller,
    path: WorkPath,
    to: Option<AgentId>,
    SendAgainWorkBody { reason, if_state }: SendAgainWorkBody,
    work: &WorkService,
) -> Result<HttpResponse, ApiError> {
    let change = WorkChange::Resend(Resend { to, reason });
    let item = work.change(S::of(caller), path.message, path.agent, change, if_state).await?;
    Ok(Data::created(view(work, &item)))
}

pub(crate) async fn retry_many<S: Scope>(
    UserAuth(caller): UserAuth,
    StrictJson { body: many, .. }: StrictJson<ManyBody>,
    work: web::Data<WorkService>,
    seal: web::Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    change_many::<S>(caller, many, WorkChange::Retry, &work, &seal).await
}

pub(crate) async fn dead_letter_many<S: Scope>(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<DeadLetterManyBody>,
    work: web::Data<WorkService>,
    seal: web::Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    change_many::<S>(caller, body.many, WorkChange::DeadLetter(body.reason), &work, &seal).await
}

pub(crate) async fn reassign_many<S: Scope>(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<ReassignManyBody>,
    work: web::Data<WorkService>,
    seal: web::Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    change_many::<S>(caller, body.many, WorkChange::Resend(body.resend), &work, &seal).await
}

async fn change_many<S: Scope>(
    caller: UserCaller,
    ManyBody { filter, all, cursor }: ManyBody,
    change: WorkChange,
    work: &WorkService,
    seal: &CursorSeal,
) -> Result<HttpResponse, ApiError> {
    let (verb, target) = match &change {
        WorkChange::Retry => ("retry", None),
        WorkChange::DeadLetter(_) => ("dead-letter", None),
        WorkChange::Resend(resend) => ("reassign", resend.to),
    };
    let target = target.map(|agent| agent.to_string()).unwrap_or_default();
    let cursors = S::cursors(caller, &filter).filtered("change", verb).filtered("to_agent_id", &target);
    let after = cursor.map(|cursor| cursors.decode(seal, &cursor)).transpose()?;
    let changed = work.change_all(S::of(caller), filter, all, change, after).await?;
    let next = changed.next.as_ref().map(|position| cursors.encode(seal, position));
    Ok(Data::ok(ChangedWorkView::new(&changed, next)))
}

fn view<'a>(work: &WorkService, item: &'a WorkItem) -> WorkItemView<'a> {
    let (now, agent) = (work.now(), &item.agent);
    WorkItemView::new(item, &work.flags(item, now), now, work.is_connected(agent.id, agent.is_external))
}
