//! Titles: given ones, and the one that derives from a chat's first text.
//!
//! All participants of a chat see its title, but an agent only reads texts that mention it. A text
//! therefore gives a title only if every agent in the chat may read it; the title is removed when
//! an agent joins that may not, and changes and disappears with the text.

use crate::text::{TextFault, display_name, without_hidden};

/// The maximum number of characters.
const MAX_CHARS: usize = 120;

/// A title of 1 to 120 characters on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChatTitle(String);

impl ChatTitle {
    /// Trims and checks a given title; a blank one means none, so that the chat gets its title from
    /// the first message.
    pub fn given(text: Option<&str>) -> Result<Option<Self>, TextFault> {
        match text.map(str::trim) {
            None | Some("") => Ok(None),
            Some(text) => display_name(text, MAX_CHARS).map(|title| Some(Self(title))),
        }
    }

    /// Trims and checks the new title of a chat, which must not be blank.
    pub fn renamed(text: &str) -> Result<Self, TextFault> {
        display_name(text, MAX_CHARS).map(Self)
    }

    /// Derives a title from a stored text: without mentions at its beginning, the first line with
    /// content, white space collapsed, cut at a word. `None` if nothing remains.
    pub fn from_message(content: &str) -> Option<Self> {
        content.lines().find_map(title_of_line).map(Self)
    }

    /// The title.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The title, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

fn title_of_line(line: &str) -> Option<String> {
    let line = without_markers(&without_hidden(line));
    let words = line.split_whitespace().skip_while(|word| word.len() > 1 && word.starts_with('@'));
    let title = words.collect::<Vec<_>>().join(" ");
    if title.is_empty() { None } else { Some(cut_at_word(&title)) }
}

/// Removes every `@[[…]]`.
fn without_markers(line: &str) -> String {
    let mut rest = line;
    let mut text = String::with_capacity(line.len());
    while let Some(start) = rest.find("@[[") {
        let Some(length) = rest[start..].find("]]") else { break };
        text.push_str(&rest[..start]);
        text.push(' ');
        rest = &rest[start + length + 2..];
    }
    text.push_str(rest);
    text
}

/// At most 120 characters; a cut title ends in `…`, at the end of a word if there is one.
fn cut_at_word(title: &str) -> String {
    if title.chars().count() <= MAX_CHARS {
        return title.to_owned();
    }
    let cut: String = title.chars().take(MAX_CHARS - 1).collect();
    let stem = match cut.rfind(' ') {
        Some(space) if space > 0 => &cut[..space],
        _ => cut.as_str(),
    };
    format!("{stem}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(content: &str) -> Option<String> {
        ChatTitle::from_message(content).map(ChatTitle::into_string)
    }

    #[test]
    fn given_titles() {
        assert_eq!(ChatTitle::given(None), Ok(None));
        assert_eq!(ChatTitle::given(Some("  ")), Ok(None));
        assert_eq!(ChatTitle::given(Some(" Plan ")).unwrap().unwrap().as_str(), "Plan");
        assert_eq!(ChatTitle::given(Some("a\nb")), Err(TextFault::ControlCharacter));
        assert_eq!(ChatTitle::given(Some("a\0b")), Err(TextFault::ControlCharacter));
        assert!(ChatTitle::given(Some(&"ä".repeat(120))).is_ok());
        assert_eq!(ChatTitle::given(Some(&"ä".repeat(121))), Err(TextFault::TooManyChars { max: 120 }));
        assert!(ChatTitle::given(Some("Pl\u{202e}an")).is_err());
    }

    #[test]
    fn a_renamed_room_has_a_title() {
        assert_eq!(ChatTitle::renamed(" Plan B ").unwrap().as_str(), "Plan B");
        assert_eq!(ChatTitle::renamed(" "), Err(TextFault::Blank));
        assert_eq!(ChatTitle::renamed("a\rb"), Err(TextFault::ControlCharacter));
        assert_eq!(ChatTitle::renamed(&"x".repeat(121)), Err(TextFault::TooManyChars { max: 120 }));
    }

    #[test]
    fn titles_from_messages() {
        let marker = "@[[0190c5a4-0000-7000-8000-000000000001]]";
        assert_eq!(made("Hello   world").as_deref(), Some("Hello world"));
        assert_eq!(made(&format!("{marker} @ann book a flight\nplease")).as_deref(), Some("book a flight"));
        assert_eq!(made(&format!("{marker}\n\n  second line ")).as_deref(), Some("second line"));
        assert_eq!(made(&format!("ask {marker} about it")).as_deref(), Some("ask about it"));
        assert_eq!(made(marker), None);
        assert_eq!(made("a lone @[[ stays").as_deref(), Some("a lone @[[ stays"));
        assert_eq!(made("  \n\t"), None);
        assert_eq!(made("a\u{202e}b\u{200b}\u{fe0f}\tc ❤\u{fe0f}").as_deref(), Some("ab c ❤\u{fe0f}"));
        let hidden = marker.replace("@[", "@\u{200b}[\u{fe0f}");
        assert_eq!(made(&format!("ask {hidden} about it")).as_deref(), Some("ask about it"));
    }

    #[test]
    fn long_titles_end_at_a_word() {
        let title = made(&"word ".repeat(60)).unwrap();
        assert!(title.chars().count() <= 120 && title.ends_with("word…"), "{title}");
        let unbroken = made(&"x".repeat(500)).unwrap();
        assert_eq!(unbroken.chars().count(), 120);
    }
}
