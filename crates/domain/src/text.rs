//! Faults of client texts.

/// The reason why a text is refused. The edge names the property, this names the fault.
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
    /// A line break or another control character where one line is required.
    #[error("must not contain control characters")]
    ControlCharacter,
    /// The character U+0000, which not every store can keep.
    #[error("must not contain the NUL character")]
    Nul,
    /// Not of the required form, which the text describes.
    #[error("{expected}")]
    Malformed {
        /// The expected form, in words.
        expected: &'static str,
    },
}

/// A part of a name or a handle to search for, ignoring case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamePart(String);

impl NamePart {
    /// The maximum number of characters: a full name has at most two parts of 100, with a space between them.
    pub const MAX_CHARS: usize = 201;

    /// The part; `None` for an empty text, which every name contains.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.to_lowercase()))
    }

    /// The part, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether one of the texts contains it.
    pub fn is_in<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> bool {
        texts.into_iter().any(|text| text.to_lowercase().contains(&self.0))
    }
}

/// Trims `text`, of at most `max_chars` characters, and checks that something without controls remains.
pub fn single_line(text: &str, max_chars: usize) -> Result<String, TextFault> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(TextFault::Blank);
    }
    if trimmed.chars().any(char::is_control) {
        return Err(TextFault::ControlCharacter);
    }
    // Of the text as it was sent, as the schema says.
    if text.chars().count() > max_chars {
        return Err(TextFault::TooManyChars { max: max_chars });
    }
    Ok(trimmed.to_owned())
}

/// Trims `text` and checks that it can be a name among other names: one line of 1 to
/// `max_chars` characters, none of them hidden, and no mention marker.
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

/// Like [`display_name`], for a user or an agent: a name cannot imitate the system itself.
pub fn sender_name(text: &str, max_chars: usize) -> Result<String, TextFault> {
    let name = display_name(text, max_chars)?;
    if folded(&name) == "system" { Err(TextFault::Malformed { expected: "is reserved" }) } else { Ok(name) }
}

/// Lower case, without white space and invisible characters, and with full-width forms as the ASCII
/// characters that they look like.
fn folded(name: &str) -> String {
    let narrow = |c| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        other => other,
    };
    let seen = name.chars().filter(|c| !c.is_whitespace() && !is_invisible(*c));
    seen.map(narrow).flat_map(char::to_lowercase).collect()
}

fn has_hidden(text: &str) -> bool {
    marked(text).any(|(_, is_hidden)| is_hidden)
}

/// `text` without its hidden characters; white space stays.
pub(crate) fn without_hidden(text: &str) -> String {
    marked(text).filter(|(c, is_hidden)| c.is_whitespace() || !is_hidden).map(|(c, _)| c).collect()
}

/// The characters of `text`, each with a flag if it is hidden: invisible, or one that reorders
/// others. Joiners and variation selectors are hidden if they change nothing.
fn marked(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = None;
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        let c = chars.next()?;
        let (base, next) = (before.replace(c), chars.peek().copied());
        let is_hidden = match c {
            _ if is_joiner(c) => !(base.is_some_and(is_joinable) && next.is_some_and(is_joinable)),
            _ if is_selector(c) => !base.is_some_and(|base| has_variant(base, c, next)),
            _ => is_never_seen(c),
        };
        Some((c, is_hidden))
    })
}

/// Returns whether `c` is invisible in any position, except for white space.
pub(crate) fn is_invisible(c: char) -> bool {
    !c.is_whitespace() && (is_never_seen(c) || is_joiner(c) || is_selector(c))
}

/// The two joiners are letters of many scripts and hold emoji together.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_joinable(c: char) -> bool {
    c >= '\u{600}' && !is_joiner(c)
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns whether the variation selector changes the look of `base`: emoji and text presentation,
/// ideographs, and the letters, punctuation, and symbols with standardized variants.
fn has_variant(base: char, selector: char, next: Option<char>) -> bool {
    let is_ideograph =
        matches!(base, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    let is_symbol = matches!(base, '\u{2190}'..='\u{27ff}' | '\u{2900}'..='\u{2bff}');
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => match base {
            '#' | '*' | '0'..='9' => next == Some('\u{20e3}'),
            '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙' | '\u{1f000}'..='\u{1faff}' => {
                true
            }
            _ => is_symbol,
        },
        '\u{fe00}'..='\u{fe02}' => {
            is_ideograph
                || is_symbol
                || matches!(base, '、' | '。' | '！' | '，' | '．' | '：' | '；' | '？')
                || matches!(base, '\u{1000}'..='\u{109f}' | '\u{a840}'..='\u{a877}' | '\u{aa60}'..='\u{aa7f}')
        }
        _ => is_ideograph,
    }
}

/// Returns whether `c` is never visible: controls, line separators, marks of the text's direction,
/// zero-width characters, blanks that are no white space, and other characters that leave no trace.
fn is_never_seen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}'
            | '\u{13430}'..='\u{1343f}' | '\u{13441}' | '\u{13442}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// Checks that `text` is not blank, can be stored, and has at most `max_chars` characters; it is
/// kept unchanged.
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
            "❤\u{fe0e}",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
            "❤\u{fe0f}\u{200d}🔥",
            "葛\u{e0100}城",
            "\u{1000}\u{fe00}",
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
            '\u{34f}',
            '\u{115f}',
            '\u{1160}',
            '\u{17b4}',
            '\u{180b}',
            '\u{180e}',
            '\u{180f}',
            '\u{2065}',
            '\u{2800}',
            '\u{fe00}',
            '\u{fe0e}',
            '\u{fe0f}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{fffc}',
            '\u{13441}',
            '\u{16fe4}',
            '\u{1bca0}',
            '\u{1d159}',
            '\u{1d173}',
            '\u{1d17a}',
            '\u{e0100}',
            '\u{e01ef}',
            '\u{e01f0}',
        ];
        for c in hidden {
            for name in [format!("Ann{c}Lee"), format!("{c}"), format!("{c}Ann"), format!("Ann{c}")] {
                let is_trimmed = c.is_whitespace() && name.trim() == "Ann";
                assert!(display_name(&name, 100).is_err() || is_trimmed, "{:x}", u32::from(c));
            }
        }
        // A selector that changes nothing makes a second spelling of the same name.
        for name in ["1\u{fe0f}", "日\u{fe0f}", "❤\u{fe0f}\u{fe0f}", "❤\u{e0100}", "日\u{200d}\u{fe0f}日"]
        {
            assert!(display_name(name, 100).is_err(), "{name:?}");
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
        // A joiner between full-width letters hides nothing, and is not allowed in a name.
        for name in ["Sys\u{fe0f}tem", "System\u{fe0e}", "Ｓ\u{200d}ｙｓｔｅｍ"] {
            assert!(sender_name(name, 100).is_err(), "{name:?}");
        }
        for name in ["@\u{fe0f}[[x]]", "＠\u{200d}［［x］］", "@[\u{2800}[x]]"] {
            assert!(display_name(name, 100).is_err(), "{name:?}");
        }
    }
}
