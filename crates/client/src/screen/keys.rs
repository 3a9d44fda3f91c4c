//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::widgets::Block;

use super::{Effect, Mode, Pane, Screen, rooms};
use crate::editor::{self, Editor};
use crate::work::WorkItem;

/// What the terminal sends before and after pasted text.
const PASTE: (&str, &str) = ("\u{1b}[200~", "\u{1b}[201~");

/// Where a key moves to.
enum Step {
    Rows(isize),
    Pages(isize),
}

impl Screen {
    pub(super) fn key(&mut self, key: KeyEvent, effects: &mut Vec<Effect>) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.notice = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c') => return effects.push(Effect::Quit),
                KeyCode::Char('l') => return effects.push(Effect::Redraw),
                _ => {}
            }
        }
        match std::mem::replace(&mut self.mode, Mode::Browse) {
            Mode::Browse => self.browse(key, effects),
            Mode::Help => {}
            Mode::Filter(editor) => self.filter(editor, key),
            Mode::Write => self.write(key, effects),
            Mode::Details(item) => self.details(item, key, effects),
            Mode::ConfirmRetry(item) if key.code == KeyCode::Char('y') => {
                self.notice = Some(format!("Offering the message to {} again …", item.agent()));
                effects.push(Effect::Retry(item));
            }
            Mode::ConfirmRetry(_) => self.notice = Some("Not retried.".to_owned()),
            Mode::Reason(item, editor) => self.reason(item, editor, key, effects),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
        let pasted = format!("{}{}{}", PASTE.0, text.collect::<String>(), PASTE.1);
        let draft = self.open.as_ref().map(|open| open.id.clone());
        match (&mut self.mode, draft) {
            (Mode::Filter(editor) | Mode::Reason(_, editor), _) => drop(feed(editor, &pasted)),
            (Mode::Write, Some(room)) => drop(feed(self.drafts.entry(room).or_default(), &pasted)),
            _ => {}
        }
        if let Mode::Filter(editor) = &self.mode {
            self.rooms.filter(editor.text());
        }
    }

    fn browse(&mut self, key: KeyEvent, effects: &mut Vec<Effect>) {
        match key.code {
            KeyCode::Char('q') => self.leave(effects),
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('/') => {
                self.focus = Pane::Rooms;
                self.rooms.filter(String::new());
                self.mode = Mode::Filter(Editor::default());
            }
            KeyCode::Char('i') => self.begin_to_write(),
            KeyCode::Char(c @ ('r' | 'd' | 's')) => self.change_work(c),
            KeyCode::Esc => self.rooms.filter(String::new()),
            KeyCode::Tab => self.focus = self.focus.next(),
            KeyCode::BackTab => self.focus = self.focus.next().next(),
            KeyCode::Enter => self.enter(effects),
            KeyCode::Up | KeyCode::Char('k') => self.step(Step::Rows(-1)),
            KeyCode::Down | KeyCode::Char('j') => self.step(Step::Rows(1)),
            KeyCode::PageUp => self.step(Step::Pages(-1)),
            KeyCode::PageDown => self.step(Step::Pages(1)),
            KeyCode::Home | KeyCode::Char('g') => self.step(Step::Rows(isize::MIN)),
            KeyCode::End | KeyCode::Char('G') => self.step(Step::Rows(isize::MAX)),
            _ => {}
        }
    }

    fn leave(&mut self, effects: &mut Vec<Effect>) {
        if self.sending > 0 && !std::mem::replace(&mut self.was_warned, true) {
            self.notice = Some("A text is not sent yet. Press q again to leave anyway.".to_owned());
        } else {
            effects.push(Effect::Quit);
        }
    }

    fn enter(&mut self, effects: &mut Vec<Effect>) {
        match self.focus {
            Pane::Rooms => {
                let chosen = self.rooms.selected().map(|room| (room.id.clone(), rooms::title(room)));
                if let Some((id, title)) = chosen {
                    self.open(id, title, effects);
                }
            }
            Pane::Messages => self.begin_to_write(),
            Pane::Work => {
                if let Some(item) = self.work.selected() {
                    self.mode = Mode::Details(item.clone());
                }
            }
        }
    }

    fn begin_to_write(&mut self) {
        if self.open.is_some() {
            self.focus = Pane::Messages;
            self.mode = Mode::Write;
        } else {
            self.notice = Some("Open a room first: select one, and press Enter.".to_owned());
        }
    }

    fn step(&mut self, step: Step) {
        let areas = self.areas();
        let height = |area| usize::from(Block::bordered().inner(area).height).max(1);
        let rows = |height: usize| match step {
            Step::Rows(rows) => rows,
            Step::Pages(pages) => pages.saturating_mul(isize::try_from(height.max(2) - 1).unwrap_or(1)),
        };
        match self.focus {
            Pane::Rooms => self.rooms.step(rows(areas.rooms.map_or(1, height))),
            Pane::Work => self.work.step(rows(areas.work.map_or(1, height))),
            Pane::Messages => {
                let height = self.messages_inside().map_or(1, |inside| usize::from(inside.height));
                if let Some(open) = &mut self.open {
                    open.scroll(rows(height), height);
                }
            }
        }
    }

    fn filter(&mut self, mut editor: Editor, key: KeyEvent) {
        match key.code {
            KeyCode::Enter => {}
            KeyCode::Esc => self.rooms.filter(String::new()),
            KeyCode::Up => self.continue_filter(editor, -1),
            KeyCode::Down => self.continue_filter(editor, 1),
            _ => {
                feed(&mut editor, &bytes(key));
                self.rooms.filter(editor.text());
                self.continue_filter(editor, 0);
            }
        }
    }

    fn continue_filter(&mut self, editor: Editor, rooms: isize) {
        self.rooms.step(rooms);
        self.mode = Mode::Filter(editor);
    }

    fn write(&mut self, key: KeyEvent, effects: &mut Vec<Effect>) {
        let Some(room) = self.open.as_ref().map(|open| open.id.clone()) else { return };
        if key.code == KeyCode::Esc {
            return;
        }
        self.mode = Mode::Write;
        let draft = self.drafts.entry(room.clone()).or_default();
        match feed(draft, &bytes(key)) {
            Some(editor::Event::Entered(text)) => {
                self.sending += 1;
                effects.push(Effect::Send { room, text });
            }
            Some(editor::Event::Leave) => self.mode = Mode::Browse,
            Some(editor::Event::Changed | editor::Event::Blank) | None => {}
        }
    }

    fn details(&mut self, item: WorkItem, key: KeyEvent, effects: &mut Vec<Effect>) {
        match key.code {
            KeyCode::Enter => {
                let title = item.chat_room_title.as_deref().unwrap_or_default();
                let title = crate::text::on_one_line(title);
                self.open(item.chat_room_id, title, effects);
            }
            KeyCode::Char(c @ ('r' | 'd' | 's')) => self.change(item, c),
            _ => {}
        }
    }

    fn change_work(&mut self, key: char) {
        match self.work.selected().filter(|_| self.focus == Pane::Work) {
            Some(item) => self.change(item.clone(), key),
            None => {
                self.notice = Some("Select work first: press Tab until its pane has the focus.".to_owned());
            }
        }
    }

    /// Asks before work is changed.
    fn change(&mut self, item: WorkItem, key: char) {
        let refused = if key == 'r' { item.refuses_retry() } else { item.refuses_dead_letter() };
        match refused {
            Some(why) => self.notice = Some(format!("Not possible: {why}.")),
            None if key == 'r' => self.mode = Mode::ConfirmRetry(item),
            None => self.mode = Mode::Reason(item, Editor::default()),
        }
    }

    fn reason(&mut self, item: WorkItem, mut editor: Editor, key: KeyEvent, effects: &mut Vec<Effect>) {
        if key.code == KeyCode::Esc {
            self.notice = Some("Not changed.".to_owned());
            return;
        }
        match feed(&mut editor, &bytes(key)) {
            Some(editor::Event::Entered(reason)) => {
                self.notice = Some(format!("Taking the message from {} …", item.agent()));
                effects.push(Effect::DeadLetter(item, reason));
            }
            Some(editor::Event::Leave) => {}
            Some(editor::Event::Changed | editor::Event::Blank) | None => {
                self.mode = Mode::Reason(item, editor);
            }
        }
    }
}

impl Pane {
    const fn next(self) -> Self {
        match self {
            Self::Rooms => Self::Messages,
            Self::Messages => Self::Work,
            Self::Work => Self::Rooms,
        }
    }
}

/// Types what a terminal sends; returns the last event.
fn feed(editor: &mut Editor, bytes: &str) -> Option<editor::Event> {
    bytes.bytes().filter_map(|byte| editor.feed(byte)).last()
}

/// What a terminal sends for a key, which is what the editor of lines takes.
fn bytes(key: KeyEvent) -> String {
    let sequence = match key.code {
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            let control = u8::try_from(c).ok().filter(u8::is_ascii_alphabetic).map(|letter| letter & 0x1f);
            return control.map(|control| char::from(control).to_string()).unwrap_or_default();
        }
        KeyCode::Char(c) => return c.to_string(),
        KeyCode::Enter => "\r",
        KeyCode::Tab => "\t",
        KeyCode::Backspace => "\u{7f}",
        KeyCode::Delete => "\u{1b}[3~",
        KeyCode::Up => "\u{1b}[A",
        KeyCode::Down => "\u{1b}[B",
        KeyCode::Right => "\u{1b}[C",
        KeyCode::Left => "\u{1b}[D",
        KeyCode::Home => "\u{1b}[H",
        KeyCode::End => "\u{1b}[F",
        _ => "",
    };
    sequence.to_owned()
}
