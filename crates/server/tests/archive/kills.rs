//! Exports and imports that are killed, and how they continue.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use domain::archive::{Table, Value};
use serde_json::Value as Json;
use tempfile::TempDir;
use testkit::Stores;
use tokio::time::Instant;
use uuid::Uuid;

use crate::{Files, parlance, printed, refused, run};

/// Waits for what a running program writes, and looks often, as it is to be met on its way.
fn met<T>(program: &mut Child, look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(program.try_wait().unwrap().is_none(), "it ended before it was interrupted");
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn an_export_that_is_killed_leaves_one_draft_for_the_next() {
    let files = Files::new();
    let (world, _) = files.fixture("first.db", "small").await;
    write_many(&world.stores, 20_000).await;
    let (store, archive) = (files.url("first.db"), files.path("first"));
    let arguments = ["export", "--to", &archive];
    for _ in 0..2 {
        let mut export = parlance(&store, &arguments).stderr(Stdio::null()).spawn().unwrap();
        let part = || std::fs::metadata(files.file("first.part")).ok();
        met(&mut export, || part().filter(|part| part.len() > 0));
        let halt = Command::new("kill").args(["-STOP", &export.id().to_string()]).status();
        assert!(halt.unwrap().success());
        let why = refused(&run(&store, &arguments));
        assert!(why.contains("another process is writing it"), "{why}");
        export.kill().unwrap();
        assert!(!export.wait().unwrap().success(), "it was over before it was killed");
        let names = std::fs::read_dir(files.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left = names.filter(|name| name.to_string_lossy().starts_with("first.p")).collect::<Vec<_>>();
        assert_eq!((left, files.file("first").exists()), (vec!["first.part".into()], false));
        // Emptied, so that the draft of the next export can be told from this one.
        std::fs::write(files.file("first.part"), "").unwrap();
    }
    files.export(&store, "first");
    assert!(!files.file("first.part").exists() && files.rows("first").len() > 20_000);
}

/// More rows than are written at once: copies of one message, each with its own sequence.
async fn write_many(stores: &Stores, number: u128) {
    let messages = Table::named("messages").unwrap();
    let mut snapshot = stores.archive.snapshot().await.unwrap();
    let pattern = snapshot.rows(messages, None, 1).await.unwrap().remove(0);
    let index_of = |name: &str| messages.columns.iter().position(|column| column.name == name).unwrap();
    let (sequence, content) = (index_of("sequence"), index_of("content"));
    let rows = (1..=number).map(|number| {
        let mut row = pattern.clone();
        row[0] = Value::Id(Uuid::from_u128(number));
        row[sequence] = Value::Integer(1_000_000 + i64::try_from(number).unwrap());
        row[content] = Value::Text("many ".repeat(40));
        row
    });
    let rows = rows.collect::<Vec<_>>();
    for rows in rows.chunks(5000) {
        stores.archive.write(messages, rows.to_vec()).await.unwrap().unwrap();
    }
}

/// Kills an import as soon as it has kept another position than `before`; gives the new one.
fn kill_on_the_way(mut import: Child, position: &Path, before: &str) -> String {
    let look = || std::fs::read_to_string(position).ok().filter(|kept| !kept.is_empty() && kept != before);
    let kept = met(&mut import, look);
    import.kill().unwrap();
    assert!(!import.wait().unwrap().success(), "it was over before it was killed");
    kept
}

fn is_resumed_after_kills(store: &str, files: &Files) {
    let archive = files.path("first");
    let position = files.file("first.position");
    let start = |resume: bool| {
        let mut arguments = vec!["import", "--from", &archive];
        arguments.extend(resume.then_some("--resume"));
        parlance(store, &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let first = kill_on_the_way(start(false), &position, "");
    let again = run(store, &["import", "--from", &archive]);
    assert!(refused(&again).contains("--resume"), "{again:?}");
    is_not_used_by_halves(store);
    let second = kill_on_the_way(start(true), &position, &first);

    let rows = serde_json::from_str::<Json>(&second).unwrap()["rows"].as_u64().unwrap();
    let report = run(store, &["import", "--from", &archive, "--resume", "--json"]);
    let report: Json = serde_json::from_str(&printed(report)).unwrap();
    assert!(
        rows > 0 && report["new"].as_u64().unwrap() + rows <= report["rows"].as_u64().unwrap(),
        "{report}"
    );
    assert!(!position.exists());
    // It is only compared: had it been killed, nothing would be half done.
    let report = run(store, &["import", "--from", &archive, "--resume", "--json"]);
    assert!(printed(report).contains("\"new\":0"));
    // From here on commands seal and extend the audit log of the new store.
    files.export(store, "moved");
    assert_eq!(files.rows("moved"), files.rows("first"));
    assert_eq!(unfinished(store), None);
    printed(run(store, &["user", "list"]));
}

/// Nobody takes a part of an archive for a store.
fn is_not_used_by_halves(store: &str) {
    for arguments in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["user", "list"],
        &["user", "create", "--handle", "new", "--email", "x@example.org", "--name", "X"],
        &["migrate"],
        &["export"],
    ] {
        let mut program = Command::new("timeout");
        program.arg("20").arg(env!("CARGO_BIN_EXE_parlance")).args(arguments);
        let directory = TempDir::new().unwrap();
        program.current_dir(directory.path()).env("PARLANCE_DATABASE_URL", store);
        let why = refused(&program.stdin(Stdio::null()).output().unwrap());
        assert!(why.contains("only part of an archive") && why.contains("--resume"), "{arguments:?}: {why}");
    }
    let import = unfinished(store).unwrap();
    assert!(import["outcome"] == "fault" && import["next"].to_string().contains("--resume"), "{import}");
}

/// What doctor says of an import.
fn unfinished(store: &str) -> Option<Json> {
    let doctor = run(store, &["doctor", "--json"]);
    let found = serde_json::from_slice::<Json>(&doctor.stdout).unwrap();
    let mut findings = found["findings"].as_array().unwrap().iter();
    findings.find(|finding| finding["check"] == "import").cloned()
}

#[tokio::test]
async fn a_killed_import_goes_on_to_the_same_end() {
    let files = Files::new();
    let (world, _) = files.fixture("first.db", "small").await;
    write_many(&world.stores, 20_000).await;
    files.export(&files.url("first.db"), "first");
    is_resumed_after_kills(&files.url("second.db"), &files);
    let database = testkit::postgres::server().database();
    is_resumed_after_kills(&database.url(), &files);
}

#[tokio::test]
async fn a_position_of_another_store_or_archive_is_not_believed() {
    let files = Files::new();
    let (world, _) = files.fixture("first.db", "first").await;
    let whole = std::fs::read_to_string(files.file("first")).unwrap();
    let end: Json = serde_json::from_str(whole.lines().last().unwrap()).unwrap();
    let digest = end["end"]["sha256"].as_str().unwrap();
    for (number, (digest, rows)) in [(digest, 9999), ("another", 1)].into_iter().enumerate() {
        let position = format!(
            "{{\"sha256\":\"{digest}\",\"bytes\":{},\"rows\":{rows},\"replaced\":0}}",
            whole.len() - 9
        );
        std::fs::write(files.file("first.position"), position).unwrap();
        let store = files.url(&format!("new-{number}.db"));
        printed(run(&store, &["import", "--from", &files.path("first"), "--resume"]));
        files.export(&store, "moved");
        assert_eq!(files.rows("moved"), files.rows("first"));
    }
    // A store with other rows than those of the archive is not what the archive says.
    world.user("eve").await;
    let more = run(&files.url("first.db"), &["import", "--from", &files.path("first"), "--resume"]);
    assert!(refused(&more).contains("but the archive has"), "{more:?}");
}
