//! The name that a user types to log in.

use super::port::WhichLogin;
use crate::account::{UserHandle, normalize_handle};

/// A typed handle or e-mail address, with the one spelling under which attempts are counted.
///
/// Looking up and counting start from the same value, so two spellings that find the same account always count
/// as the same name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TypedName(Spelling);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Spelling {
    Handle(UserHandle),
    /// In lower case; stores compare addresses without regard to the case of the letters of ASCII.
    Email(String),
    /// Neither: no account has it.
    Nobody(String),
}

impl TypedName {
    /// Parses a typed name. An address has an `@` after its first character; a handle may start
    /// with one.
    pub fn new(typed: &str) -> Self {
        let typed = typed.trim();
        if typed.chars().skip(1).any(|c| c == '@') {
            return Self(Spelling::Email(typed.to_ascii_lowercase()));
        }
        let handle = normalize_handle(typed);
        // The handle's constructor accepts another `@` and more white space, so its result is the
        // name.
        Self(UserHandle::new(&handle).map_or(Spelling::Nobody(handle), Spelling::Handle))
    }

    /// The account that it names; `None` if no account can have it.
    pub(super) fn which(&self) -> Option<WhichLogin> {
        match &self.0 {
            Spelling::Handle(handle) => Some(WhichLogin::Handle(handle.clone())),
            Spelling::Email(email) => Some(WhichLogin::Email(email.clone())),
            Spelling::Nobody(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_handle_are_one_name() {
        let ada = TypedName::new("ada");
        for typed in ["ADA", " @ada ", "@ ada", "@  Ada", "\t@\u{a0}ada\n", "@\u{2003}ada"] {
            assert_eq!(TypedName::new(typed), ada, "{typed:?}");
        }
        assert_eq!(ada.which(), Some(WhichLogin::Handle(UserHandle::new("ada").unwrap())));
    }

    #[test]
    fn an_address_is_one_name_in_any_case() {
        let address = TypedName::new("ada@example.org");
        assert_eq!(TypedName::new(" Ada@Example.ORG "), address);
        assert_eq!(address.which(), Some(WhichLogin::Email("ada@example.org".to_owned())));
        assert_ne!(address, TypedName::new("ada"));
    }

    #[test]
    fn what_is_neither_is_nobody() {
        for typed in ["", "@", "a b c", "ädä", "ada/bot"] {
            assert_eq!(TypedName::new(typed).which(), None, "{typed:?}");
        }
    }
}
