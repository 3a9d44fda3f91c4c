//! A typed handle of a user or an agent.

use std::fmt;

use crate::account::normalize_handle;
use crate::text::TextFault;

/// A handle for a lookup, in the stored form: lower case, without `@`.
///
/// Only its form is checked, and not narrowly: a text that could be a handle under any rule is
/// unknown rather than malformed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Handle(String);

impl Handle {
    /// The maximum number of bytes; no handle is longer.
    const MAX_BYTES: usize = 200;

    /// Removes surrounding white space and one leading `@`, lower-cases, and checks the form: one
    /// word (a user) or two with a slash between them (an agent).
    pub fn new(text: &str) -> Result<Self, TextFault> {
        let malformed = TextFault::Malformed { expected: "is not a handle" };
        if !text.is_ascii() {
            return Err(malformed);
        }
        let handle = normalize_handle(text);
        if handle.is_empty() {
            return Err(TextFault::Blank);
        }
        let mut words = handle.split('/');
        let well_formed = handle.len() <= Self::MAX_BYTES
            && words.next().is_some_and(is_word)
            && words.next().is_none_or(is_word)
            && words.next().is_none();
        if well_formed { Ok(Self(handle)) } else { Err(malformed) }
    }

    /// The handle.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it has the form of an agent's handle.
    pub fn is_agents(&self) -> bool {
        self.0.contains('/')
    }
}

fn is_word(word: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.chars().all(allowed)
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, handle) in [
            ("ann", "ann"),
            (" @Ann ", "ann"),
            ("@John.Doe/Weather-Bot", "john.doe/weather-bot"),
            ("nobody_at_all", "nobody_at_all"),
        ] {
            assert_eq!(Handle::new(text).unwrap().as_str(), handle, "{text}");
        }
        for bad in
            ["a b", "@@ann", "ann/", "/bot", "a/b/c", "-ann", ".", "ann!", "änn", "\u{212a}ai", "@/", "a\0b"]
        {
            assert!(matches!(Handle::new(bad), Err(TextFault::Malformed { .. })), "{bad}");
        }
        assert!(Handle::new(&"a".repeat(200)).is_ok());
        assert!(Handle::new(&"a".repeat(201)).is_err());
        for blank in ["", " ", "@", " @ "] {
            assert_eq!(Handle::new(blank), Err(TextFault::Blank), "{blank}");
        }
        assert!(Handle::new("ann/bot").unwrap().is_agents());
        assert!(!Handle::new("ann").unwrap().is_agents());
    }
}
