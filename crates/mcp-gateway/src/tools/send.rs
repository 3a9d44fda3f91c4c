//! Messages that the caller sends, and the answers to an agent's questions.

use std::convert::Infallible;
use std::time::Duration;

use domain::caller::AgentCaller;
use domain::id::{AccountId, ChatId, MessageId, ParticipantId};
use domain::idempotency::{IdempotencyKey, IdempotentRequest};
use domain::message::{
    MentionKind, Message, MessageContent, MessageKind, RecipientState, RequestedMention, SendMessage,
    SentMessage,
};
use domain::reminder::{Recurrence, ScheduleText};
use domain::time::Timestamp;
use http_wire::body::{MAX_MENTIONS, time};
use http_wire::error::render::note;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::idempotent::fingerprint;
use http_wire::openapi::schema::{Schema, instant, some_text, text, uuid};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, id};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{inbox, number, shown};
use crate::session::Session;
use crate::view::ShownMessage;

/// The longest time that a tool waits, in seconds: some clients give a tool a minute.
const MAX_WAIT: u32 = 50;

/// The default.
const DEFAULT_WAIT: u32 = 30;

/// The shortest time between two looks, however much happens in the room.
const SHORTEST: Duration = Duration::from_millis(250);

const TEXT: Schema = some_text(MessageContent::MAX_BYTES).about("The text.");

const TO: Schema = text().about("A handle or an id.");

fn content(body: &mut ObjectReader<'_>) -> Result<MessageContent, Rejected> {
    body.text("text", TEXT, MessageContent::new)
}

/// The recipients of a message.
fn addressees(texts: Vec<String>) -> Vec<RequestedMention> {
    let addressee = |text: String| {
        let is_id = AccountId::parse(&text).is_some();
        let (id, handle) = if is_id { (Some(text), None) } else { (None, Some(text)) };
        RequestedMention { id, handle, kind: Some(MentionKind::Mention) }
    };
    texts.into_iter().map(addressee).collect()
}

fn to(body: &mut ObjectReader<'_>) -> Result<Vec<RequestedMention>, Rejected> {
    let read = |texts: Vec<String>| {
        if (1..=MAX_MENTIONS).contains(&texts.len()) {
            Ok(addressees(texts))
        } else {
            Err((None, "must have 1 to 100 items"))
        }
    };
    body.texts("to", TO, MAX_MENTIONS, read)
}

const KEY: Schema = text()
    .min(1)
    .max(255)
    .about("A unique key of visible ASCII characters, without spaces. If a call may have failed, repeat it with the same key: the message is sent once.");

fn key(body: &mut ObjectReader<'_>) -> Result<Option<IdempotencyKey>, Rejected> {
    body.text_if_given("idempotency_key", KEY, |text| IdempotencyKey::new(&text))
}

/// When a text is sent, and how often.
#[derive(Default)]
struct Schedule {
    deliver_at: Option<Timestamp>,
    every: Option<Recurrence>,
}

const DELIVER_AT: Schema = instant().about("Send it later. `to` may then name yourself.");

const EVERY: Schema = text().about("Repeat it: an RFC 5545 rule such as FREQ=DAILY;COUNT=3.");

fn schedule(body: &mut ObjectReader<'_>) -> Result<Schedule, Rejected> {
    let deliver_at = body.text_if_given("deliver_at", DELIVER_AT, time);
    let every = body.text_if_given("every", EVERY, |text| Recurrence::parse(&text));
    Ok(Schedule { deliver_at: deliver_at?, every: every? })
}

/// A text and its recipients.
pub(crate) struct WriteArguments {
    content: MessageContent,
    to: Vec<RequestedMention>,
    key: Option<IdempotencyKey>,
    schedule: Schedule,
}

impl FromBody for WriteArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let (content, to, key, schedule) = (content(body), to(body), key(body), schedule(body));
        Ok(Self { content: content?, to: to?, key: key?, schedule: schedule? })
    }
}

/// A text that answers a message.
pub(crate) struct ReplyArguments {
    message: MessageId,
    content: MessageContent,
    to: Option<Vec<String>>,
    key: Option<IdempotencyKey>,
    schedule: Schedule,
}

impl FromBody for ReplyArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let message =
            body.text("message", uuid().about("The id of the message to answer."), id(MessageId::parse));
        let content = content(body);
        let to = body.texts_if_given("to", TO, MAX_MENTIONS, |text| Ok::<_, Infallible>(text.to_owned()));
        let (key, schedule) = (key(body), schedule(body));
        Ok(Self { message: message?, content: content?, to: to?, key: key?, schedule: schedule? })
    }
}

/// A question: a new one, or one that was asked before.
pub(crate) struct AskArguments {
    question: Question,
    wait: Duration,
}

enum Question {
    New(WriteArguments),
    Earlier(MessageId),
}

impl FromBody for AskArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let schema =
            uuid().about("The id of an earlier question: look for its answer again. Without text and to.");
        let earlier = body.text_if_given("question", schema, id(MessageId::parse));
        let about = "How many seconds to wait, 30 by default.";
        let wait = number(body, "wait_seconds", MAX_WAIT, DEFAULT_WAIT, about);
        // Some model services refuse a schema with `anyOf` at the top, so only the description says it.
        let text = TEXT.about("The text of a new question. `to` is required with it.");
        let content = body.text_if_given("text", text, MessageContent::new);
        let to = body.texts_if_given("to", TO, MAX_MENTIONS, |text| Ok::<_, Infallible>(text.to_owned()));
        let key = key(body);
        let question = match (earlier?, content?, to?) {
            (Some(earlier), None, None) => Question::Earlier(earlier),
            (None, Some(content), Some(to)) => {
                let (to, schedule) = (addressees(to), Schedule::default());
                Question::New(WriteArguments { content, to, key: key?, schedule })
            }
            (Some(_), _, _) => return Err(body.fault("question", "cannot be used together with text and to")),
            (None, None, _) => return Err(body.fault("text", "can't be blank")),
            (None, Some(_), None) => return Err(body.fault("to", "can't be blank")),
        };
        Ok(Self { question, wait: Duration::from_secs(wait?.into()) })
    }
}

pub(crate) async fn write(
    session: &Session,
    room: Option<ChatId>,
    arguments: WriteArguments,
) -> Result<Value, ApiError> {
    let room = session.room(room)?;
    session.user()?;
    if arguments.schedule.is_given() {
        return send_later(session, room, arguments, None).await;
    }
    let sent = send(session, room, arguments, None).await?;
    let mut answer = shown_sent(session, &sent);
    answer["next"] = json!("Call read_room later to see what was answered.");
    Ok(answer)
}

pub(crate) async fn reply(
    session: &Session,
    room: Option<ChatId>,
    ReplyArguments { message, content, to, key, schedule }: ReplyArguments,
) -> Result<Value, ApiError> {
    let room = session.room(room)?;
    let to = match to {
        Some(to) => addressees(to),
        None => vec![sender_of(session, session.agent()?, room, message).await?],
    };
    let arguments = WriteArguments { content, to, key, schedule };
    if arguments.schedule.is_given() {
        return send_later(session, room, arguments, Some(message)).await;
    }
    let sent = send(session, room, arguments, Some(message)).await?;
    let mut answer = shown_sent(session, &sent);
    answer["next"] = json!("Call finish for the message if you are done with it.");
    Ok(answer)
}

/// The sender of a message of others that the agent can read.
async fn sender_of(
    session: &Session,
    agent: AgentCaller,
    room: ChatId,
    message: MessageId,
) -> Result<RequestedMention, ApiError> {
    let _permit = session.may_read().await?;
    let found = session.services().messages.find(agent, room, message).await?;
    let found = found.filter(|found| found.sender != ParticipantId::Agent(agent.agent)).ok_or_else(|| {
        let said = "No message from someone else to you in this room has this id. Use the id from inbox_next, or name the recipient in `to`.";
        ApiError::new(ErrorCode::NotFound, said)
    })?;
    let id = Some(found.sender.to_string());
    Ok(RequestedMention { id, handle: None, kind: Some(MentionKind::Mention) })
}

async fn send(
    session: &Session,
    room: ChatId,
    arguments: WriteArguments,
    in_reply_to: Option<MessageId>,
) -> Result<SentMessage, ApiError> {
    let (message, _, once) = arguments.into_message(in_reply_to);
    Ok(session.services().messages.send_once(session.caller, room, message, once).await?)
}

async fn send_later(
    session: &Session,
    room: ChatId,
    arguments: WriteArguments,
    in_reply_to: Option<MessageId>,
) -> Result<Value, ApiError> {
    let (text, Schedule { deliver_at, every }, once) = arguments.into_message(in_reply_to);
    let command = ScheduleText { text, deliver_at, every };
    let reminder = session.services().reminders.schedule(session.caller, room, command, once).await?;
    Ok(json!({
        "scheduled": reminder.id.to_string(), "deliver_at": reminder.due.at.to_string(),
        "next": "It is sent then. There is nothing to wait for.",
    }))
}

impl Schedule {
    const fn is_given(&self) -> bool {
        self.deliver_at.is_some() || self.every.is_some()
    }
}

impl WriteArguments {
    fn into_message(
        self,
        in_reply_to: Option<MessageId>,
    ) -> (SendMessage, Schedule, Option<IdempotentRequest>) {
        let Self { content, to, key, schedule } = self;
        let once = key.map(|key| {
            let to = to.iter().map(|one| one.id.as_ref().or(one.handle.as_ref())).collect::<Vec<_>>();
            let message = in_reply_to.map(|id| id.to_string());
            let mut said = json!({"text": content.as_str(), "to": to, "message": message});
            if schedule.is_given() {
                said["deliver_at"] = json!(schedule.deliver_at.map(|at| at.to_string()));
                said["every"] = json!(schedule.every.map(|every| every.to_string()));
            }
            IdempotentRequest { key, fingerprint: fingerprint(said.to_string().as_bytes()) }
        });
        let message =
            SendMessage { content, mentions: to, in_reply_to, respond_by: None, attachments: Vec::new() };
        (message, schedule, once)
    }
}

/// The id of a sent message, and what is known of its recipients.
fn shown_sent(session: &Session, sent: &SentMessage) -> Value {
    let recipients = sent.recipients.iter().map(|recipient| {
        let mut shown = json!({"handle": recipient.handle});
        if let Some(state) = recipient.state {
            shown["online"] = json!(session.services().messages.is_connected(recipient, state));
        }
        if let Some(RecipientState::Agent { status, is_stopped, is_paused, .. }) = recipient.state {
            shown["state"] = json!(status.as_str());
            if is_stopped || is_paused {
                shown["stopped"] = json!(true);
            }
        }
        shown
    });
    let mut shown = json!({"sent": sent.id.to_string(), "to": recipients.collect::<Vec<_>>()});
    if !sent.unmentioned.is_empty() {
        let handles = sent.unmentioned.join(", ");
        shown["warning"] =
            json!(format!("Not addressed, although their handles are in the text: {handles}."));
    }
    shown
}

pub(crate) async fn ask(
    session: &Session,
    room: Option<ChatId>,
    AskArguments { question, wait }: AskArguments,
) -> Result<Value, ApiError> {
    let (room, agent) = (session.room(room)?, session.agent()?);
    match question {
        Question::Earlier(id) => await_answer(session, agent, room, id, wait).await,
        Question::New(message) => {
            let id = send(session, room, message, None).await?.id;
            // It was sent, so a failure from here on must not make the model send it again.
            let answer = await_answer(session, agent, room, id, wait).await;
            Ok(answer.inspect_err(note).unwrap_or_else(|_| unanswered(id, Vec::new())))
        }
    }
}

async fn await_answer(
    session: &Session,
    agent: AgentCaller,
    room: ChatId,
    id: MessageId,
    wait: Duration,
) -> Result<Value, ApiError> {
    let question = find_question(session, agent, room, id).await?;
    let (deadline, mut seen) = (Instant::now() + wait, question.sequence);
    let mut waiter = session.waiter(room);
    loop {
        let looked_at = Instant::now();
        let later = inbox::since(session, agent, room, seen).await?;
        if let Some(answer) = answer_among(&later, &question) {
            return Ok(json!({
                "question": id.to_string(), "answer": shown(ShownMessage::whole(answer))?,
            }));
        }
        seen = later.last().map_or(seen, |last| last.sequence);
        if later.len() == inbox::SEARCHED as usize {
            continue;
        }
        if looked_at >= deadline || session.is_stopping() {
            return no_answer(session, room, id).await;
        }
        // In the end, it is looked for once more.
        waiter.wait(looked_at, SHORTEST, deadline, || session.is_stopping()).await;
    }
}

/// A message that the agent has sent.
async fn find_question(
    session: &Session,
    agent: AgentCaller,
    room: ChatId,
    id: MessageId,
) -> Result<Message, ApiError> {
    let _permit = session.may_read().await?;
    let found = session.services().messages.find(agent, room, id).await?;
    found.filter(|found| found.sender == ParticipantId::Agent(agent.agent)).ok_or_else(|| {
        let said = "You have sent no message with this id in this room. Read the room to look for an answer.";
        ApiError::new(ErrorCode::NotFound, said)
    })
}

/// The first text that follows from the question, or that one of those who were asked has written without a cause, as
/// humans do.
fn answer_among<'m>(later: &'m [Message], question: &Message) -> Option<&'m Message> {
    let is_asked = |who: ParticipantId| question.mentions.iter().any(|mention| mention.id == who);
    let of_others =
        || later.iter().filter(|one| one.kind == MessageKind::Text && one.sender != question.sender);
    let follows = of_others().find(|one| one.place().message == Some(question.id));
    follows.or_else(|| of_others().find(|one| one.place().message.is_none() && is_asked(one.sender)))
}

async fn no_answer(session: &Session, room: ChatId, id: MessageId) -> Result<Value, ApiError> {
    let _permit = session.may_read().await?;
    let receipts = session.services().deliveries.receipts(session.caller, room, id).await?;
    let states = receipts
        .iter()
        .map(|receipt| json!({"handle": receipt.agent.handle, "state": receipt.status.as_str()}));
    Ok(unanswered(id, states.collect()))
}

/// A question without an answer, and the states of those who were asked.
fn unanswered(id: MessageId, agents: Vec<Value>) -> Value {
    json!({
        "question": id.to_string(), "answer": null, "agents": agents,
        "next": "There is no answer yet. Do something else, and look again later: call ask with the same room and this \
                 `question`, without text and to. Do not send the question again.",
    })
}
