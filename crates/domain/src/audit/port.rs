//! The store of the audit log. Entries are written by those who write what they tell of.

use async_trait::async_trait;
use uuid::Uuid;

use super::action::AuditAction;
use super::chain::SealedEntry;
use super::entry::{AuditEntry, AuditObject};
use super::verify::AuditState;
use crate::id::OrganizationId;
use crate::organization::{Authority, NotAdmin};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Whose entries are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AuditScope {
    /// All: for the operator.
    Everything,
    /// Those of one organization.
    Of(Authority),
}

/// Which entries are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditFilter {
    /// Whose.
    pub scope: AuditScope,
    /// Only what was done then or later.
    pub since: Option<Timestamp>,
}

/// Something that an entry names, with the name that it had when the entry was written: the handle of a user or an
/// agent, the beginning of a key, the name of an organization. Of a room it is the title that it has now, which is not
/// kept: a title may be made of a text, and goes with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedObject {
    /// What.
    pub object: AuditObject,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// Who did what an entry records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordedActor {
    /// Whoever runs the installation, by a command.
    Operator,
    /// Somebody who did not prove who they are.
    Anonymous,
    /// A user or an agent.
    Known(NamedObject),
}

impl RecordedActor {
    /// The user or the agent, if it was one.
    pub fn known(&self) -> Option<&NamedObject> {
        match self {
            Self::Known(named) => Some(named),
            Self::Operator | Self::Anonymous => None,
        }
    }
}

/// An entry as it is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditRecord {
    /// Identifier.
    pub id: Uuid,
    /// When it was done.
    pub at: Timestamp,
    /// Who.
    pub actor: RecordedActor,
    /// What.
    pub action: AuditAction,
    /// To what.
    pub subject: NamedObject,
    /// In what, or for whom.
    pub place: Option<NamedObject>,
    /// As what, or which.
    pub detail: Option<String>,
    /// Whose entry it is; `None` for the operator's own.
    pub organization: Option<OrganizationId>,
}

/// The audit log.
#[async_trait]
pub trait AuditRepository: Send + Sync {
    /// Entries, newest first; the position is (time, id). Refused where the [`Authority`] does not hold.
    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Result<Page<AuditRecord>, NotAdmin>, StoreError>;

    /// Writes entries of what changes nothing in the store.
    async fn append_audit(&self, entries: Vec<AuditEntry>) -> Result<(), StoreError>;

    /// Seals up to `limit` entries that are not sealed yet, the oldest first; how many. While another process does
    /// it, none.
    async fn seal_audit(&self, limit: u32) -> Result<u32, StoreError>;

    /// How far the log is sealed.
    async fn audit_state(&self) -> Result<AuditState, StoreError>;

    /// The first `limit` sealed entries whose number is higher than `after`, by number.
    async fn sealed_audit(&self, after: Option<i64>, limit: u32) -> Result<Vec<SealedEntry>, StoreError>;
}
