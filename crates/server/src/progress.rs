//! How far something is that takes more than a moment, on standard error: a bar on a terminal, elsewhere a line each
//! second.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a line is written, and how often a caller is told to note its position.
const EVERY: Duration = Duration::from_secs(1);

/// The line of a bar, which is as wide as the terminal.
const BAR: &str = "{prefix} [{wide_bar}] {human_pos} of {human_len} rows, {eta} left";

/// How far a transfer is.
pub(crate) struct Progress {
    what: &'static str,
    done: u64,
    all: u64,
    told: Instant,
    bar: ProgressBar,
}

impl Progress {
    /// Nothing of `all` rows is done.
    pub(crate) fn of(what: &'static str, all: u64) -> Self {
        stop_spinning();
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        Self { what, done: 0, all, told: Instant::now(), bar }
    }

    /// So many rows were done before.
    pub(crate) fn begin_at(&mut self, rows: u64) {
        self.done = rows;
        self.bar.set_position(rows);
        self.bar.reset_eta();
    }

    /// So many more rows are done. Whether a second has passed since it last was so.
    pub(crate) fn add(&mut self, rows: u64) -> bool {
        self.done += rows;
        self.bar.set_position(self.done);
        let due = self.told.elapsed() >= EVERY;
        if due {
            self.told = Instant::now();
            if self.bar.is_hidden() {
                say(&format!("{}: {} of {} rows", self.what, self.done, self.all));
            }
        }
        due
    }

    /// Says something above the bar.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A sign of life on a terminal while something is done whose length is unknown. What takes a moment only shows none.
pub(crate) struct Spinner(());

/// After how long it is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// What ends the spinner that is there, and the thread that shows it.
static SPINNING: Mutex<Option<(Sender<()>, JoinHandle<()>)>> = Mutex::new(None);

impl Spinner {
    /// It begins, in place of one that is there.
    pub(crate) fn begin(what: &'static str) -> Self {
        stop_spinning();
        if std::io::stderr().is_terminal() {
            let (end, ended) = mpsc::channel();
            let thread = std::thread::spawn(move || {
                if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let bar = ProgressBar::new_spinner().with_message(what);
                bar.enable_steady_tick(EVERY / 10);
                // Until the other end is dropped.
                let _ = ended.recv();
                bar.finish_and_clear();
            });
            *SPINNING.lock().unwrap_or_else(PoisonError::into_inner) = Some((end, thread));
        }
        Self(())
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        stop_spinning();
    }
}

/// Clears the spinner that is there, if one is, before something else is printed.
pub(crate) fn stop_spinning() {
    let spinning = SPINNING.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((end, thread)) = spinning {
        drop(end);
        // It has nothing to say but what it has shown.
        let _ = thread.join();
    }
}

/// Says something to the person at the terminal, beside what is printed.
pub(crate) fn say(text: &str) {
    stop_spinning();
    // Whoever closed it does not want to know.
    let _ = writeln!(std::io::stderr(), "{text}");
}
