//! The store of chats and participants.

use std::collections::HashMap;

use async_trait::async_trait;

use super::listing::{ChatDetails, ChatListing, ChatParts, FoundChat, ListedChat};
use super::mark_read::{MarkRead, MarkReadRefused, MarkedRead, MarkedRooms};
use super::membership::{AddRefused, RemoveRefused, SetParticipantRoleRefused};
use super::model::{Chat, ChatKind, ChatStatus};
use super::overview::{ChatFilter, ChatOverview};
use super::participant::{OwnMembership, Participant, Role, Roster};
use super::standing::Entrance;
use super::title::ChatTitle;
use crate::board::{DropReason, Task};
use crate::caller::{Caller, UserCaller};
use crate::id::{AccountId, AgentId, ChatId, ParticipantId, TaskId, UserId};
use crate::idempotency::{KeyedRequest, StoredAnswer};
use crate::message::{MaxHops, RespondWithin};
use crate::page::{Page, PageRequest};
use crate::plan::LimitReached;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A chat to be stored; its creator becomes owner, with status active.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewChat {
    /// Identifier.
    pub id: ChatId,
    /// The given title; `None` for one that derives from the first text that all participants may
    /// read.
    pub title: Option<ChatTitle>,
    /// A task outside Parlance.
    pub task_id: Option<TaskId>,
    /// Its purpose.
    pub kind: ChatKind,
    /// The creator.
    pub creator: ParticipantId,
    /// Set for a request with an idempotency key.
    pub keyed: Option<KeyedRequest>,
    /// The current time.
    pub now: Timestamp,
}

impl NewChat {
    /// The chat right after its creation.
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
            respond_within: None,
            max_hops: None,
        }
    }
}

/// The reason why no chat was created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CreateRefused {
    /// The calling agent was deleted.
    CreatorGone,
    /// The organization has as many chats as its plan allows.
    Limit(LimitReached),
    /// The request repeats one that created a chat.
    Repeated(StoredAnswer),
    /// The idempotency key was used for a different request.
    KeyReused,
}

/// A user or agent to be added to a chat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddParticipant {
    /// The chat.
    pub chat: ChatId,
    /// The caller.
    pub by: Caller,
    /// The id of the user or agent to add; the store finds out which of the two it is.
    pub candidate: AccountId,
    /// The role.
    pub role: Role,
    /// The current time.
    pub now: Timestamp,
}

/// The result of adding a participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddedParticipant {
    /// The chat, with its new time of change.
    pub chat: Chat,
    /// The new participant.
    pub participant: Participant,
    /// The chat, if its title derived from a text that the new participant may not read: the title
    /// is removed.
    pub retitled: Option<ShownChat>,
}

/// A participant to be removed from a chat, or leaving it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoveParticipant {
    /// The chat.
    pub chat: ChatId,
    /// The caller.
    pub by: Caller,
    /// The id of the participant.
    pub target: AccountId,
    /// The current time.
    pub now: Timestamp,
}

impl RemoveParticipant {
    /// The reason why its assignments are dropped.
    pub fn drop_reason(&self) -> DropReason {
        let leaves = AccountId::from(self.by.participant()) == self.target;
        if leaves { DropReason::Left } else { DropReason::Removed }
    }
}

/// The result of removing a participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemovedParticipant {
    /// The chat, with its new time of change.
    pub chat: Chat,
    /// The participant in its last state.
    pub participant: Participant,
    /// The tasks that lost an assignment, after the change.
    pub dropped: Vec<Task>,
}

/// A participant whose role is to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetParticipantRole {
    /// The chat.
    pub chat: ChatId,
    /// The caller.
    pub by: UserCaller,
    /// The id of the participant.
    pub target: AccountId,
    /// The new role.
    pub role: Role,
    /// The current time.
    pub now: Timestamp,
}

/// The result of changing the role of a participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedParticipant {
    /// The participant with its new role.
    pub participant: Participant,
    /// Set if the role was another one before.
    pub has_changed: bool,
}

/// Changes of a chat; what is `None` stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChatChanges {
    /// The new title.
    pub title: Option<ChatTitle>,
    /// The new deadline of texts that mention agents and have none of their own; `Some(None)` for no deadline.
    pub respond_within: Option<Option<RespondWithin>>,
    /// The new limit of hops; `Some(None)` for that of the organization.
    pub max_hops: Option<Option<MaxHops>>,
}

impl From<ChatTitle> for ChatChanges {
    fn from(title: ChatTitle) -> Self {
        Self { title: Some(title), ..Self::default() }
    }
}

impl ChatChanges {
    /// The chat after the changes, which are made at `now`.
    pub fn apply(&self, chat: Chat, now: Timestamp) -> Chat {
        Chat {
            title: self.title.as_ref().map(|title| title.as_str().to_owned()).or(chat.title),
            respond_within: self.respond_within.unwrap_or(chat.respond_within),
            max_hops: self.max_hops.unwrap_or(chat.max_hops),
            updated_at: now,
            ..chat
        }
    }
}

/// A chat to be renamed, or to be given a default deadline or a limit of hops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenameChat {
    /// The chat.
    pub chat: ChatId,
    /// The caller.
    pub by: Caller,
    /// The changes.
    pub changes: ChatChanges,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a chat was not renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RenameChatRefused {
    /// The caller cannot see the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The caller is not an owner of it.
    #[error("only an owner may rename the chat")]
    NotOwner,
}

/// A chat that was renamed, or whose agents were stopped, as its humans see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownChat {
    /// The chat after the change.
    pub chat: Chat,
    /// The parts that humans see.
    pub details: ChatDetails,
    /// The humans in the chat.
    pub users: Vec<UserId>,
}

impl ShownChat {
    /// The chat with its parts, which are taken from those of several chats.
    pub fn with_parts(
        chat: Chat,
        users: &mut HashMap<ChatId, Vec<UserId>>,
        details: &mut HashMap<ChatId, ChatDetails>,
    ) -> Self {
        let users = users.remove(&chat.id).unwrap_or_default();
        Self { details: details.remove(&chat.id).unwrap_or_default(), users, chat }
    }
}

/// A chat to be deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeleteChat {
    /// The chat.
    pub chat: ChatId,
    /// The caller; `None` for the operator, who may delete any chat.
    pub by: Option<Caller>,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a chat was not deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteRefused {
    /// The caller cannot see the chat, or it does not exist.
    ChatNotFound,
    /// Neither the caller nor an own agent is an owner of it.
    NotOwner,
    /// It is under a legal hold.
    UnderHold,
}

/// A deleted chat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedChat {
    /// The chat in its last state.
    pub chat: Chat,
    /// All participants until then.
    pub participants: Vec<ParticipantId>,
    /// The time of the deletion.
    pub deleted_at: Timestamp,
}

/// The store of participants.
///
/// A deleted chat has none. "Participant" means a present one: after a removal there is none (the row
/// may be kept for a later return).
#[async_trait]
pub trait ParticipantRepository: Send + Sync {
    /// The standing of `viewer` in the chat, and its last sequence, at one moment.
    async fn entrance(&self, viewer: ParticipantId, chat: ChatId) -> Result<Entrance, StoreError>;

    /// A membership; `None` if there is none.
    async fn membership(&self, who: ParticipantId, chat: ChatId)
    -> Result<Option<OwnMembership>, StoreError>;

    /// All participants of the chat, if `viewer` [may read](super::standing::Standing::may_read) it.
    async fn roster(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Roster>, StoreError>;

    /// All participants of the chat, without a check of access; `None` if it was deleted.
    async fn roster_unchecked(&self, chat: ChatId) -> Result<Option<Roster>, StoreError>;

    /// Adds a participant as [`super::membership::decide_add`] decides. A former participant
    /// returns with a new role, status, and `joined_at`, not stopped, and finds the open deliveries.
    async fn add_participant(
        &self,
        command: AddParticipant,
        on_commit: OnCommit<AddedParticipant>,
    ) -> Result<Result<AddedParticipant, AddRefused>, StoreError>;

    /// Removes a participant as [`super::membership::decide_remove`] decides, with its open assignments.
    async fn remove_participant(
        &self,
        command: RemoveParticipant,
        on_commit: OnCommit<RemovedParticipant>,
    ) -> Result<Result<RemovedParticipant, RemoveRefused>, StoreError>;

    /// Changes the role of a participant as [`super::membership::decide_set_role`] decides. Nothing is changed if the
    /// participant has that role.
    async fn set_participant_role(
        &self,
        command: SetParticipantRole,
        on_commit: OnCommit<ChangedParticipant>,
    ) -> Result<Result<ChangedParticipant, SetParticipantRoleRefused>, StoreError>;

    /// Makes the agent's membership active if it is inactive; else nothing changes.
    async fn activate(&self, agent: AgentId, chat: ChatId) -> Result<(), StoreError>;
}

/// The store of chats, and of their participants.
///
/// A deleted chat is in no answer of any method.
#[async_trait]
pub trait ChatRepository: ParticipantRepository {
    /// Stores a chat with its creator as owner, unless that is a deleted agent.
    ///
    /// First, a keyed request is compared with the idempotency records ([`crate::idempotency`]); with the
    /// chat, the result of the request is recorded.
    async fn create(
        &self,
        new: NewChat,
        on_commit: OnCommit<Chat>,
    ) -> Result<Result<Chat, CreateRefused>, StoreError>;

    /// The chat, if `viewer` [may read](super::standing::Standing::may_read) it.
    async fn find(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Chat>, StoreError>;

    /// The chat with these parts, as [`Self::list`] has it, if `viewer` may read it; its messages are counted only on
    /// demand, since that costs time in proportion to their number.
    async fn find_with_details(
        &self,
        viewer: UserId,
        chat: ChatId,
        parts: ChatParts,
        count_messages: bool,
    ) -> Result<Option<FoundChat>, StoreError>;

    /// Those of `chats` that `viewer` may read, with these parts, in the order of their ids. The page is bounded in bytes
    /// like those of [`Self::list`].
    async fn list_some(
        &self,
        viewer: UserId,
        chats: Vec<ChatId>,
        parts: ChatParts,
    ) -> Result<Page<ListedChat>, StoreError>;

    /// The chats of `viewer` (and, if requested, of own agents), each once; the position is
    /// [`super::ChatSort::position`]. The page is bounded in bytes, see [`crate::page::fitting`].
    async fn list(
        &self,
        viewer: ParticipantId,
        listing: ChatListing,
        page: PageRequest,
    ) -> Result<Page<ListedChat>, StoreError>;

    /// The first `limit` chats with ids before `before`, in descending order of their ids, which is
    /// newest first. For the operator: access is not checked.
    async fn overview(
        &self,
        filter: ChatFilter,
        before: Option<ChatId>,
        limit: u32,
    ) -> Result<Vec<ChatOverview>, StoreError>;

    /// Renames a chat, as [`decide_rename`](super::standing::Standing::decide_rename) decides.
    async fn rename(
        &self,
        command: RenameChat,
        on_commit: OnCommit<ShownChat>,
    ) -> Result<Result<ShownChat, RenameChatRefused>, StoreError>;

    /// Moves the mark of a human in a chat or mutes it, as
    /// [`decide_mark_read`](super::standing::Standing::decide_mark_read) and [`ReadMark::moved`](super::ReadMark::moved)
    /// decide.
    async fn mark_read(
        &self,
        command: MarkRead,
        on_commit: OnCommit<MarkedRead>,
    ) -> Result<Result<MarkedRead, MarkReadRefused>, StoreError>;

    /// Moves the marks of a human to the newest messages, in at most [`MAX_MARKED`](super::MAX_MARKED) of the chats where
    /// they are not there yet.
    async fn mark_all_read(
        &self,
        reader: UserId,
        on_commit: OnCommit<MarkedRooms>,
    ) -> Result<MarkedRooms, StoreError>;

    /// Deletes a chat softly, as [`decide_delete`](super::standing::Standing::decide_delete) decides. Its board is erased
    /// later, by [`erase_deleted`](crate::board::BoardRepository::erase_deleted).
    async fn delete(
        &self,
        command: DeleteChat,
        on_commit: OnCommit<DeletedChat>,
    ) -> Result<Result<DeletedChat, DeleteRefused>, StoreError>;
}
