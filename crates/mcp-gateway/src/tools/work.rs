//! The work of a human's agents.

use domain::delivery::{DeadLetterReason, DeliveryStatus};
use domain::id::{AgentId, ChatId, MessageId};
use domain::page::{PageRequest, Slice};
use domain::work::{WorkChange, WorkFilter, WorkFlag, WorkItem, WorkScope};
use http_wire::error::{ApiError, ErrorCode};
use http_wire::openapi::schema::{some_text, uuid, word};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, id, known};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::shown;
use crate::session::Session;
use crate::view::ShownWork;

/// The number of items that a list shows.
const ITEMS: u32 = 30;

/// The states of work that is not processed.
const STATES: &[&str] = &[
    DeliveryStatus::New.as_str(),
    DeliveryStatus::Delivered.as_str(),
    DeliveryStatus::Processing.as_str(),
    DeliveryStatus::Failed.as_str(),
    DeliveryStatus::Dead.as_str(),
    DeliveryStatus::Held.as_str(),
];

/// The filters of a list.
pub(crate) struct WorkArguments {
    agent: Option<AgentId>,
    state: Option<DeliveryStatus>,
    flag: Option<WorkFlag>,
}

impl FromBody for WorkArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let agent = body.text_if_given("agent", uuid().about("Only this agent's."), id(AgentId::parse));
        let about = "Only in this state. Without it, and without flag, dead and held messages are left out.";
        let state = body.text_if_given("state", word(STATES).about(about), known(DeliveryStatus::parse));
        let flag = body.text_if_given("flag", word(WorkFlag::WORDS), known(WorkFlag::parse));
        Ok(Self { agent: agent?, state: state?, flag: flag? })
    }
}

pub(crate) async fn list(
    session: &Session,
    chat: Option<ChatId>,
    WorkArguments { agent, state, flag }: WorkArguments,
) -> Result<Value, ApiError> {
    let _permit = session.may_read().await?;
    let scope = WorkScope::OwnedBy(session.user()?.user);
    let filter = WorkFilter { agent, chat, state, flag, ..WorkFilter::default() };
    let request = PageRequest { slice: Slice::After { after: None, limit: ITEMS }, count: false };
    let page = session.services().work.list(scope, filter, request).await?;
    let rows = page.rows.iter().map(|item| view(session, item)).collect::<Vec<_>>();
    let mut answer = json!({"work": shown(rows)?});
    if page.next.is_some() {
        answer["more"] =
            json!("There is more. Narrow the list with room, agent, state, or flag to see other messages.");
    }
    Ok(answer)
}

fn view<'i>(session: &Session, item: &'i WorkItem) -> ShownWork<'i> {
    let work = &session.services().work;
    let flags = work.flags(item, work.now()).into_iter().map(WorkFlag::as_str).collect();
    ShownWork::new(item, flags, work.is_connected(item.agent.id, item.agent.is_external))
}

/// An item.
pub(crate) struct RetryArguments {
    message: MessageId,
    agent: AgentId,
}

impl FromBody for RetryArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let message = body.text("message", uuid(), id(MessageId::parse));
        let agent = body.text("agent", uuid(), id(AgentId::parse));
        Ok(Self { message: message?, agent: agent? })
    }
}

/// An item, and why it is taken out of the queue.
pub(crate) struct DeadLetterArguments {
    item: RetryArguments,
    reason: DeadLetterReason,
}

impl FromBody for DeadLetterArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let item = RetryArguments::from_body(body);
        let reason = body.text("reason", some_text(DeadLetterReason::MAX_CHARS), DeadLetterReason::new);
        Ok(Self { item: item?, reason: reason? })
    }
}

pub(crate) async fn retry(
    session: &Session,
    room: Option<ChatId>,
    RetryArguments { message, agent }: RetryArguments,
) -> Result<Value, ApiError> {
    let scope = scope_of(session, room, message, agent).await?;
    let retried = session.services().work.retry(scope, message, agent, None, sleep).await?;
    let next = if retried.is_taken_up {
        "The agent has begun to work on the message."
    } else {
        "The message is offered again. The agent has not begun yet; call work later to check."
    };
    Ok(json!({"work": shown(view(session, &retried.item))?, "next": next}))
}

pub(crate) async fn dead_letter(
    session: &Session,
    room: Option<ChatId>,
    DeadLetterArguments { item: RetryArguments { message, agent }, reason }: DeadLetterArguments,
) -> Result<Value, ApiError> {
    let scope = scope_of(session, room, message, agent).await?;
    let change = WorkChange::DeadLetter(reason);
    let item = session.services().work.change(scope, message, agent, change, None).await?;
    let next = "The agent does not get the message any more. Call retry to offer it again.";
    Ok(json!({"work": shown(view(session, &item))?, "next": next}))
}

/// The scope of the caller's work, if the item is in the room.
async fn scope_of(
    session: &Session,
    room: Option<ChatId>,
    message: MessageId,
    agent: AgentId,
) -> Result<WorkScope, ApiError> {
    let scope = WorkScope::OwnedBy(session.user()?.user);
    if let Some(room) = room {
        let item = session.services().work.find(scope, message, agent).await?;
        if item.chat != room {
            let said = "This message is in another room. Leave out room, or name the room of the message.";
            return Err(ApiError::new(ErrorCode::NotFound, said));
        }
    }
    Ok(scope)
}
