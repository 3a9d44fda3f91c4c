//! Compares two archives of one store.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

/// The table that commands on a store add rows to: exports are audited.
const GROWING: &str = "audit";

/// What is sealed later, which `parlance audit verify` checks: the table whose only row tells how far the audit log is sealed,
/// and columns of entries.
const SEALED: (&str, [&str; 2]) = ("audit_chain", ["digest", "number"]);

/// The rows of an archive by table.
fn rows(path: &Path) -> BTreeMap<String, Vec<Map<String, Value>>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut tables = BTreeMap::<_, Vec<_>>::new();
    for line in text.lines().skip(1) {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if let Value::Object(row) = line["r"].take() {
            tables.entry(line["t"].as_str().unwrap().to_owned()).or_default().push(row);
        }
    }
    tables
}

/// All rows of the earlier archive are in the later one, with all that they contained. New columns and tables are allowed.
pub(crate) fn has_everything(earlier: &Path, later: &Path) {
    let (earlier, mut later) = (rows(earlier), rows(later));
    assert!(earlier.len() > 40, "too little was exported: {:?}", earlier.keys());
    for (table, rows) in earlier.into_iter().filter(|(table, _)| table != SEALED.0) {
        let is_kept = |column: &&String| table != GROWING || !SEALED.1.contains(&column.as_str());
        let columns = rows[0].keys().filter(is_kept).cloned().collect::<Vec<_>>();
        // Whatever is new in a row is left out.
        let known = |row: &Map<String, Value>| {
            columns.iter().map(|column| row.get(column).map(Value::to_string)).collect::<Vec<_>>()
        };
        let mut found = BTreeMap::<_, usize>::new();
        for row in later.remove(&table).unwrap_or_else(|| panic!("the table {table} is lost")) {
            *found.entry(known(&row)).or_default() += 1;
        }
        for row in rows {
            let left = found.get_mut(&known(&row)).filter(|left| **left > 0);
            *left.unwrap_or_else(|| panic!("a row of {table} is lost or changed: {row:?}")) -= 1;
        }
        let added = found.into_iter().filter(|(_, left)| *left > 0).collect::<Vec<_>>();
        assert!(added.is_empty() || table == GROWING, "{table} has new rows: {added:?}");
    }
}
