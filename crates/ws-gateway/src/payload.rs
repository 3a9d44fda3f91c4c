//! Events as JSON. Resources have the shape that REST answers with.

use std::borrow::Cow;

use domain::account::Agent;
use domain::activity::{AgentActivity, MAX_SHOWN, WorkingAgent};
use domain::board::{Board, Task};
use domain::chat::{Chat, ChatDetails, ListedChat, Participant, Role, Unread, WorkStatus};
use domain::contact::{Contact, ContactRequest};
use domain::control::ControlSignal;
use domain::id::{
    AgentId, ChatId, ContactId, ExecutionId, MessageId, ParticipantId, ParticipantKind, SignalId,
};
use domain::message::Message;
use domain::time::Timestamp;
use http_wire::features::Features;
use http_wire::view::{
    AgentView, BoardView, ChatDetailsView, ChatView, ContactRequestView, ListedChatView, MessageView,
    ParticipantView, PresenceView, RequestStepView, Shown, TaskView, UnreadView,
};
use serde::Serialize;

use crate::inbox::Payload;
use crate::person::Person;
use crate::room_changes::PARTS;

/// A frame of this size or more is not pushed to an agent: its client would drop the connection.
/// The message stays in the store for `/next`.
pub(crate) const MAX_AGENT_BYTES: usize = 1024 * 1024;

/// The maximum size of a frame without its payload: the event's name, the topic, and a reference.
pub(crate) const MAX_FRAME_BYTES: usize = 1024;

fn payload(event: &'static str, content: &impl Serialize) -> Payload {
    // Views hold text and numbers only, which always serialize.
    let json = serde_json::to_string(content).unwrap_or_else(|_| "{}".to_owned());
    Payload::new(event, json)
}

pub(crate) fn message_for_user(event: &'static str, message: &Message) -> Payload {
    payload(event, &MessageView::for_user(message))
}

pub(crate) fn message_updated(message: &Message) -> Payload {
    Payload { updates: Some(message.id), ..message_for_user("message_updated", message) }
}

pub(crate) fn message_for_agent(message: &Message, reader: AgentId) -> Payload {
    let brought = payload("message_created", &MessageView::for_agent(message, reader));
    Payload { brings: Some(message.id), ..brought }
}

#[derive(Serialize)]
struct MessageIdContent {
    id: Shown<MessageId>,
    chat_room_id: Shown<ChatId>,
}

pub(crate) fn message_deleted(chat: ChatId, message: MessageId) -> Payload {
    payload("message_deleted", &MessageIdContent { id: Shown(message), chat_room_id: Shown(chat) })
}

/// The agent as its owner reads it.
pub(crate) fn agent(event: &'static str, agent: &Agent, features: Features) -> Payload {
    payload(event, &AgentView::new(agent, features))
}

#[derive(Serialize)]
struct RoomContent<'a> {
    #[serde(flatten)]
    chat: ChatView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    participant_role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_at: Option<Shown<Timestamp>>,
}

pub(crate) fn room_added(chat: &Chat, role: Role) -> Payload {
    let chat = ChatView::new(chat);
    payload("room_added", &RoomContent { chat, participant_role: Some(role.as_str()), removed_at: None })
}

pub(crate) fn room_removed(chat: &Chat, removed_at: Timestamp) -> Payload {
    let chat = ChatView::new(chat);
    payload(
        "room_removed",
        &RoomContent { chat, participant_role: None, removed_at: Some(Shown(removed_at)) },
    )
}

/// The chat as an entry of a human's list, replacing the previous one.
pub(crate) fn room_updated(chat: &Chat, details: &ChatDetails) -> Payload {
    payload("room_updated", &ChatDetailsView::new(chat, details, details.work))
}

/// The maximum number of characters of the last message in [`room_changed`].
const PREVIEW_CHARS: usize = 200;

/// The chat as a human's list of chats has it, with the beginning of its last message.
pub(crate) fn room_changed(mut room: ListedChat, work: WorkStatus) -> Payload {
    room.last_message = room.last_message.map(|message| message.preview(PREVIEW_CHARS));
    payload("room_changed", &ListedChatView::new(&room, work, PARTS, |_| false))
}

/// A task with its present state.
pub(crate) fn task(event: &'static str, task: &Task) -> Payload {
    payload(event, &TaskView::new(task))
}

pub(crate) fn board_updated(board: &Board) -> Payload {
    payload("board_updated", &BoardView::new(board))
}

#[derive(Serialize)]
struct ReadContent {
    id: Shown<ChatId>,
    unread: UnreadView,
}

/// What a human has not read in a chat.
pub(crate) fn room_read(chat: ChatId, unread: &Unread) -> Payload {
    payload("room_read", &ReadContent { id: Shown(chat), unread: UnreadView::new(unread) })
}

#[derive(Serialize)]
struct AddedContent<'a> {
    #[serde(flatten)]
    participant: ParticipantView<'a>,
    is_remote: Option<bool>,
}

pub(crate) fn participant_added(participant: &Participant, online: bool) -> Payload {
    let is_remote = participant.is_external;
    let participant = ParticipantView::with_presence(participant, online);
    payload("participant_added", &AddedContent { participant, is_remote })
}

pub(crate) fn participant_updated(participant: &Participant, online: bool) -> Payload {
    payload("participant_updated", &ParticipantView::with_presence(participant, online))
}

/// The presence of a participant, under the names of the participant list.
#[derive(Serialize)]
struct PresenceContent {
    id: Shown<ParticipantId>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    presence: PresenceView,
}

impl PresenceContent {
    fn new(who: ParticipantId, is_external: Option<bool>, online: bool) -> Self {
        let presence = PresenceView::new(is_external, online);
        Self { id: Shown(who), kind: who.kind().as_str(), presence }
    }
}

/// For users and external agents only: an internal agent is always present.
pub(crate) fn presence_changed(who: ParticipantId, online: bool) -> Payload {
    let is_external = who.agent().map(|_| true);
    payload("participant_presence_changed", &PresenceContent::new(who, is_external, online))
}

#[derive(Serialize)]
struct AgentConnectionContent {
    id: Shown<AgentId>,
    chat_room_id: Shown<ChatId>,
    connected: bool,
    connection_status: &'static str,
}

/// The presence of an external agent, for older clients.
pub(crate) fn agent_connection(chat: ChatId, agent: AgentId, connected: bool) -> Payload {
    let (event, connection_status) =
        if connected { ("agent_connected", "connected") } else { ("agent_disconnected", "disconnected") };
    let (id, chat_room_id) = (Shown(agent), Shown(chat));
    payload(event, &AgentConnectionContent { id, chat_room_id, connected, connection_status })
}

#[derive(Serialize)]
struct PresentContent {
    participant_presence: Vec<PresenceContent>,
}

/// The response to a join of a chat's participants.
pub(crate) fn participant_presence(people: &[(Person, bool)]) -> String {
    let people =
        people.iter().map(|(person, online)| PresenceContent::new(person.id, person.is_external, *online));
    payload("", &PresentContent { participant_presence: people.collect() }).json
}

#[derive(Serialize)]
struct RemovedContent<'a> {
    id: Shown<ParticipantId>,
    name: &'a str,
    handle: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
}

pub(crate) fn participant_removed(participant: &Participant) -> Payload {
    let Participant { id, name, handle, .. } = participant;
    payload("participant_removed", &RemovedContent { id: Shown(*id), name, handle, kind: id.kind().as_str() })
}

#[derive(Serialize)]
struct RoomIdContent {
    id: Shown<ChatId>,
}

pub(crate) fn room_deleted(chat: ChatId) -> Payload {
    payload("room_deleted", &RoomIdContent { id: Shown(chat) })
}

#[derive(Serialize)]
struct TitleContent<'a> {
    id: Shown<ChatId>,
    title: &'a str,
}

/// The maximum size of a title in its event: clients drop a larger one. A title has up to 120
/// characters; the chat itself holds all of it.
const MAX_TITLE_BYTES: usize = 256;

pub(crate) fn title_changed(chat: ChatId, title: &str) -> Payload {
    payload("room_title_changed", &TitleContent { id: Shown(chat), title: &short_title(title) })
}

/// The title, or as much of it as fits, with an ellipsis.
fn short_title(title: &str) -> Cow<'_, str> {
    if title.len() <= MAX_TITLE_BYTES {
        return Cow::Borrowed(title);
    }
    let most = MAX_TITLE_BYTES - '…'.len_utf8();
    let ends = title.char_indices().map(|(start, c)| start + c.len_utf8());
    let end = ends.take_while(|end| *end <= most).last().unwrap_or(0);
    Cow::Owned(format!("{}…", &title[..end]))
}

#[derive(Serialize)]
struct ActivityContent {
    agent_id: Shown<AgentId>,
    execution_id: Shown<ExecutionId>,
    working: bool,
}

pub(crate) fn activity(chat: ChatId, activity: &AgentActivity) -> Payload {
    let event = if activity.working { "agent_activity_started" } else { "agent_activity_stopped" };
    let AgentActivity { agent, execution, working, doing: _ } = *activity;
    // Older nodes do not name the execution; until all are upgraded, the chat stands for it, as before.
    let execution = execution.unwrap_or(ExecutionId::new(chat.uuid()));
    payload(event, &ActivityContent { agent_id: Shown(agent), execution_id: Shown(execution), working })
}

#[derive(Serialize)]
struct WorkingContent {
    working_agents: Vec<ActivityContent>,
}

/// The response to a join of a chat's activity.
pub(crate) fn working_agents(agents: Vec<WorkingAgent>) -> String {
    let agents = agents.into_iter().take(MAX_SHOWN).map(|one| ActivityContent {
        agent_id: Shown(one.agent),
        execution_id: Shown(one.execution),
        working: true,
    });
    payload("", &WorkingContent { working_agents: agents.collect() }).json
}

/// A contact request as an agent receives it.
#[derive(Serialize)]
struct FlatRequestContent<'a> {
    id: Shown<domain::id::ContactRequestId>,
    from_handle: &'a str,
    from_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    status: &'static str,
    inserted_at: Shown<Timestamp>,
}

/// Flat for agents, with both sides nested for users.
pub(crate) fn contact_request_received(request: &ContactRequest) -> Payload {
    let event = "contact_request_received";
    match request.recipient.id.kind() {
        ParticipantKind::User => payload(event, &ContactRequestView::new(request)),
        ParticipantKind::Agent => payload(
            event,
            &FlatRequestContent {
                id: Shown(request.id),
                from_handle: &request.requester.handle,
                from_name: &request.requester.name,
                message: request.message.as_deref(),
                status: request.status.as_str(),
                inserted_at: Shown(request.created_at),
            },
        ),
    }
}

pub(crate) fn contact_request_updated(request: &ContactRequest) -> Payload {
    payload("contact_request_updated", &RequestStepView::new(request))
}

/// Fields that only agents have are left out for users: clients do not accept null for them.
#[derive(Serialize)]
struct ContactContent<'a> {
    /// The id of the contact as its receiver sees it.
    id: Shown<ContactId>,
    handle: &'a str,
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_external: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_remote: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listed_in_directory: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<&'a [String]>,
    inserted_at: Shown<Timestamp>,
}

pub(crate) fn contact_added(contact: &Contact) -> Payload {
    let with = &contact.with;
    let kind = with.id.kind();
    let content = ContactContent {
        id: Shown(contact.id),
        handle: &with.handle,
        name: &with.name,
        kind: kind.as_str(),
        description: with.description.as_deref(),
        is_external: with.is_external,
        is_remote: with.is_external,
        listed_in_directory: with.listed_in_directory,
        tags: (kind == ParticipantKind::Agent).then_some(&with.tags),
        inserted_at: Shown(contact.created_at),
    };
    payload("contact_added", &content)
}

#[derive(Serialize)]
struct ContactIdContent {
    id: Shown<ContactId>,
}

pub(crate) fn contact_removed(id: ContactId) -> Payload {
    payload("contact_removed", &ContactIdContent { id: Shown(id) })
}

#[derive(Serialize)]
struct SupersedeContent {
    reason: &'static str,
    message: &'static str,
    retryable: bool,
    target_socket_id: String,
    correlation_id: String,
}

#[derive(Serialize)]
struct ControlContent {
    #[serde(rename = "type")]
    kind: &'static str,
    mode: &'static str,
    /// `room` for one room, `agent` for all.
    scope: &'static str,
    agent_id: Shown<AgentId>,
    /// Clients require the key, also if it is null.
    room_id: Option<Shown<ChatId>>,
    execution_id: Shown<ExecutionId>,
    correlation_id: Shown<SignalId>,
    reason: &'static str,
}

pub(crate) fn agent_control(agent: AgentId, signal: &ControlSignal) -> Payload {
    let content = ControlContent {
        kind: "agent.control",
        mode: signal.mode.as_str(),
        scope: if signal.chat.is_some() { "room" } else { "agent" },
        agent_id: Shown(agent),
        room_id: signal.chat.map(Shown),
        execution_id: Shown(signal.execution),
        correlation_id: Shown(signal.correlation_id),
        reason: "user_requested",
    };
    payload("agent.control", &content)
}

/// Another connection of the agent took over. `number` distinguishes takeovers.
pub(crate) fn supersede(agent: AgentId, number: u64) -> Payload {
    final_notice(agent, number, "session.already_connected", "Another connection of this agent took over")
}

/// The agent cannot connect again with the credential of the socket with this number.
pub(crate) fn revoked(agent: AgentId, number: u64) -> Payload {
    let message = "The agent was deleted or disabled, or its API key is no longer valid";
    final_notice(agent, number, "agent.revoked", message)
}

/// The last event of a socket whose client must not reconnect.
fn final_notice(agent: AgentId, number: u64, reason: &'static str, message: &'static str) -> Payload {
    let content = SupersedeContent {
        reason,
        message,
        retryable: false,
        target_socket_id: format!("agent_socket:{agent}"),
        correlation_id: format!("{agent}:{number}"),
    };
    payload("supersede", &content)
}

#[cfg(test)]
mod tests {
    use domain::delivery::Delivery;
    use domain::message::{Mention, MentionKind, MessageContent};

    use super::*;
    use crate::hub::HubConfig;
    use crate::hub::tests::{agent_id, message};
    use crate::inbox::cost;

    #[test]
    fn long_titles_are_cut_between_characters() {
        for whole in ["", "Plan", &"x".repeat(120), &"é".repeat(120), &"é".repeat(128)] {
            assert_eq!(short_title(whole), whole);
        }
        assert_eq!(short_title(&"計".repeat(120)), format!("{}…", "計".repeat(84)));
        assert_eq!(short_title(&"\u{1f600}".repeat(120)), format!("{}…", "\u{1f600}".repeat(63)));
    }

    /// One message that a client is reading, one that is queued, and one that arrives.
    #[test]
    fn the_usual_queue_holds_three_of_the_largest_message() {
        let mut message = message(1, &"\u{1}".repeat(MessageContent::MAX_BYTES));
        for number in 0..100 {
            let (id, name) = (ParticipantId::Agent(agent_id(number)), "\u{1f600}".repeat(100));
            message.mentions.push(Mention { id, handle: "h".repeat(200), name, kind: MentionKind::Mention });
            message.deliveries.push(Delivery::new(agent_id(number)));
        }
        let bytes = cost(&message_updated(&message)) + MAX_FRAME_BYTES;
        assert!(bytes > 3_000_000 && 3 * bytes <= HubConfig::default().queue_bytes, "{bytes}");
    }
}
