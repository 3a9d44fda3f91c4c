//! The change log: changes that every server on a store must learn of, whichever process has made
//! them: an operator's command, or another server.
//!
//! An entry is written in the transaction of the change itself, so neither exists without the
//! other. A server starts after the newest entry, and polls about twice a second. Old entries are
//! deleted.
//!
//! A newer program may write entries that this one does not know; they are skipped.
//!
//! Invariant: a reader that has seen an entry has seen, or sees in the same read, every earlier
//! one. A reader that remembers one position therefore misses nothing.

use async_trait::async_trait;

use crate::id::{
    AgentId, ApiKeyId, ChatId, NodeId, OrganizationId, ParticipantId, SessionId, SubjectId, UserId,
};
use crate::store::StoreError;
use crate::time::Timestamp;

/// A change that ends what a credential opened, reverts that, invalidates cached callers, or
/// concerns the nodes of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A key was revoked.
    KeyRevoked(ApiKeyId),
    /// An agent was deleted.
    AgentDeleted(AgentId),
    /// A user has another password: tokens issued under an older one are invalid.
    TokensEnded {
        /// The user.
        user: UserId,
        /// The time of the new password, which is also that of the entry.
        password_set_at: Timestamp,
    },
    /// A session ended, and its access tokens with it.
    SessionEnded(SessionId),
    /// The operator disabled a user with the user's agents, or an agent.
    Disabled(ParticipantId),
    /// The operator enabled a user or an agent.
    Enabled(ParticipantId),
    /// A user's name changed.
    UserUpdated(UserId),
    /// A user moved to another organization: tokens with the previous one are invalid.
    UserMoved(UserId),
    /// An agent changed.
    AgentUpdated(AgentId),
    /// An organization has another plan.
    PlanAssigned(OrganizationId),
    /// The limits of plans may have changed, of any plan.
    PlansConfigured,
    /// The connections of a user or agent changed ([`crate::node`]).
    ConnectionsChanged(ParticipantId),
    /// A node was cleared: its connections have ended.
    NodeCleared(NodeId),
    /// Participants left a chat, or it was deleted: its subscriptions may have lost their access.
    ParticipantsRemoved(ChatId),
    /// Events of a node may not have reached the others.
    EventsLost {
        /// The node.
        by: NodeId,
        /// The beginning of the loss, which is also the time of the entry.
        since: Timestamp,
    },
}

impl Change {
    /// The word that stores keep, and the subject.
    pub fn parts(self) -> (&'static str, SubjectId) {
        let (kind, subject) = match self {
            Self::KeyRevoked(key) => ("key_revoked", key.uuid()),
            Self::AgentDeleted(agent) => ("agent_deleted", agent.uuid()),
            Self::TokensEnded { user, .. } => ("tokens_ended", user.uuid()),
            Self::SessionEnded(session) => ("session_ended", session.uuid()),
            Self::Disabled(ParticipantId::User(user)) => ("user_disabled", user.uuid()),
            Self::Disabled(ParticipantId::Agent(agent)) => ("agent_disabled", agent.uuid()),
            Self::Enabled(ParticipantId::User(user)) => ("user_enabled", user.uuid()),
            Self::Enabled(ParticipantId::Agent(agent)) => ("agent_enabled", agent.uuid()),
            Self::UserUpdated(user) => ("user_updated", user.uuid()),
            Self::UserMoved(user) => ("user_moved", user.uuid()),
            Self::AgentUpdated(agent) => ("agent_updated", agent.uuid()),
            Self::PlanAssigned(organization) => ("plan_assigned", organization.uuid()),
            Self::PlansConfigured => ("plans_configured", SubjectId::NIL.uuid()),
            Self::ConnectionsChanged(ParticipantId::User(user)) => ("user_whereabouts", user.uuid()),
            Self::ConnectionsChanged(ParticipantId::Agent(agent)) => ("agent_whereabouts", agent.uuid()),
            Self::NodeCleared(node) => ("node_cleared", node.uuid()),
            Self::ParticipantsRemoved(chat) => ("roster_shrunk", chat.uuid()),
            Self::EventsLost { by, .. } => ("events_lost", by.uuid()),
        };
        (kind, SubjectId::new(subject))
    }

    /// Reads [`Self::parts`] back, for an entry made at `at`; `None` if this program does not know
    /// the word.
    pub fn from_parts(kind: &str, subject: SubjectId, at: Timestamp) -> Option<Self> {
        let subject = subject.uuid();
        let agent = AgentId::new(subject);
        let (user, bot) = (ParticipantId::User(UserId::new(subject)), ParticipantId::Agent(agent));
        let all = [
            Self::KeyRevoked(ApiKeyId::new(subject)),
            Self::AgentDeleted(agent),
            Self::Disabled(user),
            Self::Disabled(bot),
            Self::Enabled(user),
            Self::Enabled(bot),
            Self::TokensEnded { user: UserId::new(subject), password_set_at: at },
            Self::SessionEnded(SessionId::new(subject)),
            Self::UserUpdated(UserId::new(subject)),
            Self::UserMoved(UserId::new(subject)),
            Self::AgentUpdated(agent),
            Self::PlanAssigned(OrganizationId::new(subject)),
            Self::PlansConfigured,
            Self::ConnectionsChanged(user),
            Self::ConnectionsChanged(bot),
            Self::NodeCleared(NodeId::new(subject)),
            Self::ParticipantsRemoved(ChatId::new(subject)),
            Self::EventsLost { by: NodeId::new(subject), since: at },
        ];
        all.into_iter().find(|change| change.parts().0 == kind)
    }
}

/// A position in the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChangePosition(pub i64);

impl ChangePosition {
    /// Before all entries.
    pub const START: Self = Self(0);
    /// The first entry that a store has ever had. A store that skips positions, because a change was undone, may
    /// have none here.
    pub const FIRST: Self = Self(1);
}

/// An entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedChange {
    /// Its position.
    pub position: ChangePosition,
    /// The change; `None` if a newer program has written one that this one does not know.
    pub change: Option<Change>,
}

/// The change log.
#[async_trait]
pub trait ChangeRepository: Send + Sync {
    /// The position of the newest entry, or one before all entries if there is none.
    async fn newest_change(&self) -> Result<ChangePosition, StoreError>;

    /// The first `limit` entries after a position, in order.
    async fn changes_after(
        &self,
        position: ChangePosition,
        limit: u32,
    ) -> Result<Vec<LoggedChange>, StoreError>;

    /// Returns whether the entry at this position is kept. Entries are deleted oldest first, and never
    /// the newest, so a reader whose last entry is gone may have missed later ones.
    async fn has_change(&self, position: ChangePosition) -> Result<bool, StoreError>;

    /// Deletes up to `limit` of the entries before this position, oldest first; returns their number.
    /// A position is never used again.
    async fn forget_changes(&self, before: ChangePosition, limit: u32) -> Result<u32, StoreError>;
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn changes_are_read_as_they_were_written() {
        let (subject, at) = (Uuid::from_u128(7), Timestamp::from_micros(8));
        let agent = AgentId::new(subject);
        let (user, bot) = (ParticipantId::User(UserId::new(subject)), ParticipantId::Agent(agent));
        for change in [
            Change::KeyRevoked(ApiKeyId::new(subject)),
            Change::AgentDeleted(agent),
            Change::Disabled(user),
            Change::Disabled(bot),
            Change::Enabled(user),
            Change::Enabled(bot),
            Change::TokensEnded { user: UserId::new(subject), password_set_at: at },
            Change::SessionEnded(SessionId::new(subject)),
            Change::UserUpdated(UserId::new(subject)),
            Change::UserMoved(UserId::new(subject)),
            Change::AgentUpdated(agent),
            Change::PlanAssigned(OrganizationId::new(subject)),
            Change::ConnectionsChanged(user),
            Change::ConnectionsChanged(bot),
            Change::NodeCleared(NodeId::new(subject)),
            Change::ParticipantsRemoved(ChatId::new(subject)),
            Change::EventsLost { by: NodeId::new(subject), since: at },
        ] {
            let (kind, about) = change.parts();
            assert_eq!((Change::from_parts(kind, about, at), about.uuid()), (Some(change), subject));
        }
        let (kind, about) = Change::PlansConfigured.parts();
        assert_eq!(Change::from_parts(kind, about, at), Some(Change::PlansConfigured));
        assert_eq!(Change::from_parts("something_new", about, at), None);
    }
}
