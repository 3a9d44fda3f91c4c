//! Rooms and who is in them.

use domain::chat::{
    Chat, ChatDetails, ChatKind, ChatStatus, Participant, ParticipantStatus, Role, RoomAgent, WorkStatus,
};
use domain::id::{AgentId, ChatId, UserId};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Malformed;
use super::plain::{At, Id, Text, Who, owned, text, word};

#[derive(Serialize, Deserialize)]
pub(super) struct WireChat<'a> {
    id: Id,
    title: Option<Text<'a>>,
    task: Option<Id>,
    kind: Text<'a>,
    status: Text<'a>,
    created_at: At,
    updated_at: At,
    last_message_at: Option<At>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireParticipant<'a> {
    id: Who,
    name: Text<'a>,
    handle: Text<'a>,
    description: Option<Text<'a>>,
    is_external: Option<bool>,
    owner: Option<Id>,
    role: Text<'a>,
    status: Text<'a>,
    joined_at: At,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireDetails<'a> {
    agents: Vec<WireRoomAgent<'a>>,
    work: Text<'a>,
}

#[derive(Serialize, Deserialize)]
struct WireRoomAgent<'a> {
    id: Id,
    name: Text<'a>,
    handle: Text<'a>,
}

impl<'a> From<&'a Chat> for WireChat<'a> {
    fn from(chat: &'a Chat) -> Self {
        let Chat { id, title, task_id, kind, status, created_at, updated_at, last_message_at } = chat;
        Self {
            id: Id(id.uuid()),
            title: text(title.as_ref()),
            task: task_id.map(Id),
            kind: kind.as_str().into(),
            status: status.as_str().into(),
            created_at: (*created_at).into(),
            updated_at: (*updated_at).into(),
            last_message_at: last_message_at.map(At::from),
        }
    }
}

impl TryFrom<WireChat<'_>> for Chat {
    type Error = Malformed;

    fn try_from(wire: WireChat<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            id: ChatId::new(wire.id.0),
            title: owned(wire.title),
            task_id: wire.task.map(|id| id.0),
            kind: word(&wire.kind, ChatKind::parse)?,
            status: word(&wire.status, ChatStatus::parse)?,
            created_at: wire.created_at.into(),
            updated_at: wire.updated_at.into(),
            last_message_at: wire.last_message_at.map(Timestamp::from),
        })
    }
}

impl<'a> From<&'a Participant> for WireParticipant<'a> {
    fn from(participant: &'a Participant) -> Self {
        let Participant { id, name, handle, description, is_external, owner, role, status, joined_at } =
            participant;
        Self {
            id: (*id).into(),
            name: name.into(),
            handle: handle.into(),
            description: text(description.as_ref()),
            is_external: *is_external,
            owner: owner.map(|user| Id(user.uuid())),
            role: role.as_str().into(),
            status: status.as_str().into(),
            joined_at: (*joined_at).into(),
        }
    }
}

impl TryFrom<WireParticipant<'_>> for Participant {
    type Error = Malformed;

    fn try_from(wire: WireParticipant<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            id: wire.id.into(),
            name: wire.name.into_owned(),
            handle: wire.handle.into_owned(),
            description: owned(wire.description),
            is_external: wire.is_external,
            owner: wire.owner.map(|id| UserId::new(id.0)),
            role: word(&wire.role, Role::parse)?,
            status: word(&wire.status, ParticipantStatus::parse)?,
            joined_at: wire.joined_at.into(),
        })
    }
}

impl<'a> From<&'a ChatDetails> for WireDetails<'a> {
    fn from(ChatDetails { agents, work }: &'a ChatDetails) -> Self {
        Self { agents: agents.iter().map(WireRoomAgent::from).collect(), work: work.as_str().into() }
    }
}

impl TryFrom<WireDetails<'_>> for ChatDetails {
    type Error = Malformed;

    fn try_from(wire: WireDetails<'_>) -> Result<Self, Malformed> {
        let agents = wire.agents.into_iter().map(RoomAgent::from).collect();
        Ok(Self { agents, work: word(&wire.work, work_status)? })
    }
}

fn work_status(word: &str) -> Option<WorkStatus> {
    let all = [WorkStatus::Idle, WorkStatus::Working, WorkStatus::Failed];
    all.into_iter().find(|status| status.as_str() == word)
}

impl<'a> From<&'a RoomAgent> for WireRoomAgent<'a> {
    fn from(RoomAgent { id, name, handle }: &'a RoomAgent) -> Self {
        Self { id: Id(id.uuid()), name: name.into(), handle: handle.into() }
    }
}

impl From<WireRoomAgent<'_>> for RoomAgent {
    fn from(wire: WireRoomAgent<'_>) -> Self {
        let (name, handle) = (wire.name.into_owned(), wire.handle.into_owned());
        Self { id: AgentId::new(wire.id.0), name, handle }
    }
}
