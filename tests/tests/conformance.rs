//! What the documents name exists, and they follow their own rules.
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

/// The names between backquotes in the last column of the tables.
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
    for (document, heading, least) in [
        ("conformance.md", "", 100),
        ("security.md", "", 40),
        ("reliability.md", "", 5),
        ("ARCHITECTURE.md", "### Rules in SQL", 6),
    ] {
        let text = std::fs::read_to_string(root().join("docs").join(document)).unwrap();
        let (_, part) = text.split_once(heading).unwrap();
        let named = named(part);
        assert!(named.len() > least, "the tables of {document} were not understood: {}", named.len());
        let missing = named.iter().filter(|name| !known.contains(*name)).collect::<BTreeSet<_>>();
        assert!(missing.is_empty(), "docs/{document} names tests that are not there: {missing:#?}");
    }
}

/// The text between backquotes outside of code blocks, if it can be a path or the name of a module.
fn quoted(text: &str) -> Vec<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let outside = text.split("```").step_by(2).flat_map(str::lines);
    let words = outside.flat_map(|line| line.split('`').skip(1).step_by(2));
    words.filter(|word| !word.is_empty() && word.chars().all(is_plain)).collect()
}

/// Returns whether one of the paths ends with these parts. A Rust file also matches its module.
fn is_there(paths: &[String], name: &str) -> bool {
    let wanted = format!("/{}", name.trim_end_matches('/'));
    paths.iter().any(|path| {
        let is_below = || path.contains(&format!("{wanted}/"));
        path.ends_with(&wanted)
            || path.strip_suffix(".rs").is_some_and(|it| it.ends_with(&wanted))
            || is_below()
    })
}

/// Documents may name a source by the end of its path, and a crate without `crates/`.
#[test]
fn every_source_that_is_named_exists() {
    let (mut paths, mut documents) = (Vec::new(), Vec::new());
    files(&root(), "", &mut paths);
    files(&root(), ".md", &mut documents);
    let paths = paths.iter().map(|path| format!("/{}", path.strip_prefix(root()).unwrap().display()));
    let paths = paths.collect::<Vec<_>>();
    let mut missing = BTreeSet::new();
    let mut seen = 0;
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for word in quoted(&text) {
            let first = word.split_once('/').map(|(first, _)| first);
            let is_source = word.rsplit_once('.').is_some_and(|(_, ending)| ending == "rs")
                || matches!(first, Some("crates" | "tests" | "migrations" | "scripts" | "docs" | "examples"));
            seen += usize::from(is_source);
            // The module of a domain's area goes by the name of the crate and the area.
            let spelled = word.replacen("domain/", "domain/src/", usize::from(!word.contains("/src/")));
            if is_source && !is_there(&paths, word) && !is_there(&paths, &spelled) {
                missing.insert((document.clone(), word.to_owned()));
            }
        }
    }
    assert!(seen > 60, "the documents were not understood: {seen}");
    assert!(missing.is_empty(), "documents name sources that are not there: {missing:#?}");
}

/// Names in the documents that the sources do not contain, with what they are.
const NOT_IN_SOURCES: [(&str, &str); 6] = [
    ("CapabilityBoundingSet", "a setting of systemd"),
    ("TimeoutStopSec", "a setting of systemd"),
    ("LISTEN", "a statement of PostgreSQL"),
    ("NOTIFY", "a statement of PostgreSQL"),
    ("OneShotInvoker", "a class of `band-sdk`"),
    ("LIBSQLITE3_FLAGS", "a variable of `libsqlite3-sys`, in `.cargo/config.toml`"),
];

/// Returns whether this is the name of a type, such as `AgentRow`, or of a constant, such as `MAX_AGE`.
fn is_type_or_constant(name: &str) -> bool {
    let is_constant = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let humps = name.chars().filter(char::is_ascii_uppercase).count();
    let is_type = humps > 1 && !is_constant && name.chars().all(|c| c.is_ascii_alphanumeric());
    name.len() > 1 && name.starts_with(|c: char| c.is_ascii_uppercase()) && (is_type || is_constant)
}

/// All words of the sources, scripts, and manifests.
fn words_of_sources() -> BTreeSet<String> {
    let mut sources = Vec::new();
    for ending in [".rs", ".sql", ".py", ".toml", ".yml"] {
        files(&root(), ending, &mut sources);
    }
    files(&root().join("scripts"), "", &mut sources);
    // This file names the exceptions.
    sources.retain(|source| !source.ends_with("tests/tests/conformance.rs"));
    let texts = sources.iter().map(|source| std::fs::read_to_string(source).unwrap());
    let words = |text: String| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    texts.flat_map(words).collect()
}

/// Types (also with a method or variant) and constants that documents name occur in the sources.
#[test]
fn every_type_and_constant_that_is_named_exists() {
    let pages = ["README.md", "CONTRIBUTING.md", "migrations/README.md"];
    let mut documents = Vec::from(pages.map(|name| root().join(name)));
    files(&root().join("docs"), ".md", &mut documents);
    documents.retain(|document| !document.ends_with("docs/configuration.md"));
    let words = words_of_sources();
    let is_setting = |name: &str| {
        name.strip_prefix("PARLANCE_").is_some_and(|setting| words.contains(&setting.to_ascii_lowercase()))
    };
    let (mut missing, mut seen) = (BTreeSet::new(), 0);
    for document in documents {
        let text = std::fs::read_to_string(document).unwrap();
        let outside = text.split("```").step_by(2).flat_map(str::lines);
        for name in outside.flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let mut parts = name.split("::");
            if parts.clone().next().is_some_and(is_type_or_constant) {
                seen += 1;
                let is_missing = parts.any(|part| !words.contains(part)) && !is_setting(name);
                missing.extend(is_missing.then(|| name.to_owned()));
            }
        }
    }
    assert!(seen > 60, "the documents were not understood: {seen}");
    let allowed = NOT_IN_SOURCES.map(|(name, _)| name.to_owned());
    assert_eq!(
        missing,
        BTreeSet::from(allowed),
        "the names that are not there, and those that may be missing"
    );
}

/// The rows of crates in the code map name their modules.
#[test]
fn every_module_of_the_code_map_exists() {
    let text = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let mut rows = 0;
    for row in text.lines().filter(|line| line.starts_with("| `crates/")) {
        let words = quoted(row);
        let (names, modules) =
            words.split_at(words.iter().take_while(|word| word.starts_with("crates/")).count());
        let mut paths = Vec::new();
        for name in names {
            files(&root().join(name), "", &mut paths);
        }
        let paths = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let is_module = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || "_/.".contains(c));
        for module in modules.iter().filter(is_module) {
            assert!(is_there(&paths, module), "the code map names {module}, which is not in {names:?}");
        }
        rows += 1;
    }
    assert!(rows > 8, "the code map was not understood: {rows}");
}

/// The text of a page outside of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let outside = text.split("```").step_by(2).flat_map(str::lines);
    outside.flat_map(|line| line.split('`').step_by(2))
}

/// The targets of a page's links.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = prose(text).flat_map(|part| part.split("](").skip(1));
    targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// The anchors of a page's headings. GitHub and mdBook make the same ones.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let lines = text.split("```").step_by(2).flat_map(str::lines);
    for heading in lines.filter_map(|line| line.strip_prefix('#')) {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
        let anchor = kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>();
        let mut unique = anchor.clone();
        for number in 1.. {
            if found.insert(unique) {
                break;
            }
            unique = format!("{anchor}-{number}");
        }
    }
    found
}

/// Every page of the repository.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), ".md", &mut found);
    found
}

/// Links inside the repository lead to a file, since neither the book nor a web server shows a directory, and to a
/// heading that exists.
#[test]
fn every_link_leads_somewhere() {
    let (mut broken, mut seen) = (BTreeSet::new(), 0);
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links(&text).filter(|link| !link.contains("://")) {
            seen += 1;
            let (path, anchor) = link.split_once('#').map_or((link, None), |(path, at)| (path, Some(at)));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let there = std::fs::read(&target).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            if !there.is_ok_and(|text| anchor.is_none_or(|anchor| anchors(&text).contains(anchor))) {
                broken.insert((page.clone(), link.to_owned()));
            }
        }
    }
    assert!(seen > 500, "the links were not understood: {seen}");
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
}

/// `scripts/book` refuses a page that is listed twice.
#[test]
fn every_page_is_in_the_book() {
    let summary = root().join("docs/SUMMARY.md");
    let text = std::fs::read_to_string(&summary).unwrap();
    let listed = links(&text).map(|link| root().join("docs").join(link).canonicalize().unwrap());
    let pages = pages().into_iter().filter(|page| *page != summary).map(|page| page.canonicalize().unwrap());
    let (listed, pages) = (listed.collect::<BTreeSet<_>>(), pages.collect::<BTreeSet<_>>());
    let differ = listed.symmetric_difference(&pages).collect::<Vec<_>>();
    assert!(differ.is_empty(), "not in docs/SUMMARY.md, or not a page: {differ:#?}");
}

#[test]
fn every_part_of_the_book_says_for_whom_it_is() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let parts = summary.split("\n# ").skip(1).collect::<Vec<_>>();
    assert_eq!(parts.len(), 6, "{parts:?}");
    for part in parts {
        let first = root().join("docs").join(links(part).next().unwrap());
        let text = std::fs::read_to_string(first).unwrap();
        assert!(text.contains("\n\nThis part is for "), "the first page does not say for whom: {part}");
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
