//! What commands print on standard output.

use std::io::{BufWriter, Stdout, Write};

use serde_json::Value;

use crate::failure::Failure;

/// Prints one text and a line's end.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(unprinted)
}

/// A list that is printed as it is read: lines, or one JSON object with one member.
pub(crate) struct Rows {
    out: BufWriter<Stdout>,
    json: bool,
    printed: u64,
}

impl Rows {
    /// Begins a list; `name` is the member of the JSON object.
    pub(crate) fn begin(name: &str, json: bool) -> Result<Self, Failure> {
        let mut out = BufWriter::new(std::io::stdout());
        if json {
            write!(out, "{{{}:[", Value::from(name)).map_err(unprinted)?;
        }
        Ok(Self { out, json, printed: 0 })
    }

    /// One row, in whichever form is wanted.
    pub(crate) fn row(
        &mut self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let comma = if self.printed > 0 { "," } else { "" };
        self.printed += 1;
        let written =
            if self.json { write!(self.out, "{comma}{}", json()) } else { writeln!(self.out, "{}", text()) };
        written.map_err(unprinted)
    }

    /// Ends the list.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        let written = if self.json { writeln!(self.out, "]}}") } else { Ok(()) };
        written.and_then(|()| self.out.flush()).map_err(unprinted)
    }
}

fn unprinted(cause: std::io::Error) -> Failure {
    Failure::new("cannot print", cause)
}
