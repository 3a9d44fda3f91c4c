//! Organizations, and who looks after them.

use domain::audit::ListAuditError;
use domain::organization::NotAdmin;

use crate::error::{ApiError, ErrorCode};

impl From<NotAdmin> for ApiError {
    fn from(_: NotAdmin) -> Self {
        Self::new(ErrorCode::Forbidden, "Only an admin of the organization may do this")
    }
}

impl From<ListAuditError> for ApiError {
    fn from(error: ListAuditError) -> Self {
        match error {
            ListAuditError::NotAdmin(refused) => refused.into(),
            ListAuditError::Store(error) => error.into(),
        }
    }
}
