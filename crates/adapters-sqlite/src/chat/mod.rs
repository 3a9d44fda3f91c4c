//! The store of chats and participants.

mod add_participant;
mod create;
pub(crate) mod delete;
pub(crate) mod details;
mod list;
pub(crate) mod load;
mod mark_read;
mod overview;
mod read;
mod remove_participant;
pub(crate) mod rename;
#[path = "../../../sql-rows/chat.rs"]
pub(crate) mod row;
mod set_participant_role;

use async_trait::async_trait;
use diesel::prelude::*;

use domain::chat::{
    AddParticipant, AddRefused, AddedParticipant, ChangedParticipant, Chat, ChatFilter, ChatListing,
    ChatOverview, ChatParts, ChatRepository, CreateRefused, DeleteChat, DeleteRefused, DeletedChat, Entrance,
    FoundChat, ListedChat, MarkRead, MarkReadRefused, MarkedRead, MarkedRooms, NewChat, OwnMembership,
    ParticipantRepository, RemoveParticipant, RemoveRefused, RemovedParticipant, RenameChat,
    RenameChatRefused, Roster, SetParticipantRole, SetParticipantRoleRefused, ShownChat,
};
use domain::id::{AgentId, ChatId, ParticipantId, UserId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};

use crate::SqliteStore;
use crate::error::Fault;
use crate::row::bytes;
use crate::schema::participants;

#[async_trait]
impl ChatRepository for SqliteStore {
    async fn create(
        &self,
        new: NewChat,
        on_commit: OnCommit<Chat>,
    ) -> Result<Result<Chat, CreateRefused>, StoreError> {
        self.change(move |connection| create::create_on(connection, new), |chat| on_commit.run(chat)).await
    }

    async fn find(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Chat>, StoreError> {
        self.read(move |connection| read::find_on(connection, viewer, chat)).await
    }

    async fn find_with_details(
        &self,
        viewer: UserId,
        chat: ChatId,
        parts: ChatParts,
        count_messages: bool,
    ) -> Result<Option<FoundChat>, StoreError> {
        self.read(move |connection| {
            read::find_with_details_on(connection, viewer, chat, parts, count_messages)
        })
        .await
    }

    async fn list_some(
        &self,
        viewer: UserId,
        chats: Vec<ChatId>,
        parts: ChatParts,
    ) -> Result<Page<ListedChat>, StoreError> {
        self.read(move |connection| list::list_some_on(connection, viewer, &chats, parts)).await
    }

    async fn list(
        &self,
        viewer: ParticipantId,
        listing: ChatListing,
        page: PageRequest,
    ) -> Result<Page<ListedChat>, StoreError> {
        self.read(move |connection| list::list_on(connection, viewer, listing, page)).await
    }

    async fn overview(
        &self,
        filter: ChatFilter,
        before: Option<ChatId>,
        limit: u32,
    ) -> Result<Vec<ChatOverview>, StoreError> {
        self.read(move |connection| overview::overview_on(connection, filter, before, limit)).await
    }

    async fn rename(
        &self,
        command: RenameChat,
        on_commit: OnCommit<ShownChat>,
    ) -> Result<Result<ShownChat, RenameChatRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| rename::rename_on(connection, &command);
        self.change(work, |renamed| on_commit.run(renamed)).await
    }

    async fn mark_read(
        &self,
        command: MarkRead,
        on_commit: OnCommit<MarkedRead>,
    ) -> Result<Result<MarkedRead, MarkReadRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| mark_read::mark_read_on(connection, &command);
        self.change(work, |marked| on_commit.run(marked)).await
    }

    async fn mark_all_read(
        &self,
        reader: UserId,
        on_commit: OnCommit<MarkedRooms>,
    ) -> Result<MarkedRooms, StoreError> {
        self.alter_announced(
            move |connection| mark_read::mark_all_read_on(connection, reader),
            |marked| on_commit.run(marked),
        )
        .await
    }

    async fn delete(
        &self,
        command: DeleteChat,
        on_commit: OnCommit<DeletedChat>,
    ) -> Result<Result<DeletedChat, DeleteRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| delete::delete_on(connection, &command);
        self.change(work, |deleted| on_commit.run(deleted)).await
    }
}

#[async_trait]
impl ParticipantRepository for SqliteStore {
    async fn entrance(&self, viewer: ParticipantId, chat: ChatId) -> Result<Entrance, StoreError> {
        self.read(move |connection| read::entrance_on(connection, viewer, chat)).await
    }

    async fn membership(
        &self,
        who: ParticipantId,
        chat: ChatId,
    ) -> Result<Option<OwnMembership>, StoreError> {
        self.read(move |connection| load::membership_on(connection, who, chat)).await
    }

    async fn roster(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Roster>, StoreError> {
        self.read(move |connection| read::roster_on(connection, viewer, chat)).await
    }

    async fn roster_unchecked(&self, chat: ChatId) -> Result<Option<Roster>, StoreError> {
        self.read(move |connection| read::roster_unchecked_on(connection, chat)).await
    }

    async fn add_participant(
        &self,
        command: AddParticipant,
        on_commit: OnCommit<AddedParticipant>,
    ) -> Result<Result<AddedParticipant, AddRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            add_participant::add_participant_on(connection, &command)
        };
        self.change(work, |added| on_commit.run(added)).await
    }

    async fn remove_participant(
        &self,
        command: RemoveParticipant,
        on_commit: OnCommit<RemovedParticipant>,
    ) -> Result<Result<RemovedParticipant, RemoveRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            remove_participant::remove_participant_on(connection, &command)
        };
        self.change(work, |removed| on_commit.run(removed)).await
    }

    async fn set_participant_role(
        &self,
        command: SetParticipantRole,
        on_commit: OnCommit<ChangedParticipant>,
    ) -> Result<Result<ChangedParticipant, SetParticipantRoleRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            set_participant_role::set_participant_role_on(connection, &command)
        };
        self.change(work, |changed| on_commit.run(changed)).await
    }

    async fn activate(&self, agent: AgentId, chat: ChatId) -> Result<(), StoreError> {
        self.alter(move |connection| activate_on(connection, ParticipantId::Agent(agent), chat)).await
    }
}

/// Makes an inactive membership active.
pub(crate) fn activate_on(
    connection: &mut SqliteConnection,
    who: ParticipantId,
    chat: ChatId,
) -> Result<(), Fault> {
    diesel::update(participants::table.find((bytes(chat.uuid()), bytes(who.uuid()))))
        .filter(participants::status.eq("inactive"))
        .filter(participants::left_at.is_null())
        .set(participants::status.eq("active"))
        .execute(connection)?;
    Ok(())
}
