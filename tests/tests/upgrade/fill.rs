//! Makes a store that has rows in every table.
//!
//! The fixture of the stores' own tests makes everything that an archive contains. A server with clients then adds what only a
//! running one has: sessions, tokens, links, the search index, sockets, and keys that work.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use e2e::receiver::Receiver;
use e2e::{Api, Server, Socket, isolated, program, until};
use serde_json::{Value, json};
use testkit::postgres::programs;
use testkit::{Fixture, World};

use crate::kept::{Kept, StoreKind, succeeded};

/// The password of Dora.
pub(crate) const PASSWORD: &str = "correct horse";

/// The content of the file in her room.
pub(crate) const FIGURES: &[u8] = b"12, 7, 3\n";

/// Tables that can be empty: no server opens a store with an unfinished import, challenges are forgotten within minutes,
/// finished bulk deletions within days, and an import leaves out the records of repeated requests.
const TRANSIENT: [&str; 4] = ["deletion_jobs", "idempotency_records", "imports", "used_challenges"];

/// How far in the past the fixture's clock starts: its end is past as well, and servers still keep what expires.
const FIXTURE_AGE: Duration = Duration::from_secs(5 * 24 * 60 * 60);

/// Counts the rows of every table, but not of virtual ones, which another SQLite may not read.
const COUNT_SQLITE: &str = "import json, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
    names = [n for n, in c.execute(\"SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 \
    AND name NOT LIKE 'sqlite%'\")]; \
    print(json.dumps({n: c.execute('SELECT count(*) FROM \"' + n + '\"').fetchone()[0] for n in names}))";

/// Makes a store, and keeps it in this directory.
pub(crate) async fn make(kind: StoreKind, directory: &Path) -> PathBuf {
    let mut kept = Kept::new(kind);
    make_fixture(&kept).await;
    kept.known = talk(&kept).await;
    let counts = counts(&kept).await;
    let empty = counts
        .as_object()
        .unwrap()
        .iter()
        .filter(|(table, count)| **count == 0 && !TRANSIENT.contains(&table.as_str()));
    assert_eq!(empty.map(|(table, _)| table).collect::<Vec<_>>(), [""; 0], "empty on {kind:?}");
    kept.run(&["export", "--to", kept.path("archive.jsonl").to_str().unwrap()]);
    let name = match kind {
        StoreKind::Sqlite => "sqlite",
        StoreKind::Postgres => {
            std::fs::write(kept.path("store.sql"), dump(&kept)).unwrap();
            "postgres"
        }
    };
    let path = directory.join(format!("{}-{name}.tar.gz", env!("CARGO_PKG_VERSION")));
    kept.pack(&path);
    path
}

/// Only the embedded store can be filled here, so a database imports it.
async fn make_fixture(kept: &Kept) {
    let is_file = kept.kind == StoreKind::Sqlite;
    let directory = tempfile::TempDir::new().unwrap();
    let file = if is_file { kept.path("data/parlance.db") } else { directory.path().join("parlance.db") };
    #[expect(clippy::disallowed_methods, reason = "the server's clock is that of the machine")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let world =
        World::in_file(&file, i64::try_from(now.checked_sub(FIXTURE_AGE).unwrap().as_micros()).unwrap());
    Fixture::in_world(&world).await;
    (world.stores.close)();
    drop(world);
    if !is_file {
        let archive = directory.path().join("archive.jsonl");
        let mut export = isolated(program());
        export.env("PARLANCE_DATA_DIR", directory.path()).current_dir(directory.path());
        succeeded(export.args(["export", "--to"]).arg(&archive));
        kept.run(&["import", "--from", archive.to_str().unwrap()]);
    }
}

/// What is known of the store afterwards.
async fn talk(kept: &Kept) -> Value {
    let ntfy = Receiver::always(200, "").await;
    let files = kept.path("data/files");
    let mut settings = kept.settings();
    settings.push(("PARLANCE_PUBLIC_URL", "http://chat.example.org".to_owned()));
    settings.push(("PARLANCE_WEBHOOKS_ALLOW_PRIVATE", "127.0.0.1".to_owned()));
    if kept.kind == StoreKind::Postgres {
        settings.push(("PARLANCE_CLUSTER_MODE", "multi".to_owned()));
        settings.push(("PARLANCE_FILES_DIRECTORY", files.to_str().unwrap().to_owned()));
        settings.push(("PARLANCE_FILES_SHARED", "true".to_owned()));
    }
    let settings = settings.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
    let mut server = Server::start_on(&kept.path("data"), &settings).await;
    let (dora, emil) = (server.colleague("dora", "House"), server.colleague("emil", "House"));
    let (helper, bot) = (dora.register(&server, "Helper").await, dora.register(&server, "Bot").await);
    let room = dora.create_chat().await;
    for participant in [&helper.id, &bot.id, &emil.id] {
        assert_eq!(dora.add(&room, participant).await.status, 201);
    }
    let done = dora.sent(&room, "Summarize the quarterly figures", &[&helper.id]).await;
    assert_eq!(helper.step(&room, &done, "processing").await.status, 200);
    helper.sent(&room, "They went up", &[&dora.id]).await;
    assert_eq!(helper.step(&room, &done, "processed").await.status, 200);
    let failed = dora.sent(&room, "Send them to everybody", &[&helper.id]).await;
    for step in ["processing", "failed"] {
        assert_eq!(helper.step(&room, &failed, step).await.status, 200, "{step}");
    }
    let file = dora.uploaded(&room, "figures.txt", FIGURES).await["id"].clone();
    let shown = json!({"message": {
        "content": "Here they are", "mentions": [{"id": bot.id}], "attachment_ids": [file],
    }});
    let waiting = dora.post(&format!("/chats/{room}/messages"), shown).await.data()["id"].clone();

    let topic = format!("{}/topic", ntfy.origin());
    let channel = json!({"kind": "ntfy", "url": topic, "content": "title", "links": true});
    assert_eq!(dora.post("/notifications/channels", channel).await.status, 201);
    let question = json!({"event": {
        "content": "To whom?", "message_type": "attention", "metadata": {"kind": "question"},
    }});
    assert_eq!(helper.post(&format!("/chats/{room}/events"), question).await.status, 201);
    ntfy.wait(1).await;

    let reset = json!({"reset_token": reset_token(&server, "dora"), "new_password": PASSWORD});
    assert_eq!(Api::new(&server, "auth", "", "").post("/reset", reset).await.status, 200);
    reset_token(&server, "emil");
    let is_found = async || !dora.get("/search?q=quarterly").await.data().as_array().unwrap().is_empty();
    until("the message is not indexed", is_found).await;
    stop(kept, &mut server, [&dora, &helper]).await;
    json!({
        "user": dora.id, "user_key": dora.key, "agent": bot.id, "agent_key": bot.key, "room": room,
        "done": done, "failed": failed, "waiting": waiting, "file": file,
    })
}

fn reset_token(server: &Server, handle: &str) -> Value {
    let output = succeeded(server.command().args(["user", "reset-password", handle, "--json"]));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["reset_token"].clone()
}

/// Stops the server; one of several crashes, so that others would learn of it from its rows.
async fn stop(kept: &Kept, server: &mut Server, callers: [&Api; 2]) {
    let Some(client) = kept.client().await else {
        server.terminate().await;
        return;
    };
    let mut sockets = Vec::new();
    for caller in callers {
        sockets.push(Socket::of(server, caller).await);
    }
    let are_noted = async || {
        let count =
            "SELECT (SELECT count(*) FROM agent_sockets) > 0 AND (SELECT count(*) FROM user_nodes) > 0";
        client.query_one(count, &[]).await.unwrap().get::<_, bool>(0)
    };
    until("the sockets are not in the database", are_noted).await;
    server.kill9();
}

/// The number of rows of each table.
async fn counts(kept: &Kept) -> Value {
    let Some(client) = kept.client().await else {
        let mut python = Command::new("python3");
        let counted = succeeded(python.args(["-c", COUNT_SQLITE]).arg(kept.path("data/parlance.db")));
        return serde_json::from_slice(&counted.stdout).unwrap();
    };
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
    let mut counts = json!({});
    for table in client.query(tables, &[]).await.unwrap() {
        let table = table.get::<_, String>(0);
        let count = client.query_one(&format!("SELECT count(*) FROM \"{table}\""), &[]).await.unwrap();
        counts[table] = json!(count.get::<_, i64>(0));
    }
    counts
}

/// The database as SQL that every supported PostgreSQL runs, and that needs no program of it.
fn dump(kept: &Kept) -> String {
    let mut dump = Command::new(programs().join("pg_dump"));
    dump.args(["--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges", "--no-comments"]);
    let output = succeeded(dump.arg(kept.database.as_ref().unwrap().url()));
    let text = String::from_utf8(output.stdout).unwrap();
    let of_newer = ["\\restrict", "\\unrestrict", "SET transaction_timeout"];
    let is_for_all = |line: &&str| !of_newer.iter().any(|beginning| line.starts_with(beginning));
    text.split_inclusive('\n').filter(is_for_all).collect()
}
