//! The figures that are checked in, and what is compared with them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// By how many per cent a count may differ, more or less.
const TOLERANCE: u64 = 5;

/// How to make what is counted the new figures.
const RENEW: &str = "scripts/guard --renew";

/// Instructions of a step, by path, and what they were counted with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figures {
    pub(crate) taken_with: Tools,
    pub(crate) instructions: BTreeMap<String, u64>,
}

/// What decides beside the source which instructions there are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tools {
    /// What the Rust compiler says of its version.
    pub(crate) rustc: String,
    /// What the C compiler says of its version.
    pub(crate) cc: String,
    /// What it is compiled for.
    pub(crate) target: String,
}

impl Tools {
    /// What this program was compiled with.
    pub(crate) fn of_this_program() -> Self {
        let [rustc, cc, target] = [env!("GUARD_RUSTC"), env!("GUARD_CC"), env!("GUARD_TARGET")];
        Self { rustc: rustc.to_owned(), cc: cc.to_owned(), target: target.to_owned() }
    }

    /// As far as counts depend on it: the minor version of Rust, the major one of the C compiler.
    fn kind(&self) -> (Option<String>, Option<String>, &str) {
        let rustc =
            version(&self.rustc).map(|parts| parts.iter().take(2).copied().collect::<Vec<_>>().join("."));
        let cc = version(&self.cc).and_then(|parts| parts.first().copied().map(str::to_owned));
        (rustc, cc, &self.target)
    }
}

impl fmt::Display for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {} for {}", self.rustc, self.cc, self.target)
    }
}

/// The parts of the first version in a text, as in `rustc 1.95.0 (59807616e 2026-04-14)`.
fn version(text: &str) -> Option<Vec<&str>> {
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    text.split_whitespace().find(is_version).map(|word| word.split('.').collect())
}

impl Figures {
    /// Reads the checked-in figures.
    pub(crate) fn read(place: &Path) -> Result<Self, String> {
        let unreadable = |why: &dyn fmt::Display| format!("{}: {why}; make it with {RENEW}", place.display());
        let text = fs::read_to_string(place).map_err(|error| unreadable(&error))?;
        serde_json::from_str(&text).map_err(|error| unreadable(&error))
    }

    /// Makes these the checked-in ones.
    pub(crate) fn write(&self, place: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        fs::write(place, text + "\n").map_err(|error| format!("{}: {error}", place.display()))
    }
}

/// What is wrong with a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// It takes more than before.
    More { path: String, kept: u64, counted: u64 },
    /// It takes less than before.
    Less { path: String, kept: u64, counted: u64 },
    /// No figure is checked in.
    New { path: String, counted: u64 },
    /// A figure is checked in of what is not counted.
    Gone { path: String },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::More { path, kept, counted } => write!(
                f,
                "{path} takes {counted} instructions, {} more than the {kept} that are checked in (at most \
                 {TOLERANCE} % may be). See what they are spent on; if they are well spent, {RENEW}",
                difference(*kept, *counted)
            ),
            Self::Less { path, kept, counted } => write!(
                f,
                "{path} takes {counted} instructions, {} against the {kept} that are checked in. That is good \
                 news, and to be kept: {RENEW}",
                difference(*kept, *counted)
            ),
            Self::New { path, counted } => {
                write!(f, "{path} takes {counted} instructions, and no figure is checked in: {RENEW}")
            }
            Self::Gone { path } => {
                write!(f, "{path} is checked in, but nothing of that name is counted: {RENEW}")
            }
        }
    }
}

/// How far a count is from its figure, in per cent.
#[expect(clippy::cast_precision_loss, reason = "a figure to be looked at")]
pub(crate) fn difference(kept: u64, counted: u64) -> String {
    format!("{:+.1} %", (counted as f64 / kept as f64 - 1.0) * 100.0)
}

/// Refuses figures that were counted with other tools: what they say does not hold here.
pub(crate) fn same_tools(kept: &Figures, here: &Tools) -> Result<(), String> {
    if kept.taken_with.kind() == here.kind() {
        return Ok(());
    }
    Err(format!(
        "the checked-in figures do not apply: they were counted with {}; this is {here}. Counts of other \
         compilers cannot be compared. Take the same ones, or, if with those nothing is wrong, count anew \
         with these: {RENEW}",
        kept.taken_with
    ))
}

/// What is wrong with what was counted.
pub(crate) fn compare(kept: &Figures, counted: &Figures) -> Vec<Fault> {
    let (kept, counted) = (&kept.instructions, &counted.instructions);
    let of_counted = counted.iter().filter_map(|(path, &now)| {
        let path = path.clone();
        match kept.get(&path) {
            None => Some(Fault::New { path, counted: now }),
            Some(&before) if now.abs_diff(before) * 100 <= before * TOLERANCE => None,
            Some(&kept) if now > kept => Some(Fault::More { path, kept, counted: now }),
            Some(&kept) => Some(Fault::Less { path, kept, counted: now }),
        }
    });
    let gone = kept.keys().filter(|path| !counted.contains_key(*path));
    of_counted.chain(gone.map(|path| Fault::Gone { path: path.clone() })).collect()
}

#[cfg(test)]
mod tests;
