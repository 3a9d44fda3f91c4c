//! Common passwords, which an attacker tries first. The list comes from Django; see
//! `common-passwords.LICENSE` for its source and license.

use std::iter;
use std::sync::LazyLock;

/// The list, one password per line, lowercase, sorted by byte.
const LIST: &str = include_str!("common-passwords.txt");

static COMMON: LazyLock<Vec<&'static str>> = LazyLock::new(|| LIST.lines().collect());

/// The longest suffix of digits and punctuation that leaves a common password common.
const MAX_SUFFIX_CHARS: usize = 6;

/// Returns whether `password` is a common one, in any case, also with a few digits or punctuation
/// marks appended.
pub(super) fn is_common(password: &str) -> bool {
    let lower = password.trim().to_lowercase();
    let shorter = lower.char_indices().rev().take(MAX_SUFFIX_CHARS);
    let shorter = shorter.take_while(|(_, last)| !last.is_alphabetic()).map(|(end, _)| &lower[..end]);
    iter::once(lower.as_str()).chain(shorter).any(|base| COMMON.binary_search(&base).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_passwords_are_found_in_any_case_and_with_a_short_suffix() {
        for common in [
            "1234567890",
            "qwertyuiop",
            "Password123!",
            " SUNSHINE2026 ",
            "Dragon!!!!!!",
            "iloveyou-7",
            "Password…!…!…!",
        ] {
            assert!(is_common(common), "{common}");
        }
    }

    #[test]
    fn other_passwords_are_accepted() {
        let long = "7".repeat(256);
        for good in [
            "correct horse",
            "battery staple",
            "password of mine",
            "Sunshine8274610",
            "password1a",
            "дракон и лошадь",
            "",
            &long,
        ] {
            assert!(!is_common(good), "{good}");
        }
    }

    #[test]
    fn the_list_is_sorted_lowercase_and_without_entries_that_would_refuse_too_much() {
        assert!(COMMON.len() > 10_000 && COMMON.is_sorted_by(|one, next| one < next));
        for line in COMMON.iter() {
            assert!(line.len() >= 4 && line.trim() == *line && line.to_lowercase() == *line, "{line}");
        }
    }
}
