//! A line that somebody types in a terminal, as a function of the bytes that the terminal sends.
//!
//! The line is shown in one row, which is scrolled if the text is longer. Pasted text may have several lines; they are sent
//! as one message.

use unicode_width::UnicodeWidthChar;

/// The most lines that can be recalled.
const RECALLED: usize = 100;

/// The most bytes of an escape sequence or of a character.
const PENDING: usize = 16;

/// What a key has done, for the caller, which shows the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The line has changed; show it again.
    Changed,
    /// A line was ended, and the next one is empty. It is not blank.
    Entered(String),
    /// A blank line was ended.
    Blank,
    /// The person wants to leave.
    Leave,
}

/// A line that is being typed.
#[derive(Default, Debug)]
pub struct Editor {
    text: Vec<char>,
    /// The number of characters before the cursor.
    cursor: usize,
    /// Bytes that are not a whole character or escape sequence yet.
    pending: Vec<u8>,
    is_pasting: bool,
    entered: Vec<String>,
    /// The index of the recalled line.
    recalled: Option<usize>,
    /// What `@` may be completed to.
    handles: Vec<String>,
}

impl Editor {
    /// Sets the handles that the tab key completes, without `@`.
    pub fn complete_with(&mut self, handles: Vec<String>) {
        self.handles = handles;
    }

    /// What was typed.
    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// Takes the next byte of the terminal.
    pub fn feed(&mut self, byte: u8) -> Option<Event> {
        self.pending.push(byte);
        if self.pending[0] == 0x1b {
            return self.escape();
        }
        match std::str::from_utf8(&self.pending) {
            Ok(text) => {
                let c = text.chars().next();
                self.pending.clear();
                c.and_then(|c| self.key(c))
            }
            // The character is not complete.
            Err(error) if error.error_len().is_none() => None,
            Err(_) => {
                self.pending.clear();
                None
            }
        }
    }

    /// The part of the line that fits into this number of columns, and the column of the cursor in it.
    pub fn view(&self, columns: usize) -> (String, usize) {
        let width = |c: char| shown(c).width().unwrap_or(0);
        // The cursor itself needs a column.
        let columns = columns.max(3) - 1;
        let (mut first, mut before) = (self.cursor, 0);
        while first > 0 && before + width(self.text[first - 1]) <= columns {
            first -= 1;
            before += width(self.text[first]);
        }
        let (mut text, mut used) = (String::new(), 0);
        for c in &self.text[first..] {
            used += width(*c);
            if used > columns {
                break;
            }
            text.push(shown(*c));
        }
        (text, before)
    }

    /// Takes an escape sequence if it is complete: `ESC [ … letter`, `ESC O letter`, or ESC with one character.
    fn escape(&mut self) -> Option<Event> {
        let is_complete = match self.pending.as_slice() {
            [0x1b] | [0x1b, b'[' | b'O'] => false,
            [0x1b, b'[' | b'O', .., last] => (0x40..=0x7e).contains(last),
            _ => true,
        };
        if !is_complete && self.pending.len() < PENDING {
            return None;
        }
        let sequence = std::mem::take(&mut self.pending);
        match sequence.get(1..).unwrap_or_default() {
            b"[200~" => self.is_pasting = true,
            b"[201~" => self.is_pasting = false,
            b"[A" | b"OA" => return self.recall(true),
            b"[B" | b"OB" => return self.recall(false),
            b"[C" | b"OC" => self.cursor = (self.cursor + 1).min(self.text.len()),
            b"[D" | b"OD" => self.cursor = self.cursor.saturating_sub(1),
            b"[H" | b"OH" | b"[1~" | b"[7~" => self.cursor = 0,
            b"[F" | b"OF" | b"[4~" | b"[8~" => self.cursor = self.text.len(),
            b"[3~" => return Some(self.delete(self.cursor, self.cursor + 1)),
            _ => return None,
        }
        Some(Event::Changed)
    }

    fn key(&mut self, c: char) -> Option<Event> {
        let control = |letter: u8| char::from(letter & 0x1f);
        let event = match c {
            '\t' if self.is_pasting => self.insert(c),
            '\r' | '\n' if self.is_pasting => self.insert('\n'),
            '\r' | '\n' => self.enter(),
            '\t' => return self.complete(),
            '\u{7f}' | '\u{8}' => self.delete(self.cursor.saturating_sub(1), self.cursor),
            c if c == control(b'C') => Event::Leave,
            c if c == control(b'D') && self.text.is_empty() => Event::Leave,
            c if c == control(b'D') => self.delete(self.cursor, self.cursor + 1),
            c if c == control(b'A') => self.move_to(0),
            c if c == control(b'E') => self.move_to(self.text.len()),
            c if c == control(b'B') => self.move_to(self.cursor.saturating_sub(1)),
            c if c == control(b'F') => self.move_to((self.cursor + 1).min(self.text.len())),
            c if c == control(b'P') => return self.recall(true),
            c if c == control(b'N') => return self.recall(false),
            c if c == control(b'U') => self.delete(0, self.cursor),
            c if c == control(b'K') => self.delete(self.cursor, self.text.len()),
            c if c == control(b'W') => self.delete(self.start_of_word(), self.cursor),
            c if c == control(b'L') => Event::Changed,
            c if c.is_control() => return None,
            c => self.insert(c),
        };
        Some(event)
    }

    fn insert(&mut self, c: char) -> Event {
        self.text.insert(self.cursor, c);
        self.move_to(self.cursor + 1)
    }

    fn move_to(&mut self, cursor: usize) -> Event {
        self.cursor = cursor;
        Event::Changed
    }

    fn delete(&mut self, from: usize, to: usize) -> Event {
        self.text.drain(from..to.min(self.text.len()));
        self.move_to(from.min(self.text.len()))
    }

    /// Where the word before the cursor begins.
    fn start_of_word(&self) -> usize {
        let before = &self.text[..self.cursor];
        let word_end = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |last| last + 1);
        before[..word_end].iter().rposition(|c| c.is_whitespace()).map_or(0, |space| space + 1)
    }

    fn enter(&mut self) -> Event {
        let line = std::mem::take(&mut self.text).into_iter().collect::<String>();
        (self.cursor, self.recalled) = (0, None);
        if line.trim().is_empty() {
            return Event::Blank;
        }
        if self.entered.last() != Some(&line) {
            self.entered.push(line.clone());
            let excess = self.entered.len().saturating_sub(RECALLED);
            self.entered.drain(..excess);
        }
        Event::Entered(line)
    }

    /// Shows the line before or after the one that is shown. After the last one, the line is empty.
    fn recall(&mut self, earlier: bool) -> Option<Event> {
        let shown = self.recalled.unwrap_or(self.entered.len());
        let next = if earlier { shown.checked_sub(1)? } else { (shown + 1).min(self.entered.len()) };
        self.recalled = (next < self.entered.len()).then_some(next);
        self.text = self.entered.get(next).map(|line| line.chars().collect()).unwrap_or_default();
        Some(self.move_to(self.text.len()))
    }

    /// Completes the handle before the cursor as far as all that begin like it agree.
    fn complete(&mut self) -> Option<Event> {
        let start = self.start_of_word();
        let word = self.text[start..self.cursor].iter().collect::<String>();
        let begun = word.strip_prefix('@')?.to_ascii_lowercase();
        let fitting = self.handles.iter().filter(|handle| handle.starts_with(&begun)).collect::<Vec<_>>();
        let (first, others) = fitting.split_first()?;
        let common = others.iter().fold((*first).clone(), |common, handle| {
            let same = common.chars().zip(handle.chars()).take_while(|(one, other)| one == other);
            same.map(|(c, _)| c).collect()
        });
        let end = if others.is_empty() { " " } else { "" };
        let completed = format!("@{common}{end}").chars().collect::<Vec<_>>();
        let cursor = start + completed.len();
        self.text.splice(start..self.cursor, completed);
        Some(self.move_to(cursor))
    }
}

/// A line break or a tab in pasted text has a sign in the row.
const fn shown(c: char) -> char {
    match c {
        '\n' => '⏎',
        '\t' => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last event, and the line with `|` for the cursor.
    fn typed(editor: &mut Editor, keys: &str) -> (Option<Event>, String) {
        let event = keys.bytes().filter_map(|byte| editor.feed(byte)).last();
        let (before, after) = editor.text.split_at(editor.cursor);
        (event, before.iter().chain(&['|']).chain(after).collect())
    }

    #[test]
    fn keys_edit_the_line() {
        for (keys, line) in [
            ("héllo李", "héllo李|"),
            ("abc\u{1b}[D\u{1b}[Dx", "ax|bc"),
            ("abc\u{1}x\u{5}y", "xabcy|"),
            ("abc\u{1b}[H\u{1b}[3~\u{1b}OF\u{7f}", "b|"),
            ("one two  \u{17}", "one |"),
            ("one\u{17}\u{17}", "|"),
            ("abc\u{2}\u{b}\u{2}\u{15}", "|b"),
            ("a\u{1b}[1;5Cb\u{1b}x\u{0}c", "abc|"),
            ("\u{7f}\u{4}", "|"),
            ("a\u{1b}[200~b\r\nc\td\u{1b}[201~", "ab\n\nc\td|"),
        ] {
            assert_eq!(typed(&mut Editor::default(), keys).1, line, "{keys:?}");
        }
    }

    #[test]
    fn lines_are_entered_and_recalled() {
        let mut editor = Editor::default();
        assert_eq!(typed(&mut editor, "one\r"), (Some(Event::Entered("one".to_owned())), "|".to_owned()));
        assert_eq!(typed(&mut editor, "  \r"), (Some(Event::Blank), "|".to_owned()), "nothing to send");
        typed(&mut editor, "two\r");
        assert_eq!(typed(&mut editor, "\u{1b}[A\u{1b}[A").1, "one|");
        assert_eq!(typed(&mut editor, "\u{1b}[A").1, "one|", "there is none before");
        assert_eq!(typed(&mut editor, "\u{1b}[B").1, "two|");
        assert_eq!(typed(&mut editor, "\u{1b}[B").1, "|");
        assert_eq!(typed(&mut editor, "\u{4}").0, Some(Event::Leave));
        assert_eq!(typed(&mut editor, "x\u{3}").0, Some(Event::Leave));
    }

    #[test]
    fn the_tab_key_completes_handles() {
        let mut editor = Editor::default();
        editor.complete_with(["ann", "ann/echo", "bob/scout"].map(str::to_owned).to_vec());
        for (keys, line) in [
            ("@b\t", "@bob/scout |"),
            ("hi @A\t", "hi @ann|"),
            ("hi @ann/\t", "hi @ann/echo |"),
            ("@x\t", "@x|"),
            ("b\t", "b|"),
            ("@b is\u{1b}[D\u{1b}[D\u{1b}[D\t", "@bob/scout | is"),
        ] {
            assert_eq!(typed(&mut editor, &format!("\u{15}\u{b}{keys}")).1, line, "{keys:?}");
            typed(&mut editor, "\u{5}\u{15}");
        }
    }

    #[test]
    fn a_long_line_is_scrolled() {
        let mut editor = Editor::default();
        typed(&mut editor, "0123456789李");
        assert_eq!(editor.view(20), ("0123456789李".to_owned(), 12));
        assert_eq!(editor.view(7), ("6789李".to_owned(), 6));
        typed(&mut editor, "\u{1}");
        assert_eq!(editor.view(7), ("012345".to_owned(), 0));
        assert_eq!(editor.view(0), ("01".to_owned(), 0));
    }

    /// Whatever a terminal sends, the editor goes on.
    #[test]
    fn any_bytes_are_taken() {
        let mut editor = Editor::default();
        let mut seed = 1_u32;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            editor.feed(seed.to_be_bytes()[0]);
            assert!(editor.cursor <= editor.text.len() && editor.pending.len() < PENDING);
            let (text, column) = editor.view(10);
            assert!(column < 10 && !text.contains(char::is_control));
        }
        typed(&mut editor, "\u{1b}[201~\u{5}\u{15}é");
        assert!(editor.text.contains(&'é'));
    }
}
