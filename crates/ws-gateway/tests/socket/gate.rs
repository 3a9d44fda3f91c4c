//! A store that can hold back its answers about memberships.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use domain::chat::{
    AddParticipant, AddRefused, AddedParticipant, ChangedParticipant, Chat, ChatFilter, ChatListing,
    ChatOverview, ChatParts, ChatRepository, ChatService, CreateRefused, DeleteChat, DeleteRefused,
    DeletedChat, Entrance, FoundChat, ListedChat, MarkRead, MarkReadRefused, MarkedRead, MarkedRooms,
    NewChat, OwnMembership, ParticipantRepository, RemoveParticipant, RemoveRefused, RemovedParticipant,
    RenameChat, RenameChatRefused, Roster, SetParticipantRole, SetParticipantRoleRefused, ShownChat,
};
use domain::id::{AgentId, ChatId, ParticipantId, UserId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use testkit::{RecordingPublisher, SequentialIds, World};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::harness::PATIENCE;

/// Holds back every membership, and every list of all in a room, after it was looked up, until it is let
/// through.
pub(crate) struct Gate {
    store: Arc<dyn ChatRepository>,
    looked_up: Semaphore,
    passes: Semaphore,
    broken: AtomicBool,
}

impl Gate {
    pub(crate) fn before(world: &World) -> Arc<Self> {
        let store = world.stores.chats.clone();
        let (looked_up, passes) = (Semaphore::new(0), Semaphore::new(0));
        Arc::new(Self { store, looked_up, passes, broken: AtomicBool::new(false) })
    }

    /// A service that asks through the gate; it is only asked about memberships.
    pub(crate) fn service(self: &Arc<Self>, world: &World) -> Arc<ChatService> {
        let (events, ids) = (Arc::new(RecordingPublisher::default()), Arc::new(SequentialIds::default()));
        let work = world.stores.all.clone();
        let (clock, presence) = (world.clock.clone(), world.presence.clone());
        Arc::new(ChatService::new(self.clone(), work, events, clock, ids, presence))
    }

    /// Waits until one membership more has been looked up.
    pub(crate) async fn until_looked_up(&self) {
        timeout(PATIENCE, self.looked_up.acquire()).await.unwrap().unwrap().forget();
    }

    /// How many memberships more have been looked up.
    pub(crate) fn looked_up(&self) -> usize {
        self.looked_up.available_permits()
    }

    /// Lets one answer through.
    pub(crate) fn pass(&self) {
        self.passes.add_permits(1);
    }

    /// From now on there is no answer.
    pub(crate) fn break_down(&self) {
        self.broken.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl ChatRepository for Gate {
    async fn create(
        &self,
        new: NewChat,
        on_commit: OnCommit<Chat>,
    ) -> Result<Result<Chat, CreateRefused>, StoreError> {
        self.store.create(new, on_commit).await
    }

    async fn find(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Chat>, StoreError> {
        self.store.find(viewer, chat).await
    }

    async fn find_with_details(
        &self,
        viewer: UserId,
        chat: ChatId,
        parts: ChatParts,
        count_messages: bool,
    ) -> Result<Option<FoundChat>, StoreError> {
        self.store.find_with_details(viewer, chat, parts, count_messages).await
    }

    async fn list_some(
        &self,
        viewer: UserId,
        chats: Vec<ChatId>,
        parts: ChatParts,
    ) -> Result<Page<ListedChat>, StoreError> {
        self.store.list_some(viewer, chats, parts).await
    }

    async fn list(
        &self,
        viewer: ParticipantId,
        listing: ChatListing,
        page: PageRequest,
    ) -> Result<Page<ListedChat>, StoreError> {
        self.store.list(viewer, listing, page).await
    }

    async fn overview(
        &self,
        filter: ChatFilter,
        before: Option<ChatId>,
        limit: u32,
    ) -> Result<Vec<ChatOverview>, StoreError> {
        self.store.overview(filter, before, limit).await
    }

    async fn rename(
        &self,
        command: RenameChat,
        on_commit: OnCommit<ShownChat>,
    ) -> Result<Result<ShownChat, RenameChatRefused>, StoreError> {
        self.store.rename(command, on_commit).await
    }

    async fn mark_all_read(
        &self,
        reader: UserId,
        on_commit: OnCommit<MarkedRooms>,
    ) -> Result<MarkedRooms, StoreError> {
        self.store.mark_all_read(reader, on_commit).await
    }

    async fn mark_read(
        &self,
        command: MarkRead,
        on_commit: OnCommit<MarkedRead>,
    ) -> Result<Result<MarkedRead, MarkReadRefused>, StoreError> {
        self.store.mark_read(command, on_commit).await
    }

    async fn delete(
        &self,
        command: DeleteChat,
        on_commit: OnCommit<DeletedChat>,
    ) -> Result<Result<DeletedChat, DeleteRefused>, StoreError> {
        self.store.delete(command, on_commit).await
    }
}

#[async_trait]
impl ParticipantRepository for Gate {
    async fn membership(
        &self,
        who: ParticipantId,
        chat: ChatId,
    ) -> Result<Option<OwnMembership>, StoreError> {
        self.store.membership(who, chat).await
    }

    async fn entrance(&self, viewer: ParticipantId, chat: ChatId) -> Result<Entrance, StoreError> {
        let entrance = self.store.entrance(viewer, chat).await;
        self.looked_up.add_permits(1);
        self.passes.acquire().await.unwrap().forget();
        if self.broken.load(Ordering::SeqCst) {
            Err(StoreError::Unavailable("broken down".into()))
        } else {
            entrance
        }
    }

    async fn activate(&self, agent: AgentId, chat: ChatId) -> Result<(), StoreError> {
        self.store.activate(agent, chat).await
    }

    async fn roster(&self, viewer: ParticipantId, chat: ChatId) -> Result<Option<Roster>, StoreError> {
        self.store.roster(viewer, chat).await
    }

    async fn roster_unchecked(&self, chat: ChatId) -> Result<Option<Roster>, StoreError> {
        let everybody = self.store.roster_unchecked(chat).await;
        self.looked_up.add_permits(1);
        self.passes.acquire().await.unwrap().forget();
        everybody
    }

    async fn add_participant(
        &self,
        command: AddParticipant,
        on_commit: OnCommit<AddedParticipant>,
    ) -> Result<Result<AddedParticipant, AddRefused>, StoreError> {
        self.store.add_participant(command, on_commit).await
    }

    async fn remove_participant(
        &self,
        command: RemoveParticipant,
        on_commit: OnCommit<RemovedParticipant>,
    ) -> Result<Result<RemovedParticipant, RemoveRefused>, StoreError> {
        self.store.remove_participant(command, on_commit).await
    }

    async fn set_participant_role(
        &self,
        command: SetParticipantRole,
        on_commit: OnCommit<ChangedParticipant>,
    ) -> Result<Result<ChangedParticipant, SetParticipantRoleRefused>, StoreError> {
        self.store.set_participant_role(command, on_commit).await
    }
}
