//! What every server on a store must hear of, whichever process has done it: an operator's command, or
//! another server.
//!
//! The store keeps a log of it. An entry is written in the transaction of the change itself, so it is there
//! exactly if the change is. A server begins behind the newest entry when it starts, and reads on from there
//! about twice a second. Old entries are forgotten.
//!
//! A newer program may write of what this one does not know; such entries are passed over.
//!
//! Invariant: whoever has seen an entry has seen, or sees in the same read, every earlier one. So a reader who
//! remembers one position misses nothing.

use async_trait::async_trait;
use uuid::Uuid;

use crate::id::{AgentId, ApiKeyId, ChatId, NodeId, OrganizationId, ParticipantId, SessionId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Something that ends what was open, takes that back, makes untrue what was read of callers, or tells the nodes
/// on one store of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A key is good for nothing any more.
    KeyRevoked(ApiKeyId),
    /// An agent is no more.
    AgentDeleted(AgentId),
    /// A user has another password: the tokens that were made under an older one are good for nothing any more.
    TokensEnded {
        /// Whose.
        user: UserId,
        /// When the new password was set; the entry's own time as well.
        password_set_at: Timestamp,
    },
    /// A session ended, and its access tokens with it.
    SessionEnded(SessionId),
    /// The operator keeps somebody out; of a user, the agents too.
    Disabled(ParticipantId),
    /// They may come in again.
    Enabled(ParticipantId),
    /// A user is called something else.
    UserUpdated(UserId),
    /// A user belongs to another organization: the tokens that name the one before are good for nothing any more.
    UserMoved(UserId),
    /// An agent's record is another one.
    AgentUpdated(AgentId),
    /// An organization has another plan.
    PlanAssigned(OrganizationId),
    /// What plans allow may be something else, whichever; it is about nobody in particular.
    PlansConfigured,
    /// Somebody is connected elsewhere than before, or with another socket ([`crate::node`]).
    SessionMoved(ParticipantId),
    /// A node was cleared: nobody is connected to it any more.
    NodeCleared(NodeId),
    /// Somebody is no longer in a room, or the room is gone: whoever still listens to it may have no right to.
    ParticipantsRemoved(ChatId),
    /// What a node told the others may not have reached them.
    EventsLost {
        /// Which node.
        by: NodeId,
        /// Since when; the entry's own time as well.
        since: Timestamp,
    },
}

impl Change {
    /// The word that stores keep, and what it is about.
    pub const fn parts(self) -> (&'static str, Uuid) {
        match self {
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
            Self::PlansConfigured => ("plans_configured", Uuid::nil()),
            Self::SessionMoved(ParticipantId::User(user)) => ("user_whereabouts", user.uuid()),
            Self::SessionMoved(ParticipantId::Agent(agent)) => ("agent_whereabouts", agent.uuid()),
            Self::NodeCleared(node) => ("node_cleared", node.uuid()),
            Self::ParticipantsRemoved(chat) => ("roster_shrunk", chat.uuid()),
            Self::EventsLost { by, .. } => ("events_lost", by.uuid()),
        }
    }

    /// Reads [`Self::parts`] back, of an entry that was made at `at`; `None` if this program does not know the word.
    pub fn from_parts(kind: &str, subject: Uuid, at: Timestamp) -> Option<Self> {
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
            Self::SessionMoved(user),
            Self::SessionMoved(bot),
            Self::NodeCleared(NodeId::new(subject)),
            Self::ParticipantsRemoved(ChatId::new(subject)),
            Self::EventsLost { by: NodeId::new(subject), since: at },
        ];
        all.into_iter().find(|change| change.parts().0 == kind)
    }
}

/// A place in the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChangePosition(pub i64);

/// An entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedChange {
    /// Its place.
    pub position: ChangePosition,
    /// What it tells; `None` if a newer program has written of something that this one does not know.
    pub change: Option<Change>,
}

/// The log of changes.
#[async_trait]
pub trait ChangeRepository: Send + Sync {
    /// The place of the newest entry, or one before all if there is none.
    async fn newest_change(&self) -> Result<ChangePosition, StoreError>;

    /// The first `limit` entries behind a place, in order.
    async fn changes_after(
        &self,
        position: ChangePosition,
        limit: u32,
    ) -> Result<Vec<LoggedChange>, StoreError>;

    /// Forgets up to `limit` of the entries that were made before this; how many it were. A place is never
    /// given again.
    async fn forget_changes(&self, before: Timestamp, limit: u32) -> Result<u32, StoreError>;
}

#[cfg(test)]
mod tests {
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
            Change::SessionMoved(user),
            Change::SessionMoved(bot),
            Change::NodeCleared(NodeId::new(subject)),
            Change::ParticipantsRemoved(ChatId::new(subject)),
            Change::EventsLost { by: NodeId::new(subject), since: at },
        ] {
            let (kind, about) = change.parts();
            assert_eq!((Change::from_parts(kind, about, at), about), (Some(change), subject));
        }
        let (kind, about) = Change::PlansConfigured.parts();
        assert_eq!(Change::from_parts(kind, about, at), Some(Change::PlansConfigured));
        assert_eq!(Change::from_parts("something_new", subject, at), None);
    }
}
