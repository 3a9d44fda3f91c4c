//! What PostgreSQL says, in the words of the domain. Nothing else reads driver errors.

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use domain::store::StoreError;

/// What stops a job.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The driver failed.
    Driver(DieselError),
    /// A row holds what cannot be.
    Row(String),
    /// No connection could be had.
    NoConnection(Box<dyn std::error::Error + Send + Sync>),
    /// The connection was lost in a commit, which may have been kept or not.
    Uncertain,
}

impl From<DieselError> for Fault {
    fn from(error: DieselError) -> Self {
        Self::Driver(error)
    }
}

const UNCERTAIN: &str = "the connection was lost in a commit, which may have been kept or not";

/// What is to be done about a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remedy {
    /// The same again, now: another change was in the way, or the connection had died.
    Again,
    /// The same later.
    Later,
    /// Nothing: it would end in the same way.
    None,
}

impl Fault {
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::Driver(error) => remedy(error),
            Self::NoConnection(_) | Self::Uncertain => Remedy::Later,
            Self::Row(_) => Remedy::None,
        }
    }
}

impl Fault {
    /// The same fault for one of several whose change it stopped.
    pub(crate) fn told(&self) -> StoreError {
        let cause = match self {
            Self::Driver(error) => error.to_string(),
            Self::NoConnection(cause) => cause.to_string(),
            Self::Row(what) => what.clone(),
            Self::Uncertain => UNCERTAIN.to_owned(),
        };
        if self.remedy() == Remedy::None {
            StoreError::Broken(cause.into())
        } else {
            StoreError::Unavailable(cause.into())
        }
    }

    /// Whether the connection died, so that nobody knows what became of the statement.
    pub(crate) fn is_lost_connection(&self) -> bool {
        matches!(
            self,
            Self::Driver(DieselError::DatabaseError(
                DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection,
                _
            ))
        )
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.told()
    }
}

/// diesel hides PostgreSQL's codes but for a few. What the statement itself is to blame for has a place
/// in its text, breaks a constraint, or is about a value; the rest (a full disk, a time-out, a shutdown, too
/// many connections) passes.
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
            if text.contains("deadlock") {
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

/// A store that has been closed.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}
