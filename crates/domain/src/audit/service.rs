//! Use cases on the audit log.

use std::sync::Arc;

use super::entry::AuditEntry;
use super::port::{AuditFilter, AuditRecord, AuditRepository};
use crate::account::Operator;
use crate::organization::NotAdmin;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// The number of entries that are sealed per transaction.
const SEALED_AT_ONCE: u32 = 500;

/// The reason why entries were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListAuditError {
    /// Only an admin of the organization may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on the audit log.
pub struct AuditService {
    pub(super) log: Arc<dyn AuditRepository>,
}

impl AuditService {
    /// Wires the area to its port.
    pub fn new(log: Arc<dyn AuditRepository>) -> Self {
        Self { log }
    }

    /// Entries, newest first: all for the operator, those of an organization for its admins.
    pub async fn list(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Page<AuditRecord>, ListAuditError> {
        Ok(self.log.list_audit(filter, page).await??)
    }

    /// As [`Self::list`], without what was written in rooms, for operators.
    pub async fn list_without_contents(
        &self,
        _: Operator,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Page<AuditRecord>, ListAuditError> {
        Ok(self.list(filter, page).await?.map(AuditRecord::without_contents))
    }

    /// Writes entries for actions that change nothing in the store.
    pub async fn append(&self, entries: Vec<AuditEntry>) -> Result<(), StoreError> {
        self.log.append_audit(entries).await
    }

    /// Seals some entries, and returns their number; must be called periodically, until it returns
    /// 0.
    pub async fn seal_some(&self) -> Result<u32, StoreError> {
        self.log.seal_audit(SEALED_AT_ONCE).await
    }
}
