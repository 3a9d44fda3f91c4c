//! The table: what was measured, beside what, and whether that is enough.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Serialize;

/// What a figure must be.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    /// How far it is met: 1 is just enough, more is better.
    pub(crate) fn share(self, measured: f64) -> f64 {
        match self {
            Self::AtLeast(least) => measured / least,
            Self::AtMost(most) => most / measured.max(f64::MIN_POSITIVE),
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// Which store the server had.
    pub(crate) store: &'static str,
    pub(crate) what: String,
    /// What our server did.
    pub(crate) figure: String,
    /// Its limit, measured in the same run; empty if there is none.
    pub(crate) beside: String,
    /// What is judged: the ratio of the two, or the figure itself.
    pub(crate) judged: f64,
    /// Of what is judged: `x` for a ratio.
    pub(crate) unit: &'static str,
    /// `None` for a figure that explains others.
    pub(crate) target: Option<Target>,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match self.target {
            None => "",
            Some(target) if target.share(self.judged) >= 1.0 => "met",
            Some(_) => "MISSED",
        }
    }

    fn target_text(&self) -> String {
        match self.target {
            None => String::new(),
            Some(Target::AtLeast(least)) => format!(">= {}", number(least, self.unit)),
            Some(Target::AtMost(most)) => format!("<= {}", number(most, self.unit)),
        }
    }

    fn cells(&self) -> [String; 7] {
        [
            self.store.to_owned(),
            self.what.clone(),
            self.figure.clone(),
            self.beside.clone(),
            number(self.judged, self.unit),
            self.target_text(),
            self.verdict().to_owned(),
        ]
    }
}

/// A number with its unit, with as many places as it needs.
pub(crate) fn number(value: f64, unit: &str) -> String {
    let places = match value.abs() {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    match unit {
        "x" => format!("{value:.2}x"),
        unit => format!("{value:.places$} {unit}"),
    }
}

const HEAD: [&str; 7] = ["store", "what", "figure", "beside", "judged", "target", "verdict"];

/// The table as text, in columns.
pub(crate) fn table(rows: &[Row]) -> String {
    let lines = std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(Row::cells));
    let lines = lines.collect::<Vec<_>>();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = std::array::from_fn::<_, 7, _>(width);
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect::<Vec<_>>();
        text.push_str(format!("| {} |", cells.join(" | ")).trim_end());
        text.push('\n');
        if index == 0 {
            let rule = widths.map(|width| "-".repeat(width)).join("-|-");
            let _ = writeln!(text, "|-{rule}-|");
        }
    }
    text
}

/// Writes `NAME.json` and `NAME.svg` into a directory.
pub(crate) fn write(directory: &Path, name: &str, machine: &str, rows: &[Row]) {
    fs::create_dir_all(directory).unwrap();
    let json = serde_json::json!({ "machine": machine, "rows": rows });
    fs::write(directory.join(name).with_extension("json"), format!("{json:#}\n")).unwrap();
    fs::write(directory.join(name).with_extension("svg"), chart(machine, rows)).unwrap();
}

/// Where the bars of the chart begin, how long one that is just enough is, and how high a line is.
const LEFT: f64 = 560.0;
const ENOUGH: f64 = 200.0;
const LINE: f64 = 20.0;

/// Longer ones are cut.
const LONGEST: f64 = 3.0;

/// A bar for each row with a target; those that reach the line meet it.
fn chart(machine: &str, rows: &[Row]) -> String {
    let judged = rows.iter().filter_map(|row| Some((row, row.target?.share(row.judged))));
    let judged = judged.collect::<Vec<_>>();
    let height = LINE * (judged.iter().map(|_| 1.0).sum::<f64>() + 3.0);
    let width = LEFT + ENOUGH * LONGEST + 120.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"{LINE}\">{}</text>\n",
        escaped(machine)
    );
    let mut y = LINE * 1.5;
    for (row, share) in judged {
        let color = if share >= 1.0 { "#2e7d32" } else { "#c62828" };
        let (length, base) = (ENOUGH * share.min(LONGEST), y + 14.0);
        let what = escaped(&format!("{} {}", row.store, row.what));
        let said = escaped(&format!("{} ({})", number(row.judged, row.unit), row.target_text()));
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{base}\" text-anchor=\"end\">{what}</text>\
             <rect x=\"{LEFT}\" y=\"{}\" width=\"{length:.0}\" height=\"14\" fill=\"{color}\"/>\
             <text x=\"{:.0}\" y=\"{base}\">{said}</text>",
            LEFT - 8.0,
            y + 3.0,
            LEFT + length + 6.0,
        );
        y += LINE;
    }
    let line = LEFT + ENOUGH;
    let _ = writeln!(
        svg,
        "<line x1=\"{line}\" y1=\"{LINE}\" x2=\"{line}\" y2=\"{y}\" stroke=\"black\"/>\n</svg>"
    );
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(judged: f64, target: Option<Target>) -> Row {
        let (what, figure, beside) = ("sends < 8".to_owned(), "7 /s".to_owned(), String::new());
        Row { store: "embedded", what, figure, beside, judged, unit: "x", target }
    }

    #[test]
    fn a_target_is_met_at_its_bound_and_missed_beyond_it() {
        assert_eq!(row(1.0, Some(Target::AtLeast(1.0))).verdict(), "met");
        assert_eq!(row(0.99, Some(Target::AtLeast(1.0))).verdict(), "MISSED");
        assert_eq!(row(1.2, Some(Target::AtMost(1.2))).verdict(), "met");
        assert_eq!(row(1.21, Some(Target::AtMost(1.2))).verdict(), "MISSED");
        assert_eq!(row(0.0, Some(Target::AtMost(1.0))).verdict(), "met");
        assert_eq!(row(5.0, None).verdict(), "");
    }

    #[test]
    fn the_columns_of_the_table_stand_below_each_other() {
        let text = table(&[row(1.0, Some(Target::AtLeast(1.0))), row(12.5, None)]);
        let lengths = text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
        assert_eq!(lengths.len(), 4);
        assert!(lengths.iter().all(|length| *length == lengths[0]), "{text}");
    }

    #[test]
    fn the_chart_has_a_bar_for_each_row_with_a_target() {
        let svg = chart("a & b", &[row(1.0, Some(Target::AtLeast(1.0))), row(0.5, None)]);
        assert_eq!(svg.matches("height=\"14\"").count(), 1);
        assert!(svg.contains("a &amp; b") && svg.contains("sends &lt; 8"), "{svg}");
    }
}
