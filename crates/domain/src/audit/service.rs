//! Use cases on the audit log.

use std::sync::Arc;

use super::port::{AuditFilter, AuditRecord, AuditRepository};
use crate::organization::NotAdmin;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Why entries were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListAuditError {
    /// Only an admin of the organization may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on the audit log.
pub struct AuditService {
    log: Arc<dyn AuditRepository>,
}

impl AuditService {
    /// Wires the area to its port.
    pub fn new(log: Arc<dyn AuditRepository>) -> Self {
        Self { log }
    }

    /// Entries, newest first: for the operator, and of an organization for its admins.
    pub async fn list(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Page<AuditRecord>, ListAuditError> {
        Ok(self.log.list_audit(filter, page).await??)
    }
}
