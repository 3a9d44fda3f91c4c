//! Secrets in logs: no line of a server's log may contain a key, token, secret, or password that a test has seen.
//!
//! Secrets are collected from requests and responses of the REST client, and from the file of signing keys. Anything
//! else that looks like a key or a token counts as one too. When a [`Server`](crate::Server) is dropped, its log is
//! searched, and a line with a secret fails the test.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Shorter than this, a secret could not be told from other words.
const SHORTEST: usize = 8;

/// The number of characters at the end of a key or token to search for. The beginning may be shown.
const TAIL: usize = 24;

/// From this length on a word that begins like a key is a whole one; what lists show of a key is shorter.
const WHOLE_KEY: usize = 45;

/// Members whose values are secret.
const NAMES: [&str; 9] = [
    "access_token",
    "api_key",
    "current_password",
    "new_password",
    "password",
    "refresh_token",
    "reset_token",
    "secret",
    "token",
];

#[derive(Default)]
struct Known {
    /// The ends of keys and tokens, each of [`TAIL`] bytes.
    tails: HashSet<Vec<u8>>,
    /// Passwords, whole.
    texts: HashSet<String>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn known() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a secret for every server of this process.
pub fn keep(secret: &str) {
    if secret.len() < SHORTEST {
        return;
    }
    let mut known = known();
    let known = known.get_or_insert_default();
    if is_word(secret) && secret.len() >= TAIL {
        known.tails.insert(secret.as_bytes()[secret.len() - TAIL..].to_vec());
    } else {
        known.texts.insert(secret.to_owned());
    }
}

/// Remembers what is secret in a body.
pub fn keep_all(body: &Value) {
    match body {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if NAMES.contains(&name.as_str()) => keep(text),
                    other => keep_all(other),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(keep_all),
        Value::String(text) if is_whole(text) => keep(text),
        _ => {}
    }
}

/// Remembers the password in a URL.
pub fn keep_password_of(url: &str) {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
    if let Some((_, password)) = authority.and_then(|(user, _)| user.split_once(':')) {
        keep(password);
    }
}

/// Remembers the keys in a file that signs tokens, if it is there.
pub(crate) fn keep_file(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter(|word| word.len() >= TAIL).for_each(keep);
}

/// The lines of a log that hold a secret, which is cut out of them.
pub fn found_in(log: &str) -> Vec<String> {
    let known = known();
    let (no_tails, no_texts) = (HashSet::new(), HashSet::new());
    let tails = known.as_ref().map_or(&no_tails, |known| &known.tails);
    let texts = known.as_ref().map_or(&no_texts, |known| &known.texts);
    let holds = |word: &str| {
        is_whole(word)
            || word.as_bytes().windows(TAIL).any(|window| !tails.is_empty() && tails.contains(window))
    };
    let mut found = Vec::new();
    for line in log.lines() {
        let words = line.split(|letter| !is_letter(letter)).filter(|word| word.len() >= TAIL && holds(word));
        let mut cut = line.to_owned();
        for secret in words.chain(texts.iter().map(String::as_str)) {
            cut = cut.replace(secret, "<SECRET>");
        }
        if cut != line {
            found.push(cut);
        }
    }
    found
}

/// Returns whether a word looks like a whole key or token.
fn is_whole(word: &str) -> bool {
    let is_key = word.starts_with("thnv_") && word.len() >= WHOLE_KEY;
    let is_token = word.starts_with("eyJ") && word.split('.').filter(|part| part.len() >= 20).count() == 3;
    is_key || is_token
}

fn is_word(text: &str) -> bool {
    text.chars().all(is_letter)
}

const fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')
}
