//! Why a command ended without success, in one line for the person at the terminal.

use std::error::Error;
use std::fmt;

/// One line that says what failed and why.
#[derive(Debug)]
pub struct Failure {
    line: String,
    /// Whether the command only stopped because nobody reads its output any more.
    reader_left: bool,
}

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
        Self::plain(line.replace('\n', " "))
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn next(self, what: &str) -> Self {
        Self { line: format!("{}; {what}", self.line), ..self }
    }

    /// A failure without a cause behind it.
    pub fn plain(what: impl Into<String>) -> Self {
        Self { line: what.into(), reader_left: false }
    }

    /// The reader of the output closed it: `parlance user list | head`.
    pub(crate) fn reader_left() -> Self {
        Self { line: "Nobody reads the output".to_owned(), reader_left: true }
    }

    /// Whether this is no failure to the person at the terminal.
    pub fn is_reader_gone(&self) -> bool {
        self.reader_left
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl Error for Failure {}
