//! The failure of a command, as one line for the person at the terminal.

use std::error::Error;
use std::fmt;

/// One line with the failure and its causes.
#[derive(Debug)]
pub struct Failure {
    line: String,
    /// Set if the command only stopped because its output was closed.
    reader_left: bool,
    status: u8,
}

/// The exit status of a failure that no other one tells apart.
const FAILED: u8 = 1;

impl Failure {
    /// `what` failed because of `cause` and its causes.
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

    /// Adds the remedy.
    #[must_use]
    pub fn next(self, what: &str) -> Self {
        let end = |text: &str| if text.ends_with(['.', '?', '!']) { "" } else { "." };
        let (line, next) = (self.line, sentence(what));
        Self { line: format!("{line}{} {next}{}", end(&line), end(&next)), ..self }
    }

    /// A failure without a cause.
    pub fn plain(what: impl Into<String>) -> Self {
        Self { line: sentence(&what.into()), reader_left: false, status: FAILED }
    }

    /// An unknown name, with a suggestion, or else with the next step.
    pub(crate) fn unknown(what: impl Into<String>, meant: Option<&str>, next: &str) -> Self {
        let failure = Self::plain(what);
        match meant {
            Some(meant) => failure.next(&format!("did you mean '{meant}'?")),
            None => failure.next(next),
        }
    }

    /// The reader of the output closed it: `parlance user list | head`.
    pub(crate) fn reader_left() -> Self {
        Self { reader_left: true, ..Self::plain("The reader of the output closed it") }
    }

    /// Sets the exit status, by which scripts tell outcomes apart.
    #[must_use]
    pub(crate) const fn with_status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }

    /// The exit status of the program; not 0.
    pub const fn status(&self) -> u8 {
        self.status
    }

    /// Returns whether this is no failure to the person at the terminal.
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

/// The text with a capital letter in front, unless it begins with a flag, a path, a quoted value, or the name
/// of a setting. Text that a user chose is quoted or follows a word, so it is never changed.
fn sentence(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let is_word = first.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b',' | b'\''));
    match text.split_at_checked(1) {
        Some((letter, rest)) if is_word => letter.to_ascii_uppercase() + rest,
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_sentences() {
        let failure = Failure::plain("cannot open the store").next("run `parlance doctor`");
        assert_eq!(failure.to_string(), "Cannot open the store. Run `parlance doctor`.");
        let failure = Failure::unknown("no user has the handle 'nan'", Some("ann"), "list users");
        assert_eq!(failure.to_string(), "No user has the handle 'nan'. Did you mean 'ann'?");
        for text in ["--name: x", "/tmp/x is no directory", "data_dir: x", "listen: x", "'x' is wrong", ""] {
            assert_eq!(Failure::plain(text).to_string(), text);
        }
    }
}
