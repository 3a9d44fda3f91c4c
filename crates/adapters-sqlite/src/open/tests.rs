//! Locations of a store, its creation, and the messages of failures.

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use diesel::prelude::*;
use diesel_migrations::MigrationHarness;
use domain::archive::{ColumnKind, LOCAL, TABLES};
use testkit::contract::archives::all_rows;
use testkit::{Fixture, Stores, World};

use super::*;
use crate::SqliteStore;

/// The error with its causes.
fn failure(location: &Location) -> String {
    let Err(error) = SqliteStore::open(location) else { panic!("{location:?} was opened") };
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[test]
fn a_new_store_and_its_directory_are_made_for_the_owner_only() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("deep/er/store.db");
    let store = SqliteStore::open(&Location::File(file.clone())).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let file = PathBuf::from(format!("{}{suffix}", file.display()));
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    for made in ["deep", "deep/er"] {
        let mode = fs::metadata(directory.path().join(made)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{made}");
    }
    drop(store);
}

#[test]
fn what_cannot_be_a_store_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("text"), "certainly not a database, and long enough to be read as a header\n".repeat(99))
        .unwrap();
    fs::create_dir(at("directory")).unwrap();
    let cases = [
        (at("text"), "file is not a database"),
        (at("directory"), "is a directory"),
        (at("text/store.db"), "not a directory"),
    ];
    for (path, why) in cases {
        let failure = failure(&Location::File(path.clone()));
        assert!(failure.contains(directory.path().to_str().unwrap()), "no path in: {failure}");
        assert!(failure.contains(why), "no '{why}' in: {failure}");
    }
    let others = at("others.db");
    let mut other = SqliteConnection::establish(others.to_str().unwrap()).unwrap();
    other.batch_execute("CREATE TABLE theirs (id INTEGER)").unwrap();
    drop(other);
    let before = fs::read(&others).unwrap();
    assert!(failure(&Location::File(others.clone())).contains("of another program"));
    assert_eq!(fs::read(&others).unwrap(), before);
    let text = fs::read_to_string(at("text")).unwrap();
    assert!(text.starts_with("certainly not"), "what is no store is left alone");
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.db");
    drop(SqliteStore::open(&Location::File(file.clone())).unwrap());
    let mut connection = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    connection
        .batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('29990101000000')")
        .unwrap();
    let failure = failure(&Location::File(file));
    assert!(failure.contains("newer version") && failure.contains("29990101000000"), "{failure}");
}

#[test]
fn a_store_is_read_as_it_is_if_it_has_all_steps() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.db");
    assert!(matches!(SqliteStore::open_as_it_is(&file), Err(OpenError::File { .. })));
    assert!(!file.exists());
    let made = SqliteStore::open(&Location::File(file.clone())).unwrap();
    assert_eq!(SqliteStore::open_as_it_is(&file).unwrap().steps().all, made.steps().all);
    let mut connection = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    let last = made.steps().all.last().unwrap();
    let without = format!("DELETE FROM __diesel_schema_migrations WHERE version = '{last}'");
    connection.batch_execute(&without).unwrap();
    for _ in 0..2 {
        let Err(OpenError::Older { step, .. }) = SqliteStore::open_as_it_is(&file) else { panic!() };
        assert_eq!(step, *last);
    }
    let with = "INSERT INTO __diesel_schema_migrations (version) VALUES ('29990101000000')";
    connection.batch_execute(with).unwrap();
    assert!(matches!(SqliteStore::open_as_it_is(&file), Err(OpenError::Newer { .. })));
}

/// SQLite would take these names for a store in memory and for URLs.
#[test]
fn a_name_is_a_name() {
    let directory = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x?mode=memory", "sqlite:x", "a store.db", "größe.db"] {
        let file = directory.path().join(name);
        drop(SqliteStore::open(&Location::File(file.clone())).unwrap());
        assert!(fs::metadata(&file).unwrap().len() > 0, "{name} holds the store");
    }
    let relative = url_of(Path::new(":memory:")).unwrap();
    assert!(relative.starts_with('/') && relative.ends_with("/:memory:"), "{relative}");
    let relative = url_of(Path::new("file:x")).unwrap();
    assert!(relative.starts_with('/'), "{relative}");
}

#[test]
fn many_may_open_a_new_store_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let location = Location::File(directory.path().join("store.db"));
    std::thread::scope(|scope| {
        let opening = (0..8).map(|_| scope.spawn(|| SqliteStore::open(&location).map(drop)));
        for opened in opening.collect::<Vec<_>>() {
            opened.join().unwrap().unwrap();
        }
    });
}

#[test]
fn the_writer_flushes_every_commit() {
    #[derive(QueryableByName)]
    struct Setting {
        #[diesel(sql_type = diesel::sql_types::Integer)]
        synchronous: i32,
    }
    #[derive(QueryableByName)]
    struct Mode {
        #[diesel(sql_type = diesel::sql_types::Text)]
        journal_mode: String,
    }
    #[derive(QueryableByName)]
    struct Copied {
        #[diesel(sql_type = diesel::sql_types::Integer)]
        wal_autocheckpoint: i32,
    }
    #[derive(QueryableByName)]
    struct Kept {
        #[diesel(sql_type = diesel::sql_types::Integer)]
        cache_size: i32,
    }
    let directory = tempfile::tempdir().unwrap();
    let mut connections = connect(&Location::File(directory.path().join("store.db"))).unwrap();
    let setting =
        diesel::sql_query("PRAGMA synchronous").get_result::<Setting>(&mut connections.writer).unwrap();
    assert_eq!(setting.synchronous, 2, "FULL");
    let mode = diesel::sql_query("PRAGMA journal_mode").get_result::<Mode>(&mut connections.writer).unwrap();
    assert_eq!(mode.journal_mode, "wal");
    let setting =
        diesel::sql_query("PRAGMA wal_autocheckpoint").get_result::<Copied>(&mut connections.writer).unwrap();
    assert_eq!(setting.wal_autocheckpoint, 4096, "pages");
    let kept = |of: &mut _| diesel::sql_query("PRAGMA cache_size").get_result::<Kept>(of).unwrap().cache_size;
    assert_eq!(kept(&mut connections.writer), -16384, "KiB");
    assert_eq!(kept(&mut connections.readers[0]), -2048, "KiB");
    let refused = connections.readers[0].batch_execute("DELETE FROM users");
    assert!(refused.is_err(), "readers cannot write");
}

/// `.cargo/config.toml` sets the flags; cargo reads it if it is started in the repository.
#[test]
fn the_library_is_compiled_as_it_is_used() {
    #[derive(QueryableByName)]
    struct Choice {
        #[diesel(sql_type = diesel::sql_types::Text)]
        compile_options: String,
    }
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    let all = diesel::sql_query("PRAGMA compile_options").load::<Choice>(&mut connection).unwrap();
    let all = all.into_iter().map(|choice| choice.compile_options).collect::<Vec<_>>();
    for there in [
        "THREADSAFE=2",
        "DEFAULT_MEMSTATUS=0",
        "DQS=0",
        "LIKE_DOESNT_MATCH_BLOBS",
        "OMIT_DEPRECATED",
        "OMIT_PROGRESS_CALLBACK",
        "OMIT_SHARED_CACHE",
    ] {
        assert!(all.iter().any(|choice| choice == there), "{there}: {all:?}");
    }
    for gone in ["ENABLE_MEMORY_MANAGEMENT", "ENABLE_API_ARMOR", "ENABLE_STAT4"] {
        assert!(!all.iter().any(|choice| choice == gone), "{gone}: {all:?}");
    }
}

#[tokio::test]
async fn every_step_can_be_undone_and_redone() {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = diesel::sql_types::Text)]
        line: String,
    }
    /// The step before the last one whose columns hold something that no other step can make again: the limits
    /// of attempts, retries, and dead letters.
    const STAYS: &str = "change_log_index";
    /// The last such step before that: the limits of keys.
    const LOSES: &str = "key_scopes";
    /// Tables, columns, keys, and indexes.
    const SCHEMA: &str = "SELECT line FROM ( \
         SELECT name || ' ' || iif(type = 'table', '', sql) AS line FROM sqlite_schema \
         UNION ALL SELECT t.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk || ' ' \
         || coalesce(c.dflt_value, '') FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' \
         UNION ALL SELECT t.name || '.' || k.\"from\" || ' references ' || k.\"table\" \
         FROM sqlite_schema t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table' \
         ) WHERE line NOT LIKE '%diesel%' AND line NOT LIKE 'sqlite_%' ORDER BY line";
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    let schema_on = |connection: &mut SqliteConnection| {
        let lines = diesel::sql_query(SCHEMA).load::<Line>(connection).unwrap();
        lines.into_iter().map(|row| row.line).collect::<Vec<_>>()
    };
    let steps = connection.pending_migrations(MIGRATIONS).unwrap();
    let mut schemas = vec![schema_on(&mut connection)];
    assert_eq!(schemas[0], Vec::<String>::new());
    for step in &steps {
        connection.run_migration(step).unwrap();
        schemas.push(schema_on(&mut connection));
    }
    assert!(schemas[steps.len()].len() > 200);

    // In a store that holds something of everything.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.db");
    let stores = || {
        let store = Arc::new(SqliteStore::open(&Location::File(file.clone())).unwrap());
        Stores::of(&store, SqliteStore::close)
    };
    let world = World::on(stores());
    Fixture::in_world(&world).await;
    (world.stores.close)();
    drop(world);
    let mut connection = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    prepare(&mut connection, "the store", "").unwrap();
    let mut undo = |last: Option<&str>| {
        // SQLite looks for a column to drop in the schema that the connection read last, which is that of another
        // connection's changes only after a read.
        schema_on(&mut connection);
        for (step, before) in steps.iter().zip(&schemas).rev() {
            if last.is_some_and(|last| step.name().to_string().contains(last)) {
                return;
            }
            connection.revert_migration(step).unwrap_or_else(|error| panic!("{}: {error}", step.name()));
            assert_eq!(schema_on(&mut connection), *before, "after undoing {}", step.name());
        }
    };
    undo(Some(STAYS));
    let without_dead_letters = stores();
    let content = all_rows(&*without_dead_letters.archive, 1_000).await;
    (without_dead_letters.close)();
    drop(without_dead_letters);
    undo(Some(LOSES));
    let redone = stores();
    assert_eq!(all_rows(&*redone.archive, 1_000).await, content, "all rows are as before");
    (redone.close)();
    drop(redone);
    undo(None);
    connection.run_pending_migrations(MIGRATIONS).unwrap();
    assert_eq!(schema_on(&mut connection), schemas[steps.len()]);
}

/// A store with data: titles that derive from a text are recognized and linked to it; those that a
/// user set stay.
#[test]
fn stored_titles_are_tied_to_the_texts_that_they_were_made_from() {
    #[derive(QueryableByName, Debug, PartialEq)]
    struct Room {
        #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>)]
        title: Option<String>,
        #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>)]
        titled_by: Option<String>,
    }
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    // The referenced rows do not matter here.
    connection.batch_execute("PRAGMA foreign_keys = OFF").unwrap();
    let all = connection.pending_migrations(MIGRATIONS).unwrap();
    let sources = all.iter().position(|one| one.name().to_string().contains("title_sources")).unwrap();
    for migration in &all[..sources] {
        connection.run_migration(migration).unwrap();
    }
    let marker = "@[[0190c5a4-0000-7000-8000-000000000001]]";
    let long = format!("{}…", "word ".repeat(23).trim_end());
    let rooms = [
        ("Book a flight", vec![format!("{marker} @ann Book a   flight\nnow")], None, true),
        ("ask about it", vec![format!("ask {marker} about it")], None, true),
        ("second line", vec![marker.to_owned(), format!("{marker}\n\n second line ")], None, true),
        (long.as_str(), vec!["word ".repeat(60)], None, true),
        ("Plan", vec!["Plan for today".to_owned()], None, false),
        ("Plan B", vec!["This is Plan B".to_owned()], None, false),
        ("Given", Vec::new(), None, false),
        ("to you", vec!["to you".to_owned()], Some(true), true),
        ("a secret", vec!["a secret".to_owned()], Some(false), true),
    ];
    for (number, (title, texts, addressed, _)) in rooms.iter().enumerate() {
        let mut run = |sql: String| connection.batch_execute(&sql).unwrap();
        run(format!(
            "INSERT INTO chats (id, title, kind, status, last_sequence, created_at, updated_at) \
             VALUES (x'{number:02}', '{title}', 'direct', 'active', 2, 1, 1)"
        ));
        for (sequence, text) in texts.iter().enumerate() {
            run(format!(
                "INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, \
                 mentions, created_at, updated_at) VALUES \
                 (x'{number:02}{sequence:02}', x'{number:02}', {sequence}, 'text', '{text}', x'aa', 'User', 'Ann', '[]', 1, 1)"
            ));
        }
        if let Some(addressed) = addressed {
            run(format!(
                "INSERT INTO participants (chat_id, participant_id, kind, role, status, chat_created_at, joined_at) \
                 VALUES (x'{number:02}', x'bb', 'Agent', 'member', 'active', 1, 1)"
            ));
            if *addressed {
                run(format!(
                    "INSERT INTO deliveries (message_id, agent_id, chat_id, sequence, addressed, status, \
                     current_attempt) VALUES (x'{number:02}00', x'bb', x'{number:02}', 0, 1, 'new', 0)"
                ));
            }
        }
    }
    for migration in &all[sources..] {
        connection.run_migration(migration).unwrap();
    }
    let stored = diesel::sql_query("SELECT title, hex(titled_by) AS titled_by FROM chats ORDER BY id");
    let stored = stored.load::<Room>(&mut connection).unwrap();
    for (number, ((title, texts, addressed, made), room)) in rooms.iter().zip(stored).enumerate() {
        let source = format!("{number:02}{:02}", texts.len().saturating_sub(1));
        let titled_by = Some(if *made { source } else { String::new() });
        let title = Some((*title).to_owned()).filter(|_| *addressed != Some(false));
        assert_eq!(room, Room { title, titled_by });
    }
}

/// Each column at its place, with its place in the key.
#[test]
fn the_schema_in_code_is_that_of_the_tables() {
    #[derive(QueryableByName)]
    struct Column {
        #[diesel(sql_type = diesel::sql_types::Text)]
        line: String,
    }
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    connection.run_pending_migrations(MIGRATIONS).unwrap();
    let columns = "SELECT t.name || '.' || c.name || ' ' || c.type || iif(c.\"notnull\", '', '?') \
                   || iif(c.pk, ' key ' || c.pk, '') AS line \
                   FROM sqlite_schema t, pragma_table_info(t.name) c \
                   WHERE t.type = 'table' AND t.name NOT LIKE '%diesel%' AND t.name <> 'sqlite_sequence' \
                   AND t.name <> 'search_texts' AND t.name NOT LIKE 'search@_index%' ESCAPE '@' \
                   ORDER BY t.rootpage, c.cid";
    let live = diesel::sql_query(columns).load::<Column>(&mut connection).unwrap();
    let mut live = live.into_iter().map(|column| column.line).collect::<Vec<_>>();

    let mut listed = Vec::new();
    for table in TABLES.iter().chain(&LOCAL) {
        for (index, column) in table.columns.iter().enumerate() {
            let sql = match column.kind {
                ColumnKind::Id | ColumnKind::IdOrNil | ColumnKind::Bytes => "BLOB",
                ColumnKind::Instant | ColumnKind::Integer | ColumnKind::Flag => "INTEGER",
                ColumnKind::Text => "TEXT",
            };
            let optional = if column.is_optional { "?" } else { "" };
            let key = if index < table.key { format!(" key {}", index + 1) } else { String::new() };
            listed.push(format!("{}.{} {sql}{optional}{key}", table.name, column.name));
        }
    }
    assert!(live.len() > 60, "{live:?}");
    // The order of the tables does not matter; that of their columns does.
    let table = |line: &String| line.split('.').next().unwrap().to_owned();
    live.sort_by_key(table);
    listed.sort_by_key(table);
    assert_eq!(listed, live);
}
