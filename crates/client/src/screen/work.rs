//! The list of work: what is selected, and what a row says.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::Look;
use super::wrap::{cell, cut};
use crate::work::WorkItem;

/// The most columns of a handle.
const AGENT: usize = 24;

/// The columns of a state, the number of attempts, and an age.
const STATE: usize = 10;
const ATTEMPTS: usize = 3;
const AGE: usize = 4;

/// With fewer columns, an item has two rows.
const NARROW: usize = 60;

/// The work of the user's agents.
#[derive(Default, Debug)]
pub(super) struct WorkPane {
    pub(super) items: Vec<WorkItem>,
    /// Whether there are more than these.
    pub(super) has_more: bool,
    /// Why it cannot be read.
    pub(super) refused: Option<String>,
    pub(super) is_loaded: bool,
    /// The index of the selected item.
    pub(super) index: usize,
}

impl WorkPane {
    /// Takes over what was read. The same item stays selected, or if it is done, the next one.
    pub(super) fn take(&mut self, read: Result<(Vec<WorkItem>, bool), String>) {
        self.is_loaded = true;
        match read {
            Ok((items, has_more)) => {
                let selected = self.selected().cloned();
                self.items = items;
                self.has_more = has_more;
                self.refused = None;
                let same = selected.and_then(|before| self.items.iter().position(|it| it.is_same(&before)));
                self.index = same.unwrap_or(self.index);
            }
            Err(why) => self.refused = Some(why),
        }
        self.step(0);
    }

    /// The selected item.
    pub(super) fn selected(&self) -> Option<&WorkItem> {
        self.items.get(self.index)
    }

    /// Selects another item.
    pub(super) fn step(&mut self, items: isize) {
        let last = self.items.len().saturating_sub(1);
        self.index = self.index.saturating_add_signed(items).min(last);
    }

    /// The number of rows of all items in a pane of this width.
    pub(super) fn rows(&self, columns: usize) -> usize {
        self.items.len() * rows_of_item(columns)
    }

    /// The headings of the columns, if an item has one row.
    pub(super) fn heading(&self, columns: usize, look: Look) -> Option<Line<'static>> {
        (columns >= NARROW).then(|| {
            let agent = cell("AGENT", self.agent_columns());
            let text = format!("  {agent}  {:STATE$}  {:>ATTEMPTS$}  {:>AGE$}  WHY", "STATE", "TRY", "AGE");
            Line::styled(text, look.faint())
        })
    }

    /// An item in rows of this width.
    pub(super) fn lines(&self, index: usize, columns: usize, look: Look) -> Vec<Line<'static>> {
        let Some(item) = self.items.get(index) else { return Vec::new() };
        let mark = if index == self.index { "▸ " } else { "  " };
        let state = crate::text::on_one_line(&item.state);
        let style = if matches!(item.state.as_str(), "failed" | "held") || !item.flags.is_empty() {
            look.failure()
        } else {
            ratatui::style::Style::new()
        };
        let state = Span::styled(cell(&state, STATE), style);
        let numbers = format!("  {:>ATTEMPTS$}  {:>AGE$}", tries(item), item.age());
        let why = why(item);
        if columns >= NARROW {
            let agent = self.agent_columns();
            let used = mark.width() + agent + STATE + ATTEMPTS + AGE + 8;
            let why = format!("  {}", cell(&why, columns.saturating_sub(used)));
            let agent = format!("{mark}{}  ", cell(&item.agent(), agent));
            return vec![Line::from(vec![Span::raw(agent), state, Span::raw(numbers), Span::raw(why)])];
        }
        let used = mark.width() + STATE + ATTEMPTS + AGE + 6;
        let agent = format!("{mark}{}  ", cell(&item.agent(), columns.saturating_sub(used)));
        let first = Line::from(vec![Span::raw(agent), state, Span::raw(numbers)]);
        vec![first, Line::raw(cell(&format!("    {}", cut(&why, columns.saturating_sub(4))), columns))]
    }

    fn agent_columns(&self) -> usize {
        self.items.iter().map(|item| item.agent().width()).max().unwrap_or(0).clamp(5, AGENT)
    }
}

/// The number of rows of an item in a pane of this width.
pub(super) const fn rows_of_item(columns: usize) -> usize {
    if columns < NARROW { 2 } else { 1 }
}

/// The number of the newest attempt.
pub(super) fn tries(item: &WorkItem) -> String {
    if item.current_attempt == 0 { "-".to_owned() } else { item.current_attempt.to_string() }
}

/// Why the work is not done, and its text.
fn why(item: &WorkItem) -> String {
    let causes = item.causes().join("; ");
    match item.text() {
        Some(text) if causes.is_empty() => format!("“{text}”"),
        Some(text) => format!("{causes} – “{text}”"),
        None => causes,
    }
}
