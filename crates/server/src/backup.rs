//! `parlance backup`: an archive with the time in its name, which is verified; and verifying an
//! existing one.

use std::path::{Path, PathBuf};

use domain::ports::Clock;
use serde_json::json;

use crate::adapters::SystemClock;
use crate::archive::line::{End, Header, Line};
use crate::archive::reader::Reader;
use crate::cli::{BackupArguments, BackupCommand, VerifyBackupArguments};
use crate::config::Config;
use crate::export;
use crate::failure::Failure;
use crate::import::open;
use crate::output::{count, print};
use crate::progress::Progress;

/// The name of a backup before it is verified. Every backup uses the same, so the next one replaces
/// the rest of a killed one.
const UNCHECKED: &str = "parlance-backup.part";

const RESTORE: &str =
    "make another backup with `parlance backup`, or use one that `parlance backup verify` accepts";

/// Writes a backup and checks it, or checks an existing one.
pub(crate) async fn run(config: &Config, arguments: BackupArguments) -> Result<(), Failure> {
    if let Some(BackupCommand::Verify(arguments)) = arguments.command {
        return verify(&arguments);
    }
    let directory = arguments.to.unwrap_or_else(|| PathBuf::from("."));
    if !directory.is_dir() {
        let shown = directory.display();
        return Err(if directory.exists() {
            Failure::plain(format!("'{shown}' is not a directory")).next("name one with --to")
        } else {
            Failure::plain(format!("the directory '{shown}' does not exist"))
                .next("create it, or name another one with --to")
        });
    }
    let path = directory.join(name());
    let found = export::checked(config, &path, directory.join(UNCHECKED), read).await?;
    report("Backup written and checked", &path, &found, arguments.json)
}

/// Names sort by time, and contain no character that a file system or shell treats specially.
fn name() -> String {
    let now = SystemClock.now().to_string();
    let seconds = now.split('.').next().unwrap_or_default();
    format!("parlance-{}Z.jsonl", seconds.replace([':', '-'], "").trim_end_matches('Z'))
}

fn verify(arguments: &VerifyBackupArguments) -> Result<(), Failure> {
    report("Backup complete and undamaged", &arguments.file, &read(&arguments.file)?, arguments.json)
}

/// Prints what is to be said of a backup, and which it is.
fn report(what: &str, path: &Path, (header, end): &(Header, End), json: bool) -> Result<(), Failure> {
    let rows = end.rows.values().sum::<u64>();
    if json {
        let report = json!({
            "file": path,
            "at": header.at,
            "program": header.program,
            "rows": rows,
            "rows_by_table": end.rows,
            "sha256": end.sha256,
        });
        return print(&report.to_string());
    }
    print(&format!("{what}: {} ({})", path.display(), count(rows, "row")))
}

/// Reads every line as an import would, without a store to write to.
fn read(path: &Path) -> Result<(Header, End), Failure> {
    let fault = |failure: Failure| failure.next(RESTORE);
    let (mut reader, header) = Reader::begin(open(path).map_err(fault)?).map_err(fault)?;
    let mut progress = Progress::of("check", header.rows.values().sum());
    loop {
        match reader.next().map_err(fault)? {
            Line::Row(..) => {
                progress.add(1);
            }
            Line::End(end) if end.rows == header.rows => return Ok((header, end)),
            Line::End(_) => {
                let text = "the archive is damaged: its first and its last line do not agree";
                return Err(fault(Failure::plain(text)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_sort_by_time_and_are_plain() {
        let name = super::name();
        let digits = name.strip_prefix("parlance-").and_then(|rest| rest.strip_suffix("Z.jsonl"));
        let (day, time) = digits.and_then(|digits| digits.split_once('T')).expect("a day and a time");
        assert!(day.len() == 8 && time.len() == 6, "{name}");
        assert!(day.bytes().chain(time.bytes()).all(|byte| byte.is_ascii_digit()), "{name}");
    }
}
