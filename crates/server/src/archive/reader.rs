//! Reading an archive line by line.

use std::io::{BufRead, Read};

use sha2::{Digest, Sha256};

use super::line::{Counts, End, Header, Line};
use super::writer::hexadecimal;
use crate::failure::Failure;
use crate::progress::Progress;

/// The maximum length of a line; a longer one is not part of an archive.
const MAX_LINE: u64 = 256 * 1024 * 1024;

/// An archive, line by line.
pub(crate) struct Reader<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    digest: Sha256,
    /// Of the first line.
    header_sha256: String,
    counts: Counts,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line of `name`.
    pub(crate) fn begin(input: R) -> Result<(Self, Header), Failure> {
        let digest = Sha256::new();
        let (header_sha256, counts) = (String::new(), Counts::new());
        let mut reader = Self { input, line: Vec::new(), number: 0, bytes: 0, digest, header_sha256, counts };
        if !reader.read_line().map_err(|failure| failure.unwrap_or_else(not_ours))? {
            return Err(not_ours());
        }
        let header = Header::parse(&reader.line).map_err(Failure::plain)?;
        reader.header_sha256 = hexadecimal(&Sha256::digest(&reader.line));
        Ok((reader, header))
    }

    /// The number of bytes read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next line, until the last one was read and verified.
    pub(crate) fn next(&mut self) -> Result<Line, Failure> {
        self.next_line()?;
        let line = Line::parse(&self.line).map_err(|fault| self.fault(&fault))?;
        match &line {
            Line::Row(table, _) => *self.counts.entry(table.name.to_owned()).or_default() += 1,
            Line::End(end) => {
                let expected = end.rows.iter().filter(|(_, number)| **number > 0);
                if expected.ne(self.counts.iter()) {
                    return Err(self.fault("the row counts in it do not match the archive"));
                }
                self.check(end)?;
            }
        }
        Ok(line)
    }

    /// Reads all lines without parsing them, and returns the last one: nothing was cut off or
    /// changed.
    pub(crate) fn skim(mut self, progress: &mut Progress) -> Result<End, Failure> {
        loop {
            self.next_line()?;
            if Line::is_end(&self.line) {
                let line = Line::parse(&self.line).map_err(|fault| self.fault(&fault))?;
                let Line::End(end) = line else { return Err(self.fault("it is not a last line")) };
                self.check(&end)?;
                return Ok(end);
            }
            progress.add(1);
        }
    }

    /// Skips lines until so many bytes are read.
    pub(crate) fn skip_to(&mut self, bytes: u64) -> Result<(), Failure> {
        while self.bytes < bytes {
            if !matches!(self.next()?, Line::Row(..)) {
                return Err(self.fault("the position to resume from is after the end"));
            }
        }
        Ok(())
    }

    fn check(&mut self, end: &End) -> Result<(), Failure> {
        if hexadecimal(&std::mem::take(&mut self.digest).finalize()) != end.sha256 {
            return Err(Failure::plain(
                "the archive is damaged: the checksum of its rows is wrong (SHA-256)",
            ));
        }
        if end.header_sha256.as_ref().is_some_and(|written| *written != self.header_sha256) {
            return Err(Failure::plain(
                "the archive is damaged: the checksum of its first line is wrong (SHA-256)",
            ));
        }
        if self.read_line().is_ok_and(|more| !more) {
            Ok(())
        } else {
            Err(self.fault("there is data after the end"))
        }
    }

    fn next_line(&mut self) -> Result<(), Failure> {
        match self.read_line() {
            Ok(true) => {}
            Ok(false) | Err(None) => {
                return Err(Failure::plain(format!(
                    "the archive is truncated: it ends after {} lines, without the last one",
                    self.number
                )));
            }
            Err(Some(failure)) => return Err(failure),
        }
        if !Line::is_end(&self.line) {
            self.digest.update(&self.line);
        }
        Ok(())
    }

    /// Returns whether there was another line; `Err(None)` if it has no end.
    fn read_line(&mut self) -> Result<bool, Option<Failure>> {
        self.line.clear();
        let read = self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.line);
        let read = read.map_err(|cause| Failure::new("cannot read the archive", cause))?;
        if read > 0 && self.line.last() != Some(&b'\n') {
            return Err(None);
        }
        self.bytes += read as u64;
        self.number += u64::from(read > 0);
        Ok(read > 0)
    }

    fn fault(&self, what: &str) -> Failure {
        Failure::plain(format!("the archive is damaged in line {}: {what}", self.number))
    }
}

fn not_ours() -> Failure {
    Failure::plain("this is not an archive of Parlance")
}
