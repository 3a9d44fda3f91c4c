//! `/attention`: everything that waits for the caller, in one list.

use actix_web::{HttpResponse, web};
use domain::attention::{
    AnswerAttentionError, AttentionAnswer, AttentionFilter, AttentionService, AttentionState, Decision,
};
use domain::id::ChatId;
use domain::message::MessageContent;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::openapi::schema::{some_text, word};
use http_wire::page::CursorQuery;
use http_wire::path::AttentionPath;
use http_wire::query::{FromQuery, NoQuery, QueryReader, StrictQuery};
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, StrictJson, known};
use http_wire::view::AttentionView;

/// The states of a list; `None` stands for all of them.
const STATES: [(&str, Option<AttentionState>); 4] = [
    (AttentionState::Open.as_str(), Some(AttentionState::Open)),
    (AttentionState::Answered.as_str(), Some(AttentionState::Answered)),
    (AttentionState::Expired.as_str(), Some(AttentionState::Expired)),
    ("all", None),
];

pub(crate) struct ListAttentionQuery {
    page: CursorQuery,
    filter: AttentionFilter,
}

impl FromQuery for ListAttentionQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let about = "Only items in this state; `open` by default. Other lists than that of open items are newest first, \
                     and have no work and no contact requests.";
        let (page, state) = (CursorQuery::from_query(query), query.named("state", &STATES, about));
        let chat = query.id("chat_id", "Only what concerns this room.", ChatId::parse);
        let state = state?.map_or(Some(AttentionState::Open), |(_, state)| state);
        Ok(Self { page: page?, filter: AttentionFilter { state, chat: chat? } })
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListAttentionQuery>,
    attention: web::Data<AttentionService>,
) -> Result<HttpResponse, ApiError> {
    let AttentionFilter { state, chat } = query.filter;
    let scope = CursorScope::list("me/attention")
        .of(caller.user.uuid())
        .filtered("state", state.map_or("all", AttentionState::as_str))
        .filtered("chat_id", &chat.map(|chat| chat.to_string()).unwrap_or_default());
    let window = query.page.window(scope)?;
    let page = attention.list(caller, query.filter, window.request.clone()).await?;
    let now = attention.now();
    let views = page.rows.iter().map(|line| AttentionView::listed(line, now));
    Ok(List::ok(views, window.metadata(&page)))
}

pub(crate) async fn find(
    UserAuth(caller): UserAuth,
    path: AttentionPath,
    _: StrictQuery<NoQuery>,
    attention: web::Data<AttentionService>,
) -> Result<HttpResponse, ApiError> {
    let line = attention.find(caller, path.item).await?.ok_or(AnswerAttentionError::NotFound)?;
    Ok(Data::ok(AttentionView::new(&line, attention.now())))
}

/// An answer.
pub(crate) struct AnswerAttentionBody(AttentionAnswer);

impl FromBody for AnswerAttentionBody {
    const WRAPPER: Option<&'static str> = Some("answer");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let about =
            "Text for an agent that has asked a question, or posted an assumption, a failure, or a review.";
        let schema = some_text(MessageContent::MAX_BYTES).about(about);
        let content = body.text_if_given("content", schema, MessageContent::new);
        let about = "Decision on an approval or a contact request.";
        let schema = word(Decision::WORDS).about(about);
        let decision = body.text_if_given("decision", schema, known(Decision::parse));
        Ok(Self(AttentionAnswer { content: content?, decision: decision? }))
    }
}

pub(crate) async fn answer(
    UserAuth(caller): UserAuth,
    path: AttentionPath,
    StrictJson { body, .. }: StrictJson<AnswerAttentionBody>,
    attention: web::Data<AttentionService>,
) -> Result<HttpResponse, ApiError> {
    let line = attention.answer(caller, path.item, body.0).await?;
    Ok(Data::ok(AttentionView::new(&line, attention.now())))
}

pub(crate) async fn dismiss(
    UserAuth(caller): UserAuth,
    path: AttentionPath,
    _: StrictJson<NoBody>,
    attention: web::Data<AttentionService>,
) -> Result<HttpResponse, ApiError> {
    let item = attention.dismiss(caller, path.item).await?;
    Ok(Data::ok(AttentionView::item(&item, attention.now())))
}
