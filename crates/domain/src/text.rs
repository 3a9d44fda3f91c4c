//! What can be wrong with a text that somebody sent.

/// Why a text is refused. The edge names the property, this names the fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextFault {
    /// Nothing but white space.
    #[error("can't be blank")]
    Blank,
    /// More characters than allowed.
    #[error("should be at most {max} character(s)")]
    TooManyChars {
        /// The limit, in Unicode scalar values.
        max: usize,
    },
    /// More bytes of UTF-8 than allowed.
    #[error("should be at most {max} byte(s)")]
    TooManyBytes {
        /// The limit, in bytes.
        max: usize,
    },
    /// A line break or another control character where one line is meant.
    #[error("must not contain control characters")]
    ControlCharacter,
    /// The character U+0000, which not every store can keep.
    #[error("must not contain the NUL character")]
    Nul,
    /// Not of the form that is meant, which the text tells.
    #[error("{expected}")]
    Malformed {
        /// What was expected, in words.
        expected: &'static str,
    },
}

/// Trims `text` and checks that 1 to `max_chars` characters without controls are left.
pub fn single_line(text: &str, max_chars: usize) -> Result<String, TextFault> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(TextFault::Blank);
    }
    if trimmed.chars().any(char::is_control) {
        return Err(TextFault::ControlCharacter);
    }
    if trimmed.chars().count() > max_chars {
        return Err(TextFault::TooManyChars { max: max_chars });
    }
    Ok(trimmed.to_owned())
}

/// Trims `text` and checks that it can stand as a name beside other names: one line of 1 to `max_chars` characters,
/// none of them hidden, and no mention marker.
pub fn display_name(text: &str, max_chars: usize) -> Result<String, TextFault> {
    let name = single_line(text, max_chars)?;
    if has_hidden(&name) {
        let expected = "must not contain invisible characters, line separators, or text direction controls";
        return Err(TextFault::Malformed { expected });
    }
    if folded(&name).contains("@[[") {
        return Err(TextFault::Malformed { expected: "must not contain the mention marker @[[" });
    }
    Ok(name)
}

/// Like [`display_name`], for a user or an agent: nobody can appear as the system itself.
pub fn sender_name(text: &str, max_chars: usize) -> Result<String, TextFault> {
    let name = display_name(text, max_chars)?;
    if folded(&name) == "system" { Err(TextFault::Malformed { expected: "is reserved" }) } else { Ok(name) }
}

/// Lower case, without white space, and with full-width forms as the ASCII characters that they look like.
fn folded(name: &str) -> String {
    let narrow = |c| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        other => other,
    };
    name.chars().map(narrow).filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Whether `text` holds a character that nobody sees, or that moves the others about. The two joiners are letters of
/// many scripts and hold emoji together; between other letters they are hidden.
fn has_hidden(text: &str) -> bool {
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let joins = matches!(c, '\u{200c}' | '\u{200d}');
        let joinable =
            |c: Option<char>| c.is_some_and(|c| c >= '\u{600}' && !matches!(c, '\u{200c}' | '\u{200d}'));
        if is_hidden(c) || (joins && !(joinable(before) && joinable(chars.peek().copied()))) {
            return true;
        }
        before = Some(c);
    }
    false
}

/// Whether `c` is never seen: controls, line separators, marks of the text's direction, zero-width characters and
/// other characters that leave no trace.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Checks that `text` is not blank, can be stored and has at most `max_chars` characters; it is kept as it is.
pub fn bounded(text: String, max_chars: usize) -> Result<String, TextFault> {
    storable(&text)?;
    if text.chars().count() > max_chars {
        return Err(TextFault::TooManyChars { max: max_chars });
    }
    Ok(text)
}

/// Checks that `text` is not blank and holds no NUL.
pub fn storable(text: &str) -> Result<(), TextFault> {
    if text.trim().is_empty() { Err(TextFault::Blank) } else { without_nul(text) }
}

/// Checks that `text` holds no NUL.
pub fn without_nul(text: &str) -> Result<(), TextFault> {
    if text.contains('\0') { Err(TextFault::Nul) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_scripts_are_names() {
        for name in [
            "Ann Lee",
            "Zoë",
            "日本",
            "مریم‌ها",
            "क्‍ष",
            "👩\u{200d}💻 Bot",
            "❤️",
            "System Monitor",
            "a@b",
            "@[x]",
        ] {
            assert_eq!(sender_name(&format!(" {name} "), 100).as_deref(), Ok(name));
        }
        assert_eq!(display_name(&"x".repeat(101), 100), Err(TextFault::TooManyChars { max: 100 }));
    }

    #[test]
    fn what_nobody_sees_is_in_no_name() {
        let hidden = [
            '\u{202e}',
            '\u{202a}',
            '\u{2066}',
            '\u{2069}',
            '\u{200e}',
            '\u{61c}',
            '\u{200b}',
            '\u{feff}',
            '\u{2060}',
            '\u{2028}',
            '\u{2029}',
            '\u{ad}',
            '\u{3164}',
            '\u{e0041}',
            '\u{85}',
            '\n',
            '\u{200c}',
            '\u{200d}',
        ];
        for c in hidden {
            assert!(display_name(&format!("Ann{c}Lee"), 100).is_err(), "{:x}", u32::from(c));
        }
        for joiner in ["\u{200d}日", "日\u{200d}", "日\u{200d}\u{200d}日"] {
            assert!(display_name(joiner, 100).is_err(), "{joiner:?}");
        }
    }

    #[test]
    fn nobody_is_the_system_or_a_mention() {
        for name in ["System", "SYSTEM", " system ", "S y s t e m", "Ｓｙｓｔｅｍ"] {
            assert_eq!(
                sender_name(name, 100),
                Err(TextFault::Malformed { expected: "is reserved" }),
                "{name}"
            );
            assert!(display_name(name, 100).is_ok(), "a room may be called so");
        }
        for name in ["@[[0190c5a4-0000-7000-8000-000000000001]]", "Ann @[[x", "＠［［x］］"] {
            assert!(display_name(name, 100).is_err(), "{name}");
        }
    }
}
