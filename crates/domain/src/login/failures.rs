//! Failed log-ins, until they are in the audit log.
//!
//! A failure is only counted while its request is answered. It is written apart from that: at most one entry a minute
//! for each account and address, with a count, so that whoever guesses fills neither the log nor the store.

use std::net::IpAddr;

use super::service::LoginService;
use crate::audit::AuditEntry;
use crate::id::UserId;
use crate::store::StoreError;
use crate::tally::{Due, Tally};

/// For how many accounts and addresses failures are told apart in a minute; those of others are counted together.
const MOST_TOLD: usize = 100;

/// A wrong password.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FailedLogin {
    /// Whose account was meant; `None` for a name that nobody has, which is kept nowhere.
    pub user: Option<UserId>,
    /// Where it came from.
    pub address: Option<IpAddr>,
}

/// Failed log-ins that are to be written.
pub(super) struct FailedLogins(Tally<FailedLogin, FailedLogin>);

impl Default for FailedLogins {
    fn default() -> Self {
        Self(Tally::new(MOST_TOLD))
    }
}

impl LoginService {
    /// Counts a wrong password.
    pub(super) fn note_failure(&self, failed: FailedLogin) {
        self.failures.0.note(failed, failed, 1);
    }

    /// Writes the failures that are due into the audit log; to be called about once a second.
    pub async fn write_failures(&self) -> Result<(), StoreError> {
        self.write(self.failures.0.due(self.clock.steady())).await
    }

    /// Writes all failures that were not written yet: for the end.
    pub async fn write_last_failures(&self) -> Result<(), StoreError> {
        self.write(self.failures.0.rest()).await
    }

    /// What cannot be written is counted again, and so written later.
    async fn write(&self, due: Due<FailedLogin>) -> Result<(), StoreError> {
        if due.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let others = (due.others > 0).then(|| AuditEntry::logins_failed_elsewhere(due.others, now));
        let entries = due.each.iter().map(|(failed, count)| AuditEntry::login_failed(failed, *count, now));
        let written = self.audit.append_audit(entries.chain(others).collect()).await;
        if written.is_err() {
            for (failed, count) in due.each {
                self.failures.0.note(failed, failed, count);
            }
            self.failures.0.note_others(due.others);
        }
        written
    }
}
