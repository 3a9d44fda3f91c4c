//! Links in notifications, each of which decides or dismisses an item once.

use super::service::NotificationService;
use crate::account::{KeyDigest, KeyKind, Standing};
use crate::attention::{AnswerAttentionError, AttentionId, AttentionLine, Decision, DismissAttentionError};
use crate::caller::{Caller, UserCaller};
use crate::id::{MessageId, ParticipantId, UserId};
use crate::notification::StoredLink;
use crate::store::StoreError;

/// The path of links, after the address of the server.
pub const LINK_PATH: &str = "/notifications/answer";

/// What a link does with an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotificationAction {
    /// It decides an approval request.
    Decide(Decision),
    /// It takes the item off the list.
    Dismiss,
}

/// The word of [`NotificationAction::Dismiss`].
const DISMISS: &str = "dismiss";

impl NotificationAction {
    /// The word that stores keep.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decide(decision) => decision.as_str(),
            Self::Dismiss => DISMISS,
        }
    }

    /// Reads [`Self::as_str`] back.
    pub fn parse(word: &str) -> Option<Self> {
        if word == DISMISS { Some(Self::Dismiss) } else { Decision::parse(word).map(Self::Decide) }
    }

    /// What a button says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Decide(Decision::Approve) => "Approve",
            Self::Decide(Decision::ApproveSession) => "Approve for session",
            Self::Decide(Decision::Decline) => "Decline",
            Self::Dismiss => "Dismiss",
        }
    }
}

/// A link that works, as it is shown before it is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkShown {
    /// What it does.
    pub action: NotificationAction,
}

/// A link that was followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowedLink {
    /// Whose it is.
    pub user: UserId,
    /// The item.
    pub item: MessageId,
    /// What it has done.
    pub action: NotificationAction,
}

/// The reason why a link did nothing.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There is no such link.
    #[error("there is no such link")]
    NotFound,
    /// It was followed before.
    #[error("the link was used before")]
    Used,
    /// Its time has passed.
    #[error("the link has expired")]
    Expired,
    /// Its user may not use the server.
    #[error("the user may not use the server")]
    Suspended,
    /// The item was not decided.
    #[error(transparent)]
    Answer(AnswerAttentionError),
    /// The item was not dismissed.
    #[error(transparent)]
    Dismiss(DismissAttentionError),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NotificationService {
    /// Shows what a link does. Nothing changes, so that programs that open links do no harm.
    pub async fn show_link(&self, token: &str) -> Result<LinkShown, LinkError> {
        let link = self.working_link(token).await?;
        Ok(LinkShown { action: link.action })
    }

    /// Follows a link, as its user. It works once; after a failure of the store it can be followed again.
    pub async fn follow_link(&self, token: &str) -> Result<FollowedLink, LinkError> {
        let link = self.working_link(token).await?;
        let by = self.user_of(&link).await?;
        if !self.ports.store.use_link(link.digest, self.now()).await? {
            return Err(LinkError::Used);
        }
        let done = self.act(by, &link).await;
        if let Err(
            LinkError::Store(_)
            | LinkError::Answer(AnswerAttentionError::Store(_))
            | LinkError::Dismiss(DismissAttentionError::Store(_)),
        ) = &done
        {
            self.ports.store.release_link(link.digest).await?;
        }
        done.map(|()| FollowedLink { user: link.user, item: link.item, action: link.action })
    }

    async fn working_link(&self, token: &str) -> Result<StoredLink, LinkError> {
        let is_of_kind = token.starts_with(KeyKind::Link.prefix());
        if !is_of_kind {
            return Err(LinkError::NotFound);
        }
        let digest: KeyDigest = self.ports.mint.digest(token);
        let link = self.ports.store.find_link(digest).await?.ok_or(LinkError::NotFound)?;
        if link.used_at.is_some() {
            return Err(LinkError::Used);
        }
        if link.expires_at <= self.now() {
            return Err(LinkError::Expired);
        }
        Ok(link)
    }

    async fn user_of(&self, link: &StoredLink) -> Result<UserCaller, LinkError> {
        match self.ports.accounts.standing(ParticipantId::User(link.user)).await? {
            Standing::Active(Caller::User(caller)) => Ok(caller),
            _ => Err(LinkError::Suspended),
        }
    }

    async fn act(&self, by: UserCaller, link: &StoredLink) -> Result<(), LinkError> {
        let (attention, id) = (&self.ports.attention, AttentionId::Item(link.item));
        match link.action {
            NotificationAction::Decide(decision) => {
                let answered: Result<AttentionLine, _> = attention.answer(by, id, decision.into()).await;
                answered.map(|_| ()).map_err(LinkError::Answer)
            }
            NotificationAction::Dismiss => {
                attention.dismiss(by, id).await.map(|_| ()).map_err(LinkError::Dismiss)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_as_they_were_written() {
        let decisions = Decision::ALL.map(NotificationAction::Decide);
        for action in decisions.into_iter().chain([NotificationAction::Dismiss]) {
            assert_eq!(NotificationAction::parse(action.as_str()), Some(action));
            assert!(!action.label().is_empty());
        }
        assert_eq!(NotificationAction::parse("delete"), None);
    }
}
