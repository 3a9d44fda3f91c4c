//! The open room: its newest messages as rows of the pane, and which rows are seen.

use std::collections::VecDeque;

use ratatui::text::{Line, Span};

use super::Look;
use super::wrap::wrap;
use crate::feed::Shown;
use crate::render::{Clock, INDENT, Rendering};

/// The most messages that are kept.
const MESSAGES: usize = 1_000;

/// The most rows that are kept, unless one message has more.
const ROWS: usize = 20_000;

/// Dates are between the messages.
const RENDERING: Rendering = Rendering { clock: Clock::Minutes, is_styled: false };

/// A room whose messages are followed.
#[derive(Debug)]
pub(super) struct OpenRoom {
    pub(super) id: String,
    pub(super) title: String,
    /// Each with the number of its rows.
    messages: VecDeque<(Shown, usize)>,
    rows: VecDeque<Line<'static>>,
    columns: usize,
    /// The number of rows below those that are seen. With 0, new messages come into view.
    below: usize,
    /// Whether the server has answered.
    pub(super) is_loaded: bool,
    /// The last message that was marked as read.
    marked: Option<String>,
}

impl OpenRoom {
    pub(super) fn new(id: String, title: String) -> Self {
        Self {
            id,
            title,
            messages: VecDeque::new(),
            rows: VecDeque::new(),
            columns: 0,
            below: 0,
            is_loaded: false,
            marked: None,
        }
    }

    /// Adds messages. What is seen stays in place, unless it is the end.
    pub(super) fn add(&mut self, messages: Vec<Shown>, look: Look) {
        self.is_loaded = true;
        for shown in messages {
            let added = self.push(shown, look);
            if self.below > 0 {
                self.below += added;
            }
        }
        while self.messages.len() > 1 && (self.messages.len() > MESSAGES || self.rows.len() > ROWS) {
            let Some((_, rows)) = self.messages.pop_front() else { break };
            self.rows.drain(..rows);
        }
        self.below = self.below.min(self.rows.len());
    }

    /// Breaks all messages for another width. The message at the bottom stays there.
    pub(super) fn fit(&mut self, columns: usize, look: Look) {
        if self.columns == columns {
            return;
        }
        self.columns = columns;
        let mut rows_behind = 0;
        let behind = self.messages.iter().rev().take_while(|(_, rows)| {
            rows_behind += rows;
            rows_behind <= self.below
        });
        let behind = behind.count();
        self.rows.clear();
        for (shown, _) in std::mem::take(&mut self.messages) {
            self.push(shown, look);
        }
        let is_at_end = self.below == 0;
        let rows = self.messages.iter().rev().take(behind).map(|(_, rows)| rows);
        self.below = if is_at_end { 0 } else { rows.sum::<usize>().max(1).min(self.rows.len()) };
    }

    /// Adds a message; returns the number of its rows.
    fn push(&mut self, shown: Shown, look: Look) -> usize {
        let before = self.messages.back().map(|(shown, _)| date(shown));
        let mut rows = Vec::new();
        if before != Some(date(&shown)) {
            rows.push(Line::styled(
                format!("── {} ──", crate::text::on_one_line(date(&shown))),
                look.faint(),
            ));
        }
        rows.extend(lines(&shown, self.columns, look));
        let added = rows.len();
        self.rows.extend(rows);
        self.messages.push_back((shown, added));
        added
    }

    /// Moves by rows, up if the number is negative, in a pane of this height.
    pub(super) fn scroll(&mut self, rows: isize, height: usize) {
        let most = self.rows.len().saturating_sub(height);
        self.below = self.below.min(most).saturating_add_signed(rows.saturating_neg()).min(most);
    }

    /// The rows in a pane of this height.
    pub(super) fn seen(&self, height: usize) -> impl Iterator<Item = &Line<'static>> {
        let most = self.rows.len().saturating_sub(height);
        let end = self.rows.len() - self.below.min(most);
        self.rows.range(end.saturating_sub(height)..end)
    }

    /// Returns whether the newest message is in view.
    pub(super) const fn is_at_end(&self) -> bool {
        self.below == 0
    }

    /// The last message, if it is not marked as read yet; it counts as marked from now on.
    pub(super) fn take_unmarked(&mut self) -> Option<String> {
        let last = self.messages.back().map(|(shown, _)| shown.message.id.clone());
        if last.is_none() || last == self.marked {
            return None;
        }
        self.marked.clone_from(&last);
        last
    }
}

/// The day of a message, in UTC.
fn date(shown: &Shown) -> &str {
    shown.message.inserted_at.get(..10).unwrap_or_default()
}

/// The rows of a message.
fn lines(shown: &Shown, columns: usize, look: Look) -> Vec<Line<'static>> {
    let parts = RENDERING.parts(shown);
    let is_text = shown.message.is_text();
    let style = if is_text { ratatui::style::Style::new() } else { look.faint() };
    let mut rows = Vec::new();
    for (index, line) in parts.lines.into_iter().enumerate() {
        let row = if index == 0 {
            Line::from(vec![
                Span::styled(format!("{} ", parts.place), look.faint()),
                Span::styled(parts.sender.clone(), if is_text { look.strong() } else { look.faint() }),
                Span::styled(format!("{}: {line}", parts.kind), style),
            ])
        } else {
            Line::styled(format!("{INDENT}{line}"), style)
        };
        rows.extend(wrap(&row, columns, INDENT.len()));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::text;

    const PLAIN: Look = Look { is_styled: false };

    fn shown(number: i64) -> Shown {
        let mut message = text(&format!("m{number}"), number, "2026-11-30T09:00:00.000000Z");
        message.content = format!("text {number}");
        Shown { title: None, message }
    }

    fn room(count: i64) -> OpenRoom {
        let mut room = OpenRoom::new("r".to_owned(), "Plan".to_owned());
        room.fit(40, PLAIN);
        room.add((1..=count).map(shown).collect(), PLAIN);
        room
    }

    fn last(room: &OpenRoom, height: usize) -> String {
        room.seen(height).last().unwrap().to_string()
    }

    #[test]
    fn new_messages_come_into_view_at_the_end_only() {
        let mut room = room(20);
        assert_eq!(last(&room, 5), "09:00 @ann/echo: text 20");
        room.scroll(-3, 5);
        assert_eq!(last(&room, 5), "09:00 @ann/echo: text 17");
        room.add(vec![shown(21)], PLAIN);
        assert_eq!(last(&room, 5), "09:00 @ann/echo: text 17");
        room.scroll(-1_000, 5);
        assert_eq!(room.seen(5).next().unwrap().to_string(), "── 2026-11-30 ──");
        room.scroll(isize::MAX, 5);
        assert_eq!((last(&room, 5), room.is_at_end()), ("09:00 @ann/echo: text 21".to_owned(), true));
    }

    #[test]
    fn another_width_keeps_the_place() {
        let mut room = room(20);
        room.scroll(-3, 5);
        room.fit(18, PLAIN);
        assert_eq!(last(&room, 5), "    text 17");
        room.fit(40, PLAIN);
        assert_eq!(last(&room, 5), "09:00 @ann/echo: text 17");
        room.scroll(isize::MAX, 5);
        room.fit(18, PLAIN);
        assert!(room.is_at_end());
    }

    #[test]
    fn old_messages_are_forgotten() {
        let mut room = room(1_500);
        assert_eq!((room.messages.len(), room.rows.len()), (MESSAGES, MESSAGES));
        room.scroll(-5_000, 5);
        assert_eq!(room.seen(5).next().unwrap().to_string(), "09:00 @ann/echo: text 501");
        let long = Shown {
            message: crate::model::Message { content: "x\n".repeat(30_000), ..shown(1).message },
            title: None,
        };
        room.add(vec![long], PLAIN);
        assert_eq!((room.messages.len(), room.rows.len()), (1, 30_000));
        assert_eq!(room.take_unmarked().as_deref(), Some("m1"));
        assert_eq!(room.take_unmarked(), None);
    }
}
