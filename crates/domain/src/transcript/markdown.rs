//! Transcripts as Markdown.
//!
//! A text is in a fence that is longer than every run of backticks in it, so nothing in the text can end it. Everything else
//! that somebody wrote is on one line, with a backslash before each character that could mean something.

use super::document::{Block, Line, Section, Span, TextKind, on_one_line, time, visible};

pub(super) fn write(out: &mut String, section: &Section) {
    out.extend(std::iter::repeat_n('#', section.level));
    out.push(' ');
    write_line(out, &section.heading);
    out.push_str("\n\n");
    let mut blocks = section.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            Block::Lines(lines) => {
                for line in lines {
                    out.push_str("- ");
                    write_line(out, line);
                    out.push('\n');
                }
            }
            Block::Text { label, text, kind } => {
                if let Some(label) = label {
                    write_line(out, label);
                    out.push_str("\n\n");
                }
                write_fenced(out, &visible(text), *kind);
            }
        }
        // Two lists without an empty line between them are one, whose items are close together.
        if !(matches!(block, Block::Lines(_)) && matches!(blocks.peek(), Some(Block::Lines(_)))) {
            out.push('\n');
        }
    }
}

fn write_fenced(out: &mut String, text: &str, kind: TextKind) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let language = if kind == TextKind::Json { "json" } else { "text" };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    for piece in [&fence, language, "\n", text, end, &fence, "\n"] {
        out.push_str(piece);
    }
}

fn write_line(out: &mut String, line: &Line) {
    for span in line {
        match span {
            Span::Said(text) => out.push_str(text),
            Span::Written(text) => write_escaped(out, &on_one_line(text)),
            Span::Code(text) => write_code(out, text),
            Span::Time(at) => out.push_str(&time(*at)),
            Span::Message(id) => write_code(out, &id.to_string()),
        }
    }
}

/// Handles, ids, and digests contain neither backticks nor control characters. Anything else is escaped instead.
fn write_code(out: &mut String, text: &str) {
    if text.is_empty() || text.contains(|c: char| c == '`' || c.is_control()) {
        return write_escaped(out, &on_one_line(text));
    }
    for piece in ["`", text, "`"] {
        out.push_str(piece);
    }
}

/// Escapes all punctuation, since nearly each character of it can begin something: emphasis, code, a link, a list.
fn write_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
}
