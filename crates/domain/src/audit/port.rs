//! The store of the audit log. Entries are written by those who write what they tell of.

use async_trait::async_trait;
use uuid::Uuid;

use super::action::AuditAction;
use super::entry::AuditObject;
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

/// Something that an entry names, with the name that it has now: the handle of a user or an agent, the title of a
/// room, the beginning of a key, the name of an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedObject {
    /// What.
    pub object: AuditObject,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// An entry as it is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditRecord {
    /// Identifier.
    pub id: Uuid,
    /// When it was done.
    pub at: Timestamp,
    /// Who; `None` for the operator.
    pub actor: Option<NamedObject>,
    /// What.
    pub action: AuditAction,
    /// To what.
    pub subject: NamedObject,
    /// In what, or for whom.
    pub place: Option<NamedObject>,
    /// As what, or which.
    pub detail: Option<String>,
    /// Whose entry it is.
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
}
