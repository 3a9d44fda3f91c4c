//! SQL that is reviewed as text: the statements that a store sends for frequent operations are kept
//! in a file beside its tests, so that a change of one is seen in review.

use std::path::Path;

/// Set to write the file instead of comparing it.
const UPDATE: &str = "PARLANCE_UPDATE_SQL";

/// The words before which a line of SQL is broken.
const CLAUSES: [&str; 16] = [
    "SELECT",
    "FROM",
    "LEFT",
    "INNER",
    "CROSS",
    "JOIN",
    "WHERE",
    "AND",
    "SET",
    "VALUES",
    "ON",
    "UNION",
    "ORDER",
    "LIMIT",
    "FOR",
    "RETURNING",
];

const KINDS_OF_JOIN: [&str; 4] = ["LEFT", "OUTER", "INNER", "CROSS"];

/// Compares statements, each with the name of its operation, with the file.
///
/// # Panics
/// If they differ.
pub fn compare(file: &Path, operations: &[(&str, Vec<String>)]) {
    let mut text = String::from("-- Written by a test, with PARLANCE_UPDATE_SQL=1.\n");
    for (operation, statements) in operations {
        assert!(!statements.is_empty(), "{operation} sends no statement");
        text.extend(["\n-- ", operation, "\n"]);
        for statement in statements {
            text.push_str(&broken(statement));
            text.push_str(";\n");
        }
    }
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(file, text).expect("the file can be written");
        return;
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    for (number, (kept, now)) in kept.lines().zip(text.lines()).enumerate() {
        assert_eq!(kept, now, "{}:{}: {HINT}", file.display(), number + 1);
    }
    assert_eq!(kept.lines().count(), text.lines().count(), "{}: {HINT}", file.display());
}

const HINT: &str =
    "a frequent statement has changed; review it, and update the file with PARLANCE_UPDATE_SQL=1";

/// One clause per line, indented by the parentheses around it. The kind of a join stays beside it.
fn broken(statement: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0);
    for word in statement.split_whitespace() {
        let is_clause = CLAUSES.contains(&word.trim_start_matches('('));
        let is_joined = word == "JOIN" && KINDS_OF_JOIN.iter().any(|kind| text.ends_with(kind));
        if is_clause && !is_joined && !text.is_empty() {
            text.push('\n');
            text.push_str(&"  ".repeat(depth + 1));
        } else if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
        depth += word.matches('(').count();
        depth = depth.saturating_sub(word.matches(')').count());
    }
    text
}
