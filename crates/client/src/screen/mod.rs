//! The full-screen view of rooms, messages, and work, as a pure function of events.
//!
//! [`Screen`] is the whole state. [`Screen::update`] takes an event, such as a key or messages that were read, and returns
//! what to do next, such as following another room. [`Screen::draw`] shows the state. None of them does I/O or knows the
//! time: the caller reads from the server and the terminal, and does what [`Screen::update`] asks for.
//!
//! Every text of others goes through [`crate::text`] before it is drawn.

mod draw;
mod keys;
mod layout;
mod overlay;
mod room;
mod rooms;
#[cfg(test)]
mod tests;
mod update;
mod work;
mod wrap;

use std::collections::BTreeMap;

use ratatui::crossterm::event::KeyEvent;
use ratatui::style::{Color, Modifier, Style};

use crate::editor::Editor;
use crate::feed::Shown;
use crate::model::Room;
use crate::work::WorkItem;
use room::OpenRoom;
use rooms::RoomsPane;
use work::WorkPane;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Pasted(String),
    /// A room is opened, as if it were selected.
    Opened {
        /// The id.
        room: String,
        /// The title.
        title: String,
    },
    /// The terminal has this many columns and rows.
    Resized(u16, u16),
    /// The rooms of the user, or why they cannot be read.
    Rooms {
        /// The last changed first.
        rooms: Result<Vec<Room>, String>,
        /// The present time, in the form of the API.
        now: String,
    },
    /// The work of the user's agents, oldest first, and whether there is more; or why it cannot be read.
    Work(Result<(Vec<WorkItem>, bool), String>),
    /// Messages of a room that are new; none if the room has none.
    Messages {
        /// The id.
        room: String,
        /// Oldest first.
        messages: Vec<Shown>,
    },
    /// A room cannot be read any longer.
    Gone {
        /// The id.
        room: String,
        /// What the server says.
        why: String,
    },
    /// Who can be mentioned in a room.
    Handles {
        /// The id.
        room: String,
        /// Without `@`.
        handles: Vec<String>,
    },
    /// A text was sent, or could not be.
    Sent,
    /// A sentence for the person at the terminal.
    Notice(String),
    /// The server does not answer one of the two readers, or answers again.
    Connection {
        /// Who notices.
        reader: Reader,
        /// Why it does not.
        lost: Option<String>,
    },
}

/// Who reads from the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reader {
    /// The messages of the open room.
    Messages,
    /// Rooms and work.
    Lists,
}

/// Something to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Follow a room, and no other.
    Open {
        /// The id.
        room: String,
    },
    /// Send a text.
    Send {
        /// The id of the room.
        room: String,
        /// The text.
        text: String,
    },
    /// Mark a room as read.
    MarkRead {
        /// The id.
        room: String,
        /// The last message that was shown.
        message: String,
    },
    /// Offer a message to its agent again.
    Retry(WorkItem),
    /// Take a message out of its agent's queue, for this reason.
    DeadLetter(WorkItem, String),
    /// Draw everything again, because something else has written to the terminal.
    Redraw,
    /// Leave.
    Quit,
}

/// What has the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pane {
    Rooms,
    Messages,
    Work,
}

/// What keys do.
#[derive(Debug)]
enum Mode {
    /// They move in the pane that has the focus.
    Browse,
    /// They edit the filter of the rooms.
    Filter(Editor),
    /// They edit the text for the open room.
    Write,
    /// They answer whether to retry this.
    ConfirmRetry(WorkItem),
    /// They edit the reason to take this out of the queue.
    Reason(WorkItem, Editor),
    /// They close the details of this.
    Details(WorkItem),
    /// They close the help.
    Help,
}

/// The state of the view.
#[derive(Debug)]
pub struct Screen {
    look: Look,
    size: (u16, u16),
    focus: Pane,
    mode: Mode,
    rooms: RoomsPane,
    open: Option<OpenRoom>,
    work: WorkPane,
    /// What is typed in each room.
    drafts: BTreeMap<String, Editor>,
    /// Why the server does not answer.
    lost: BTreeMap<Reader, String>,
    notice: Option<String>,
    /// Texts that are on their way.
    sending: usize,
    /// Whether the person knows that texts are on their way.
    was_warned: bool,
}

impl Screen {
    /// A screen of this many columns and rows, with colors and bold text or without.
    pub fn new(size: (u16, u16), is_styled: bool) -> Self {
        Self {
            look: Look { is_styled },
            size,
            focus: Pane::Rooms,
            mode: Mode::Browse,
            rooms: RoomsPane::default(),
            open: None,
            work: WorkPane::default(),
            drafts: BTreeMap::new(),
            lost: BTreeMap::new(),
            notice: None,
            sending: 0,
            was_warned: false,
        }
    }
}

/// The styles. Without them, nothing is lost: what has the focus has a thick border, and what is selected has a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Look {
    is_styled: bool,
}

impl Look {
    fn style(self, style: Style) -> Style {
        if self.is_styled { style } else { Style::new() }
    }

    fn strong(self) -> Style {
        self.style(Style::new().add_modifier(Modifier::BOLD))
    }

    fn faint(self) -> Style {
        self.style(Style::new().add_modifier(Modifier::DIM))
    }

    fn focus(self) -> Style {
        self.style(Style::new().fg(Color::Cyan))
    }

    fn selected(self) -> Style {
        self.style(Style::new().add_modifier(Modifier::REVERSED))
    }

    fn news(self) -> Style {
        self.style(Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD))
    }

    fn failure(self) -> Style {
        self.style(Style::new().fg(Color::Red))
    }
}
