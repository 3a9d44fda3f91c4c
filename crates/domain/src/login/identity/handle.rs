//! Handles for people of a provider.

use crate::account::UserHandle;

/// The number of handles that are tried.
const TRIED: u32 = 50;

/// The length of a handle before a number is added to it.
const STEM_CHARS: usize = 26;

/// Handles like a name or an address: the part before an `@`, in the characters that handles have, and then with numbers.
pub(crate) fn handles(wished: &str) -> impl Iterator<Item = UserHandle> + use<> {
    let stem = stem(wished);
    (1..=TRIED).filter_map(move |number| {
        let text = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
        UserHandle::of_new_user(&text).ok()
    })
}

fn stem(wished: &str) -> String {
    let local = wished.split('@').next().unwrap_or(wished);
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let mut stem = String::new();
    for c in local.chars().map(|c| if is_plain(c) || c == '.' { c.to_ascii_lowercase() } else { '-' }) {
        if stem.len() == STEM_CHARS {
            break;
        }
        // Neither at the beginning nor next to each other.
        if is_plain(c) || stem.ends_with(is_plain) {
            stem.push(c);
        }
    }
    let stem = stem.trim_end_matches(['-', '.']);
    if stem.len() < 3 { format!("user-{stem}").trim_end_matches('-').to_owned() } else { stem.to_owned() }
}
