//! Why a command ended without success, in one line for the person at the terminal.

use std::error::Error;
use std::fmt;

/// One line that says what failed and why.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// `what` failed because of `cause` and the causes behind it.
    pub fn new(what: impl fmt::Display, cause: impl Error) -> Self {
        let mut line = format!("{what}: {cause}");
        let mut source = cause.source();
        while let Some(inner) = source {
            let text = inner.to_string();
            if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            source = inner.source();
        }
        Self(line.replace('\n', " "))
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn next(self, what: &str) -> Self {
        Self(format!("{}; {what}", self.0))
    }

    /// A failure without a cause behind it.
    pub fn plain(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Failure {}
