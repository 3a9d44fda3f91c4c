//! The common types of the store ports: their error, and the hook after a commit.

use std::error::Error;
use std::fmt;

/// The reason why a store gave no answer.
///
/// A *decision* of the store (a name is taken, a participant has left) is never an error but a
/// variant of the method's own outcome.
#[derive(thiserror::Error)]
pub enum StoreError {
    /// The store is temporarily unavailable: full disk, lost connection, time-out. Retrying later is
    /// right. Nothing of the call was stored, unless its commit is in doubt: the answer to the commit
    /// was lost with the connection, took too long, or was an error that can follow a commit, or the
    /// writing task panicked meanwhile. The change may then be stored.
    #[error("the store is unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The store holds or returned an impossible value: a defect or damage.
    #[error("the store is broken")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(source) => write!(f, "StoreError::Unavailable({source})"),
            Self::Broken(source) => write!(f, "StoreError::Broken({source})"),
        }
    }
}

/// The migrations of a store's schema.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SchemaSteps {
    /// All that were ever applied, in order.
    pub all: Vec<String>,
    /// Those that were applied when the store was opened.
    pub applied: Vec<String>,
}

/// A hook that publishes the events of a committed change.
///
/// The store runs it exactly once for a change that it knows to be committed: after the commit,
/// before the port method returns, and in commit order, even if the caller no longer waits for the
/// result. An event is therefore neither lost with a dropped connection nor overtaken by a later one.
/// The hook does not run when nothing was committed. Nor does it run for a commit whose outcome stays
/// in doubt: the server then closes its sockets, so that their clients resynchronize. The hook must
/// not block.
pub struct OnCommit<T>(Box<dyn FnOnce(&T) + Send>);

impl<T> OnCommit<T> {
    /// A hook that receives the committed outcome.
    pub fn new(hook: impl FnOnce(&T) + Send + 'static) -> Self {
        Self(Box::new(hook))
    }

    /// A hook that does nothing.
    pub fn nothing() -> Self {
        Self(Box::new(|_| ()))
    }

    /// For stores: runs the hook after the commit, see the type.
    pub fn run(self, outcome: &T) {
        (self.0)(outcome);
    }
}

impl<T> fmt::Debug for OnCommit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnCommit")
    }
}
