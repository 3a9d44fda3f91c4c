//! The messages that wait for an agent: claiming the next one, and ending the attempt.

use std::collections::HashSet;

use domain::caller::AgentCaller;
use domain::delivery::{AdvanceError, AttemptNumber, DeliveryStep, FailureText, StepResult};
use domain::id::{ChatId, MessageId, RecordId, Sequence};
use domain::message::Message;
use domain::page::{Page, PageRequest, Position, Slice};
use domain::work::{WorkFilter, WorkItem, WorkScope};
use http_wire::error::render::note;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::openapi::schema::{some_text, uuid};
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, id};
use serde_json::{Value, json};

use super::shown;
use crate::session::Session;
use crate::view::ShownMessage;

/// The number of earlier messages that come with a claimed one.
const CONTEXT: usize = 10;

/// The number of sequences before a message in which earlier messages are searched.
pub(super) const SEARCHED: u32 = 100;

/// The number of open messages that are examined at once for rooms with work.
const EXAMINED: u32 = 100;

/// How often, at most: a stopped agent may have a long backlog.
const EXAMINED_PAGES: usize = 10;

pub(crate) async fn next(session: &Session, room: Option<ChatId>, _: NoBody) -> Result<Value, ApiError> {
    let agent = session.agent()?;
    let found = match room {
        Some(room) => claim(session, agent, room).await?,
        None => claim_anywhere(session, agent).await?,
    };
    match found {
        Some((message, step)) => claimed(session, agent, &message, step).await,
        None => {
            Ok(json!({"message": null, "next": "No message waits for you. Call inbox_next again later."}))
        }
    }
}

/// Begins an attempt in the first room where it is possible, the one with the oldest message first.
async fn claim_anywhere(
    session: &Session,
    agent: AgentCaller,
) -> Result<Option<(Message, StepResult)>, ApiError> {
    let (mut tried, mut after) = (HashSet::new(), None);
    for _ in 0..EXAMINED_PAGES {
        let page = open_work(session, agent, after).await?;
        for item in &page.rows {
            if tried.insert(item.chat)
                && let Some(claimed) = claim(session, agent, item.chat).await?
            {
                return Ok(Some(claimed));
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(None)
}

/// The messages that wait for the agent in all rooms, the oldest first.
async fn open_work(
    session: &Session,
    agent: AgentCaller,
    after: Option<Position>,
) -> Result<Page<WorkItem>, ApiError> {
    let _permit = session.may_read().await?;
    let request = PageRequest { slice: Slice::After { after, limit: EXAMINED }, count: false };
    let filter = WorkFilter { agent: Some(agent.agent), ..WorkFilter::default() };
    Ok(session.services().work.list(WorkScope::OwnedBy(agent.owner), filter, request).await?)
}

/// Begins an attempt at the oldest message of a room.
async fn claim(
    session: &Session,
    agent: AgentCaller,
    room: ChatId,
) -> Result<Option<(Message, StepResult)>, ApiError> {
    let deliveries = &session.services().deliveries;
    loop {
        let found = {
            let _permit = session.may_read().await?;
            deliveries.next(agent, room).await?
        };
        let Some(message) = found else { return Ok(None) };
        match deliveries.advance(agent, room, message.id, DeliveryStep::Begin).await {
            Ok(step) => return Ok(Some((message, step))),
            // Its attempts were used up, or another worker was faster: it does not come again, or not now.
            Err(AdvanceError::Dead | AdvanceError::AlreadyClaimed(_) | AdvanceError::AlreadyProcessed(_)) => {
            }
            Err(AdvanceError::Stopped) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

async fn claimed(
    session: &Session,
    agent: AgentCaller,
    message: &Message,
    step: StepResult,
) -> Result<Value, ApiError> {
    let before = Sequence::new(message.sequence.get() - i64::from(SEARCHED) - 1);
    // The attempt has begun: a message without its context is better than an attempt for nothing.
    let earlier = since(session, agent, message.chat_id, before).await;
    let earlier = earlier.inspect_err(note).unwrap_or_default();
    let earlier = earlier.iter().filter(|one| one.sequence < message.sequence).collect::<Vec<_>>();
    let earlier = earlier[earlier.len().saturating_sub(CONTEXT)..].iter().map(|one| ShownMessage::short(one));
    Ok(json!({
        "message": shown(ShownMessage::whole(message))?,
        "attempt": step.attempt_number.get(),
        "context": shown(earlier.collect::<Vec<_>>())?,
        "next": "Work on the message, answer it with reply, and then call finish. If you cannot do it, call fail.",
    }))
}

/// The first messages from and to the agent after a sequence, at most [`SEARCHED`].
pub(super) async fn since(
    session: &Session,
    agent: AgentCaller,
    room: ChatId,
    sequence: Sequence,
) -> Result<Vec<Message>, ApiError> {
    let _permit = session.may_read().await?;
    let after = Position::at(sequence.get().max(0), RecordId::NIL);
    let request = PageRequest { slice: Slice::After { after: Some(after), limit: SEARCHED }, count: false };
    Ok(session.services().messages.context(agent, room, request).await?.rows)
}

/// The message of an attempt, and its number if the agent names it.
pub(crate) struct FinishArguments {
    message: MessageId,
    attempt: Option<AttemptNumber>,
}

impl FromBody for FinishArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let schema = uuid().about("The id of the message that you took.");
        let message = body.text("message", schema, id(MessageId::parse));
        let attempt = body.positive_if_given("attempt")?.and_then(AttemptNumber::new);
        Ok(Self { message: message?, attempt })
    }
}

/// An attempt, and why it has failed.
pub(crate) struct FailArguments {
    attempt: FinishArguments,
    error: FailureText,
}

impl FromBody for FailArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let attempt = FinishArguments::from_body(body);
        let schema = some_text(FailureText::MAX_CHARS).about("Why, for the people who look after you.");
        let error = body.text("error", schema, FailureText::new);
        Ok(Self { attempt: attempt?, error: error? })
    }
}

pub(crate) async fn finish(
    session: &Session,
    room: Option<ChatId>,
    attempt: FinishArguments,
) -> Result<Value, ApiError> {
    end(session, room, attempt, DeliveryStep::Succeed).await
}

pub(crate) async fn fail(
    session: &Session,
    room: Option<ChatId>,
    FailArguments { attempt, error }: FailArguments,
) -> Result<Value, ApiError> {
    end(session, room, attempt, DeliveryStep::Fail(error)).await
}

async fn end(
    session: &Session,
    room: Option<ChatId>,
    FinishArguments { message, attempt }: FinishArguments,
    step: DeliveryStep,
) -> Result<Value, ApiError> {
    let room = session.room(room)?;
    let deliveries = &session.services().deliveries;
    let ended = deliveries.advance_attempt(session.agent()?, room, message, step, attempt).await;
    let ended = ended.map_err(|error| match error {
        AdvanceError::Stopped => {
            let said = "You are stopped in this room, or paused. The message is offered to you again when you may go on.";
            ApiError::new(ErrorCode::Conflict, said)
        }
        error => error.into(),
    })?;
    Ok(json!({
        "message": message.to_string(), "state": ended.status.as_str(), "attempt": ended.attempt_number.get(),
        "next": "Call inbox_next for the next message.",
    }))
}
