//! Sending a message to the agent: a new task in a new room or in a known one, or the next message of a task.

use std::fmt::Write as _;

use a2a::{Message, Part, PartContent, Role, SendMessageRequest};
use domain::chat::{AddParticipantCommand, AddParticipantError, AddRefused, CreateChat, Role as RoomRole};
use domain::id::{ChatId, MessageId, ParticipantKind};
use domain::idempotency::{IdempotencyKey, IdempotentRequest};
use domain::message::{MentionKind, MessageContent, RequestedMention, SendHeaders, SendMessage};
use domain::page::{PageRequest, Slice};
use domain::peer::ListPeers;
use domain::text::NamePart;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::idempotent::{fingerprint, key};
use http_wire::traceparent;
use serde_json::json;

use crate::failure::{Failure, Fault};
use crate::read;
use crate::session::Session;
use crate::task::TaskId;

/// The maximum number of peers that are searched for the agent by its handle. Few match.
const SEARCHED: u32 = 100;

/// Sends a message, and returns its task.
pub(crate) async fn send(session: &Session, request: &SendMessageRequest) -> Result<TaskId, Failure> {
    let configuration = request.configuration.as_ref();
    if configuration.is_some_and(|given| given.task_push_notification_config.is_some()) {
        return Err(push_not_supported());
    }
    let message = &request.message;
    let said = content(message)?;
    let once = once(session, message)?;
    let named = |id: &Option<String>| id.clone().filter(|id| !id.is_empty());
    match (named(&message.task_id), named(&message.context_id)) {
        (Some(task), context) => {
            let task = TaskId::parse(&task).ok_or_else(Failure::no_task)?;
            if context.is_some_and(|context| ChatId::parse(&context) != Some(task.room)) {
                return Err(Failure::invalid("message.contextId", "must be that of the task"));
            }
            go_on(session, task, said, once).await
        }
        (None, Some(context)) => {
            let room = ChatId::parse(&context).ok_or_else(no_context)?;
            session.check_room(room, true)?;
            let first = in_room(session, room, said, None, once).await?;
            Ok(TaskId { room, first })
        }
        (None, None) => {
            session.check_rest(true)?;
            let room = new_room(session, &once).await?;
            let first = in_room(session, room, said, None, once).await?;
            Ok(TaskId { room, first })
        }
    }
}

/// The failure of everything about webhooks of callers.
pub(crate) fn push_not_supported() -> Failure {
    Failure::new(
        Fault::PushNotificationNotSupported,
        "This server sends no push notifications. Subscribe to the task instead.",
    )
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
async fn new_room(session: &Session, once: &IdempotentRequest) -> Result<ChatId, Failure> {
    let (services, caller) = (session.services(), session.caller);
    check_peer(session).await?;
    let room = services.chats.create_once(caller, CreateChat::default(), Some(once.clone())).await?.id;
    // What was sent before is answered as before, even if the room has changed since.
    if services.messages.was_sent(caller, room, once.clone()).await? {
        return Ok(room);
    }
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
async fn go_on(
    session: &Session,
    task: TaskId,
    content: MessageContent,
    once: IdempotentRequest,
) -> Result<TaskId, Failure> {
    session.check_room(task.room, true)?;
    let tree = read::tree(session, task).await?;
    let messages = &session.services().messages;
    if tree.state().state.is_terminal() && !messages.was_sent(session.caller, task.room, once.clone()).await?
    {
        let said = "The task has ended. Send the message without its taskId, and with its contextId, to begin another one.";
        return Err(Failure::new(Fault::UnsupportedOperation, said));
    }
    in_room(session, task.room, content, tree.newest(), once).await?;
    Ok(task)
}

/// Sends a text to the agent in a room.
async fn in_room(
    session: &Session,
    room: ChatId,
    content: MessageContent,
    in_reply_to: Option<MessageId>,
    once: IdempotentRequest,
) -> Result<MessageId, Failure> {
    let agent = session.agent.id.to_string();
    let mention = RequestedMention { id: Some(agent), handle: None, kind: Some(MentionKind::Mention) };
    let message = SendMessage {
        content,
        mentions: vec![mention],
        in_reply_to,
        respond_by: None,
        attachments: Vec::new(),
    };
    let traceparent = traceparent::read(session.request.headers());
    let headers = SendHeaders { once: Some(once), traceparent };
    Ok(session.services().messages.send_once(session.caller, room, message, headers).await?.id)
}
