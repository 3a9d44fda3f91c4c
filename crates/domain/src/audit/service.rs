//! Use cases on the audit log.

use std::sync::Arc;

use super::port::{AuditFilter, AuditRecord, AuditRepository};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Use cases on the audit log.
pub struct AuditService {
    log: Arc<dyn AuditRepository>,
}

impl AuditService {
    /// Wires the area to its port.
    pub fn new(log: Arc<dyn AuditRepository>) -> Self {
        Self { log }
    }

    /// Entries, newest first: for the operator.
    pub async fn list(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Page<AuditRecord>, StoreError> {
        self.log.list_audit(filter, page).await
    }
}
