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
    AgentId, ApiKeyId, ChatId, MessageId, NodeId, OrganizationId, ParticipantId, SessionId, SubjectId, UserId,
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
    /// Work in a chat was offered again: what was searched for redelivery may be searched again.
    WorkRetried(ChatId),
    /// A command sent a message, which no server has announced.
    MessageSent(MessageId),
    /// A command changed a delivery of a message, which no server has announced.
    MessageUpdated(MessageId),
    /// The agents of a chat were stopped: their indicators are off.
    AgentsStopped(ChatId),
    /// The agents of a chat play again: what waits for them is pushed as if they had just joined.
    AgentsPlaying(ChatId),
    /// An organization was paused or resumed: agents in its chats are stopped, or play again.
    PauseChanged(OrganizationId),
    /// An agent was paused or resumed.
    AgentPauseChanged(AgentId),
    /// The webhook of an agent was set, changed, disabled, or removed.
    WebhookChanged(AgentId),
    /// The webhook of an organization was set, changed, disabled, or removed.
    OrganizationWebhookChanged(OrganizationId),
    /// A caller has made a configuration of push notifications in a chat.
    PushConfigured(ChatId),
    /// Events of a node may not have reached the others.
    EventsLost {
        /// The node.
        by: NodeId,
        /// The beginning of the loss, which is also the time of the entry.
        since: Timestamp,
    },
}

/// Declares the stored word of every change, once for both directions: a change that is written can be read.
///
/// Each row has the word, the type of the subject `id`, and the change. Stored words never change, even if a
/// variant is renamed: logs and older servers contain them.
macro_rules! stored_words {
    (($id:ident, $at:ident) $($word:literal $($subject:ident)? { $($change:tt)+ })+) => {
        impl Change {
            /// The word that stores keep, and the subject.
            #[expect(unused_variables, reason = "the time of a change is that of its entry")]
            pub fn parts(self) -> (&'static str, SubjectId) {
                match self {
                    $(Self::$($change)+ => ($word, stored_words!(@subject $($subject $id)?)),)+
                }
            }

            /// Reads [`Self::parts`] back, for an entry made at a time; `None` if this program does
            /// not know the word.
            pub fn from_parts(kind: &str, subject: SubjectId, $at: Timestamp) -> Option<Self> {
                match kind {
                    $($word => {
                        $(let $id = $subject::new(subject.uuid());)?
                        Some(Self::$($change)+)
                    })+
                    _ => None,
                }
            }
        }
    };
    (@subject) => { SubjectId::NIL };
    (@subject $subject:ident $id:ident) => { SubjectId::new($id.uuid()) };
}

stored_words! { (id, at)
    "key_revoked" ApiKeyId { KeyRevoked(id) }
    "agent_deleted" AgentId { AgentDeleted(id) }
    "tokens_ended" UserId { TokensEnded { user: id, password_set_at: at } }
    "session_ended" SessionId { SessionEnded(id) }
    "user_disabled" UserId { Disabled(ParticipantId::User(id)) }
    "agent_disabled" AgentId { Disabled(ParticipantId::Agent(id)) }
    "user_enabled" UserId { Enabled(ParticipantId::User(id)) }
    "agent_enabled" AgentId { Enabled(ParticipantId::Agent(id)) }
    "user_updated" UserId { UserUpdated(id) }
    "user_moved" UserId { UserMoved(id) }
    "agent_updated" AgentId { AgentUpdated(id) }
    "plan_assigned" OrganizationId { PlanAssigned(id) }
    "plans_configured" { PlansConfigured }
    "user_whereabouts" UserId { ConnectionsChanged(ParticipantId::User(id)) }
    "agent_whereabouts" AgentId { ConnectionsChanged(ParticipantId::Agent(id)) }
    "node_cleared" NodeId { NodeCleared(id) }
    "roster_shrunk" ChatId { ParticipantsRemoved(id) }
    "work_retried" ChatId { WorkRetried(id) }
    "message_sent" MessageId { MessageSent(id) }
    "message_updated" MessageId { MessageUpdated(id) }
    "agents_stopped" ChatId { AgentsStopped(id) }
    "agents_playing" ChatId { AgentsPlaying(id) }
    "pause_changed" OrganizationId { PauseChanged(id) }
    "agent_pause_changed" AgentId { AgentPauseChanged(id) }
    "webhook_changed" AgentId { WebhookChanged(id) }
    "organization_webhook_changed" OrganizationId { OrganizationWebhookChanged(id) }
    "push_configured" ChatId { PushConfigured(id) }
    "events_lost" NodeId { EventsLost { by: id, since: at } }
}

/// A position in the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChangePosition(pub i64);

impl ChangePosition {
    /// Before all entries.
    pub const START: Self = Self(0);
    /// The first entry that a store has ever had. A store that skips positions, because a change was undone,
    /// may have none here.
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

    /// Logs contain these words.
    const STORED: [&str; 28] = [
        "key_revoked",
        "agent_deleted",
        "tokens_ended",
        "session_ended",
        "user_disabled",
        "agent_disabled",
        "user_enabled",
        "agent_enabled",
        "user_updated",
        "user_moved",
        "agent_updated",
        "plan_assigned",
        "plans_configured",
        "user_whereabouts",
        "agent_whereabouts",
        "node_cleared",
        "roster_shrunk",
        "work_retried",
        "message_sent",
        "message_updated",
        "agents_stopped",
        "agents_playing",
        "pause_changed",
        "agent_pause_changed",
        "webhook_changed",
        "organization_webhook_changed",
        "push_configured",
        "events_lost",
    ];

    #[test]
    fn stored_words_are_read_back() {
        let (subject, at) = (SubjectId::new(Uuid::from_u128(7)), Timestamp::from_micros(8));
        for word in STORED {
            let about = if word == "plans_configured" { SubjectId::NIL } else { subject };
            let change = Change::from_parts(word, subject, at);
            assert_eq!(change.map(Change::parts), Some((word, about)));
        }
        let user = UserId::new(subject.uuid());
        let ended = Change::TokensEnded { user, password_set_at: at };
        assert_eq!(Change::from_parts("tokens_ended", subject, at), Some(ended));
        assert_eq!(Change::from_parts("something_new", subject, at), None);
    }
}
