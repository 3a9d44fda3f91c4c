//! The table of what was counted.

use std::fmt::Write;

use crate::figures::{Figures, difference};
use crate::walk::Path;

/// One line a path; `kept` are the figures that are checked in.
pub(crate) fn table(kept: Option<&Figures>, counted: &Figures) -> String {
    let mut out = format!("{:<8}{:>14}{:>14}{:>10}  a step is\n", "path", "checked in", "counted", "");
    for path in Path::ALL {
        let name = path.name();
        let Some(now) = counted.instructions.get(name) else { continue };
        let before = kept.and_then(|kept| kept.instructions.get(name));
        let (before, by) = before.map_or_else(
            || ("none".to_owned(), String::new()),
            |before| (before.to_string(), difference(*before, *now)),
        );
        // Writing to a text does not fail.
        let _ = writeln!(out, "{name:<8}{before:>14}{now:>14}{by:>10}  {}", path.step());
    }
    out
}
