//! Faults of a body, collected while it is read.

use std::fmt;

use crate::error::{ApiError, ErrorCode};

/// The fault of a word that is not one of those that a value can be.
pub const UNKNOWN_WORD: &str = "Invalid value for enum";

/// The fault of a text that is not an id.
pub const NOT_AN_ID: &str = "must be a UUID";

/// A value is wrong, and the fault is recorded; the whole input will be refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejected(());

/// Unknown properties and wrong values, under their pointers.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    unknown: Vec<String>,
    wrong: Vec<(String, String)>,
}

impl Faults {
    /// The maximum number of reported faults: a response does not grow with a hostile body.
    const MAX: usize = 50;

    pub(crate) fn unknown(&mut self, pointer: String) {
        if self.unknown.len() < Self::MAX {
            self.unknown.push(pointer);
        }
    }

    pub(crate) fn wrong(&mut self, pointer: impl Into<String>, fault: impl fmt::Display) -> Rejected {
        if self.wrong.len() < Self::MAX {
            self.wrong.push((pointer.into(), fault.to_string()));
        }
        Rejected(())
    }

    /// The failure of all faults, if there are any; an unknown property takes precedence over wrong
    /// values.
    pub(crate) fn into_result(self) -> Result<(), ApiError> {
        if let Some(first) = self.unknown.first() {
            let error = ApiError::new(
                ErrorCode::BadRequest,
                format!("Unknown property {first}. Remove it, or correct its name."),
            );
            return Err(self
                .unknown
                .into_iter()
                .fold(error, |error, p| error.with_detail(p, "is not known")));
        }
        if self.wrong.is_empty() {
            return Ok(());
        }
        Err(self
            .wrong
            .into_iter()
            .fold(ApiError::validation(), |error, (p, fault)| error.with_detail(p, fault)))
    }
}
