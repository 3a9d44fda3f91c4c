//! The content of a memory, and its limits.

use serde_json::{Map, Value};

use crate::text::{TextFault, bounded, without_nul};

/// The content of a memory: 1 to 16,384 characters, stored as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryContent(String);

impl MemoryContent {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 16_384;

    /// Checks a text.
    pub fn new(text: String) -> Result<Self, TextFault> {
        bounded(text, Self::MAX_CHARS).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The reason for storing it: at most 16,384 characters; may be empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryThought(String);

impl MemoryThought {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 16_384;

    /// Checks a text.
    pub fn new(text: String) -> Result<Self, TextFault> {
        if text.chars().count() > Self::MAX_CHARS {
            return Err(TextFault::TooManyChars { max: Self::MAX_CHARS });
        }
        without_nul(&text)?;
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Free-form data of a memory, at most 65,536 bytes as JSON.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MemoryMetadata(Map<String, Value>);

impl MemoryMetadata {
    /// The maximum number of bytes.
    pub const MAX_BYTES: usize = 65_536;

    /// Checks the size.
    pub fn new(members: Map<String, Value>) -> Result<Self, TextFault> {
        let bytes = serde_json::to_string(&members).map_or(0, |text| text.len());
        if bytes > Self::MAX_BYTES {
            Err(TextFault::TooManyBytes { max: Self::MAX_BYTES })
        } else {
            Ok(Self(members))
        }
    }

    /// The members.
    pub fn into_members(self) -> Map<String, Value> {
        self.0
    }
}

/// A search text for contents, ignoring case: 1 to 200 characters, folded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryQuery(String);

impl MemoryQuery {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 200;

    /// Checks and folds.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        bounded(text.trim().to_owned(), Self::MAX_CHARS).map(|text| Self(fold(&text)))
    }

    /// The folded text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The form of a text that searches compare.
pub fn fold(text: &str) -> String {
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bounds() {
        assert!(MemoryContent::new("ä".repeat(16_384)).is_ok());
        assert!(MemoryContent::new("ä".repeat(16_385)).is_err());
        assert_eq!(MemoryContent::new(" \n".to_owned()), Err(TextFault::Blank));
        assert_eq!(MemoryContent::new("a\0b".to_owned()), Err(TextFault::Nul));
        assert!(MemoryThought::new(String::new()).is_ok());
        assert!(MemoryThought::new("x".repeat(16_385)).is_err());
        let members = |bytes: usize| json!({"k": "x".repeat(bytes)}).as_object().unwrap().clone();
        assert!(MemoryMetadata::new(members(65_528)).is_ok());
        assert!(MemoryMetadata::new(members(65_529)).is_err());
        assert_eq!(MemoryQuery::new(" ÄPFEL ").unwrap().as_str(), "äpfel");
        assert!(MemoryQuery::new("  ").is_err());
    }
}
