//! Rooms as humans see them, and rows of lists of rooms.

use std::collections::BTreeMap;

use domain::chat::{
    Chat, ChatAgent, ChatDetails, ChatParts, ListedChat, MarkedRooms, Participant, RosterHead, Standing,
    Unread, WorkStatus,
};
use domain::id::{AgentId, ChatId};
use domain::message::MessageKind;
use serde::Serialize;

use super::board::TaskCountsView;
use super::{ChatView, MessageView, ParticipantView, Shown};

/// A room as a human sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ChatDetailsView<'a> {
    #[serde(flatten)]
    chat: ChatView<'a>,
    /// Always null: rooms have no descriptions.
    #[schema(value_type = Option<String>)]
    description: (),
    agents: Vec<ChatAgentView<'a>>,
    /// The active tasks of the room by overall status.
    task_counts: TaskCountsView,
    work_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_counts: Option<BTreeMap<&'static str, u64>>,
}

/// What is unread.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ReadingView {
    /// Null if the caller sees the room through agents only.
    unread: Option<UnreadView>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ChatAgentView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<AgentId>,
    name: &'a str,
    handle: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'a> ChatAgentView<'a> {
    fn new(agent: &'a ChatAgent) -> Self {
        Self { id: Shown(agent.id), name: &agent.name, handle: &agent.handle, kind: "Agent" }
    }
}

impl<'a> ChatDetailsView<'a> {
    /// Shows `chat`, whose agents are at work as `work` says.
    pub fn new(chat: &'a Chat, details: &'a ChatDetails, work: WorkStatus) -> Self {
        Self {
            chat: ChatView::new(chat),
            description: (),
            agents: details.agents.iter().map(ChatAgentView::new).collect(),
            task_counts: TaskCountsView::new(details.tasks),
            work_status: work.as_str(),
            message_counts: None,
        }
    }
}

/// The first participants of a room.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RosterHeadView<'a> {
    participants: Vec<ParticipantView<'a>>,
    participant_count: u64,
    participants_truncated: bool,
}

impl<'a> RosterHeadView<'a> {
    /// Shows `head`; `is_online` knows who is connected.
    pub fn new(head: &'a RosterHead, is_online: impl Fn(&Participant) -> bool) -> Self {
        let shown = head.participants.iter();
        Self {
            participants: shown.map(|one| ParticipantView::with_presence(one, is_online(one))).collect(),
            participant_count: head.count,
            participants_truncated: head.count > head.participants.len() as u64,
        }
    }
}

/// Membership of a human in a room: as a participant, or through one of their agents.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct StandingView {
    membership: &'static str,
    my_role: Option<&'static str>,
    my_status: Option<&'static str>,
    #[schema(value_type = Vec<super::Id>)]
    via_agent_ids: Vec<Shown<AgentId>>,
}

impl StandingView {
    fn new(standing: &Standing) -> Self {
        Self {
            membership: if standing.own.is_some() { "participant" } else { "via_agent" },
            my_role: standing.own.map(|own| own.role.as_str()),
            my_status: standing.own.map(|own| own.status.as_str()),
            via_agent_ids: standing.agents.iter().map(|(agent, _)| Shown(*agent)).collect(),
        }
    }
}

/// A room in a human's list of rooms.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ListedChatView<'a> {
    #[serde(flatten)]
    room: ChatDetailsView<'a>,
    #[serde(flatten)]
    head: Option<RosterHeadView<'a>>,
    #[serde(flatten)]
    standing: Option<StandingView>,
    #[serde(flatten)]
    newest: Option<NewestView<'a>>,
    #[serde(flatten)]
    reading: Option<ReadingView>,
}

/// What the caller has not read in a room.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct UnreadView {
    /// The number of texts of others after the read marker.
    count: u64,
    /// Those of them that mention the caller, among the newest 50 messages of the room.
    mentions: u64,
    /// The read marker: the sequence of the last message that counts as read; 0 if there is none.
    read_sequence: i64,
    /// Whether the caller has muted the room. Clients then show only the number of mentions.
    muted: bool,
}

impl UnreadView {
    /// Shows `unread`.
    pub fn new(unread: &Unread) -> Self {
        let Unread { count, mentions, read_sequence, muted } = *unread;
        Self { count, mentions, read_sequence: read_sequence.get(), muted }
    }
}

/// A room that was marked as read.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MarkedReadView {
    #[schema(value_type = super::Id)]
    id: Shown<ChatId>,
    unread: UnreadView,
}

impl MarkedReadView {
    /// Shows what is `unread` in `chat`.
    pub fn new(chat: ChatId, unread: &Unread) -> Self {
        Self { id: Shown(chat), unread: UnreadView::new(unread) }
    }
}

/// The rooms that were marked as read at once.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MarkedRoomsView {
    rooms: Vec<MarkedReadView>,
    /// Whether there are other rooms to be marked: repeat the request.
    has_more: bool,
}

impl MarkedRoomsView {
    /// Shows `marked`.
    pub fn new(marked: &MarkedRooms) -> Self {
        let rooms = marked.rooms.iter().map(|(chat, unread)| MarkedReadView::new(*chat, unread));
        Self { rooms: rooms.collect(), has_more: marked.has_more }
    }
}

/// The last message of a room. Null if there is none.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct NewestView<'a> {
    last_message: Option<MessageView<'a>>,
}

impl<'a> ListedChatView<'a> {
    /// Shows `listed` with the `parts` that were asked for.
    pub fn new(
        listed: &'a ListedChat,
        work: WorkStatus,
        parts: ChatParts,
        is_online: impl Fn(&Participant) -> bool,
    ) -> Self {
        let room = ChatDetailsView::new(&listed.chat, listed.details(), work);
        let unread = || listed.unread.as_ref().map(UnreadView::new);
        let last_message = || listed.last_message.as_ref().map(MessageView::for_user);
        Self {
            room,
            head: listed.roster.as_ref().map(|head| RosterHeadView::new(head, is_online)),
            standing: listed.standing.as_ref().map(StandingView::new),
            newest: parts.last_message.then(|| NewestView { last_message: last_message() }),
            reading: parts.unread.then(|| ReadingView { unread: unread() }),
        }
    }

    /// Adds the number of messages by kind.
    #[must_use]
    pub fn with_counts(mut self, counts: Option<&[(MessageKind, u64)]>) -> Self {
        self.room.message_counts =
            counts.map(|counts| counts.iter().map(|(kind, count)| (kind.as_str(), *count)).collect());
        self
    }
}

/// A room in an agent's list of rooms.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AgentListedChatView<'a> {
    #[serde(flatten)]
    chat: ChatView<'a>,
    #[serde(flatten)]
    head: Option<RosterHeadView<'a>>,
}

impl<'a> AgentListedChatView<'a> {
    /// Shows `listed`; `is_online` knows who is connected.
    pub fn new(listed: &'a ListedChat, is_online: impl Fn(&Participant) -> bool) -> Self {
        Self {
            chat: ChatView::new(&listed.chat),
            head: listed.roster.as_ref().map(|head| RosterHeadView::new(head, is_online)),
        }
    }
}
