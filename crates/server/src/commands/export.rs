//! `parlance export`: writes a snapshot of the whole store.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use domain::archive::Snapshot;
use domain::audit::{AuditEntry, AuditService};
use domain::ports::Clock;
use domain::store::SchemaSteps;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::adapters::SystemClock;
use crate::archive::draft::Draft;
use crate::archive::files;
use crate::archive::line::{End, FORMAT, Header, columns, end_line};
use crate::archive::writer::{count as count_rows, hexadecimal, write_rows};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{count, print};
use crate::progress::{Progress, say};
use crate::store;
use crate::wiring;

/// The destination of an archive.
#[derive(Args, Debug)]
pub struct ExportArguments {
    /// File to write, which appears once it is complete; or a pipe or device [default: standard output].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub to: Option<PathBuf>,
    /// Directory to which the contents of files are copied; those that it has already are not copied again.
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub files: Option<PathBuf>,
    /// Print JSON about the written file.
    #[arg(long, requires = "to")]
    pub json: bool,
}

/// Writes the archive to a file or to standard output.
pub(crate) async fn export(config: &Config, arguments: ExportArguments) -> Result<(), Failure> {
    let files = arguments.files.as_deref();
    let Some(path) = arguments.to else {
        let written = with_snapshot(config, async |snapshot, steps| {
            let mut out = BufWriter::new(std::io::stdout().lock());
            let end = write(snapshot, steps, &mut out).await?;
            copy_files(config, snapshot, files).await?;
            Ok(end)
        });
        return written.await.map(|end| say_written(&end));
    };
    let begin = || Draft::of(&path);
    let written = with_snapshot(config, async |snapshot, steps| {
        let (end, ()) = to_draft(snapshot, steps, &path, begin, |_| Ok(())).await?;
        copy_files(config, snapshot, files).await?;
        Ok(end)
    });
    let end = written.await?;
    if !arguments.json {
        say_written(&end);
        return Ok(());
    }
    let report = json!({
        "file": path,
        "rows": end.rows.values().sum::<u64>(),
        "rows_by_table": end.rows,
        "sha256": end.sha256,
    });
    print(&report.to_string())
}

/// Copies the contents of files to a directory, or warns that they are not exported.
async fn copy_files(
    config: &Config,
    snapshot: &mut dyn Snapshot,
    directory: Option<&Path>,
) -> Result<(), Failure> {
    let Some(directory) = directory else {
        files::warn_without(files::count(snapshot).await?);
        return Ok(());
    };
    let (from, to) = (wiring::objects(config)?, files::directory(directory));
    files::report(files::copy(snapshot, &*from, &to, SystemClock.now()).await?);
    Ok(())
}

fn say_written(end: &End) {
    say(&format!("exported {}, sha256 {}", count(end.rows.values().sum(), "row"), end.sha256));
}

/// Writes an archive to `part`, and renames it to `path` if `check` succeeds on it; returns the
/// result of the check.
pub(crate) async fn checked<T>(
    config: &Config,
    path: &Path,
    part: PathBuf,
    check: impl FnOnce(&Path) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begin = || Draft::at(part, path.to_owned());
    let written =
        with_snapshot(config, async |snapshot, steps| to_draft(snapshot, steps, path, begin, check).await);
    written.await.map(|(_, found)| found)
}

/// Runs `write` on a snapshot of the store.
async fn with_snapshot<T>(
    config: &Config,
    work: impl AsyncFnOnce(&mut dyn Snapshot, &SchemaSteps) -> Result<T, Failure>,
) -> Result<T, Failure> {
    config.refuse_memory()?;
    let opened = store::open_as_it_is(config).await?;
    store::refuse_part(&opened).await?;
    let snapshot = opened.snapshot().await;
    let mut snapshot =
        snapshot.map_err(|cause| Failure::new("cannot read the store", cause).next(store::NEXT))?;
    // After the snapshot, so that two exports of the same content are equal.
    note(config).await;
    let done = work(&mut *snapshot, opened.steps()).await;
    drop(snapshot);
    opened.close().await;
    done
}

/// Records the export in the audit log. A store that cannot be written to right now, as on a full
/// disk, can still be backed up.
async fn note(config: &Config) {
    let noted = store::with(config, async |store| {
        let entries = vec![AuditEntry::store_exported(SystemClock.now())];
        let appended = AuditService::new(store.clone()).append(entries).await;
        appended.map_err(|cause| Failure::new("cannot write to the store", cause).next(store::NEXT))
    });
    if let Err(failure) = noted.await {
        say(&format!("warning: the export is not in the audit log: {failure}"));
    }
}

async fn to_draft<T>(
    snapshot: &mut dyn Snapshot,
    steps: &SchemaSteps,
    path: &Path,
    begin: impl FnOnce() -> io::Result<Draft>,
    check: impl FnOnce(&Path) -> Result<T, Failure>,
) -> Result<(End, T), Failure> {
    let cannot = |cause| Failure::new(format_args!("cannot write {}", path.display()), cause);
    let mut draft = begin().map_err(cannot)?;
    let end = write(snapshot, steps, &mut draft).await?;
    let found = check(draft.path().unwrap_or(path))?;
    draft.finish().map_err(cannot)?;
    Ok((end, found))
}

async fn write(
    snapshot: &mut dyn Snapshot,
    steps: &SchemaSteps,
    out: &mut dyn Write,
) -> Result<End, Failure> {
    let cannot = |cause| Failure::new("cannot write the archive", cause);
    let header = Header {
        parlance: "archive".to_owned(),
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        at: SystemClock.now().to_string(),
        steps: steps.all.clone(),
        columns: columns(),
        rows: count_rows(snapshot).await?,
    };
    let line =
        serde_json::to_string(&header).map_err(|cause| Failure::new("cannot write the archive", cause))?;
    let line = format!("{line}\n");
    out.write_all(line.as_bytes()).map_err(cannot)?;
    let mut progress = Progress::of("export", header.rows.values().sum());
    let mut end = write_rows(snapshot, out, &mut progress, false).await?;
    end.header_sha256 = Some(hexadecimal(&Sha256::digest(&line)));
    out.write_all(&end_line(&end)).and_then(|()| out.flush()).map_err(cannot)?;
    Ok(end)
}
