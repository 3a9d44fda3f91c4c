//! The store of the audit log. Most entries are written with the change that they record.

use async_trait::async_trait;

use super::action::AuditAction;
use super::chain::SealedEntry;
use super::entry::{AuditEntry, AuditObject};
use super::verify::AuditState;
use crate::id::{AuditEntryId, OrganizationId, SubjectId};
use crate::organization::{Authority, NotAdmin};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The organizations whose entries are requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AuditScope {
    /// All, for the operator.
    Everything,
    /// Those of one organization.
    Of(Authority),
}

/// The filters of a list of entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditFilter {
    /// The organizations.
    pub scope: AuditScope,
    /// Only entries of this time or later.
    pub since: Option<Timestamp>,
    /// Only entries of this time or earlier.
    pub until: Option<Timestamp>,
    /// Only entries with this action.
    pub action: Option<AuditAction>,
    /// Only actions of this user or agent.
    pub actor: Option<SubjectId>,
    /// Only actions on this subject.
    pub subject: Option<SubjectId>,
}

impl AuditFilter {
    /// All entries of these organizations.
    pub const fn of(scope: AuditScope) -> Self {
        Self { scope, since: None, until: None, action: None, actor: None, subject: None }
    }

    /// The narrowest filter by equality, along whose index the entries of an organization are read. The other filters are
    /// then applied to each of its entries: a planner that followed another index instead could read the
    /// log of a whole organization for a few entries. The log of all organizations is read by time.
    pub const fn lead(&self) -> AuditLead {
        match (self.subject, self.actor, self.action) {
            (Some(_), ..) => AuditLead::Subject,
            (None, Some(_), _) => AuditLead::Actor,
            (None, None, Some(_)) => AuditLead::Action,
            (None, None, None) => AuditLead::Time,
        }
    }
}

/// The column along whose index entries are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditLead {
    /// The subject, within the organization.
    Subject,
    /// The actor, within the organization.
    Actor,
    /// The action, within the organization.
    Action,
    /// The time, within the organization.
    Time,
}

/// An object of an entry, with the name that it had when the entry was written: the handle of a
/// user or an agent, the beginning of a key, the name of an organization. For a chat it is the
/// current title, which is not stored: a title may derive from a text, and is removed with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedObject {
    /// The object.
    pub object: AuditObject,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// The actor of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordedActor {
    /// The operator, by a command.
    Operator,
    /// An unauthenticated client.
    Anonymous,
    /// The server, acting on its own.
    Server,
    /// A user or an agent.
    Known(NamedObject),
}

impl RecordedActor {
    /// The user or the agent, if it was one.
    pub fn known(&self) -> Option<&NamedObject> {
        match self {
            Self::Known(named) => Some(named),
            Self::Operator | Self::Anonymous | Self::Server => None,
        }
    }
}

/// An entry as it is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditRecord {
    /// Identifier.
    pub id: AuditEntryId,
    /// The time of the action.
    pub at: Timestamp,
    /// The actor.
    pub actor: RecordedActor,
    /// The action.
    pub action: AuditAction,
    /// The subject.
    pub subject: NamedObject,
    /// What the subject belongs to, or who the action was for: the chat of a participant, the holder of a key.
    pub place: Option<NamedObject>,
    /// The detail.
    pub detail: Option<String>,
    /// The organization; `None` for the operator's own entries.
    pub organization: Option<OrganizationId>,
}

impl AuditRecord {
    /// The same without what was written in rooms, which operators do not see: the titles of rooms, which may derive from
    /// a text, and the details of entries that [concern](AuditAction::concerns_room) a room.
    #[must_use]
    pub fn without_contents(mut self) -> Self {
        for named in self.place.iter_mut().chain([&mut self.subject]) {
            if matches!(named.object, AuditObject::Chat(_)) {
                named.name = None;
            }
        }
        self.detail = self.detail.filter(|_| !self.action.concerns_room());
        self
    }
}

/// The audit log.
#[async_trait]
pub trait AuditRepository: Send + Sync {
    /// Entries, newest first; the position is (time, id). Refused without the [`Authority`].
    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Result<Page<AuditRecord>, NotAdmin>, StoreError>;

    /// Writes entries for actions that change nothing in the store.
    async fn append_audit(&self, entries: Vec<AuditEntry>) -> Result<(), StoreError>;

    /// Seals up to `limit` entries, the oldest first, and returns their number; 0 while another
    /// process does it.
    async fn seal_audit(&self, limit: u32) -> Result<u32, StoreError>;

    /// The state of the sealing.
    async fn audit_state(&self) -> Result<AuditState, StoreError>;

    /// The first `limit` sealed entries whose number is higher than `after`, by number.
    async fn sealed_audit(&self, after: Option<i64>, limit: u32) -> Result<Vec<SealedEntry>, StoreError>;
}
