//! Sending a message to the agent: a new task in a new room or in a known one, or the next message of a task.

use std::fmt::Write as _;

use a2a::{Message, Part, PartContent, Role, SendMessageRequest};
use domain::chat::{AddParticipantCommand, AddParticipantError, AddRefused, CreateChat, Role as RoomRole};
use domain::id::{ChatId, MessageId, ParticipantKind};
use domain::idempotency::{IdempotencyKey, IdempotentRequest};
use domain::message::{MentionKind, MessageContent, RequestedMention, SendHeaders, SendMessage};
use domain::page::{PageRequest, Slice};
use domain::peer::ListPeers;
use domain::push::SetPushError;
use domain::text::NamePart;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::idempotent::{fingerprint, key};
use http_wire::traceparent;
use serde_json::json;

use crate::failure::{Failure, Fault};
use crate::push::{self, Place, Wanted};
use crate::read;
use crate::session::Session;
use crate::task::TaskId;

/// The maximum number of peers that are searched for the agent by its handle. Few match.
const SEARCHED: u32 = 100;

/// The maximum length of a message's id.
const MAX_ID_CHARS: usize = 255;

/// What is said, once, and where its sender wants to be notified.
struct Said {
    /// The id that its creator has given it.
    id: String,
    content: MessageContent,
    once: IdempotentRequest,
    push: Option<Wanted>,
}

/// Sends a message, and returns its task. Where the caller wants to be notified is checked before, and stored after it: a
/// request that was not answered is repeated, and the first notification has the whole task.
pub(crate) async fn send(session: &Session, request: &SendMessageRequest) -> Result<TaskId, Failure> {
    let configuration = request.configuration.as_ref();
    let push = configuration.and_then(|given| given.task_push_notification_config.as_ref());
    let place = Place("configuration.taskPushNotificationConfig.");
    let push = push.map(|config| push::wanted(session, config, place)).transpose()?;
    let (content, once) = (content(&request.message)?, once(session, &request.message)?);
    let said = Said { id: request.message.message_id.clone(), content, once, push };
    let id = send_message(session, &request.message, &said).await?;
    if let Some(push) = said.push {
        match push::store(session, id, push).await {
            // The message is sent, so it is answered, although other requests have reached a limit meanwhile.
            Ok(_) | Err(SetPushError::Refused(_)) => {}
            Err(SetPushError::Store(error)) => return Err(error.into()),
        }
    }
    Ok(id)
}

async fn send_message(session: &Session, message: &Message, said: &Said) -> Result<TaskId, Failure> {
    let named = |id: &Option<String>| id.clone().filter(|id| !id.is_empty());
    match (named(&message.task_id), named(&message.context_id)) {
        (Some(task), context) => {
            let task = TaskId::parse(&task).ok_or_else(Failure::no_task)?;
            if context.is_some_and(|context| ChatId::parse(&context) != Some(task.room)) {
                return Err(Failure::invalid("message.contextId", "must be that of the task"));
            }
            go_on(session, task, said).await
        }
        (None, Some(context)) => {
            let room = ChatId::parse(&context).ok_or_else(no_context)?;
            session.check_room(room, true)?;
            check_push(session, room, None, said).await?;
            let first = in_room(session, room, said, None).await?;
            Ok(TaskId { room, first })
        }
        (None, None) => {
            session.check_rest(true)?;
            let room = new_room(session, said).await?;
            let first = in_room(session, room, said, None).await?;
            Ok(TaskId { room, first })
        }
    }
}

/// Checks that there may be one more configuration, unless the message was sent before.
async fn check_push(
    session: &Session,
    room: ChatId,
    task: Option<TaskId>,
    said: &Said,
) -> Result<(), Failure> {
    let Some(push) = &said.push else { return Ok(()) };
    if session.services().messages.was_sent(session.caller, room, said.once.clone()).await? {
        return Ok(());
    }
    push::check_number(session, push, task).await
}

fn no_context() -> Failure {
    Failure::new(Fault::TaskNotFound, "You have no context with this ID.")
}

/// The text of a message: its parts, each on lines of its own.
fn content(message: &Message) -> Result<MessageContent, Failure> {
    if message.role == Role::Agent {
        return Err(Failure::invalid("message.role", "must be ROLE_USER"));
    }
    if message.message_id.is_empty() {
        return Err(Failure::invalid("message.messageId", "must not be empty"));
    }
    if message.message_id.chars().count() > MAX_ID_CHARS {
        return Err(Failure::invalid("message.messageId", "must have at most 255 characters"));
    }
    let parts = message.parts.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    MessageContent::new(parts.join("\n"))
        .map_err(|fault| Failure::invalid("message.parts", &fault.to_string()))
}

fn part(part: &Part) -> Result<String, Failure> {
    match &part.content {
        PartContent::Text(text) => Ok(text.clone()),
        PartContent::Data(data) => Ok(data.to_string()),
        PartContent::Raw(_) | PartContent::Url(_) => {
            let said = "Only parts with text or data are accepted. Send files to the room over REST.";
            Err(Failure::new(Fault::ContentTypeNotSupported, said))
        }
    }
}

/// The key under which the message is sent once: the client's own, or the message itself.
fn once(session: &Session, message: &Message) -> Result<IdempotentRequest, Failure> {
    let agent = session.agent.id.to_string();
    let parts = serde_json::to_value(&message.parts).unwrap_or_default();
    let said = json!({
        "agent": agent, "parts": parts, "contextId": message.context_id, "taskId": message.task_id,
    });
    let fingerprint_of = |value: &serde_json::Value| fingerprint(value.to_string().as_bytes());
    // The keys of REST are other keys.
    let name = match key(session.request.headers())? {
        Some(key) => json!({"agent": agent, "key": key.as_str()}),
        None => json!({"message": message.message_id, "said": said}),
    };
    let digest = fingerprint_of(&name).bytes().iter().fold(String::from("a2a-"), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let key = IdempotencyKey::new(&digest);
    let key = key.map_err(|_| ApiError::defect("a digest is no key"))?;
    Ok(IdempotentRequest { key, fingerprint: fingerprint_of(&said) })
}

/// A new room of the caller with the agent, or the one that the same request has created before.
async fn new_room(session: &Session, said: &Said) -> Result<ChatId, Failure> {
    let (services, caller) = (session.services(), session.caller);
    check_peer(session).await?;
    let room = services.chats.create_once(caller, CreateChat::default(), Some(said.once.clone())).await?.id;
    // What was sent before is answered as before, even if the room has changed since.
    if services.messages.was_sent(caller, room, said.once.clone()).await? {
        return Ok(room);
    }
    check_push(session, room, None, said).await?;
    let command = AddParticipantCommand { candidate: session.agent.id.into(), role: RoomRole::Member };
    match services.chats.add_participant(caller, room, command).await {
        Ok(_) | Err(AddParticipantError::Refused(AddRefused::AlreadyParticipant)) => Ok(room),
        Err(refused) => Err(refused.into()),
    }
}

/// Checks that the caller may add the agent to rooms, so that no room is created in vain.
async fn check_peer(session: &Session) -> Result<(), Failure> {
    let _permit = session.may_read().await?;
    let name = NamePart::new(session.agent.handle.as_str());
    let wanted = ListPeers { not_in_chat: None, kind: Some(ParticipantKind::Agent), name };
    let request = PageRequest { slice: Slice::After { after: None, limit: SEARCHED }, count: false };
    let peers = session.services().peers.list(session.caller, wanted, request).await?;
    if peers.rows.iter().any(|listed| listed.peer.id.agent() == Some(session.agent.id)) {
        return Ok(());
    }
    let said =
        "You may not add this agent to a room. Ask its owner to share it, or send it a contact request.";
    Err(ApiError::new(ErrorCode::Forbidden, said).into())
}

/// Sends the next message of a task.
async fn go_on(session: &Session, task: TaskId, said: &Said) -> Result<TaskId, Failure> {
    session.check_room(task.room, true)?;
    let tree = read::tree(session, task).await?;
    let messages = &session.services().messages;
    if tree.state().state.is_terminal()
        && !messages.was_sent(session.caller, task.room, said.once.clone()).await?
    {
        let said = "The task has ended. Send the message without its taskId, and with its contextId, to begin another one.";
        return Err(Failure::new(Fault::UnsupportedOperation, said));
    }
    check_push(session, task.room, Some(task), said).await?;
    in_room(session, task.room, said, tree.newest()).await?;
    Ok(task)
}

/// Sends a text to the agent in a room.
async fn in_room(
    session: &Session,
    room: ChatId,
    said: &Said,
    in_reply_to: Option<MessageId>,
) -> Result<MessageId, Failure> {
    let agent = session.agent.id.to_string();
    let mention = RequestedMention { id: Some(agent), handle: None, kind: Some(MentionKind::Mention) };
    let message = SendMessage {
        content: said.content.clone(),
        mentions: vec![mention],
        in_reply_to,
        respond_by: None,
        attachments: Vec::new(),
    };
    let traceparent = traceparent::read(session.request.headers());
    let client_id = Some(said.id.clone());
    let headers = SendHeaders { once: Some(said.once.clone()), traceparent, client_id };
    Ok(session.services().messages.send_once(session.caller, room, message, headers).await?.id)
}
