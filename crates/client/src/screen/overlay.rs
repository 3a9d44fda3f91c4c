//! What is shown above the panes: help, details, and questions.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear};

use super::work::tries;
use super::wrap::wrap;
use super::{Mode, Screen};
use crate::editor::Editor;
use crate::text::on_one_line;
use crate::work::WorkItem;

/// The most columns.
const COLUMNS: u16 = 66;

/// The keys, and what they do.
const HELP: [(&str, &str); 12] = [
    ("Tab", "next pane, Shift+Tab: back"),
    ("↑ ↓ j k", "move; also PgUp PgDn g G"),
    ("Enter", "open a room, or show work"),
    ("/", "filter rooms by their title"),
    ("i", "write; @ and Tab mention"),
    ("r", "retry work"),
    ("s, d", "stop work: dead-letter it"),
    ("Esc", "go back, or end the filter"),
    ("Ctrl+L", "draw everything again"),
    ("?", "show these keys"),
    ("q", "quit; also Ctrl+C"),
    ("", "Times are UTC. Messages in view count as read."),
];

impl Screen {
    /// Draws what the mode shows above the panes.
    pub(super) fn draw_overlay(&self, frame: &mut Frame<'_>) {
        match &self.mode {
            Mode::Browse | Mode::Filter(_) | Mode::Write => {}
            Mode::Help => {
                let line = |(keys, meaning): &(&'static str, &'static str)| {
                    Line::from(vec![
                        Span::styled(format!("{keys:9}"), self.look.strong()),
                        Span::raw(*meaning),
                    ])
                };
                self.draw_box(frame, "Keys", &HELP.iter().map(line).collect::<Vec<_>>(), 9, None);
            }
            Mode::Details(item) => self.draw_box(frame, "Work", &self.details_of(item), 9, None),
            Mode::ConfirmRetry(item) => {
                let lines = [
                    Line::raw(format!("Offer this message to {} again?", item.agent())),
                    Line::raw(item.text().unwrap_or_default()),
                    Line::raw(""),
                    Line::styled("y retries, any other key cancels", self.look.strong()),
                ];
                self.draw_box(frame, "Retry", &lines, 0, None);
            }
            Mode::Reason(item, editor) => {
                let lines = [
                    Line::raw(format!(
                        "Dead-letter this message, so that {} no longer gets it?",
                        item.agent()
                    )),
                    Line::raw(item.text().unwrap_or_default()),
                    Line::raw(""),
                    Line::styled("Everyone in the room can read the reason.", self.look.faint()),
                    Line::styled("Enter dead-letters, Esc cancels", self.look.strong()),
                ];
                self.draw_box(frame, "Dead-letter", &lines, 0, Some(("Reason: ", editor)));
            }
        }
    }

    fn details_of(&self, item: &WorkItem) -> Vec<Line<'static>> {
        let fact = |name: &str, value: String| {
            Line::from(vec![Span::styled(format!("{name:9}"), self.look.strong()), Span::raw(value)])
        };
        let hidden = || "hidden: neither you nor an agent of yours is in the room".to_owned();
        let room = item.chat_room_title.as_deref().map_or_else(hidden, on_one_line);
        let mut lines = vec![
            fact("Agent", item.agent()),
            fact("Room", room),
            fact("State", on_one_line(&item.state)),
            fact("Attempts", tries(item)),
            fact("Age", item.age()),
        ];
        lines.extend(item.causes().into_iter().map(|cause| fact("Why", cause)));
        lines.extend(item.sender().map(|sender| fact("From", sender)));
        lines.push(fact("Text", item.text().unwrap_or_else(hidden)));
        lines.push(Line::raw(""));
        lines.push(Line::styled(
            "Enter opens the room, r retries, s dead-letters, Esc closes",
            self.look.strong(),
        ));
        lines
    }

    /// Draws lines in a box in the middle, and below them what is typed.
    fn draw_box(
        &self,
        frame: &mut Frame<'_>,
        title: &str,
        lines: &[Line<'_>],
        indent: usize,
        typed: Option<(&str, &Editor)>,
    ) {
        let whole = frame.area();
        let width = whole.width.min(COLUMNS);
        let columns = usize::from(width.saturating_sub(4));
        let lines = lines.iter().flat_map(|line| wrap(line, columns, indent)).collect::<Vec<_>>();
        let rows = lines.len() + usize::from(typed.is_some());
        let height = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2).min(whole.height);
        let area = Rect::new((whole.width - width) / 2, (whole.height - height) / 2, width, height)
            .intersection(whole);
        let block = Block::bordered()
            .title(format!(" {title} "))
            .border_type(ratatui::widgets::BorderType::Thick)
            .border_style(self.look.focus())
            .padding(ratatui::widgets::Padding::horizontal(1));
        let inside = block.inner(area);
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        let shown = usize::from(inside.height).saturating_sub(usize::from(typed.is_some()));
        for (row, line) in inside.rows().zip(lines.iter().take(shown)) {
            frame.render_widget(line, row);
        }
        if let (Some((prompt, editor)), Some(row)) = (typed, inside.rows().next_back()) {
            draw_prompt(frame, row, prompt, editor, true);
        }
    }
}

/// Draws what is typed, with the cursor.
pub(super) fn draw_prompt(frame: &mut Frame<'_>, row: Rect, prompt: &str, editor: &Editor, has_cursor: bool) {
    let columns = usize::from(row.width).saturating_sub(prompt.len());
    let (text, column) = editor.view(columns);
    frame.render_widget(Line::raw(format!("{prompt}{text}")), row);
    let column = u16::try_from(prompt.len() + column).unwrap_or(u16::MAX);
    if has_cursor && column < row.width {
        frame.set_cursor_position(Position::new(row.x + column, row.y));
    }
}
