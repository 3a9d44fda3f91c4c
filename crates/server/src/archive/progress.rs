//! How far a transfer is, told on standard error once a second.

use std::io::Write;
use std::time::{Duration, Instant};

/// How often it is told.
const EVERY: Duration = Duration::from_secs(1);

/// How far a transfer is.
pub(crate) struct Progress {
    what: &'static str,
    done: u64,
    all: u64,
    told: Instant,
}

impl Progress {
    /// Nothing of `all` rows is done.
    pub(crate) fn of(what: &'static str, all: u64) -> Self {
        Self { what, done: 0, all, told: Instant::now() }
    }

    /// So many rows were done before.
    pub(crate) fn begin_at(&mut self, rows: u64) {
        self.done = rows;
    }

    /// So many more rows are done, the last ones of this table. Whether it was time to tell.
    pub(crate) fn add(&mut self, table: &str, rows: u64) -> bool {
        self.done += rows;
        let due = self.told.elapsed() >= EVERY;
        if due {
            self.told = Instant::now();
            say(&format!("{}: {} of {} rows, now {table}", self.what, self.done, self.all));
        }
        due
    }
}

/// Says something to the person at the terminal, beside what is printed.
pub(crate) fn say(text: &str) {
    // Whoever closed it does not want to know.
    let _ = writeln!(std::io::stderr(), "{text}");
}
