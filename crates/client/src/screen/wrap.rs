//! Texts in a number of columns. A wide character, such as most of Chinese, takes two.

use ratatui::style::Style;
use ratatui::text::{Line, Span, StyledGrapheme};
use unicode_width::UnicodeWidthStr;

/// The text, or if it is wider, its beginning with `…`.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let (mut out, mut used) = (String::new(), 0);
    for grapheme in Span::raw(text).styled_graphemes(Style::new()) {
        used += grapheme.symbol.width();
        if used >= columns {
            break;
        }
        out.push_str(grapheme.symbol);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// The same, filled up with spaces.
pub(super) fn cell(text: &str, columns: usize) -> String {
    let mut out = cut(text, columns);
    out.push_str(&" ".repeat(columns.saturating_sub(out.width())));
    out
}

/// The lines of a text that is broken between words where possible. All but the first are indented.
pub(super) fn wrap(line: &Line<'_>, columns: usize, indent: usize) -> Vec<Line<'static>> {
    let graphemes = line.styled_graphemes(Style::new()).collect::<Vec<_>>();
    // A wide character fits in any case.
    let columns = columns.max(indent + 2);
    let mut lines = Vec::new();
    let (mut start, mut index, mut used, mut after_space) = (0, 0, 0, 0);
    while let Some(grapheme) = graphemes.get(index) {
        let is_space = grapheme.symbol == " ";
        let indent = if lines.is_empty() { 0 } else { indent };
        used += grapheme.symbol.width();
        // A space at the end is not shown, so that it always fits.
        if !is_space && used > columns - indent && index > start {
            let end = if after_space > start { after_space } else { index };
            lines.push(joined(&graphemes[start..end], indent));
            (start, index, used) = (end, end, 0);
            continue;
        }
        index += 1;
        if is_space {
            after_space = index;
        }
    }
    let indent = if lines.is_empty() { 0 } else { indent };
    lines.push(joined(&graphemes[start..], indent));
    lines
}

/// A line of graphemes, without spaces at its end.
fn joined(graphemes: &[StyledGrapheme<'_>], indent: usize) -> Line<'static> {
    let end = graphemes.iter().rposition(|it| it.symbol != " ").map_or(0, |last| last + 1);
    let mut spans = Vec::new();
    if indent > 0 && end > 0 {
        spans.push(Span::raw(" ".repeat(indent)));
    }
    for run in graphemes[..end].chunk_by(|one, other| one.style == other.style) {
        let text = run.iter().map(|it| it.symbol).collect::<String>();
        spans.push(Span::styled(text, run[0].style));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use ratatui::style::Stylize;

    use super::*;

    fn wrapped(text: &str, columns: usize) -> Vec<String> {
        wrap(&Line::raw(text), columns, 2).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "  three"]);
        assert_eq!(wrapped("one  two", 20), ["one  two"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "  ef", "  gh", "  ij"]);
        assert_eq!(wrapped("a abcdefghij", 6), ["a", "  abcd", "  efgh", "  ij"]);
        assert_eq!(wrapped("one     ", 3), ["one"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("你好世界 李", 6), ["你好世", "  界", "  李"]);
        assert_eq!(wrapped("👩‍🔧👩‍🔧👩‍🔧", 4), ["👩‍🔧👩‍🔧", "  👩‍🔧"]);
        assert_eq!(wrapped("a李bc", 0), ["a李b", "  c"], "there are always a few columns");
        assert_eq!(wrapped("a\u{1b}[2Jb", 20), ["a[2Jb"], "no control character comes through");
    }

    /// Nothing is lost, and nothing is wider than it may be.
    #[test]
    fn no_line_is_wider() {
        let text = "The 你好 quick  brown 👩‍🔧 fox e\u{301}xceedingly jumps over 李李李李李李李李 ".repeat(3);
        for columns in 4..60 {
            let lines = wrapped(&text, columns);
            assert!(lines.iter().all(|line| line.width() <= columns), "{columns}: {lines:?}");
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&lines.concat()), letters(&text), "{columns}");
        }
    }

    #[test]
    fn styles_are_kept() {
        let line = Line::from(vec!["one ".into(), "two three".bold()]);
        let lines = wrap(&line, 8, 2);
        assert_eq!(lines[0].spans, vec![Span::raw("one "), "two".bold()]);
        assert_eq!(lines[1].spans, vec![Span::raw("  "), "three".bold()]);
    }

    #[test]
    fn cells_have_their_width() {
        for (text, columns, shown) in [
            ("abc", 5, "abc  "),
            ("abcdef", 4, "abc…"),
            ("你好世界", 6, "你好… "),
            ("abc", 3, "abc"),
            ("ab", 0, ""),
        ] {
            assert_eq!(cell(text, columns), shown);
        }
    }
}
