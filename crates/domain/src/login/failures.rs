//! Failed log-ins, until they are in the audit log.
//!
//! A request only counts its failure. Entries are written apart from that: at most one a minute for
//! each account and address, with a count, so that guessing fills neither the log nor the store.

use std::net::IpAddr;

use super::federation::ProviderName;
use super::service::LoginService;
use crate::audit::AuditEntry;
use crate::id::UserId;
use crate::store::StoreError;
use crate::tally::{Reportable, Tally};

/// The number of accounts and addresses with separate counts in a minute; failures of others are
/// counted together.
const MAX_REPORTED: usize = 100;

/// A wrong password or code, or a refused passkey or log-in at a provider.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FailedLogin {
    /// The account; `None` for an unknown name, which is stored nowhere.
    pub user: Option<UserId>,
    /// The address of the client.
    pub address: Option<IpAddr>,
    /// What was refused.
    pub refused: Refused,
}

/// What was refused in a failed log-in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Refused {
    /// The password.
    Password,
    /// The code of the second factor; the password was right.
    Code,
    /// A passkey.
    Passkey,
    /// The answer of this provider.
    Provider(ProviderName),
}

impl FailedLogin {
    /// A wrong password.
    pub const fn of(user: Option<UserId>, address: Option<IpAddr>) -> Self {
        Self { user, address, refused: Refused::Password }
    }
}

/// Failed log-ins that are not written yet.
pub(super) struct FailedLogins(Tally<FailedLogin, FailedLogin>);

impl Default for FailedLogins {
    fn default() -> Self {
        Self(Tally::new(MAX_REPORTED))
    }
}

impl LoginService {
    /// Counts a failed log-in.
    pub(super) fn note_failure(&self, failed: FailedLogin) {
        self.failures.0.note(failed.clone(), failed, 1);
    }

    /// Writes the failures that are due to the audit log; must be called about once a second.
    pub async fn write_failures(&self) -> Result<(), StoreError> {
        self.write(self.failures.0.due(self.clock.steady())).await
    }

    /// Writes all remaining failures, at the end.
    pub async fn write_last_failures(&self) -> Result<(), StoreError> {
        self.write(self.failures.0.rest()).await
    }

    /// Failures that cannot be written are counted again, and written later.
    async fn write(&self, due: Reportable<FailedLogin>) -> Result<(), StoreError> {
        if due.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let others = (due.others > 0).then(|| AuditEntry::logins_failed_elsewhere(due.others, now));
        let entries = due.each.iter().map(|(failed, count)| AuditEntry::login_failed(failed, *count, now));
        let written = self.audit.append_audit(entries.chain(others).collect()).await;
        if written.is_err() {
            for (failed, count) in due.each {
                self.failures.0.note(failed.clone(), failed, count);
            }
            self.failures.0.note_others(due.others);
        }
        written
    }
}
