//! The attention list.

use domain::attention::{
    AnswerAttentionError, AttentionAnswer, AttentionFilter, AttentionId, AttentionLine, Decision,
};
use domain::id::ChatId;
use domain::message::MessageContent;
use domain::page::{PageRequest, Slice};
use http_wire::error::{ApiError, ErrorCode};
use http_wire::openapi::schema::{some_text, text, word};
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, known};
use http_wire::view::AttentionView;
use serde_json::{Value, json};

use super::shown;
use crate::session::Session;

/// The number of items that a list shows.
const ITEMS: u32 = 30;

/// The decisions, and the word that answers nothing.
const DECISIONS: &[&str] =
    &[Decision::Approve.as_str(), Decision::ApproveSession.as_str(), Decision::Decline.as_str(), DISMISS];

const DISMISS: &str = "dismiss";

pub(crate) async fn list(session: &Session, chat: Option<ChatId>, _: NoBody) -> Result<Value, ApiError> {
    let _permit = session.may_read().await?;
    let (caller, attention) = (session.user()?, &session.services().attention);
    let filter = AttentionFilter { chat, ..AttentionFilter::default() };
    let request = PageRequest { slice: Slice::After { after: None, limit: ITEMS }, count: false };
    let page = attention.list(caller, filter, request).await?;
    let rows = page.rows.iter().map(|line| view(line, session)).collect::<Result<Vec<_>, _>>()?;
    let mut answer = json!({"attention": rows});
    if page.next.is_some() {
        answer["more"] = json!("There is more. Answer these first, or narrow the list with room.");
    }
    Ok(answer)
}

/// A line as in a list, without what is null.
fn view(line: &AttentionLine, session: &Session) -> Result<Value, ApiError> {
    let mut view = shown(AttentionView::listed(line, session.services().attention.now()))?;
    if let Some(members) = view.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    Ok(view)
}

/// An item, and the answer to it.
pub(crate) struct ApproveArguments {
    item: AttentionId,
    answer: Given,
}

enum Given {
    Answer(AttentionAnswer),
    Dismissed,
}

impl FromBody for ApproveArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let about = "The id of the item.";
        let item = body.text("item", text().about(about), known(AttentionId::parse));
        let decision = body.text_if_given(
            "decision",
            word(DECISIONS),
            known(|word| if word == DISMISS { Some(None) } else { Decision::parse(word).map(Some) }),
        );
        let about = "The answer to a question, an assumption, a failure, or a review.";
        let schema = some_text(MessageContent::MAX_BYTES).about(about);
        let content = body.text_if_given("text", schema, MessageContent::new);
        let answer = match (decision?, content?) {
            (Some(Some(decision)), None) => Given::Answer(decision.into()),
            (Some(None), None) => Given::Dismissed,
            (None, Some(content)) => Given::Answer(content.into()),
            _ => return Err(body.fault("decision", "either decision or text is required")),
        };
        Ok(Self { item: item?, answer })
    }
}

pub(crate) async fn approve(
    session: &Session,
    room: Option<ChatId>,
    ApproveArguments { item, answer }: ApproveArguments,
) -> Result<Value, ApiError> {
    let (caller, attention) = (session.user()?, &session.services().attention);
    if let Some(room) = room {
        let line = attention.find(caller, item).await?.ok_or(AnswerAttentionError::NotFound)?;
        let is_there = matches!(&line, AttentionLine::Item(item) if item.chat == room);
        if !is_there {
            let said = "This item is not of this room. Leave out room, or name the room of the item.";
            return Err(ApiError::new(ErrorCode::NotFound, said));
        }
    }
    let line = match answer {
        Given::Answer(answer) => attention.answer(caller, item, answer).await?,
        Given::Dismissed => AttentionLine::Item(attention.dismiss(caller, item).await?),
    };
    Ok(json!({"attention": view(&line, session)?, "next": "Call attention for what else waits."}))
}
