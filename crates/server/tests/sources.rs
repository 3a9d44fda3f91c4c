//! Rules for the text of the sources: no file is too long, and tests wait for facts.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The maximum number of lines of a Rust file.
const MOST_LINES: usize = 500;

/// How often test code calls `sleep`. All other tests wait with `testkit`'s `until`, `elapse`, and `pace`.
const SLEEPS: [(&str, usize); 6] = [
    // It looks so often that it meets the program on its way.
    ("crates/server/tests/archive/kills.rs", 1),
    // A thread waits for the start of the program.
    ("crates/testkit/src/nats.rs", 1),
    // The waits themselves.
    ("crates/testkit/src/waits.rs", 4),
    // The end of a database may take longer than `until` waits.
    ("crates/testkit/tests/postgres.rs", 1),
    // How long the program takes to start and to stop is measured, and its end is noticed.
    ("tests/src/server.rs", 2),
    // The wait that tells whether something was so in time.
    ("tests/src/soon.rs", 1),
];

/// How often tests let a fixed time pass, because nothing shows that it is over.
const ELAPSES: [(&str, usize); 10] = [
    // NATS hangs while a node ends; a beat that must not come.
    ("crates/adapters-nats/tests/bus/carrying.rs", 2),
    // The second of two joins begins later than the first.
    ("crates/adapters-nats/tests/bus/failures.rs", 1),
    // Tries to take a lock leave no trace.
    ("crates/adapters-postgres/tests/store_lock.rs", 2),
    // The function itself.
    ("crates/testkit/src/waits.rs", 1),
    // A history is complete if nothing is added to it.
    ("tests/src/proof/actors.rs", 1),
    // How long failures last.
    ("tests/src/proof/world.rs", 8),
    // Nothing is pushed again to a client that does not read.
    ("tests/tests/at_least_once.rs", 2),
    // A body that takes longer than its credential is trusted.
    ("tests/tests/logins.rs", 1),
    // A database that is away for longer than a lease.
    ("tests/tests/nodes/main.rs", 1),
    // A server in the middle of its drain.
    ("tests/tests/stop.rs", 1),
];

/// Every Rust file of the repository by its path, without what was built or installed.
fn sources() -> BTreeMap<String, String> {
    fn collect(directory: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&name) {
                collect(&path, root, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let place = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.insert(place, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut found = BTreeMap::new();
    collect(root, root, &mut found);
    assert!(found.len() > 300, "the sources were not found: {}", found.len());
    found
}

/// The part of a file that is a test, if there is one.
fn test_code<'a>(path: &str, text: &'a str) -> &'a str {
    let is_test = path.starts_with("crates/testkit/") || path.split('/').any(|part| part == "tests");
    if is_test || path.ends_with("/tests.rs") {
        return text;
    }
    text.find("#[cfg(test)]\nmod tests {").map_or("", |begin| &text[begin..])
}

#[test]
fn no_source_is_too_long() {
    let lengths = sources().into_iter().map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > MOST_LINES).collect::<Vec<_>>();
    assert!(long.is_empty(), "more than {MOST_LINES} lines; split them by subject: {long:?}");
}

#[test]
fn tests_wait_for_facts() {
    let sources = sources();
    let calls = |function: &str| {
        let counts = sources.iter().map(|(path, text)| {
            let code = test_code(path, text).lines().filter(|line| !line.trim_start().starts_with("//"));
            (path.as_str(), code.filter(|line| line.contains(function)).count())
        });
        counts.filter(|(_, count)| *count > 0).collect::<BTreeMap<_, _>>()
    };
    let sleeps = calls(concat!("sleep", "("));
    assert_eq!(sleeps, BTreeMap::from(SLEEPS), "the files that sleep, and those that may");
    let elapses = calls(concat!("elapse", "("));
    assert_eq!(elapses, BTreeMap::from(ELAPSES), "the files that let a fixed time pass, and those that may");
}

/// The macros of the contract name its cases by hand, and a case that they do not name never runs.
#[test]
fn every_case_of_the_contract_is_named_and_runs() {
    let (mut written, mut listed) = (BTreeSet::new(), BTreeSet::new());
    for (path, text) in &sources() {
        let Some(file) = path.strip_prefix("crates/testkit/src/contract") else { continue };
        let area = file.trim_start_matches('/').trim_end_matches(".rs");
        for function in text.split("\npub async fn ").skip(1) {
            let (name, parameters) = function.split_once('(').unwrap();
            if parameters.starts_with("world: World") || parameters.starts_with("nodes: Nodes") {
                written.insert(format!("{area}::{name}"));
            }
        }
        for (marker, area) in [("@area $make, ", None), ("@each $make,", Some(area))] {
            for list in text.split(marker).skip(1).map(|rest| rest.split('}').next().unwrap()) {
                let (area, names) = area.map_or_else(|| list.split_once(':').unwrap(), |area| (area, list));
                let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                listed.extend(names.map(|name| format!("{area}::{name}")));
            }
        }
    }
    assert!(written.len() > 200, "the cases were not found: {}", written.len());
    let unnamed = written.difference(&listed).collect::<Vec<_>>();
    let unknown = listed.difference(&written).collect::<Vec<_>>();
    assert!(unnamed.is_empty() && unknown.is_empty(), "never run: {unnamed:?}; not found: {unknown:?}");
}

/// The files of the domain that may name the type of an id without a kind, except for tests.
const UNTYPED_IDS: [&str; 4] = [
    // A value of any column.
    "crates/domain/src/archive/value.rs",
    // The types of ids.
    "crates/domain/src/id.rs",
    // A marker in a text, which may name anything.
    "crates/domain/src/message/content.rs",
    // A new id has no kind until its caller gives it one.
    "crates/domain/src/ports.rs",
];

/// A public signature that takes or returns any id lets one kind pass for another.
#[test]
fn ids_in_the_domain_have_a_kind() {
    let untyped = sources().into_iter().filter(|(path, text)| {
        let code = text.strip_suffix(test_code(path, text)).unwrap_or_default();
        let mut code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        path.starts_with("crates/domain/src/") && code.any(|line| line.contains("Uuid"))
    });
    assert_eq!(untyped.map(|(path, _)| path).collect::<Vec<_>>(), UNTYPED_IDS);
}
