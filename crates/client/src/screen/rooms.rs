//! The list of rooms: what is selected, and what is filtered out.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::Look;
use super::wrap::{cell, cut};
use crate::model::Room;
use crate::text::on_one_line;

/// Unread texts beyond this are not counted on the screen.
const UNREAD: u64 = 99;

/// The rooms of the user.
#[derive(Default, Debug)]
pub(super) struct RoomsPane {
    rooms: Vec<Room>,
    /// Why they cannot be read.
    pub(super) refused: Option<String>,
    pub(super) is_loaded: bool,
    /// The present day in UTC.
    today: String,
    /// The id of the selected room.
    selected: Option<String>,
    /// A part of the titles that are shown.
    pub(super) filter: String,
}

impl RoomsPane {
    /// Takes over what was read.
    pub(super) fn take(&mut self, read: Result<Vec<Room>, String>, now: &str) {
        now.get(..10).unwrap_or_default().clone_into(&mut self.today);
        self.is_loaded = true;
        match read {
            Ok(rooms) => (self.rooms, self.refused) = (rooms, None),
            Err(why) => self.refused = Some(why),
        }
        self.select_something();
    }

    /// Shows only rooms with this in their title.
    pub(super) fn filter(&mut self, part: String) {
        self.filter = part;
        self.select_something();
    }

    /// The rooms that the filter lets through.
    pub(super) fn shown(&self) -> Vec<&Room> {
        let part = self.filter.to_lowercase();
        self.rooms.iter().filter(|room| title(room).to_lowercase().contains(&part)).collect()
    }

    /// The selected room.
    pub(super) fn selected(&self) -> Option<&Room> {
        self.rooms.iter().find(|room| Some(&room.id) == self.selected.as_ref())
    }

    /// The title of a room, if it is known.
    pub(super) fn title_of(&self, id: &str) -> Option<String> {
        self.rooms.iter().find(|room| room.id == id).map(title)
    }

    /// The index of the selected room among those that are shown.
    pub(super) fn index(&self) -> usize {
        let shown = self.shown();
        shown.iter().position(|room| Some(&room.id) == self.selected.as_ref()).unwrap_or(0)
    }

    /// Selects another room.
    pub(super) fn step(&mut self, rooms: isize) {
        let last = self.shown().len().saturating_sub(1);
        let index = self.index().saturating_add_signed(rooms).min(last);
        self.selected = self.shown().get(index).map(|room| room.id.clone());
    }

    fn select_something(&mut self) {
        self.step(0);
    }

    /// A room in a row of this width.
    pub(super) fn row(&self, room: &Room, open: Option<&str>, columns: usize, look: Look) -> Line<'static> {
        let is_selected = Some(&room.id) == self.selected.as_ref();
        let mark = if is_selected {
            "▸ "
        } else if open == Some(room.id.as_str()) {
            "• "
        } else {
            "  "
        };
        let unread = match room.unread() {
            0 => String::new(),
            unread @ 1..=UNREAD => format!(" {unread}"),
            _ => format!(" {UNREAD}+"),
        };
        let time = format!(" {:>5}", self.time(room));
        let used = mark.width() + unread.width() + time.width();
        let title = cell(&title(room), columns.saturating_sub(used));
        Line::from(vec![
            Span::raw(format!("{mark}{title}")),
            Span::styled(unread, look.news()),
            Span::styled(time, look.faint()),
        ])
    }

    /// The time of the last message today, its day, or its year.
    fn time(&self, room: &Room) -> String {
        let at = on_one_line(room.last_message_at.as_deref().unwrap_or_default());
        let part = |from: usize, to: usize| at.get(from..to).unwrap_or_default().to_owned();
        let shown = if part(0, 10) == self.today {
            part(11, 16)
        } else if part(0, 4) == self.today.get(..4).unwrap_or_default() {
            part(5, 10)
        } else {
            part(0, 4)
        };
        cut(&shown, 5)
    }
}

/// The title of a room, for the screen.
pub(super) fn title(room: &Room) -> String {
    let title = on_one_line(&room.title);
    if title.trim().is_empty() { "Untitled".to_owned() } else { title }
}
