//! The documents name tests and follow rules of their own; both are checked.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file below `directory` with this ending, without what was built or installed.
fn files(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

/// The names of all functions of the tests, Rust and Python.
fn functions() -> BTreeSet<String> {
    let mut sources = Vec::new();
    for directory in ["crates", "tests"] {
        files(&root().join(directory), ".rs", &mut sources);
        files(&root().join(directory), ".py", &mut sources);
    }
    let mut names = BTreeSet::new();
    for source in sources {
        let text = std::fs::read_to_string(source).unwrap();
        for start in ["fn ", "def test_", "def "] {
            for rest in text.split(start).skip(1) {
                let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// What stands between backquotes in the last column of the tables.
fn named(document: &str) -> Vec<String> {
    let rows = document.lines().filter(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let is_test = |name: &&str| {
        name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    quoted.filter(is_test).map(str::to_owned).collect()
}

#[test]
fn every_test_that_is_named_exists() {
    let known = functions();
    for (document, least) in [("conformance.md", 100), ("security.md", 40), ("reliability.md", 5)] {
        let text = std::fs::read_to_string(root().join("docs").join(document)).unwrap();
        let named = named(&text);
        assert!(named.len() > least, "the tables of {document} were not understood: {}", named.len());
        let missing = named.iter().filter(|name| !known.contains(*name)).collect::<BTreeSet<_>>();
        assert!(missing.is_empty(), "docs/{document} names tests that are not there: {missing:#?}");
    }
}

#[test]
fn the_changelog_keeps_to_its_kinds() {
    let text = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let kinds = text.lines().filter_map(|line| line.strip_prefix("### ")).collect::<BTreeSet<_>>();
    assert!(kinds.contains("Added"));
    for kind in kinds {
        assert!(["Added", "Changed", "Fixed", "Security"].contains(&kind), "{kind}");
    }
    let versions = text.lines().filter_map(|line| line.strip_prefix("## ")).collect::<Vec<_>>();
    assert_eq!(versions.first(), Some(&"Unreleased"));
}
