//! Handles: the names by which users and agents address each other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::TextFault;

/// A user's handle: 3 to 39 (at most 30 for new users) of `a-z 0-9 . -`, beginning and ending with a letter or digit.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct UserHandle(String);

impl UserHandle {
    /// The maximum length of the handle of a new user.
    const MAX_NEW_CHARS: usize = 30;

    /// Lower-cases, removes one leading `@`, and checks.
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

    /// The same for a user to be created, whose handle has at most 30 characters: published clients refuse longer ones.
    pub fn of_new_user(text: &str) -> Result<Self, TextFault> {
        match Self::new(text) {
            Ok(handle) if handle.0.len() <= Self::MAX_NEW_CHARS => Ok(handle),
            _ => Err(TextFault::Malformed {
                expected: "must be 3 to 30 lower-case letters, digits, dots and hyphens, \
                           beginning and ending with a letter or digit",
            }),
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
    /// The maximum number of bytes of a slug, including a number appended for uniqueness.
    const MAX_BYTES: usize = 64;

    /// Makes a slug from a name: ASCII letters and digits in lower case, runs of anything else
    /// become one hyphen; `agent` if nothing remains.
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

    /// The slug itself, or else the next of `slug-2`, `slug-3` … that is free. The search doubles
    /// its step and then halves it, so it needs few lookups however many are taken; if there are
    /// gaps, because an agent has the number in its name, the result may be a later one than the
    /// first.
    pub fn find_free<E>(&self, mut taken: impl FnMut(&Self) -> Result<bool, E>) -> Result<Self, E> {
        if !taken(self)? {
            return Ok(self.clone());
        }
        // Invariant: `last` is taken, or is the slug itself, and `free` is free.
        let (mut last, mut free) = (1, 2);
        while taken(&self.numbered(free))? {
            (last, free) = (free, free * 2);
        }
        while free - last > 1 {
            let middle = last + (free - last) / 2;
            if taken(&self.numbered(middle))? {
                last = middle;
            } else {
                free = middle;
            }
        }
        Ok(self.numbered(free))
    }

    /// The slug with a number, within the cap.
    fn numbered(&self, number: u64) -> Self {
        let suffix = format!("-{number}");
        let stem = &self.0[..self.0.len().min(Self::MAX_BYTES - suffix.len())];
        Self(format!("{}{suffix}", stem.trim_end_matches('-')))
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
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct AgentHandle(String);

impl AgentHandle {
    /// The maximum size: a user's handle, a slash, and a slug.
    pub(crate) const MAX_BYTES: usize = 39 + 1 + Slug::MAX_BYTES;

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

/// A typed handle in the stored form: trimmed, lower case, no `@`.
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
        assert!(UserHandle::of_new_user(&"a".repeat(30)).is_ok());
        assert!(UserHandle::new(&"a".repeat(31)).is_ok(), "users who have such a handle keep it");
        for bad in ["an", &"a".repeat(31)] {
            assert!(UserHandle::of_new_user(bad).is_err(), "{bad}");
        }
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

    /// The free slug for `slug` if `taken` are in use, and the number of lookups.
    fn found(slug: &Slug, taken: &[&str]) -> (String, u32) {
        let mut asked = 0;
        let free = slug.find_free(|slug| {
            asked += 1;
            Ok::<_, std::convert::Infallible>(taken.contains(&slug.as_str()))
        });
        (free.unwrap().0, asked)
    }

    #[test]
    fn taken_slugs_get_a_number_within_the_cap() {
        let slug = Slug::from_name("bot");
        assert_eq!(found(&slug, &[]), ("bot".to_owned(), 1));
        let mut taken = vec!["bot".to_owned()];
        for number in 2..300 {
            let taken_now = taken.iter().map(String::as_str).collect::<Vec<_>>();
            assert_eq!(found(&slug, &taken_now).0, format!("bot-{number}"));
            taken.push(format!("bot-{number}"));
        }
        let long = Slug::from_name(&"y".repeat(80));
        let (free, _) = found(&long, &[long.as_str()]);
        assert_eq!(free.len(), 64);
        assert!(free.ends_with("-2"));
        let refused = slug.find_free(|_| Err("no answer"));
        assert_eq!(refused, Err("no answer"));
    }

    #[test]
    fn few_are_asked_for_however_many_are_taken() {
        let taken = (2..=10_000).map(|number| format!("bot-{number}")).collect::<Vec<_>>();
        let mut taken = taken.iter().map(String::as_str).collect::<Vec<_>>();
        taken.push("bot");
        let (free, asked) = found(&Slug::from_name("bot"), &taken);
        assert_eq!(free, "bot-10001");
        assert!(asked < 30, "{asked}");
        // The name of an agent contained the number from the beginning.
        let (free, _) = found(&Slug::from_name("bot"), &["bot", "bot-2", "bot-4"]);
        assert_eq!(free, "bot-5");
    }
}
