//! Rules for the sources: no file is too long, tests wait for facts, and migrations expand first.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The maximum number of lines of a Rust file.
const MOST_LINES: usize = 500;

/// How often test code in Rust and Python calls `sleep`. All other tests in Rust wait with `testkit`'s
/// `until`, `elapse`, and `pace`.
const SLEEPS: [(&str, usize); 13] = [
    // Polls often enough to catch the program midway.
    ("crates/server/tests/archive/kills.rs", 1),
    // Polls until the program has started, on a thread.
    ("crates/testkit/src/nats.rs", 1),
    // Implements the waits.
    ("crates/testkit/src/waits.rs", 4),
    // The removal of a database may take longer than `until` waits.
    ("crates/testkit/tests/postgres.rs", 1),
    // Requests that hang show nothing.
    ("tests/clients/bucket/test_bucket.py", 1),
    // Polls until a file says that the agent may go on.
    ("tests/clients/gated_agent.py", 1),
    // Polls for facts; spaces reconnects as the client requires; stops and starts servers at random moments.
    ("tests/clients/harness.py", 4),
    // Polls until a job has ended.
    ("tests/clients/rest/recipes/bulk.py", 1),
    // Polls until the server has started.
    ("tests/clients/schemas/run.py", 1),
    // Nothing is pushed while a client drains its backlog.
    ("tests/clients/test_band_sdk.py", 1),
    // Failures that last for a while, and messages between them.
    ("tests/clients/test_nodes.py", 8),
    // Measures how long the program takes to start and to stop, and notices its end.
    ("tests/src/server.rs", 2),
    // Implements the wait that reports whether a condition became true in time.
    ("tests/src/soon.rs", 1),
];

/// How often tests let a fixed time pass, because nothing shows that it is over.
const ELAPSES: [(&str, usize); 15] = [
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
    // Counts are announced a while after a change, and not again.
    ("tests/tests/boards.rs", 2),
    // Nothing is pushed to an agent that is stopped.
    ("tests/tests/control.rs", 2),
    // Nothing is pushed again to a client that does not read.
    ("tests/tests/at_least_once.rs", 2),
    // A body that takes longer than its credential is trusted.
    ("tests/tests/logins.rs", 1),
    // A database that is away for longer than a lease.
    ("tests/tests/nodes/main.rs", 1),
    // Reminders become due while no server runs.
    ("tests/tests/reminders.rs", 1),
    // Nothing is sent twice, by whichever server.
    ("tests/tests/notifications/main.rs", 2),
    // A server in the middle of its drain.
    ("tests/tests/stop.rs", 1),
    // Nothing is sent to a webhook that is gone, or to an agent that is paused.
    ("tests/tests/webhooks/main.rs", 2),
];

/// The repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Every file of the repository with this ending by its path, without what was built or installed.
fn files(ending: &str) -> BTreeMap<String, String> {
    fn collect(directory: &Path, ending: &str, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&name) {
                collect(&path, ending, found);
            } else if path.extension().is_some_and(|own| own == ending) {
                let path_in_repository = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.insert(path_in_repository, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(root(), ending, &mut found);
    found
}

/// Every Rust file of the repository by its path.
fn sources() -> BTreeMap<String, String> {
    let found = files("rs");
    assert!(found.len() > 300, "the sources were not found: {}", found.len());
    found
}

/// The part of a file that is a test, if there is one.
fn test_code<'a>(path: &str, text: &'a str) -> &'a str {
    let is_test = path.starts_with("crates/testkit/") || path.split('/').any(|part| part == "tests");
    if is_test || path.ends_with("/tests.rs") || path.ends_with("/sample.rs") {
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
    let mut sources = sources();
    sources.extend(files("py"));
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
const UNTYPED_IDS: [&str; 6] = [
    // A value of any column.
    "crates/domain/src/archive/value.rs",
    // The ids of agents, or of chats, as somebody wrote them.
    "crates/domain/src/bulk_deletion/ids.rs",
    "crates/domain/src/bulk_deletion/job.rs",
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

/// The migrations that can break servers of the previous version, and why they may.
const CONTRACTING: [(&str, &str); 8] = [
    ("20261121000700_plans", "names of organizations become unique; nothing was released before"),
    ("20261123000500_audit_chain", "protects seals, which earlier versions do not write"),
    ("20261124000500_names", "tables get their final names; nothing was released before"),
    ("20261124000600_fewer_indexes", "checks a rule of the domain; nothing was released before"),
    ("20261124000700_delivery_keys", "two tables get other keys; nothing was released before"),
    (
        "20261124001000_dead_letters",
        "refuses attempts at dead deliveries, which an earlier version may offer",
    ),
    ("20261125001000_stops", "checks a new column, which earlier versions do not write"),
    ("20261126003000_causes", "checks new columns, which earlier versions do not write"),
];

/// The statements of a migration, in capitals and without comments.
fn statements(text: &str) -> Vec<String> {
    let code = text.lines().map(|line| line.split("--").next().unwrap()).collect::<Vec<_>>();
    let code = code.join(" ").to_uppercase();
    let statements = code.split(';').map(|statement| {
        let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        statement.replace(" IF EXISTS", "").replace(" IF NOT EXISTS", "").replace(" TABLE ONLY ", " TABLE ")
    });
    statements.collect()
}

/// The parts of a migration that can break servers of the previous version: they drop, rename, or change a
/// table or column of an earlier migration, or add a required column, a constraint, a unique index, or a
/// trigger to one.
fn breaking_parts(text: &str) -> Vec<String> {
    let statements = statements(text);
    let (mut made, mut found) = (BTreeSet::new(), Vec::new());
    for statement in &statements {
        let words = statement.split(' ').collect::<Vec<_>>();
        match words.as_slice() {
            ["CREATE", "TABLE", name, ..] | ["CREATE", _, "TABLE", name, ..] => {
                made.insert(name.split('(').next().unwrap());
            }
            ["DROP", "TABLE", name, ..] if !made.contains(name) => found.push(statement.clone()),
            ["CREATE", "UNIQUE" | "TRIGGER" | "CONSTRAINT", ..]
            | ["CREATE", "OR", "REPLACE", "TRIGGER", ..]
                if table_after_on(&words).is_some_and(|name| !made.contains(name)) =>
            {
                found.push(statement.clone());
            }
            ["ALTER", "TABLE", name, changes @ ..] if !made.contains(name) => {
                let (changes, mut depth) = (changes.join(" "), 0);
                let parts = changes.split(|c: char| {
                    depth += match c {
                        '(' => 1,
                        ')' => -1,
                        _ => 0,
                    };
                    c == ',' && depth == 0
                });
                found.extend(parts.filter(|part| is_breaking(part)).map(str::to_owned));
            }
            _ => {}
        }
    }
    found
}

/// The table of a statement that creates an index or a trigger on it.
fn table_after_on<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut rest = words.iter().skip_while(|word| **word != "ON");
    rest.find(|word| !matches!(**word, "ON" | "ONLY"))?.split('(').next()
}

/// Returns whether this part of `ALTER TABLE` can break servers of the previous version.
fn is_breaking(part: &str) -> bool {
    let part = part.replace("IS NOT NULL", "");
    match part.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["DROP" | "RENAME", what, ..] => *what != "CONSTRAINT",
        ["ALTER", ..] => {
            [" TYPE ", " SET NOT NULL", " DROP DEFAULT"].iter().any(|change| part.contains(change))
        }
        ["ADD", what, ..] if is_constraint(what) => true,
        ["ADD", ..] => part.contains(" NOT NULL") && !part.contains(" DEFAULT"),
        _ => false,
    }
}

/// Returns whether `ADD` adds a constraint of the table if this word follows it.
fn is_constraint(word: &str) -> bool {
    let word = word.split('(').next().unwrap();
    ["CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN", "EXCLUDE"].contains(&word)
}

#[test]
fn breaking_parts_of_migrations_are_found() {
    let breaking = [
        "DROP TABLE IF EXISTS users",
        "ALTER TABLE users RENAME TO people",
        "alter table users rename column name to title",
        "ALTER TABLE users DROP COLUMN name",
        "ALTER TABLE ONLY users\n    ADD COLUMN age integer, -- in years\n    DROP name",
        "ALTER TABLE users ALTER COLUMN name TYPE text",
        "ALTER TABLE users ALTER name SET NOT NULL",
        "ALTER TABLE users ADD COLUMN height numeric(10, 2) NOT NULL",
        "CREATE TABLE people(id bytea); DROP TABLE users; ALTER TABLE people RENAME TO users",
        "ALTER TABLE users ALTER COLUMN name DROP DEFAULT",
        "ALTER TABLE users ADD CONSTRAINT named CHECK (name <> '') NOT VALID",
        "ALTER TABLE users ADD CHECK(name <> ''), ADD COLUMN age integer",
        "CREATE UNIQUE INDEX IF NOT EXISTS users_by_name ON users(name)",
        "CREATE TRIGGER kept BEFORE UPDATE OF id, name ON users BEGIN SELECT RAISE(ABORT, 'kept'); END",
    ];
    for text in breaking {
        assert_eq!(breaking_parts(text).len(), 1, "{text}");
    }
    let harmless = [
        "-- DROP TABLE users;\nCREATE TABLE people (name text NOT NULL)",
        "CREATE TABLE people(id bytea); ALTER TABLE people ADD PRIMARY KEY (id); DROP TABLE people",
        "ALTER TABLE users ADD COLUMN age integer NOT NULL DEFAULT 0",
        "ALTER TABLE users ADD COLUMN age integer CHECK (age IS NOT NULL OR name IS NULL)",
        "ALTER TABLE users RENAME CONSTRAINT named TO has_name; ALTER TABLE users ALTER name DROP NOT NULL",
        "DROP INDEX users_by_name; ALTER TABLE users SET (fillfactor = 80)",
        "CREATE TABLE people(id bytea); CREATE UNIQUE INDEX people_by_id ON people (id)",
        "CREATE INDEX users_by_name ON users (name); DROP TRIGGER kept ON users",
    ];
    for text in harmless {
        assert_eq!(breaking_parts(text), Vec::<String>::new(), "{text}");
    }
}

/// During a rolling upgrade, the previous version runs on the new schema; see `migrations/README.md`.
#[test]
fn migrations_expand_first() {
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for store in ["sqlite", "postgres"] {
        for step in fs::read_dir(root().join("migrations").join(store)).unwrap() {
            let step = step.unwrap();
            let parts = breaking_parts(&fs::read_to_string(step.path().join("up.sql")).unwrap());
            if !parts.is_empty() {
                found.entry(step.file_name().into_string().unwrap()).or_default().extend(parts);
            }
        }
    }
    let listed = CONTRACTING.map(|(step, _)| step);
    let steps = found.keys().collect::<Vec<_>>();
    assert_eq!(
        steps, listed,
        "the migrations that break the previous version, and those that may: {found:#?}"
    );
}
