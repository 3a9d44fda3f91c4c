//! Work: messages that agents have to answer, as seen by those who are responsible for the agents.

use domain::delivery::{AttemptNumber, HeldBy};
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::time::Timestamp;
use domain::work::{ChangedWork, WorkFlag, WorkItem};
use serde::Serialize;

use super::Shown;
use super::message::AttemptView;

/// A message on its way to an agent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct WorkItemView<'a> {
    #[schema(value_type = super::Id)]
    message_id: Shown<MessageId>,
    /// The sequence of the message in its room.
    sequence: i64,
    agent: WorkAgentView<'a>,
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    /// Null if the room has none, or if the caller may not read the room and it does not belong to the
    /// caller's organization.
    chat_room_title: Option<&'a str>,
    sender: WorkSenderView<'a>,
    /// The first 200 characters of the text. Null if neither the caller nor an agent of the caller is in the
    /// room.
    content: Option<&'a str>,
    /// `new`, `delivered`, `processing`, `failed`, `processed`, `dead`, or `held`.
    state: &'static str,
    /// `unanswered`, `stuck`, `failing`, `dead`, and `held`, as far as they apply. More flags may be added.
    flags: Vec<&'static str>,
    /// Milliseconds since the message was written.
    age_ms: u64,
    /// The number of attempts; 0 if none was made.
    current_attempt: u32,
    /// The newest attempts, oldest first, at most 50.
    attempts: Vec<AttemptView<'a>>,
    /// When the message was written.
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// When the agent must have processed the message. Null without a deadline.
    #[schema(value_type = Option<super::Instant>)]
    respond_by: Option<Shown<Timestamp>>,
    #[schema(value_type = Option<super::Instant>)]
    delivered_at: Option<Shown<Timestamp>>,
    #[schema(value_type = Option<super::Instant>)]
    processed_at: Option<Shown<Timestamp>>,
    /// When the message was taken out of the queue, or held.
    #[schema(value_type = Option<super::Instant>)]
    dead_at: Option<Shown<Timestamp>>,
    /// Why it was. Null if the caller may not read the room.
    dead_reason: Option<&'a str>,
    /// What holds the message: `max_hops`, `max_tree_messages`, `max_pair_messages`, or the name of a budget; or
    /// `foreign`, if it follows from a message of another organization. Null unless it is held. More may be added.
    held_by: Option<&'static str>,
    /// The new message, if the text was sent again: to another agent of the room, or to the same one.
    #[schema(value_type = Option<super::Id>)]
    replaced_by: Option<Shown<MessageId>>,
    /// When the message was last retried.
    #[schema(value_type = Option<super::Instant>)]
    retried_at: Option<Shown<Timestamp>>,
}

/// A retried work item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RetriedWorkView<'a> {
    #[serde(flatten)]
    item: WorkItemView<'a>,
    /// Set if the agent has begun to process the message within three seconds. An agent that has given the
    /// message up may ignore it until its process restarts.
    taken_up: bool,
    /// What to do if the agent does not take the message up. Absent if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

impl<'a> RetriedWorkView<'a> {
    /// Shows `item`.
    pub fn new(item: WorkItemView<'a>, taken_up: bool) -> Self {
        let hint = "The agent has not begun to process the message yet. If it ignores the message because it has given \
                    it up, resend it as a new message with POST …/send-again.";
        Self { item, taken_up, hint: (!taken_up).then_some(hint) }
    }
}

/// The result of a change of several work items.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ChangedWorkView {
    /// The number of items that were changed, at most 100.
    changed: u32,
    /// The items that matched and were not changed, for example because they were in another state by then.
    refused: Vec<RefusedWorkView>,
    /// The number of items that were not reassigned because the other agent is not in their rooms.
    skipped: u32,
    /// Set if more items may match. Send the request again with `next_cursor` until this is false.
    has_more: bool,
    /// The `cursor` of the next request. Null exactly when `has_more` is false.
    next_cursor: Option<String>,
}

/// A work item that was not changed.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct RefusedWorkView {
    #[schema(value_type = super::Id)]
    message_id: Shown<MessageId>,
    #[schema(value_type = super::Id)]
    agent_id: Shown<AgentId>,
    /// Why not.
    reason: String,
}

impl ChangedWorkView {
    /// Shows what was changed; `next_cursor` leads to the items that were not examined.
    pub fn new(changed: &ChangedWork, next_cursor: Option<String>) -> Self {
        let refused = changed.refused.iter().map(|(message, agent, reason)| RefusedWorkView {
            message_id: Shown(*message),
            agent_id: Shown(*agent),
            reason: reason.to_string(),
        });
        Self {
            changed: changed.changed,
            refused: refused.collect(),
            skipped: changed.skipped,
            has_more: next_cursor.is_some(),
            next_cursor,
        }
    }
}

/// The agent of a work item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct WorkAgentView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<AgentId>,
    handle: &'a str,
    name: &'a str,
    /// Set if the agent has an open socket, or if the service runs it.
    connected: bool,
    /// The time at which its last socket ended; null if that is not known.
    #[schema(value_type = Option<super::Instant>)]
    last_disconnected_at: Option<Shown<Timestamp>>,
    /// Why it ended, such as `client_closed`, `connection_lost`, or `account_ended`.
    last_disconnect_reason: Option<&'static str>,
    /// Set if the agent is stopped in the room.
    stopped: bool,
    /// Set if the agent or the organization of the room is paused.
    paused: bool,
}

/// The sender of the message of a work item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct WorkSenderView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    /// `User` or `Agent`.
    r#type: &'static str,
    /// Null if the caller may not read the room.
    name: Option<&'a str>,
}

impl<'a> WorkItemView<'a> {
    /// Shows `item` as it is at `now`; `connected` says whether its agent is.
    pub fn new(item: &'a WorkItem, flags: &[WorkFlag], now: Timestamp, connected: bool) -> Self {
        let delivery = &item.delivery;
        let (agent, sender) = (&item.agent, item.sender);
        let age_ms = now.since(item.written_at).as_millis();
        // An error may quote the message.
        let attempt = |attempt| AttemptView::new(attempt, None).with_error(item.is_readable());
        Self {
            message_id: Shown(item.message),
            sequence: item.sequence.get(),
            agent: WorkAgentView {
                id: Shown(agent.id),
                handle: &agent.handle,
                name: &agent.name,
                connected,
                last_disconnected_at: agent.disconnect.map(|last| Shown(last.at)),
                last_disconnect_reason: agent.disconnect.map(|last| last.reason.as_str()),
                stopped: agent.is_stopped,
                paused: agent.is_paused,
            },
            chat_room_id: Shown(item.chat),
            chat_room_title: item.title.as_deref(),
            sender: WorkSenderView {
                id: Shown(sender),
                r#type: sender.kind().as_str(),
                name: item.shown_sender_name(),
            },
            content: item.text.as_deref(),
            state: delivery.status().as_str(),
            flags: flags.iter().map(|flag| flag.as_str()).collect(),
            age_ms: u64::try_from(age_ms).unwrap_or(u64::MAX),
            current_attempt: delivery.current_attempt().map_or(0, AttemptNumber::get),
            attempts: delivery.attempts().iter().map(attempt).collect(),
            inserted_at: Shown(item.written_at),
            respond_by: item.respond_by.map(Shown),
            delivered_at: delivery.delivered_at().map(Shown),
            processed_at: delivery.processed_at().map(Shown),
            dead_at: delivery.dead().map(|dead| Shown(dead.at)),
            dead_reason: item.shown_dead_reason(),
            held_by: delivery.held_by().map(HeldBy::as_str),
            replaced_by: delivery.replaced_by().map(Shown),
            retried_at: delivery.restart().map(|restart| Shown(restart.at)),
        }
    }
}
