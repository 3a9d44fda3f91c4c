//! The progress of longer tasks, on standard error: a bar on a terminal, else a line each second.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

/// The interval of lines, and of reminders to the caller to store its position.
const EVERY: Duration = Duration::from_secs(1);

/// The line of a bar, which is as wide as the terminal.
const BAR: &str = "{prefix} [{wide_bar}] {human_pos} of {human_len} rows, {eta} left";

/// The progress of a transfer.
pub(crate) struct Progress {
    what: &'static str,
    done: u64,
    all: u64,
    reported_at: Instant,
    bar: ProgressBar,
}

impl Progress {
    /// Begins with none of `all` rows done.
    pub(crate) fn of(what: &'static str, all: u64) -> Self {
        stop_spinning();
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        Self { what, done: 0, all, reported_at: Instant::now(), bar }
    }

    /// Starts at this number of rows.
    pub(crate) fn begin_at(&mut self, rows: u64) {
        self.done = rows;
        self.bar.set_position(rows);
        self.bar.reset_eta();
    }

    /// Adds rows. Returns whether a second has passed since it last returned true.
    pub(crate) fn add(&mut self, rows: u64) -> bool {
        self.done += rows;
        self.bar.set_position(self.done);
        let due = self.reported_at.elapsed() >= EVERY;
        if due {
            self.reported_at = Instant::now();
            if self.bar.is_hidden() {
                say(&format!("{}: {} of {} rows", self.what, self.done, self.all));
            }
        }
        due
    }

    /// Prints a line above the bar.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A spinner on a terminal during a task of unknown length. Short tasks show none.
pub(crate) struct Spinner(());

/// The delay before it is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// The end of the current spinner, and its thread.
static SPINNING: Mutex<Option<(Sender<()>, JoinHandle<()>)>> = Mutex::new(None);

impl Spinner {
    /// Starts a spinner, in place of a current one.
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
                // Returns when the other end is dropped.
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

/// Clears the current spinner, if there is one, before other output.
pub(crate) fn stop_spinning() {
    let spinning = SPINNING.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((end, thread)) = spinning {
        drop(end);
        // It has nothing to say but what it has shown.
        let _ = thread.join();
    }
}

/// Prints a message for the person at the terminal, on standard error.
pub(crate) fn say(text: &str) {
    stop_spinning();
    // If standard error is closed, the message is not wanted.
    let _ = writeln!(std::io::stderr(), "{text}");
}
