//! Translates errors of PostgreSQL into those of the domain. No other module reads driver errors.

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use domain::store::StoreError;

/// The failure of a job.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The driver failed.
    Driver(DieselError),
    /// A row holds an impossible value.
    Row(String),
    /// No connection was available.
    NoConnection(Box<dyn std::error::Error + Send + Sync>),
    /// The database did not answer in time; the connection is discarded.
    Slow,
    /// A commit was not clearly answered, so its outcome is unknown.
    InDoubt,
}

impl From<DieselError> for Fault {
    fn from(error: DieselError) -> Self {
        Self::Driver(error)
    }
}

/// The operating system's message for a full disk.
const NO_SPACE: &str = "No space left on device";

/// The beginning of the message about a statement that took too long, or was cancelled on request.
const CANCELLED: &str = "canceling statement due to";

const IN_DOUBT: &str = "the database did not clearly answer a commit, whose outcome is unknown";

/// The remedy for a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remedy {
    /// Retry now: another change interfered, or the connection had died.
    Again,
    /// Retry later.
    Later,
    /// None: a retry would fail in the same way.
    None,
}

impl Fault {
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::Driver(error) => remedy(error),
            Self::NoConnection(_) | Self::Slow | Self::InDoubt => Remedy::Later,
            Self::Row(_) => Remedy::None,
        }
    }

    /// Returns whether a lock time-out may be the cause. The message of the database is localized,
    /// like most of its messages.
    pub(crate) fn may_be_lock_timeout(&self) -> bool {
        matches!(self, Self::Driver(DieselError::DatabaseError(DatabaseErrorKind::Unknown, _)))
            && self.remedy() == Remedy::Later
    }

    /// Returns whether the database's disk is full (53100). The driver hides the code; the text is
    /// the operating system's, which a server in another language may translate.
    pub(crate) fn is_full_disk(&self) -> bool {
        matches!(self, Self::Driver(DieselError::DatabaseError(_, said)) if said.message().contains(NO_SPACE))
    }

    /// Records that the disk of the database is full, if that is the fault.
    pub(crate) fn record_full_disk(&self) {
        if self.is_full_disk() {
            measure::store_full();
        }
    }

    /// The error for one of several jobs that failed together.
    pub(crate) fn to_store_error(&self) -> StoreError {
        self.record_full_disk();
        let cause = match self {
            Self::Driver(error) => error.to_string(),
            Self::NoConnection(cause) => cause.to_string(),
            Self::Row(what) => what.clone(),
            Self::Slow => "the database does not respond in time".to_owned(),
            Self::InDoubt => IN_DOUBT.to_owned(),
        };
        if self.remedy() == Remedy::None {
            StoreError::Broken(cause.into())
        } else {
            StoreError::Unavailable(cause.into())
        }
    }

    /// Returns whether the answer to a commit leaves open whether it is stored. Only errors that
    /// precede the commit exclude that. Others may follow it: a panic on a full disk, or the error
    /// of a pooler that lost its connection.
    pub(crate) fn leaves_commit_in_doubt(&self) -> bool {
        match self {
            Self::Driver(DieselError::DatabaseError(
                DatabaseErrorKind::UniqueViolation
                | DatabaseErrorKind::ForeignKeyViolation
                | DatabaseErrorKind::RestrictViolation
                | DatabaseErrorKind::ExclusionViolation
                | DatabaseErrorKind::NotNullViolation
                | DatabaseErrorKind::CheckViolation
                | DatabaseErrorKind::SerializationFailure
                | DatabaseErrorKind::ReadOnlyTransaction,
                _,
            ))
            | Self::Row(_)
            | Self::NoConnection(_) => false,
            // A commit is not cancelled. The driver hides the code (57014), so the message decides; in
            // another language it is not recognized, and the commit counts as in doubt.
            Self::Driver(DieselError::DatabaseError(DatabaseErrorKind::Unknown, said))
                if said.message().starts_with(CANCELLED) =>
            {
                false
            }
            // A deadlock, or an error of the statement itself.
            Self::Driver(error @ DieselError::DatabaseError(DatabaseErrorKind::Unknown, _)) => {
                remedy(error) == Remedy::Later
            }
            _ => true,
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.to_store_error()
    }
}

/// diesel hides all but a few of PostgreSQL's codes. An error that the statement itself causes has
/// a position in its text, violates a constraint, or is about a value; all others (a full disk, a
/// time-out, a shutdown, too many connections) are temporary.
fn remedy(error: &DieselError) -> Remedy {
    match error {
        DieselError::DatabaseError(
            DatabaseErrorKind::SerializationFailure
            | DatabaseErrorKind::UnableToSendCommand
            | DatabaseErrorKind::ClosedConnection,
            _,
        ) => Remedy::Again,
        DieselError::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _)
        | DieselError::BrokenTransactionManager => Remedy::Later,
        DieselError::DatabaseError(DatabaseErrorKind::Unknown, said) => {
            let text = said.message();
            // The names of locks are not localized.
            let names_lock = |text: &str| text.contains("ShareLock") || text.contains("ExclusiveLock");
            if text.contains("deadlock") || said.details().is_some_and(names_lock) {
                Remedy::Again
            } else if said.statement_position().is_some() || text.contains("0x00") {
                Remedy::None
            } else {
                Remedy::Later
            }
        }
        _ => Remedy::None,
    }
}

/// The error if too many changes or questions are queued.
pub(crate) fn crowded() -> StoreError {
    StoreError::Unavailable("too many requests are queued".into())
}

/// The error of work that panicked.
pub(crate) fn panicked() -> StoreError {
    StoreError::Broken("work on the store panicked".into())
}

/// The error of a store that was closed.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

#[cfg(test)]
mod tests {
    use diesel::result::DatabaseErrorInformation;

    use super::*;

    /// A message of a server, in any language.
    struct Said(&'static str, Option<&'static str>, Option<i32>);

    impl DatabaseErrorInformation for Said {
        fn message(&self) -> &str {
            self.0
        }
        fn details(&self) -> Option<&str> {
            self.1
        }
        fn hint(&self) -> Option<&str> {
            None
        }
        fn table_name(&self) -> Option<&str> {
            None
        }
        fn column_name(&self) -> Option<&str> {
            None
        }
        fn constraint_name(&self) -> Option<&str> {
            None
        }
        fn statement_position(&self) -> Option<i32> {
            self.2
        }
    }

    fn unknown(said: Said) -> Remedy {
        Fault::Driver(DieselError::DatabaseError(DatabaseErrorKind::Unknown, Box::new(said))).remedy()
    }

    #[test]
    fn a_deadlock_is_known_in_every_language() {
        let details = "Prozess 7 wartet auf ShareLock-Sperre auf Transaktion 9; blockiert von Prozess 8.";
        assert_eq!(unknown(Said("Verklemmung (Deadlock) entdeckt", Some(details), None)), Remedy::Again);
        assert_eq!(unknown(Said("deadlock detected", None, None)), Remedy::Again);
    }

    #[test]
    fn a_full_disk_is_noted() {
        let full = |text| {
            let said = Box::new(Said(text, None, None));
            let fault = Fault::Driver(DieselError::DatabaseError(DatabaseErrorKind::Unknown, said));
            assert!(matches!(fault.to_store_error(), StoreError::Unavailable(_)));
            measure::is_store_full()
        };
        assert!(!full("canceling statement due to statement timeout"));
        assert!(full("could not extend file \"base/5/1\": No space left on device"));
    }

    #[test]
    fn what_passes_is_told_from_what_does_not() {
        assert_eq!(
            unknown(Said("could not extend file: No space left on device", None, None)),
            Remedy::Later
        );
        assert_eq!(unknown(Said("canceling statement due to statement timeout", None, None)), Remedy::Later);
        assert_eq!(unknown(Said("relation \"rooms\" does not exist", None, Some(15))), Remedy::None);
        let nul = "invalid byte sequence for encoding \"UTF8\": 0x00";
        assert_eq!(unknown(Said(nul, None, None)), Remedy::None);
        assert_eq!(Fault::Slow.remedy(), Remedy::Later);
    }

    #[test]
    fn only_what_precedes_a_commit_says_that_it_is_not_stored() {
        let fault = |kind, said| Fault::Driver(DieselError::DatabaseError(kind, Box::new(said)));
        for kind in [
            DatabaseErrorKind::UniqueViolation,
            DatabaseErrorKind::ForeignKeyViolation,
            DatabaseErrorKind::NotNullViolation,
            DatabaseErrorKind::CheckViolation,
            DatabaseErrorKind::SerializationFailure,
            DatabaseErrorKind::ReadOnlyTransaction,
        ] {
            assert!(!fault(kind, Said("no", None, None)).leaves_commit_in_doubt());
        }
        let unknown = |said| fault(DatabaseErrorKind::Unknown, said).leaves_commit_in_doubt();
        assert!(!unknown(Said("deadlock detected", None, None)));
        assert!(!unknown(Said("relation \"rooms\" does not exist", None, Some(15))));
        assert!(!unknown(Said("canceling statement due to statement timeout", None, None)));
        assert!(unknown(Said("terminating connection due to administrator command", None, None)));
        assert!(unknown(Said("could not write to file \"pg_wal/1\": No space left on device", None, None)));
        for kind in [DatabaseErrorKind::UnableToSendCommand, DatabaseErrorKind::ClosedConnection] {
            assert!(fault(kind, Said("connection closed", None, None)).leaves_commit_in_doubt());
        }
        assert!(Fault::Slow.leaves_commit_in_doubt());
    }
}
