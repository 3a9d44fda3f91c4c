//! Writes the content of a store.

use std::fmt::Write as _;
use std::io::Write;

use domain::archive::{Snapshot, TABLES};
use sha2::{Digest, Sha256};

use super::line::{Counts, End, former_name, write_row};
use crate::failure::Failure;
use crate::progress::{Progress, Spinner};

/// The number of rows that are read at a time.
const AT_ONCE: usize = 256;

/// The number of rows of each table.
pub(crate) async fn count(snapshot: &mut dyn Snapshot) -> Result<Counts, Failure> {
    let _spinner = Spinner::begin("counting rows");
    let mut counts = Counts::new();
    for table in &TABLES {
        let count = snapshot.count(table).await.map_err(|cause| Failure::new("cannot count rows", cause))?;
        counts.insert(table.name.to_owned(), count);
    }
    Ok(counts)
}

/// Writes the lines of all rows, under the former names of tables if requested, and returns the
/// content of the last line.
pub(crate) async fn write_rows(
    snapshot: &mut dyn Snapshot,
    out: &mut dyn Write,
    progress: &mut Progress,
    has_former_names: bool,
) -> Result<End, Failure> {
    let (mut digest, mut rows, mut lines) = (Sha256::new(), Counts::new(), Vec::new());
    for table in &TABLES {
        let name = if has_former_names { former_name(table.name) } else { table.name };
        let mut number = 0;
        let mut after = None;
        loop {
            let page = snapshot.rows(table, after.as_deref(), AT_ONCE).await;
            let page =
                page.map_err(|cause| Failure::new(format_args!("cannot read {}", table.name), cause))?;
            let Some(last) = page.last() else { break };
            after = Some(table.key_of(last).to_vec());
            lines.clear();
            for row in &page {
                write_row(&mut lines, name, table, row);
            }
            digest.update(&lines);
            out.write_all(&lines).map_err(|cause| Failure::new("cannot write the archive", cause))?;
            number += page.len() as u64;
            progress.add(page.len() as u64);
        }
        rows.insert(table.name.to_owned(), number);
    }
    Ok(End { rows, sha256: hexadecimal(&digest.finalize()), header_sha256: None })
}

/// Bytes as text.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
