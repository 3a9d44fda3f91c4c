//! How many instructions a step takes.

use std::path::Path as FilePath;
use std::process::Command;

use crate::walk::Path;

/// How many instructions one step of the path takes, on all threads.
pub(crate) fn of_a_step(path: Path) -> Result<u64, String> {
    let steps = path.longest() / 2;
    let short = of_a_walk(path, steps)?;
    let long = of_a_walk(path, 2 * steps)?;
    let more = long.checked_sub(short).ok_or("the longer walk took fewer instructions than the shorter")?;
    Ok(more / steps as u64)
}

/// How many instructions a whole process takes.
fn of_a_walk(path: Path, steps: usize) -> Result<u64, String> {
    let directory = tempfile::tempdir().map_err(|error| format!("no directory for callgrind: {error}"))?;
    let out = directory.path().join("out");
    let program = std::env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--tool=callgrind").arg("--quiet");
    valgrind.arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.arg(program).args(["walk", path.name()]).arg(steps.to_string());
    // What differs from shell to shell is kept away.
    valgrind.env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    let ended = valgrind.output().map_err(|error| {
        format!("valgrind cannot be run: {error}; install it (Debian: apt-get install valgrind)")
    })?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        return Err(format!("the path {} ended with {}: {said}", path.name(), ended.status));
    }
    sum(&out)
}

/// The sum that a file of callgrind ends with.
fn sum(out: &FilePath) -> Result<u64, String> {
    let text = std::fs::read_to_string(out).map_err(|error| format!("callgrind left nothing: {error}"))?;
    total(&text).ok_or_else(|| "callgrind left no sum".to_owned())
}

fn total(text: &str) -> Option<u64> {
    text.lines().rev().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_found() {
        let text = "# callgrind format\nevents: Ir\nsummary: 12\nfn=(1) main\n5 7\n\ntotals: 81623\n";
        assert_eq!(total(text), Some(81_623));
        assert_eq!(total("events: Ir\nfn=(1) main\n5 7\n"), None);
        assert_eq!(total("totals: many\n"), None);
    }
}
