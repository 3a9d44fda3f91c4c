//! Whether the disk has space for a write of unknown length.

use crate::error::ApiError;

/// Tells how much a request may write; registered as `web::Data`. There is no limit without it.
pub struct DiskReserve(Box<dyn Fn(u64) -> Result<(), ApiError> + Send + Sync>);

impl DiskReserve {
    /// `admit` returns an error if the disk has no room for this many bytes.
    pub fn new(admit: impl Fn(u64) -> Result<(), ApiError> + Send + Sync + 'static) -> Self {
        Self(Box::new(admit))
    }

    /// Checks that the disk has room for this many bytes of a request.
    ///
    /// # Errors
    /// 503 if the disk is too full for that.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), ApiError> {
        (self.0)(bytes)
    }
}
