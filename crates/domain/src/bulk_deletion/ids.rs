//! The ids in a request for a bulk deletion.

use std::collections::HashSet;

use uuid::Uuid;

use crate::id::parse_uuid;
use crate::text::{TextFault, without_nul};

/// The ids of a bulk deletion, as they were sent: at least one, and none twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BulkIds(Vec<String>);

/// The reason why ids were not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BulkIdsFault {
    /// There are none.
    #[error("should have at least 1 item(s)")]
    Empty,
    /// There are more than [`BulkIds::MAX`].
    #[error("should have at most {} item(s)", BulkIds::MAX)]
    TooMany,
    /// The id at this index is that of an earlier one.
    #[error("must not repeat an earlier id")]
    Repeated(usize),
    /// The id at this index cannot be stored.
    #[error("{1}")]
    Text(usize, TextFault),
}

impl BulkIdsFault {
    /// The index of the wrong id; `None` if the list as a whole is wrong.
    pub const fn index(&self) -> Option<usize> {
        match self {
            Self::Empty | Self::TooMany => None,
            Self::Repeated(index) | Self::Text(index, _) => Some(*index),
        }
    }
}

impl BulkIds {
    /// The maximum number of ids.
    pub const MAX: usize = 100;

    /// The maximum length of an id, in characters. A text that is no UUID is accepted, and not found.
    pub const MAX_CHARS: usize = 255;

    /// Checks the ids of a request. UUIDs in upper and lower case are the same id.
    ///
    /// # Errors
    /// The first fault, see [`BulkIdsFault`].
    pub fn new(ids: Vec<String>) -> Result<Self, BulkIdsFault> {
        if ids.is_empty() {
            return Err(BulkIdsFault::Empty);
        }
        if ids.len() > Self::MAX {
            return Err(BulkIdsFault::TooMany);
        }
        let mut seen = HashSet::new();
        let mut checked = Vec::with_capacity(ids.len());
        for (index, id) in ids.into_iter().enumerate() {
            if let Err(fault) = check(&id) {
                return Err(BulkIdsFault::Text(index, fault));
            }
            let meant = parse_uuid(&id).map_or_else(|| id.clone(), |uuid| uuid.to_string());
            if !seen.insert(meant) {
                return Err(BulkIdsFault::Repeated(index));
            }
            checked.push(id);
        }
        Ok(Self(checked))
    }

    /// The ids as UUIDs, in the order of the request; `None` for a malformed one.
    pub fn uuids(&self) -> impl Iterator<Item = Option<Uuid>> {
        self.0.iter().map(|id| parse_uuid(id))
    }

    /// The ids in the order of the request.
    pub fn into_texts(self) -> Vec<String> {
        self.0
    }
}

/// Checks that an id can be stored and sent back; it may be blank.
fn check(id: &str) -> Result<(), TextFault> {
    without_nul(id)?;
    let is_long = id.chars().count() > BulkIds::MAX_CHARS;
    if is_long { Err(TextFault::TooManyChars { max: BulkIds::MAX_CHARS }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(ids: &[&str]) -> Option<BulkIdsFault> {
        BulkIds::new(ids.iter().map(|id| (*id).to_owned()).collect()).err()
    }

    #[test]
    fn from_one_to_a_hundred_different_ids() {
        assert_eq!(fault_of(&[]), Some(BulkIdsFault::Empty));
        assert_eq!(
            fault_of(&["a", "", "b", "A", " a"]),
            None,
            "texts that are no UUID are taken as they are"
        );
        assert_eq!(fault_of(&["a", "b", "a"]), Some(BulkIdsFault::Repeated(2)));
        let (lower, upper) = ("0190c5a4-0000-7000-8000-0000000000ab", "0190C5A4-0000-7000-8000-0000000000AB");
        assert_eq!(fault_of(&[lower, upper]), Some(BulkIdsFault::Repeated(1)));
        let many = (0..=BulkIds::MAX).map(|number| number.to_string()).collect::<Vec<_>>();
        let many = many.iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(fault_of(&many), Some(BulkIdsFault::TooMany));
        assert_eq!(fault_of(&many[1..]), None);
        let long = "é".repeat(BulkIds::MAX_CHARS);
        assert_eq!(fault_of(&["a", &long]), None);
        assert_eq!(fault_of(&["a", &format!("{long}e")]).and_then(|fault| fault.index()), Some(1));
        assert_eq!(fault_of(&["a", "\0"]).and_then(|fault| fault.index()), Some(1));
    }
}
