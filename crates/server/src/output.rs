//! The standard output of commands.

use std::io::{BufWriter, ErrorKind, Write};
use std::time::Duration;

use anstyle::{Effects, Style};
use domain::ports::Clock;
use domain::time::Timestamp;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::adapters::SystemClock;
use crate::cli::TableArguments;
use crate::failure::Failure;
use crate::progress::stop_spinning;

/// The number of rows that are held to align their columns.
const ALIGNED: usize = 500;

/// Spaces between two columns.
const GAP: usize = 2;

const HEADING: Style = Style::new().effects(Effects::BOLD);

/// Prints one text and a newline.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    stop_spinning();
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(unprinted)
}

/// The failure of a command that could not print. A reader that closed the pipe, such as `head`,
/// has what it wanted.
pub(crate) fn unprinted(cause: std::io::Error) -> Failure {
    match cause.kind() {
        ErrorKind::BrokenPipe => Failure::reader_left(),
        _ => Failure::new("Cannot write to standard output", cause),
    }
}

/// A kind of list.
pub(crate) struct List<'a> {
    /// The member of the JSON object that holds the rows; without one, each row is an object on its own line.
    pub(crate) name: Option<&'static str>,
    /// The headings of the columns.
    pub(crate) headings: &'static [&'static str],
    /// The sentence that is printed instead of a list without rows.
    pub(crate) empty: &'a str,
}

/// A list that is printed while it is read: aligned columns, or JSON.
pub(crate) struct Rows<'a> {
    out: BufWriter<anstream::Stdout>,
    list: List<'a>,
    json: bool,
    times: Times,
    printed: u64,
    widths: Vec<usize>,
    held: Vec<Vec<String>>,
}

impl<'a> Rows<'a> {
    /// Begins a list.
    pub(crate) fn begin(list: List<'a>, how: &TableArguments) -> Result<Self, Failure> {
        stop_spinning();
        let mut out = BufWriter::new(anstream::stdout());
        if let (true, Some(name)) = (how.json, list.name) {
            write!(out, "{{{}:[", Value::from(name)).map_err(unprinted)?;
        }
        let widths = list.headings.iter().map(|heading| heading.width()).collect();
        Ok(Self { out, list, json: how.json, times: Times::of(how), printed: 0, widths, held: Vec::new() })
    }

    /// Adds one row: the JSON object, or one text for each heading.
    pub(crate) fn row(
        &mut self,
        json: impl FnOnce() -> Value,
        cells: impl FnOnce(&Times) -> Vec<String>,
    ) -> Result<(), Failure> {
        self.printed += 1;
        if self.json {
            let row = json();
            let written = match self.list.name {
                None => writeln!(self.out, "{row}"),
                Some(_) if self.printed > 1 => write!(self.out, ",{row}"),
                Some(_) => write!(self.out, "{row}"),
            };
            return written.map_err(unprinted);
        }
        let cells = cells(&self.times).iter().map(|cell| on_one_line(cell)).collect::<Vec<_>>();
        debug_assert_eq!(cells.len(), self.list.headings.len(), "a text for each heading");
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = cell.width().max(*width);
        }
        self.held.push(cells);
        if self.held.len() >= ALIGNED { self.write_held() } else { Ok(()) }
    }

    /// Ends the list.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        let written = if self.json {
            let end = if self.list.name.is_some() { "]}\n" } else { "" };
            write!(self.out, "{end}").map_err(unprinted)
        } else if self.printed == 0 {
            writeln!(self.out, "{}", self.list.empty).map_err(unprinted)
        } else {
            self.write_held()
        };
        written.and_then(|()| self.out.flush().map_err(unprinted))
    }

    fn write_held(&mut self) -> Result<(), Failure> {
        if self.printed == self.held.len() as u64 {
            let headings = self.list.headings.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let line = aligned(&headings, &self.widths);
            writeln!(self.out, "{HEADING}{line}{HEADING:#}").map_err(unprinted)?;
        }
        for row in self.held.drain(..) {
            writeln!(self.out, "{}", aligned(&row, &self.widths)).map_err(unprinted)?;
        }
        Ok(())
    }
}

/// Cells in columns of these widths, without spaces at the end.
fn aligned(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + GAP));
    }
    line.truncate(line.trim_end().len());
    line
}

/// So many of something, as it is said: `1 chat`, `2 chats`.
pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Bytes in the largest unit in which they are at least one.
pub(crate) fn bytes_as_text(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = UNITS.into_iter().find(|(bits, _)| bytes >> bits > 0);
    unit.map_or_else(
        || count(bytes, "byte"),
        |(bits, unit)| {
            let tenths = (u128::from(bytes) * 10) >> bits;
            let fraction = if tenths % 10 == 0 { String::new() } else { format!(".{}", tenths % 10) };
            format!("{}{fraction} {unit}", tenths / 10)
        },
    )
}

/// A client's text without what would leave its line or hide in it.
pub(crate) fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The format of times: relative to now, or exact.
pub(crate) struct Times {
    now: Timestamp,
    exact: bool,
}

impl Times {
    /// The requested format.
    pub(crate) fn of(how: &TableArguments) -> Self {
        Self { now: SystemClock.now(), exact: how.utc }
    }

    /// One time.
    pub(crate) fn text(&self, at: Timestamp) -> String {
        if self.exact { exact(at) } else { relative(at, self.now) }
    }

    /// One time, or `never`.
    pub(crate) fn or_never(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "never".to_owned(), |at| self.text(at))
    }

    /// The time since one as short as possible, or the exact time, or a hyphen.
    pub(crate) fn age_or_hyphen(&self, at: Option<Timestamp>) -> String {
        let age = |at: Timestamp| if self.exact { exact(at) } else { short(self.now.since(at)) };
        at.map_or_else(|| "-".to_owned(), age)
    }

    /// One time, or a hyphen.
    pub(crate) fn or_hyphen(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "-".to_owned(), |at| self.text(at))
    }
}

/// A duration in its largest unit, as short as possible.
pub(crate) fn short(duration: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(24 * 60 * 60, "d"), (60 * 60, "h"), (60, "m"), (1, "s")];
    let seconds = duration.as_secs();
    let unit = UNITS.into_iter().find(|(length, _)| seconds >= *length);
    unit.map_or_else(|| "0s".to_owned(), |(length, unit)| format!("{}{unit}", seconds / length))
}

/// One time without fractions of a second.
pub(crate) fn exact(at: Timestamp) -> String {
    let text = at.to_string();
    text.split_once('.').map_or_else(|| text.clone(), |(seconds, _)| format!("{seconds}Z"))
}

/// The time before or after `now`, in its largest unit.
fn relative(at: Timestamp, now: Timestamp) -> String {
    const UNITS: [(u64, &str); 4] = [(24 * 60 * 60, "day"), (60 * 60, "hour"), (60, "minute"), (1, "second")];
    let micros = now.micros().abs_diff(at.micros());
    let seconds = Duration::from_micros(micros).as_secs();
    let Some((length, unit)) = UNITS.into_iter().find(|(length, _)| seconds >= *length) else {
        return "just now".to_owned();
    };
    let apart = count(seconds / length, unit);
    if at > now { format!("in {apart}") } else { format!("{apart} ago") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_in_their_largest_unit() {
        let now = Timestamp::from_micros(1_790_000_000_000_000);
        let second = Duration::from_secs(1);
        for (before, text) in [
            (0, "just now"),
            (1, "1 second ago"),
            (59, "59 seconds ago"),
            (60, "1 minute ago"),
            (7_199, "1 hour ago"),
            (7_200, "2 hours ago"),
            (86_400, "1 day ago"),
            (86_400 * 400, "400 days ago"),
        ] {
            assert_eq!(relative(now.minus(second * before), now), text);
        }
        assert_eq!(relative(now.plus(second * 90), now), "in 1 minute");
        let exact = Times { now, exact: true };
        assert_eq!(exact.text(now.plus(second / 2)), "2026-09-21T14:13:20Z");
        assert_eq!(exact.or_hyphen(None), "-");
    }

    #[test]
    fn durations_are_short() {
        for (seconds, text) in
            [(0, "0s"), (59, "59s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (86_400 * 40, "40d")]
        {
            assert_eq!(short(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn bytes_are_shown_in_their_largest_unit() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1_600_000, "1.5 MiB"),
            (107_374_182_400, "100 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(bytes_as_text(bytes), text);
        }
    }

    #[test]
    fn columns_are_aligned_by_what_a_terminal_shows() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let widths = [6, 4, 9];
        assert_eq!(aligned(&row(["HANDLE", "NAME", "CREATED"]), &widths), "HANDLE  NAME  CREATED");
        assert_eq!(aligned(&row(["ann", "李安", "-"]), &widths), "ann     李安  -");
        assert_eq!(aligned(&row(["ann", "", ""]), &widths), "ann");
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(on_one_line("a\nb\u{1b}[31m"), "a b [31m");
    }
}
