//! Codes as they are typed, and recovery codes.

use std::fmt;

use data_encoding::BASE32_NOPAD;

use super::totp::{TotpCode, TotpSecret};
use crate::account::KeyDigest;
use crate::ports::KeyMint;

/// The number of random bytes of a recovery code, so that its plain digest cannot be searched for.
const RECOVERY_BYTES: usize = 10;

/// The length of a recovery code, in characters.
const RECOVERY_CHARS: usize = 16;

/// The number of recovery codes that a user gets at a time.
pub const RECOVERY_CODES: usize = 10;

/// A code that somebody typed: of an authenticator app, or a recovery code.
#[derive(Clone, PartialEq, Eq)]
pub struct TypedCode(Spelling);

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Spelling {
    Totp(TotpCode),
    /// In lower case, without hyphens.
    Recovery(String),
    /// Neither: no user has it.
    Neither,
}

impl TypedCode {
    /// Reads a typed code, in any case, with any blanks and hyphens.
    pub fn new(typed: &str) -> Self {
        let text = typed.chars().filter(|c| !c.is_whitespace() && *c != '-');
        let text = text.map(|c| c.to_ascii_lowercase()).collect::<String>();
        let is_base32 = |byte: u8| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
        if let Some(code) = TotpCode::parse(&text) {
            Self(Spelling::Totp(code))
        } else if text.len() == RECOVERY_CHARS && text.bytes().all(is_base32) {
            Self(Spelling::Recovery(text))
        } else {
            Self(Spelling::Neither)
        }
    }

    pub(super) const fn spelling(&self) -> &Spelling {
        &self.0
    }
}

impl fmt::Debug for TypedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TypedCode(…)")
    }
}

/// A code that replaces that of a lost device once; stored as a digest, and shown only when it is made.
pub struct RecoveryCode(String);

impl RecoveryCode {
    /// A new one, of half of the random bytes.
    pub(super) fn mint(mint: &dyn KeyMint) -> Self {
        let random: [u8; TotpSecret::BYTES] = mint.random_bytes();
        Self(BASE32_NOPAD.encode(&random[..RECOVERY_BYTES]).to_ascii_lowercase())
    }

    /// The digest under which it is stored.
    pub(super) fn digest(&self, mint: &dyn KeyMint) -> KeyDigest {
        mint.digest(&self.0)
    }

    /// The code in groups of four characters.
    pub fn reveal(&self) -> String {
        let mut shown = self.0.clone();
        for place in [12, 8, 4] {
            shown.insert(place, '-');
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(typed: &str) -> Spelling {
        TypedCode::new(typed).0
    }

    #[test]
    fn codes_are_read_in_every_spelling() {
        for typed in ["012345", " 012 345 ", "012-345", "0 1 2 3 4 5", "\u{a0}012345\n"] {
            assert!(spelling(typed) == Spelling::Totp(TotpCode::parse("012345").unwrap()), "{typed:?}");
        }
        let recovery = Spelling::Recovery("abcdefghijkl2347".to_owned());
        for typed in ["abcd-efgh-ijkl-2347", "ABCDEFGHIJKL2347", " abcd efgh ijkl 2347", "abcd–efgh"] {
            assert_eq!(spelling(typed) == recovery, !typed.contains('–'), "{typed:?}");
        }
        for typed in ["", "1", "1234567", "abcd-efgh-ijkl-234", "abcd-efgh-ijkl-2340", "abcd-efgh-ijkl-234é"]
        {
            assert!(spelling(typed) == Spelling::Neither, "{typed:?}");
        }
        assert_eq!(format!("{:?}", TypedCode::new("012345")), "TypedCode(…)");
    }

    #[test]
    fn a_recovery_code_is_typed_as_it_is_shown() {
        let code = RecoveryCode("abcdefghijkl2347".to_owned());
        assert_eq!(code.reveal(), "abcd-efgh-ijkl-2347");
        assert!(spelling(&code.reveal()) == Spelling::Recovery(code.0));
    }
}
