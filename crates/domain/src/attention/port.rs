//! The store of attention items. They are made and answered with messages; see
//! [`MessageRepository::append`](crate::message::MessageRepository::append).

use async_trait::async_trait;

use super::item::{AnsweredBy, AttentionItem, AttentionOutcome, AttentionState};
use super::line::Place;
use crate::caller::UserCaller;
use crate::id::{ChatId, MessageId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The requested items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttentionSearch {
    /// The user, in whose rooms they are.
    pub user: UserId,
    /// Only items in this state.
    pub state: Option<AttentionState>,
    /// Only items of this chat.
    pub chat: Option<ChatId>,
    /// Only items after this place.
    pub after: Option<Place>,
    /// The current time.
    pub now: Timestamp,
    /// The maximum number.
    pub limit: u32,
}

/// An item to be dismissed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DismissAttention {
    /// The item.
    pub item: MessageId,
    /// The user.
    pub by: UserCaller,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why an item was not dismissed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DismissRefused {
    /// It does not exist, or the user is not in its room.
    NotFound,
    /// It has ended: somebody answered or dismissed it, or it was resolved.
    Ended(Option<AnsweredBy>),
    /// The user is a guest: of another organization than the room, and than the owner of the agent that asks.
    Guest,
}

impl DismissAttention {
    /// Returns whether the item is to be dismissed; false if the user has dismissed it before. Pure.
    ///
    /// # Errors
    /// If it has ended in another way.
    pub fn decide(&self, item: &AttentionItem) -> Result<bool, DismissRefused> {
        if item.is_unanswered() {
            return Ok(true);
        }
        let is_dismissed = item.ended.is_some_and(|(outcome, _)| outcome == AttentionOutcome::Dismissed);
        let is_own = item.answered_by.as_ref().is_some_and(|by| by.id == self.by.user);
        if is_dismissed && is_own { Ok(false) } else { Err(DismissRefused::Ended(item.answered_by.clone())) }
    }
}

/// Attention items.
#[async_trait]
pub trait AttentionRepository: Send + Sync {
    /// Items in the rooms in which the user takes part: open ones in the order of [`Place`], all others newest first.
    async fn list_attention(&self, search: AttentionSearch) -> Result<Vec<AttentionItem>, StoreError>;

    /// An item, if the user takes part in its room.
    async fn find_attention(
        &self,
        user: UserId,
        item: MessageId,
    ) -> Result<Option<AttentionItem>, StoreError>;

    /// Ends an item that is open or has expired, and returns it. The user who dismisses an item again gets it too.
    async fn dismiss_attention(
        &self,
        command: DismissAttention,
    ) -> Result<Result<AttentionItem, DismissRefused>, StoreError>;
}
