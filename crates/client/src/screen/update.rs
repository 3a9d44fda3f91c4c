//! What an event changes.

use ratatui::layout::Rect;
use ratatui::widgets::Block;

use super::layout::{Areas, areas};
use super::room::OpenRoom;
use super::{Effect, Event, Mode, Pane, Reader, Screen};
use crate::editor::Editor;
use crate::text::on_one_line;

impl Screen {
    /// Takes an event, and returns what is to be done.
    pub fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Key(key) => self.key(key, &mut effects),
            Event::Pasted(text) => self.paste(&text),
            Event::Opened { room, title } => self.open(room, title, &mut effects),
            Event::Resized(columns, rows) => self.size = (columns, rows),
            Event::Rooms { rooms, now } => {
                self.rooms.take(rooms, &now);
                let title = self.open.as_ref().and_then(|open| self.rooms.title_of(&open.id));
                if let (Some(open), Some(title)) = (&mut self.open, title) {
                    open.title = title;
                }
            }
            Event::Work(read) => self.work.take(read),
            Event::Messages { room, messages } => {
                let look = self.look;
                if let Some(open) = self.open.as_mut().filter(|open| open.id == room) {
                    open.add(messages, look);
                }
            }
            Event::Gone { room, why } => self.gone(&room, &why),
            Event::Handles { room, handles } => {
                self.drafts.entry(room).or_default().complete_with(handles);
            }
            Event::Sent => {
                self.sending = self.sending.saturating_sub(1);
                self.was_warned = false;
            }
            Event::Notice(text) => self.notice = Some(on_one_line(&text)),
            Event::Connection { reader, lost: Some(why) } => {
                drop(self.lost.insert(reader, on_one_line(&why)));
            }
            Event::Connection { reader, lost: None } => drop(self.lost.remove(&reader)),
        }
        self.arrange(&mut effects);
        effects
    }

    /// Opens a room in the middle, and moves there.
    pub(super) fn open(&mut self, id: String, title: String, effects: &mut Vec<Effect>) {
        self.focus = Pane::Messages;
        self.mode = Mode::Browse;
        if self.open.as_ref().is_none_or(|open| open.id != id) {
            effects.push(Effect::Open { room: id.clone() });
            self.lost.remove(&Reader::Messages);
            self.open = Some(OpenRoom::new(id, title));
        }
    }

    fn gone(&mut self, room: &str, why: &str) {
        let Some(open) = self.open.take_if(|open| open.id == room) else { return };
        // The server has answered, and the reader says no more.
        self.lost.remove(&Reader::Messages);
        self.notice = Some(on_one_line(&format!("Closed {}: {why}", open.title)));
        if matches!(self.mode, Mode::Write) {
            self.mode = Mode::Browse;
        }
        if self.focus == Pane::Messages {
            self.focus = Pane::Rooms;
        }
    }

    /// Breaks messages for the width of their pane, and marks them as read if they are in view.
    fn arrange(&mut self, effects: &mut Vec<Effect>) {
        let (look, inside) = (self.look, self.messages_inside());
        if let (Some(open), Some(inside)) = (&mut self.open, inside) {
            open.fit(inside.width.into(), look);
            open.scroll(0, inside.height.into());
            let message = if open.is_at_end() { open.take_unmarked() } else { None };
            effects.extend(message.map(|message| Effect::MarkRead { room: open.id.clone(), message }));
        }
    }

    pub(super) fn areas(&self) -> Areas {
        let columns = usize::from(self.size.0.saturating_sub(2));
        areas(self.size, self.focus, self.work.rows(columns))
    }

    /// The place of the messages inside of their border, without the line that is typed.
    pub(super) fn messages_inside(&self) -> Option<Rect> {
        let mut inside = Block::bordered().inner(self.areas().messages?);
        if self.has_prompt() {
            inside.height = inside.height.saturating_sub(1);
        }
        Some(inside)
    }

    /// Returns whether the line that is typed in the open room is shown.
    pub(super) fn has_prompt(&self) -> bool {
        let has_text = || self.draft().is_some_and(|draft| !draft.text().is_empty());
        self.open.is_some() && (matches!(self.mode, Mode::Write) || has_text())
    }

    /// What is typed in the open room.
    pub(super) fn draft(&self) -> Option<&Editor> {
        self.drafts.get(&self.open.as_ref()?.id)
    }
}
