//! `parlance import`: reads an archive into a store that is empty, or contains part of the same archive.
//!
//! A file is verified before the store is touched. Rows are written in the order of the archive,
//! many in one transaction, and existing ones are skipped: an interrupted import can continue from
//! any earlier position. At the end the store is read again and compared with the archive; until then
//! it is marked, and no server opens it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueHint};
use domain::archive::{Row, Table};
use domain::ports::Clock;
use serde_json::json;

use crate::adapters::SystemClock;
use crate::archive::files;
use crate::archive::line::{Counts, End, Header, Line};
use crate::archive::position::{ArchivePosition, PositionFile};
use crate::archive::reader::Reader;
use crate::archive::writer::{count, write_rows};
use crate::config::Config;
use crate::failure::Failure;
use crate::lock::FillLock;
use crate::progress::{Progress, say};
use crate::store::{self, Store};
use crate::wiring;

/// The source of an archive.
#[derive(Args, Debug)]
pub struct ImportArguments {
    /// File to read [default: standard input].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from: Option<PathBuf>,
    /// Directory with the contents of files, which `parlance export --files` has written.
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub files: Option<PathBuf>,
    /// Resume an interrupted import of the same archive.
    #[arg(long)]
    pub resume: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The maximum number of rows per write. SQLite keeps a copy in memory of every page that a
/// transaction changes: some dozens of megabytes for this number of rows.
const ROWS_AT_ONCE: usize = 2048;

/// The approximate size of lines per write.
const BYTES_AT_ONCE: u64 = 4 * 1024 * 1024;

/// Imports from a file or from standard input.
pub(crate) async fn import(config: &Config, arguments: ImportArguments) -> Result<(), Failure> {
    config.refuse_memory()?;
    let position = arguments.from.as_deref().map(|path| begin(path, arguments.resume)).transpose();
    let position = position.map_err(|failure| failure.next("see `parlance import --help`"))?;
    let input: Box<dyn BufRead> = match &arguments.from {
        Some(path) => Box::new(open(path)?),
        None => Box::new(std::io::stdin().lock()),
    };
    // Before a store is created: an invalid or missing archive leaves nothing behind.
    let archive = Reader::begin(input)?;
    let mut lock = FillLock::take(&config.store).await?;
    let store = store::open_alone(config).await?;
    let taking = async {
        let done = take(&store, archive, position, arguments.resume).await?;
        copy_files(config, &store, arguments.files.as_deref()).await?;
        Ok(done)
    };
    let done = tokio::select! {
        biased;
        lost = lock.lost() => Err(lost),
        done = taking => done,
    };
    store.close().await;
    lock.end().await;
    report(&done?, arguments.json)
}

/// Copies the contents of files from a directory, or warns that they are missing.
async fn copy_files(
    config: &Config,
    store: &Arc<dyn Store>,
    directory: Option<&Path>,
) -> Result<(), Failure> {
    let snapshot = store.snapshot().await;
    let mut snapshot =
        snapshot.map_err(|cause| Failure::new("cannot read the store", cause).next(store::NEXT))?;
    let Some(directory) = directory else {
        files::warn_without(files::count(&mut *snapshot).await?);
        return Ok(());
    };
    let (from, to) = (files::directory(directory), wiring::objects(config)?);
    files::report(files::copy(&mut *snapshot, &from, &*to, SystemClock.now()).await?);
    Ok(())
}

/// Verifies a file, and returns the position to begin at.
fn begin(path: &Path, resume: bool) -> Result<(PositionFile, ArchivePosition), Failure> {
    let (reader, header) = Reader::begin(open(path)?)?;
    let sha256 = skim(reader, &header)?.sha256;
    let file = PositionFile::beside(path);
    let reached = if resume { file.of(&sha256)? } else { None };
    Ok((file, reached.unwrap_or(ArchivePosition { sha256, bytes: 0, rows: 0, replaced: 0 })))
}

/// Opens an archive.
pub(crate) fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path);
    let file = file.map_err(|cause| Failure::new(format_args!("cannot read {}", path.display()), cause))?;
    Ok(BufReader::with_capacity(1024 * 1024, file))
}

/// Reads an archive to its end, and returns its last line.
fn skim(reader: Reader<impl BufRead>, header: &Header) -> Result<End, Failure> {
    reader.skim(&mut Progress::of("check", header.rows.values().sum()))
}

/// The result of an import.
struct Imported {
    end: End,
    new: u64,
    replaced: u64,
}

async fn take(
    store: &Arc<dyn Store>,
    (mut reader, header): (Reader<impl BufRead>, Header),
    position: Option<(PositionFile, ArchivePosition)>,
    resume: bool,
) -> Result<Imported, Failure> {
    let there = held(store).await?;
    let begun = store.unfinished_import().await;
    let begun = begun.map_err(|cause| Failure::new("cannot read the store", cause).next(store::NEXT))?;
    match (resume, begun) {
        (false, Some(begun)) => {
            return Err(Failure::plain(store::part_of_an_archive(begun)).next(store::FINISH_IMPORT));
        }
        (false, None) => expect_empty(&there)?,
        (true, _) => {}
    }
    let mut import = Import::begin(store.clone(), &header, position);
    if begun.is_none() && expect_empty(&there).is_err() {
        // No import of this store is running, and servers may use it: it is only compared.
        let end = skim(reader, &header)?;
        import.verify(&end).await?;
        return import.ended(end);
    }
    let marked = store.begin_import(SystemClock.now()).await;
    marked.map_err(|cause| Failure::new("cannot write to the store", cause).next(store::NEXT))?;
    // A position beyond the store's content belongs to another store.
    let reached = import.position.as_ref().map(|(_, position)| position.clone());
    if let Some(position) = reached.filter(|position| position.rows <= there.values().sum()) {
        reader.skip_to(position.bytes)?;
        import.go_on_from(position);
    }
    let end = import.run(&mut reader).await?;
    if header.rows != end.rows {
        return Err(Failure::plain("the archive is damaged: its first and its last line do not agree"));
    }
    store.analyze().await.map_err(|cause| Failure::new("cannot analyze the store", cause))?;
    import.verify(&end).await?;
    let ended = store.end_import().await;
    ended.map_err(|cause| Failure::new("cannot write to the store", cause).next(store::NEXT))?;
    import.ended(end)
}

/// The number of rows of each table in the store.
async fn held(store: &Arc<dyn Store>) -> Result<Counts, Failure> {
    let snapshot = store.snapshot().await;
    let mut snapshot =
        snapshot.map_err(|cause| Failure::new("cannot read the store", cause).next(store::NEXT))?;
    count(&mut *snapshot).await
}

/// Fails unless the store is empty; the built-in plan may exist.
fn expect_empty(there: &Counts) -> Result<(), Failure> {
    let full = there.iter().find(|(table, rows)| **rows > u64::from(*table == "plans"));
    match full {
        None => Ok(()),
        Some((table, rows)) => Err(Failure::plain(format!(
            "the store is not empty: it has {rows} rows in {table}. Import into a new store, or continue an \
             interrupted import with --resume."
        ))),
    }
}

/// An import in progress.
struct Import {
    store: Arc<dyn Store>,
    progress: Progress,
    position: Option<(PositionFile, ArchivePosition)>,
    /// Rows of one table that are not written yet, with the size of their lines.
    waiting: Vec<Row>,
    table: Option<&'static Table>,
    bytes: u64,
    has_written: bool,
    /// Set if the archive uses the former names of tables.
    has_former_names: bool,
    /// The number of bytes read.
    read: u64,
    rows: u64,
    new: u64,
    replaced: u64,
}

impl Import {
    fn begin(
        store: Arc<dyn Store>,
        header: &Header,
        position: Option<(PositionFile, ArchivePosition)>,
    ) -> Self {
        Self {
            store,
            progress: Progress::of("import", header.rows.values().sum()),
            has_former_names: header.has_former_names(),
            position,
            waiting: Vec::new(),
            table: None,
            bytes: 0,
            has_written: false,
            read: 0,
            rows: 0,
            new: 0,
            replaced: 0,
        }
    }

    /// Ends the import: the whole archive is in the store, and the position is no longer needed.
    fn ended(self, end: End) -> Result<Imported, Failure> {
        if let Some((file, _)) = &self.position {
            file.forget()?;
        }
        Ok(Imported { end, new: self.new, replaced: self.replaced })
    }

    fn go_on_from(&mut self, position: ArchivePosition) {
        (self.read, self.rows, self.replaced) = (position.bytes, position.rows, position.replaced);
        self.progress.begin_at(position.rows);
    }

    /// Writes all rows that the reader has not read yet.
    async fn run<R: BufRead>(&mut self, reader: &mut Reader<R>) -> Result<End, Failure> {
        loop {
            let before = reader.bytes();
            match reader.next()? {
                Line::Row(table, row) => {
                    let is_full = self.waiting.len() >= ROWS_AT_ONCE || self.bytes >= BYTES_AT_ONCE;
                    if is_full || self.table.is_some_and(|last| last.name != table.name) {
                        self.write(before).await?;
                    }
                    self.table = Some(table);
                    self.waiting.push(row);
                    self.bytes += reader.bytes() - before;
                }
                Line::End(end) => {
                    self.write(before).await?;
                    return Ok(end);
                }
            }
        }
    }

    /// Writes the buffered rows, which end at this byte of the archive.
    async fn write(&mut self, read: u64) -> Result<(), Failure> {
        let Some(table) = self.table else { return Ok(()) };
        // Reading blocks the thread; yields to check that the store is still locked.
        tokio::task::yield_now().await;
        let rows = std::mem::take(&mut self.waiting);
        let (number, is_first) = (rows.len() as u64, !std::mem::replace(&mut self.has_written, true));
        let written = self.store.write(table, rows).await;
        let written =
            written.map_err(|cause| Failure::new(format_args!("cannot write {}", table.name), cause))?;
        let written = written.map_err(|refused| Failure::plain(refused.to_string()))?;
        (self.bytes, self.read) = (0, read);
        self.rows += number;
        self.new += written.new as u64;
        self.replaced += written.replaced as u64;
        let is_due = self.progress.add(number);
        if (is_due || is_first)
            && let Some((file, position)) = &mut self.position
        {
            (position.bytes, position.rows, position.replaced) = (self.read, self.rows, self.replaced);
            // It only saves time, and the archive may be on a read-only file system.
            if let Err(failure) = file.keep(position) {
                self.progress.say(&format!(
                    "warning: {failure}; if this import is interrupted, --resume reads all of the archive again"
                ));
                self.position = None;
            }
        }
        Ok(())
    }

    /// Reads the store again, and compares it with the archive.
    async fn verify(&self, end: &End) -> Result<(), Failure> {
        let snapshot = self.store.snapshot().await;
        let mut snapshot =
            snapshot.map_err(|cause| Failure::new("cannot read the store", cause).next(store::NEXT))?;
        let mut progress = Progress::of("comparison", end.rows.values().sum());
        let found =
            write_rows(&mut *snapshot, &mut std::io::sink(), &mut progress, self.has_former_names).await?;
        let others = found.rows.iter().find(|(table, rows)| end.rows.get(*table) != Some(*rows));
        if let Some((table, rows)) = others {
            let expected = end.rows.get(table).copied().unwrap_or_default();
            return Err(Failure::plain(format!(
                "the store has {rows} rows in {table}, but the archive has {expected}. Import into a new store."
            )));
        }
        // The rows differ if characters were replaced.
        if found.sha256 == end.sha256 || self.replaced > 0 {
            return Ok(());
        }
        Err(Failure::plain("the contents of the store differ from the archive. Import into a new store."))
    }
}

fn report(done: &Imported, as_json: bool) -> Result<(), Failure> {
    let rows = done.end.rows.values().sum::<u64>();
    if done.replaced > 0 {
        say(&format!(
            "warning: in {} texts, the character U+0000 was replaced by U+FFFD, because this store cannot hold it",
            done.replaced
        ));
    }
    let text = if as_json {
        let (new, replaced, sha256) = (done.new, done.replaced, &done.end.sha256);
        json!({ "rows": rows, "new": new, "replaced": replaced, "sha256": sha256 }).to_string()
    } else {
        format!("imported {rows} rows, {} of them new, sha256 {}", done.new, done.end.sha256)
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").map_err(|cause| Failure::new("cannot print what was imported", cause))
}
