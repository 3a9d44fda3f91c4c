//! `parlance backup`: an archive with the time in its name, which is verified; and verifying an
//! existing one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use domain::ports::Clock;
use serde_json::json;

use crate::adapters::SystemClock;
use crate::archive::line::{End, Header, Line};
use crate::archive::reader::Reader;
use crate::commands::export;
use crate::commands::import::open;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{count, print};
use crate::progress::Progress;

/// The destination of a backup.
#[derive(Args, Debug)]
pub struct BackupArguments {
    /// What to do, other than writing a backup.
    #[command(subcommand)]
    pub command: Option<BackupCommand>,
    /// Directory for the file, which is named after the time [default: the current directory].
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub to: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with backups.
#[derive(Subcommand, Debug)]
pub enum BackupCommand {
    /// Check that a backup is complete and undamaged, without a store. Exits with a non-zero status if it is
    /// not.
    #[command(after_help = "Example:\n  \
        parlance backup verify /var/backups/parlance-20261123T040000Z.jsonl")]
    Verify(VerifyBackupArguments),
}

/// The backup to check.
#[derive(Args, Debug)]
pub struct VerifyBackupArguments {
    /// Backup file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The name of a backup before it is verified. All backups use the same name, so the next one replaces
/// the incomplete file of an interrupted one.
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

/// The file name, which sorts by time and contains no character that a file system or shell treats specially.
fn name() -> String {
    let now = SystemClock.now().to_string();
    let seconds = now.split('.').next().unwrap_or_default();
    format!("parlance-{}Z.jsonl", seconds.replace([':', '-'], "").trim_end_matches('Z'))
}

fn verify(arguments: &VerifyBackupArguments) -> Result<(), Failure> {
    report("Backup complete and undamaged", &arguments.file, &read(&arguments.file)?, arguments.json)
}

/// Prints a message about a backup, and the backup's properties.
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
