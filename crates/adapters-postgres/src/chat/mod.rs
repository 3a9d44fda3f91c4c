//! The store of chats and participants.

mod add_participant;
mod create;
pub(crate) mod delete;
pub(crate) mod details;
mod list;
pub(crate) mod load;
mod mark_read;
mod newest;
mod overview;
mod read;
mod remove_participant;
pub(crate) mod rename;
#[path = "../../../sql-rows/chat.rs"]
pub(crate) mod row;
mod set_participant_role;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

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
use domain::time::Timestamp;
use futures_util::FutureExt;

use crate::PostgresStore;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{chats, participants};

#[async_trait]
impl ChatRepository for PostgresStore {
    async fn create(
        &self,
        new: NewChat,
        on_commit: OnCommit<Chat>,
    ) -> Result<Result<Chat, CreateRefused>, StoreError> {
        self.change(new, |db, new| create::create_on(db, new).boxed(), |chat| on_commit.run(chat)).await
    }

    async fn find(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Chat>, StoreError> {
        self.query((viewer, chat), |db, (viewer, chat)| read::find_on(db, *viewer, *chat).boxed()).await
    }

    async fn find_with_details(
        &self,
        viewer: UserId,
        chat: ChatId,
        parts: ChatParts,
        count_messages: bool,
    ) -> Result<Option<FoundChat>, StoreError> {
        let given = (viewer, chat, parts, count_messages);
        self.read(given, |db, (viewer, chat, parts, count)| {
            read::find_with_details_on(db, *viewer, *chat, *parts, *count).boxed()
        })
        .await
    }

    async fn list_some(
        &self,
        viewer: UserId,
        chats: Vec<ChatId>,
        parts: ChatParts,
    ) -> Result<Page<ListedChat>, StoreError> {
        let given = (viewer, chats, parts);
        self.read(given, |db, (viewer, chats, parts)| list::list_some_on(db, *viewer, chats, *parts).boxed())
            .await
    }

    async fn list(
        &self,
        viewer: ParticipantId,
        listing: ChatListing,
        page: PageRequest,
    ) -> Result<Page<ListedChat>, StoreError> {
        let given = (viewer, listing, page);
        self.read(given, |db, (viewer, listing, page)| list::list_on(db, *viewer, *listing, page).boxed())
            .await
    }

    async fn overview(
        &self,
        filter: ChatFilter,
        before: Option<ChatId>,
        limit: u32,
    ) -> Result<Vec<ChatOverview>, StoreError> {
        let given = (filter, before, limit);
        self.query(given, |db, (filter, before, limit)| {
            overview::overview_on(db, *filter, *before, *limit).boxed()
        })
        .await
    }

    async fn rename(
        &self,
        command: RenameChat,
        on_commit: OnCommit<ShownChat>,
    ) -> Result<Result<ShownChat, RenameChatRefused>, StoreError> {
        let announce = |renamed: &ShownChat| on_commit.run(renamed);
        self.change(command, |db, command| rename::rename_on(db, command).boxed(), announce).await
    }

    async fn mark_read(
        &self,
        command: MarkRead,
        on_commit: OnCommit<MarkedRead>,
    ) -> Result<Result<MarkedRead, MarkReadRefused>, StoreError> {
        let announce = |marked: &MarkedRead| on_commit.run(marked);
        self.change(command, |db, command| mark_read::mark_read_on(db, command).boxed(), announce).await
    }

    async fn mark_all_read(
        &self,
        reader: UserId,
        on_commit: OnCommit<MarkedRooms>,
    ) -> Result<MarkedRooms, StoreError> {
        let announce = |marked: &MarkedRooms| on_commit.run(marked);
        self.alter_announced(reader, |db, reader| mark_read::mark_all_read_on(db, *reader).boxed(), announce)
            .await
    }

    async fn delete(
        &self,
        command: DeleteChat,
        on_commit: OnCommit<DeletedChat>,
    ) -> Result<Result<DeletedChat, DeleteRefused>, StoreError> {
        let announce = |deleted: &DeletedChat| on_commit.run(deleted);
        self.change(command, |db, command| delete::delete_on(db, command).boxed(), announce).await
    }
}

#[async_trait]
impl ParticipantRepository for PostgresStore {
    async fn entrance(&self, viewer: ParticipantId, chat: ChatId) -> Result<Entrance, StoreError> {
        self.query((viewer, chat), |db, (viewer, chat)| read::entrance_on(db, *viewer, *chat).boxed()).await
    }

    async fn membership(
        &self,
        who: ParticipantId,
        chat: ChatId,
    ) -> Result<Option<OwnMembership>, StoreError> {
        self.query((who, chat), |db, (who, chat)| load::membership_on(db, *who, *chat).boxed()).await
    }

    async fn roster(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Roster>, StoreError> {
        self.query((viewer, chat), |db, (viewer, chat)| read::roster_on(db, *viewer, *chat).boxed()).await
    }

    async fn roster_unchecked(&self, chat: ChatId) -> Result<Option<Roster>, StoreError> {
        self.query(chat, |db, chat| read::roster_unchecked_on(db, *chat).boxed()).await
    }

    async fn add_participant(
        &self,
        command: AddParticipant,
        on_commit: OnCommit<AddedParticipant>,
    ) -> Result<Result<AddedParticipant, AddRefused>, StoreError> {
        self.change(
            command,
            |db, command| add_participant::add_participant_on(db, command).boxed(),
            |added| on_commit.run(added),
        )
        .await
    }

    async fn remove_participant(
        &self,
        command: RemoveParticipant,
        on_commit: OnCommit<RemovedParticipant>,
    ) -> Result<Result<RemovedParticipant, RemoveRefused>, StoreError> {
        self.change(
            command,
            |db, command| remove_participant::remove_participant_on(db, command).boxed(),
            |removed| on_commit.run(removed),
        )
        .await
    }

    async fn set_participant_role(
        &self,
        command: SetParticipantRole,
        on_commit: OnCommit<ChangedParticipant>,
    ) -> Result<Result<ChangedParticipant, SetParticipantRoleRefused>, StoreError> {
        self.change(
            command,
            |db, command| set_participant_role::set_participant_role_on(db, command).boxed(),
            |changed| on_commit.run(changed),
        )
        .await
    }

    async fn activate(&self, agent: AgentId, chat: ChatId) -> Result<(), StoreError> {
        // One idempotent statement that is not announced.
        let who = ParticipantId::Agent(agent);
        self.query((who, chat), |db, (who, chat)| activate_on(db, *who, *chat).boxed()).await
    }
}

/// Makes an inactive membership active.
pub(crate) async fn activate_on(mut db: &Db, who: ParticipantId, chat: ChatId) -> Result<(), Fault> {
    diesel::update(participants::table.find((chat.uuid(), who.uuid())))
        .filter(participants::status.eq("inactive"))
        .filter(participants::left_at.is_null())
        .set(participants::status.eq("active"))
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Records the time of a change of a chat.
pub(crate) async fn touch_on(mut db: &Db, chat: ChatId, now: Timestamp) -> Result<(), Fault> {
    diesel::update(chats::table.find(chat.uuid()))
        .set(chats::updated_at.eq(At(now)))
        .execute(&mut db)
        .await?;
    Ok(())
}
