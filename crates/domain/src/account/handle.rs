//! Handles: the names by which users and agents address each other (`semantics` 1.4).

use std::fmt;

use crate::text::TextFault;

/// A user's handle: 3 to 39 of `a-z 0-9 . -`, beginning and ending with a letter or digit.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct UserHandle(String);

impl UserHandle {
    /// Lower-cases, takes off one leading `@`, and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        let handle = normalize_handle(text);
        let alphanumeric = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let well_formed = (3..=39).contains(&handle.len())
            && alphanumeric(handle.chars().next())
            && alphanumeric(handle.chars().next_back())
            && handle.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-');
        if well_formed {
            Ok(Self(handle))
        } else {
            Err(TextFault::Malformed {
                expected: "must be 3 to 39 lower-case letters, digits, dots and hyphens, \
                           beginning and ending with a letter or digit",
            })
        }
    }

    /// Wraps what a store holds.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The handle, without `@`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The second part of an agent's handle: up to 64 of `a-z 0-9 -`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Slug(String);

impl Slug {
    /// The most bytes of a slug, a number appended for uniqueness included.
    const MAX_BYTES: usize = 64;

    /// Makes a slug from a name: ASCII letters and digits in lower case, runs of anything else
    /// become one hyphen; `agent` when nothing remains.
    pub fn from_name(name: &str) -> Self {
        let mut slug = String::new();
        for c in name.chars().flat_map(fold_to_ascii) {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.truncate(Self::MAX_BYTES);
        let slug = slug.trim_end_matches('-');
        Self(if slug.is_empty() { "agent".to_owned() } else { slug.to_owned() })
    }

    /// The first of `slug`, `slug-2`, `slug-3` … that is not taken.
    pub fn first_free(&self, taken: impl Fn(&str) -> bool) -> Self {
        if !taken(&self.0) {
            return self.clone();
        }
        let mut number = 2_u64;
        loop {
            let suffix = format!("-{number}");
            let stem = &self.0[..self.0.len().min(Self::MAX_BYTES - suffix.len())];
            let candidate = format!("{}{suffix}", stem.trim_end_matches('-'));
            if !taken(&candidate) {
                return Self(candidate);
            }
            number += 1;
        }
    }

    /// The slug.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Folds the accented Latin letters of common names to ASCII; other characters stay.
fn fold_to_ascii(c: char) -> impl Iterator<Item = char> {
    let folded: &'static str = match c {
        'à' | 'á' | 'â' | 'ã' | 'å' | 'ā' | 'ă' | 'ą' | 'À' | 'Á' | 'Â' | 'Ã' | 'Å' | 'Ą' => {
            "a"
        }
        'ä' | 'æ' | 'Ä' | 'Æ' => "ae",
        'ç' | 'ć' | 'č' | 'Ç' | 'Ć' | 'Č' => "c",
        'ď' | 'đ' | 'ð' | 'Ď' | 'Đ' => "d",
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' | 'È' | 'É' | 'Ê' | 'Ë' | 'Ę' | 'Ě' => "e",
        'ğ' | 'Ğ' => "g",
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' | 'Ì' | 'Í' | 'Î' | 'Ï' | 'İ' => "i",
        'ł' | 'Ł' => "l",
        'ñ' | 'ń' | 'ň' | 'Ñ' | 'Ń' | 'Ň' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ō' | 'ő' | 'Ò' | 'Ó' | 'Ô' | 'Õ' | 'Ő' => "o",
        'ö' | 'ø' | 'œ' | 'Ö' | 'Ø' | 'Œ' => "oe",
        'ř' | 'Ř' => "r",
        'ś' | 'š' | 'ş' | 'ș' | 'Ś' | 'Š' | 'Ş' | 'Ș' => "s",
        'ß' => "ss",
        'ť' | 'ţ' | 'ț' | 'Ť' | 'Ț' => "t",
        'ù' | 'ú' | 'û' | 'ū' | 'ů' | 'ű' | 'Ù' | 'Ú' | 'Û' | 'Ů' | 'Ű' => "u",
        'ü' | 'Ü' => "ue",
        'ý' | 'ÿ' | 'Ý' => "y",
        'ź' | 'ż' | 'ž' | 'Ź' | 'Ż' | 'Ž' => "z",
        _ => "",
    };
    let own = if folded.is_empty() { Some(c) } else { None };
    folded.chars().chain(own)
}

/// An agent's handle: `owner/slug`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AgentHandle(String);

impl AgentHandle {
    /// Joins the owner's handle and the agent's slug.
    pub fn new(owner: &UserHandle, slug: &Slug) -> Self {
        Self(format!("{owner}/{}", slug.0))
    }

    /// Wraps what a store holds.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The handle, without `@`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part after the owner's handle.
    pub fn slug(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, slug)| slug)
    }
}

impl fmt::Display for AgentHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A handle as somebody wrote it, brought to the stored form: trimmed, lower case, no `@`.
pub fn normalize_handle(text: &str) -> String {
    let text = text.trim();
    text.strip_prefix('@').unwrap_or(text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_handles() {
        for good in ["ann", "@Ann", "john.doe", "a-1", "x23"] {
            assert!(UserHandle::new(good).is_ok(), "{good}");
        }
        for bad in ["", "an", ".ann", "ann-", "an n", "ann/bot", "änn", &"a".repeat(40)] {
            assert!(UserHandle::new(bad).is_err(), "{bad}");
        }
        assert_eq!(UserHandle::new("@John.Doe").unwrap().as_str(), "john.doe");
    }

    #[test]
    fn slugs_from_names() {
        let cases = [
            ("Weather Bot", "weather-bot"),
            ("  --Größe & Co.  ", "groesse-co"),
            ("日本", "agent"),
            ("Zoë’s", "zoe-s"),
            ("!!!", "agent"),
        ];
        for (name, slug) in cases {
            assert_eq!(Slug::from_name(name).as_str(), slug, "{name}");
        }
        assert_eq!(Slug::from_name(&"x".repeat(100)).as_str().len(), 64);
    }

    #[test]
    fn taken_slugs_get_a_number_within_the_cap() {
        let slug = Slug::from_name("bot");
        assert_eq!(slug.first_free(|_| false).as_str(), "bot");
        assert_eq!(slug.first_free(|s| s == "bot" || s == "bot-2").as_str(), "bot-3");
        let long = Slug::from_name(&"y".repeat(80));
        let free = long.first_free(|s| s == long.as_str());
        assert_eq!(free.as_str().len(), 64);
        assert!(free.as_str().ends_with("-2"));
    }
}
