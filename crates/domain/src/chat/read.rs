//! Reading chats and rosters.

use super::listing::{ChatListing, ChatParts, FoundChat, ListedChat};
use super::model::Chat;
use super::overview::{ChatFilter, ChatOverview};
use super::participant::{Participant, ParticipantStatus, Roster};
use super::service::ChatService;
use super::standing::{Entrance, Membership};
use crate::caller::{Caller, UserCaller};
use crate::id::{ChatId, ParticipantId, UserId};
use crate::page::{Page, PageRequest, Slice};
use crate::store::StoreError;

/// The reason why a chat was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadChatError {
    /// The caller cannot see the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// Any chats with their figures, for the operator; see [`super::ChatRepository::overview`].
    pub async fn overview(
        &self,
        filter: ChatFilter,
        before: Option<ChatId>,
        limit: u32,
    ) -> Result<Vec<ChatOverview>, StoreError> {
        self.chats.overview(filter, before, limit).await
    }

    /// One chat.
    pub async fn find(&self, caller: impl Into<Caller>, chat: ChatId) -> Result<Chat, ReadChatError> {
        let viewer = caller.into().participant();
        self.chats.find(viewer, chat).await?.ok_or(ReadChatError::ChatNotFound)
    }

    /// One chat as humans see it, with these parts; `count_messages` adds the counts by kind.
    pub async fn find_with_details(
        &self,
        caller: UserCaller,
        chat: ChatId,
        parts: ChatParts,
        count_messages: bool,
    ) -> Result<FoundChat, ReadChatError> {
        let found = self.chats.find_with_details(caller.user, chat, parts, count_messages).await?;
        found.ok_or(ReadChatError::ChatNotFound)
    }

    /// Those of these chats that a human may read, as lists show them; see [`super::ChatRepository::list_some`].
    pub async fn list_some(
        &self,
        viewer: UserId,
        chats: Vec<ChatId>,
        parts: ChatParts,
    ) -> Result<Page<ListedChat>, StoreError> {
        self.chats.list_some(viewer, chats, parts).await
    }

    /// The records of the caller's chats, newest first.
    pub async fn list(&self, caller: impl Into<Caller>, page: PageRequest) -> Result<Page<Chat>, StoreError> {
        Ok(self.list_chats(caller, ChatListing::default(), page).await?.map(|listed| listed.chat))
    }

    /// The caller's chats according to `listing`.
    pub async fn list_chats(
        &self,
        caller: impl Into<Caller>,
        listing: ChatListing,
        page: PageRequest,
    ) -> Result<Page<ListedChat>, StoreError> {
        self.chats.list(caller.into().participant(), listing, page).await
    }

    /// The newest chats of a human and of own agents by their creation, at most `most`.
    pub async fn newest_ids(&self, viewer: UserId, most: usize) -> Result<Vec<ChatId>, StoreError> {
        const LIMIT: u32 = 1000;
        let listing = ChatListing { agent_rooms: true, ..ChatListing::default() };
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let request = PageRequest { slice: Slice::After { after, limit: LIMIT }, count: false };
            let page = self.chats.list(ParticipantId::User(viewer), listing, request).await?;
            ids.extend(page.rows.iter().map(|listed| listed.chat.id));
            after = page.next;
            if after.is_none() || ids.len() >= most {
                ids.truncate(most);
                return Ok(ids);
            }
        }
    }

    /// All participants of a chat, oldest first.
    pub async fn roster(&self, caller: impl Into<Caller>, chat: ChatId) -> Result<Roster, ReadChatError> {
        let viewer = caller.into().participant();
        self.chats.roster(viewer, chat).await?.ok_or(ReadChatError::ChatNotFound)
    }

    /// All participants of a chat, to revalidate its subscriptions; `None` if it was deleted.
    pub async fn roster_unchecked(&self, chat: ChatId) -> Result<Option<Roster>, StoreError> {
        self.chats.roster_unchecked(chat).await
    }

    /// Admits the caller to a subscription: fails unless it may read the chat, and makes an agent's
    /// membership active. Returns the caller's standing.
    pub async fn enter(&self, caller: Caller, chat: ChatId) -> Result<Entrance, ReadChatError> {
        let viewer = caller.participant();
        let entrance = self.chats.entrance(viewer, chat).await?;
        let standing = &entrance.standing;
        if !standing.may_read() {
            return Err(ReadChatError::ChatNotFound);
        }
        let inactive = matches!(standing.own, Some(Membership { status: ParticipantStatus::Inactive, .. }));
        if let (true, Some(agent)) = (inactive, viewer.agent()) {
            // A store that cannot write still admits subscriptions; the next visit retries.
            let _ = self.chats.activate(agent, chat).await;
        }
        Ok(entrance)
    }

    /// Returns whether any socket of a participant is open; an internal agent needs none.
    pub fn is_online(&self, participant: &Participant) -> bool {
        self.presence.is_present(participant.id, participant.is_external)
    }
}
