//! The terminal while the screen is shown, and as it was before.

use std::io::{self, stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ::client::screen::{Event, Screen};
use crossterm::cursor::Show;
use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Whether the terminal is to be restored.
static IS_CHANGED: AtomicBool = AtomicBool::new(false);

/// While this exists, the program has the whole terminal, and gets each key.
pub(super) struct FullScreen(Terminal<CrosstermBackend<io::Stdout>>);

impl FullScreen {
    /// Begins.
    pub(super) fn begin() -> io::Result<Self> {
        restore_on_panic();
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        IS_CHANGED.store(true, Ordering::SeqCst);
        let full_screen = Self(terminal);
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        Ok(full_screen)
    }

    /// The columns and rows.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        self.0.size().map(|size| (size.width, size.height))
    }

    /// Shows what has changed.
    pub(super) fn draw(&mut self, screen: &Screen) -> io::Result<()> {
        self.0.draw(|frame| screen.draw(frame)).map(drop)
    }

    /// Forgets what the terminal shows, so that everything is drawn next.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal once. If it is gone, there is nothing to restore.
fn restore() {
    if IS_CHANGED.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// The message of a panic would be lost on the screen that the program leaves.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}

/// Reads keys and changes of size on a thread, which ends with the program.
pub(super) fn read_terminal() -> UnboundedReceiver<io::Result<Event>> {
    let (send, events) = unbounded_channel();
    thread::spawn(move || {
        loop {
            let event = match event::read() {
                Ok(event::Event::Key(key)) => Ok(Event::Key(key)),
                Ok(event::Event::Paste(text)) => Ok(Event::Pasted(text)),
                Ok(event::Event::Resize(columns, rows)) => Ok(Event::Resized(columns, rows)),
                Ok(_) => continue,
                Err(error) => Err(error),
            };
            let is_over = event.is_err();
            if send.send(event).is_err() || is_over {
                break;
            }
        }
    });
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_restores_the_terminal_before_its_message() {
        static WAS_RESTORED: AtomicBool = AtomicBool::new(false);
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            WAS_RESTORED.store(!IS_CHANGED.load(Ordering::SeqCst), Ordering::SeqCst);
            before(info);
        }));
        restore_on_panic();
        IS_CHANGED.store(true, Ordering::SeqCst);
        let panicked = thread::spawn(|| panic!("for this test")).join();
        assert!(panicked.is_err() && WAS_RESTORED.load(Ordering::SeqCst));
    }
}
