//! The state on the screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType};
use unicode_width::UnicodeWidthStr;

use super::overlay::draw_prompt;
use super::work::rows_of_item;
use super::wrap::{cut, wrap};
use super::{Mode, Pane, Screen};

/// The prompt of the line that is typed.
const PROMPT: &str = "> ";

/// What is shown while the server does not answer.
const LOST: &str = "reconnecting";

impl Screen {
    /// Draws the state.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let areas = self.areas();
        if let Some(area) = areas.rooms {
            self.draw_rooms(frame, area);
        }
        if let Some(area) = areas.messages {
            self.draw_messages(frame, area);
        }
        if let Some(area) = areas.work {
            self.draw_work(frame, area);
        }
        self.draw_status(frame, areas.status);
        self.draw_overlay(frame);
    }

    fn draw_rooms(&self, frame: &mut Frame<'_>, area: Rect) {
        let is_whole = self.rooms.filter.is_empty() || matches!(self.mode, Mode::Filter(_));
        let title = if is_whole { "Rooms".to_owned() } else { format!("Rooms /{}", self.rooms.filter) };
        let mut inside = self.draw_border(frame, area, Pane::Rooms, &title, None);
        if let (Mode::Filter(editor), Some(row)) = (&self.mode, inside.rows().next_back()) {
            draw_prompt(frame, row, "/", editor, true);
            inside.height -= 1;
        }
        let shown = self.rooms.shown();
        if shown.is_empty() {
            let text = match &self.rooms.refused {
                Some(why) => why,
                None if !self.rooms.is_loaded => "Loading …",
                None if self.rooms.filter.is_empty() => "You are not in any rooms yet.",
                None => "No such title.",
            };
            return self.draw_text(frame, inside, text);
        }
        let open = self.open.as_ref().map(|open| open.id.as_str());
        let (height, index) = (usize::from(inside.height), self.rooms.index());
        let first = (index + 1).saturating_sub(height);
        for (number, (row, room)) in inside.rows().zip(&shown[first..]).enumerate() {
            let line = self.rooms.row(room, open, row.width.into(), self.look);
            let is_marked = self.focus == Pane::Rooms && first + number == index;
            frame.render_widget(line.style(self.marked(is_marked)), row);
        }
    }

    fn draw_messages(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(open) = &self.open else {
            let inside = self.draw_border(frame, area, Pane::Messages, "Messages", None);
            return self.draw_text(frame, inside, "Select a room, and press Enter to open it.");
        };
        let below = (!open.is_at_end()).then_some("G: newest messages");
        let inside = self.draw_border(frame, area, Pane::Messages, &open.title, below);
        if let (true, Some(row)) = (self.has_prompt(), inside.rows().next_back()) {
            let empty = crate::editor::Editor::default();
            let is_typing = matches!(self.mode, Mode::Write);
            draw_prompt(frame, row, PROMPT, self.draft().unwrap_or(&empty), is_typing);
        }
        let inside = self.messages_inside().unwrap_or(inside);
        let mut rows = inside.rows();
        let mut is_empty = true;
        for line in open.seen(inside.height.into()) {
            is_empty = false;
            if let Some(row) = rows.next() {
                frame.render_widget(line, row);
            }
        }
        if is_empty {
            let text = if open.is_loaded { "No messages yet. Press i to write one." } else { "Loading …" };
            self.draw_text(frame, inside, text);
        }
    }

    fn draw_work(&self, frame: &mut Frame<'_>, area: Rect) {
        let count = self.work.items.len();
        let more = if self.work.has_more { "+" } else { "" };
        let title = if count > 0 { format!("Work ({count}{more})") } else { "Work".to_owned() };
        let mut inside = self.draw_border(frame, area, Pane::Work, &title, None);
        if count == 0 || self.work.refused.is_some() {
            let text = match &self.work.refused {
                Some(why) => why,
                None if !self.work.is_loaded => "Loading …",
                None => "Your agents have handled all messages.",
            };
            return self.draw_text(frame, inside, text);
        }
        let columns = usize::from(inside.width);
        if let Some(heading) = self.work.heading(columns, self.look).filter(|_| inside.height > 1) {
            frame.render_widget(heading, Rect { height: 1, ..inside });
            inside = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
        }
        let at_once = (usize::from(inside.height) / rows_of_item(columns)).max(1);
        let first = (self.work.index + 1).saturating_sub(at_once);
        let mut rows = inside.rows();
        for index in first..(first + at_once).min(count) {
            let is_marked = self.focus == Pane::Work && index == self.work.index;
            for line in self.work.lines(index, columns, self.look) {
                if let Some(row) = rows.next() {
                    frame.render_widget(line.style(self.marked(is_marked)), row);
                }
            }
        }
    }

    fn draw_status(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width);
        let lost = if self.lost.is_empty() { "" } else { LOST };
        let left = columns.saturating_sub(if lost.is_empty() { 0 } else { lost.width() + 2 });
        let why = self.lost.values().next();
        let text = match (&self.notice, why) {
            (Some(notice), _) => notice.clone(),
            (None, Some(why)) => why.clone(),
            (None, None) => self.hints(left),
        };
        frame.render_widget(Line::raw(cut(&text, left)), area);
        let lost = Line::styled(lost, self.look.failure().patch(self.look.strong()));
        frame.render_widget(lost.right_aligned(), area);
    }

    /// The keys that can be pressed, the most important first, as far as there is place.
    fn hints(&self, columns: usize) -> String {
        let hints: &[&str] = match (&self.mode, self.focus) {
            (Mode::Filter(_), _) => &["type a part of a title", "Enter keep", "Esc all rooms"],
            (Mode::Write, _) => &["Enter send", "Tab complete @", "Esc back"],
            (Mode::Help, _) => &["any key goes back"],
            (Mode::Details(_), _) => &["Esc back", "Enter open room", "r retry", "s dead-letter"],
            (Mode::ConfirmRetry(_), _) => &["y retry", "any other key cancel"],
            (Mode::Reason(..), _) => &["Enter dead-letter", "Esc cancel"],
            (Mode::Browse, Pane::Rooms) => {
                &["? help", "q quit", "Tab pane", "Enter open", "/ filter", "i write"]
            }
            (Mode::Browse, Pane::Messages) => &["? help", "q quit", "Tab pane", "i write", "j k scroll"],
            (Mode::Browse, Pane::Work) => {
                &["? help", "q quit", "Tab pane", "Enter details", "r retry", "s dead-letter"]
            }
        };
        let mut text = String::new();
        for hint in hints {
            let gap = if text.is_empty() { "" } else { "  " };
            if text.width() + gap.len() + hint.width() > columns {
                break;
            }
            text.push_str(gap);
            text.push_str(hint);
        }
        text
    }

    /// Draws the border of a pane; returns its inside.
    fn draw_border(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        pane: Pane,
        title: &str,
        below: Option<&'static str>,
    ) -> Rect {
        let has_focus = self.focus == pane;
        let (border, style, title_style) = if has_focus {
            (BorderType::Thick, self.look.focus(), self.look.strong())
        } else {
            (BorderType::Plain, self.look.faint(), Style::new())
        };
        let title = cut(title, usize::from(area.width).saturating_sub(4));
        let mut block = Block::bordered().border_type(border).border_style(style);
        block = block.title(Line::styled(format!(" {title} "), title_style));
        if let Some(below) = below {
            block = block.title_bottom(Line::raw(format!(" {below} ")).right_aligned());
        }
        let inside = block.inner(area);
        frame.render_widget(block, area);
        inside
    }

    fn draw_text(&self, frame: &mut Frame<'_>, area: Rect, text: &str) {
        let lines = wrap(&Line::styled(text, self.look.faint()), area.width.into(), 0);
        for (row, line) in area.rows().zip(lines) {
            frame.render_widget(line, row);
        }
    }

    fn marked(&self, is_marked: bool) -> Style {
        if is_marked { self.look.selected() } else { Style::new() }
    }
}
