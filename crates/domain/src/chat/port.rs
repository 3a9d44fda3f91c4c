//! The store of chats and participants.

use async_trait::async_trait;
use uuid::Uuid;

use super::listing::{ChatDetails, ChatListing, FoundChat, ListedChat};
use super::membership::{AddRefused, RemoveRefused};
use super::overview::{ChatFilter, ChatOverview};
use super::participant::{Participant, ParticipantStatus, Role, Roster};
use super::room::{Chat, ChatKind, ChatStatus};
use super::standing::Entrance;
use super::title::ChatTitle;
use crate::caller::Caller;
use crate::id::{AgentId, ChatId, ParticipantId, TaskId, UserId};
use crate::idempotency::{IdempotencyClaim, StoredAnswer};
use crate::page::{Page, PageRequest};
use crate::plan::LimitReached;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A room to be stored; its creator becomes owner, with status active.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewChat {
    /// Identifier.
    pub id: ChatId,
    /// The given title; `None` for one made from the first text, where everybody may read that.
    pub title: Option<ChatTitle>,
    /// A task elsewhere.
    pub task_id: Option<TaskId>,
    /// What it is meant for.
    pub kind: ChatKind,
    /// Who creates it.
    pub creator: ParticipantId,
    /// Set when the request is to count once.
    pub claim: Option<IdempotencyClaim>,
    /// When.
    pub now: Timestamp,
}

impl NewChat {
    /// The room as it is right after its creation.
    pub fn into_chat(self) -> Chat {
        Chat {
            id: self.id,
            title: self.title.map(ChatTitle::into_string),
            task_id: self.task_id,
            kind: self.kind,
            status: ChatStatus::Active,
            created_at: self.now,
            updated_at: self.now,
            last_message_at: None,
        }
    }
}

/// Why no room was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CreateRefused {
    /// The agent that asks is gone.
    CreatorGone,
    /// The organization has as many rooms as its plan allows.
    Limit(LimitReached),
    /// The request repeats one that made a room.
    Repeated(StoredAnswer),
    /// The request's key was given to one that says something else.
    KeyReused,
}

/// Somebody to be added to a room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddParticipant {
    /// The room.
    pub chat: ChatId,
    /// Who asks.
    pub by: Caller,
    /// Id of the user or agent to add; which of the two it is the store finds out.
    pub candidate: Uuid,
    /// As what.
    pub role: Role,
    /// When.
    pub now: Timestamp,
}

/// Somebody was added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddedParticipant {
    /// The room, with its new time of change.
    pub chat: Chat,
    /// The new participant.
    pub participant: Participant,
    /// The room, if its title was made from a text that the new participant may not read: it has none any more.
    pub retitled: Option<RenamedChat>,
}

/// Somebody to be removed from a room, or leaving it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoveParticipant {
    /// The room.
    pub chat: ChatId,
    /// Who asks.
    pub by: Caller,
    /// Id of the participant.
    pub target: Uuid,
    /// When.
    pub now: Timestamp,
}

/// Somebody was removed or left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemovedParticipant {
    /// The room, with its new time of change.
    pub chat: Chat,
    /// The participant as it was.
    pub participant: Participant,
}

/// A room to be renamed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenameChat {
    /// The room.
    pub chat: ChatId,
    /// Who asks.
    pub by: Caller,
    /// The title that it gets.
    pub title: ChatTitle,
    /// When.
    pub now: Timestamp,
}

/// Why a room was not renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RenameRefused {
    /// The caller may not see the room, or there is no such room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The caller is not an owner of it.
    #[error("only an owner may rename the chat")]
    NotOwner,
}

/// A room has another title, or its first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenamedChat {
    /// The room with its new title.
    pub chat: Chat,
    /// What humans see of it.
    pub details: ChatDetails,
    /// The humans in it.
    pub users: Vec<UserId>,
}

/// A room to be deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeleteChat {
    /// The room.
    pub chat: ChatId,
    /// Who asks; `None` for the operator, who may delete any.
    pub by: Option<Caller>,
    /// When.
    pub now: Timestamp,
}

/// Why a room was not deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteRefused {
    /// The caller may not see the room, or there is no such room.
    ChatNotFound,
    /// Neither the caller nor an own agent is an owner of it.
    NotOwner,
}

/// A room was deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedChat {
    /// The room as it was.
    pub chat: Chat,
    /// Everybody who was in it.
    pub participants: Vec<ParticipantId>,
    /// When.
    pub deleted_at: Timestamp,
}

/// Rooms and who is in them.
///
/// A deleted room is in no answer of any method. "Participant" means present: who left or was
/// removed is none (the row may be kept for a later return).
#[async_trait]
pub trait ChatRepository: Send + Sync {
    /// Stores a room with its creator as owner, unless that is an agent which was deleted.
    ///
    /// Before all else a claim is judged by what is remembered ([`crate::idempotency`]); with the
    /// room it is remembered what the claim's request made.
    async fn create(
        &self,
        new: NewChat,
        on_commit: OnCommit<Chat>,
    ) -> Result<Result<Chat, CreateRefused>, StoreError>;

    /// The room, if `viewer` [may read](Standing::may_read) it.
    async fn find(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Chat>, StoreError>;

    /// The room as a human reads it, if `viewer` may; its messages are counted only on demand,
    /// since that costs time in proportion to their number.
    async fn find_with_details(
        &self,
        viewer: UserId,
        chat: ChatId,
        count_messages: bool,
    ) -> Result<Option<FoundChat>, StoreError>;

    /// The rooms in which `viewer` takes part (or, if asked for, an own agent of it), each once;
    /// the position is [`super::ChatSort::position`]. What a page holds is bounded in bytes, see
    /// [`crate::page::fitting`].
    async fn list(
        &self,
        viewer: ParticipantId,
        listing: ChatListing,
        page: PageRequest,
    ) -> Result<Page<ListedChat>, StoreError>;

    /// How `viewer` stands to the room, and how far it is written, at one moment.
    async fn entrance(&self, viewer: ParticipantId, chat: ChatId) -> Result<Entrance, StoreError>;

    /// The state of somebody's membership; `None` if they are no participant.
    async fn membership(
        &self,
        who: ParticipantId,
        chat: ChatId,
    ) -> Result<Option<ParticipantStatus>, StoreError>;

    /// Everybody in the room, if `viewer` [may read](Standing::may_read) it.
    async fn roster(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Roster>, StoreError>;

    /// Everybody in the room, for whoever asks; `None` if it is no more.
    async fn everybody(&self, chat: ChatId) -> Result<Option<Roster>, StoreError>;

    /// The first `limit` chats with ids before `before`, in descending order of their ids, which is newest first.
    /// For the operator: nobody's standing is asked.
    async fn overview(
        &self,
        filter: ChatFilter,
        before: Option<ChatId>,
        limit: u32,
    ) -> Result<Vec<ChatOverview>, StoreError>;

    /// Adds somebody as [`super::membership::decide_add`] decides. Who was in the room before
    /// comes back with a new role, status and `joined_at`, and finds the deliveries left open.
    async fn add_participant(
        &self,
        command: AddParticipant,
        on_commit: OnCommit<AddedParticipant>,
    ) -> Result<Result<AddedParticipant, AddRefused>, StoreError>;

    /// Removes somebody as [`super::membership::decide_remove`] decides.
    async fn remove_participant(
        &self,
        command: RemoveParticipant,
        on_commit: OnCommit<RemovedParticipant>,
    ) -> Result<Result<RemovedParticipant, RemoveRefused>, StoreError>;

    /// Gives a room another title, as [`Standing::decide_rename`] decides.
    async fn rename(
        &self,
        command: RenameChat,
        on_commit: OnCommit<RenamedChat>,
    ) -> Result<Result<RenamedChat, RenameRefused>, StoreError>;

    /// Deletes a room softly, as [`Standing::decide_delete`] decides.
    async fn delete(
        &self,
        command: DeleteChat,
        on_commit: OnCommit<DeletedChat>,
    ) -> Result<Result<DeletedChat, DeleteRefused>, StoreError>;

    /// Makes the agent's membership active if it is inactive; anything else is left as it is.
    async fn activate(&self, agent: AgentId, chat: ChatId) -> Result<(), StoreError>;
}
