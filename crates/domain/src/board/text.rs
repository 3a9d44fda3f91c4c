//! The texts of the board, and their limits.

use crate::text::{TextFault, without_nul};

/// Declares a text with at most this many characters. `trimmed` texts lose white space at both ends and must have
/// something left, `filled` ones must have something else than white space, and `free` ones may be empty.
macro_rules! text {
    ($(#[$doc:meta])+ $name:ident, $how:ident, $max:literal) => {
        $(#[$doc])+
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name(String);

        impl $name {
            /// The maximum number of characters.
            pub const MAX_CHARS: usize = $max;

            /// Checks a text.
            pub fn new(text: String) -> Result<Self, TextFault> {
                let text = text!(@$how text);
                if text.chars().count() > Self::MAX_CHARS {
                    let expected = concat!("must be at most ", $max, " characters");
                    return Err(TextFault::Malformed { expected });
                }
                without_nul(&text)?;
                Ok(Self(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text.
            pub fn into_string(self) -> String {
                self.0
            }
        }
    };
    (@trimmed $text:ident) => {{
        let text = $text.trim().to_owned();
        if text.is_empty() {
            return Err(TextFault::Blank);
        }
        text
    }};
    (@filled $text:ident) => {{
        if $text.trim().is_empty() {
            return Err(TextFault::Blank);
        }
        $text
    }};
    (@free $text:ident) => {
        $text
    };
}

text!(
    /// The subject of a task: 1 to 500 characters, without white space at the ends.
    TaskSubject, trimmed, 500
);
text!(
    /// The detail of a task: at most 20,000 characters; may be empty.
    #[derive(Default)]
    TaskDetail, free, 20000
);
text!(
    /// A comment on a task: 1 to 10,000 characters.
    TaskComment, filled, 10000
);
text!(
    /// What an assignee is doing, as a short sentence: at most 500 characters; may be empty.
    ActiveForm, free, 500
);
text!(
    /// The id that a task has in the tools of an assignee: at most 255 characters; may be empty.
    LinkedNativeId, free, 255
);
text!(
    /// The title of a goal: 1 to 500 characters, without white space at the ends.
    GoalTitle, trimmed, 500
);
text!(
    /// The summary of a goal: at most 10,000 characters; an empty one removes it.
    GoalSummary, free, 10000
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_characters() {
        let subject = |text: &str| TaskSubject::new(text.to_owned()).map(TaskSubject::into_string);
        assert_eq!(subject(&"😀".repeat(500)), Ok("😀".repeat(500)));
        assert_eq!(subject(&format!(" {}\n", "x".repeat(500))), Ok("x".repeat(500)));
        let long = subject(&"x".repeat(501)).unwrap_err();
        assert_eq!(long.to_string(), "must be at most 500 characters");
        assert_eq!(subject(" \n"), Err(TextFault::Blank));
        assert_eq!(subject("a\0b"), Err(TextFault::Nul));
        assert_eq!(TaskComment::new("\t".to_owned()), Err(TextFault::Blank));
        assert_eq!(TaskComment::new(" x ".to_owned()).unwrap().as_str(), " x ");
        assert_eq!(ActiveForm::new(String::new()).unwrap().as_str(), "");
        assert!(
            GoalSummary::new("x".repeat(10_000)).is_ok() && GoalSummary::new("x".repeat(10_001)).is_err()
        );
        assert!(TaskDetail::new("x".repeat(20_000)).is_ok() && TaskDetail::new("x".repeat(20_001)).is_err());
        assert!(
            LinkedNativeId::new("x".repeat(255)).is_ok() && LinkedNativeId::new("x".repeat(256)).is_err()
        );
    }
}
