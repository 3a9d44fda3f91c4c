//! Translates errors of SQLite into those of the domain. No other module reads driver errors.

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use domain::store::StoreError;

/// The failure of a job.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The driver failed.
    Driver(DieselError),
    /// A row holds an impossible value.
    Row(String),
}

impl From<DieselError> for Fault {
    fn from(error: DieselError) -> Self {
        Self::Driver(error)
    }
}

/// Parts of SQLite's messages for temporary failures; diesel hides the code.
const PASSING: [&str; 9] = [
    "database or disk is full",
    "disk I/O error",
    "database is locked",
    "database table is locked",
    "unable to open database file",
    "attempt to write a readonly database",
    "database schema is locked",
    "locking protocol",
    "interrupted",
];

/// Parts of SQLite's messages for a file that it cannot read.
const DAMAGE: [&str; 2] = ["database disk image is malformed", "file is not a database"];

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        if let Fault::Driver(error) = &fault {
            note_full(&error.to_string());
        }
        match fault {
            Fault::Driver(error) if is_passing(&error) => Self::Unavailable(Box::new(error)),
            Fault::Driver(error) => Self::Broken(Box::new(error)),
            Fault::Row(what) => Self::Broken(what.into()),
        }
    }
}

/// Reports a full disk, if that is the cause.
fn note_full(text: &str) {
    if text.contains(PASSING[0]) {
        measure::store_full();
    }
}

/// Returns whether a retry may succeed.
fn is_passing(error: &DieselError) -> bool {
    match error {
        DieselError::DatabaseError(
            DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection,
            _,
        )
        | DieselError::BrokenTransactionManager => true,
        DieselError::DatabaseError(_, information) => {
            PASSING.iter().any(|text| information.message().contains(text))
        }
        DieselError::RollbackErrorOnCommit { commit_error, .. } => is_passing(commit_error),
        _ => false,
    }
}

/// Returns whether another process holds a lock.
pub(crate) fn is_locked(error: &DieselError) -> bool {
    let text = error.to_string();
    text.contains("is locked") || text.contains("locking protocol")
}

/// The error of a store that was closed, or whose thread has ended.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

/// The error for each job of a batch that failed because of `cause`. Which job caused it is
/// unknown, so each may be retried, unless the file itself is damaged.
pub(crate) fn not_committed(cause: &DieselError) -> StoreError {
    let text = cause.to_string();
    note_full(&text);
    let damaged = DAMAGE.iter().any(|part| text.contains(part));
    let error = format!("the change could not be committed: {text}").into();
    if damaged { StoreError::Broken(error) } else { StoreError::Unavailable(error) }
}
