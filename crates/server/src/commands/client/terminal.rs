//! The terminal of a person: keys as they are typed, a secret that is not shown, and whether anybody reads the output.

use std::io::{self, IsTerminal, Read, Write, stderr, stdin, stdout};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

/// Columns if the terminal does not tell.
const COLUMNS: usize = 80;

/// The key with which somebody gives up.
const CTRL_C: u8 = 0x03;

/// The key that ends the input.
const CTRL_D: u8 = 0x04;

/// Returns whether a person sees the output and types the input, on a terminal that can move its cursor.
pub(super) fn is_interactive() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    stdin().is_terminal() && stdout().is_terminal() && !is_dumb
}

/// While this exists, the terminal passes each key on at once and shows none.
pub(super) struct Keys(Termios);

impl Keys {
    /// Begins.
    pub(super) fn begin() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut changed = before.clone();
        // Ctrl+C is a key as well: whoever reads the keys leaves in order.
        let line_editing = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        changed.local_modes.remove(line_editing);
        changed.special_codes[SpecialCodeIndex::VMIN] = 1;
        changed.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Drain, &changed)?;
        Ok(Self(before))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.0);
    }
}

/// Asks for a line that is not shown; `None` if the person gives up.
pub(super) fn secret(prompt: &str) -> io::Result<Option<String>> {
    write!(stderr(), "{prompt}")?;
    let keys = Keys::begin()?;
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    let entered = loop {
        match (stdin().lock().read(&mut byte)?, byte[0]) {
            (0, _) | (_, CTRL_C | CTRL_D) => break false,
            (_, b'\r' | b'\n') => break true,
            (_, 0x08 | 0x7f) => {
                bytes.pop();
            }
            (_, other) => bytes.push(other),
        }
    };
    drop(keys);
    writeln!(stderr())?;
    Ok(entered.then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The width of the terminal.
pub(super) fn columns() -> usize {
    match tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        Ok(_) | Err(_) => COLUMNS,
    }
}

/// The width of a row of the output; `None` if no terminal shows it.
pub(super) fn row() -> Option<usize> {
    stdout().is_terminal().then(columns)
}

/// Returns when somebody asks the program to end: Ctrl+C, `kill`, or a terminal that is closed.
pub(super) async fn interrupted() {
    let listen = |kind| signal(kind).ok();
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(listen);
    let [mut interrupt, mut terminate, mut hangup] = signals;
    let wait = async |signal: &mut Option<tokio::signal::unix::Signal>| match signal {
        Some(signal) => {
            signal.recv().await;
        }
        // Without a handler, the signal ends the program by itself.
        None => std::future::pending().await,
    };
    tokio::select! {
        () = wait(&mut interrupt) => {}
        () = wait(&mut terminate) => {}
        () = wait(&mut hangup) => {}
    }
}

/// Returns whether whoever read the output has closed it, which otherwise only the next write shows.
pub(super) fn is_output_closed() -> bool {
    let out = stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents().contains(PollFlags::ERR)
}
