//! Moving whole stores: between the two kinds, through a pipe, in a backup, and from an earlier version.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use domain::archive::{Table, Value};
use domain::ports::Clock;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use testkit::World;

use crate::{Files, parlance, printed, refused, run};

#[tokio::test]
async fn a_store_moves_to_postgresql_and_back_as_it_was() {
    let files = Files::new();
    let (world, fixture) = files.fixture("first.db", "first").await;
    let database = testkit::postgres::server().database();
    let imported = files.import(&database.url(), "first");
    let rows = files.rows("first");
    assert_eq!(imported["rows"].as_u64(), Some(rows.len() as u64 - 1));
    assert_eq!(imported["replaced"], 0);
    files.export(&database.url(), "second");
    assert_eq!(files.rows("second"), rows, "every row of every table, and the digest");
    files.import(&files.url("third.db"), "second");
    files.export(&files.url("third.db"), "third");
    assert_eq!(files.rows("third"), rows);

    let moved = World::on(files.stores("third.db"));
    moved.clock.set(world.clock.now());
    assert_eq!(fixture.seen_in(&moved).await, fixture.seen_in(&world).await);

    let mode = std::fs::metadata(files.file("first")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names = std::fs::read_dir(files.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left = names.filter(|name| name.to_string_lossy().contains(".p")).collect::<Vec<_>>();
    assert_eq!(left, Vec::<std::ffi::OsString>::new(), "no draft and no position is left");
}

/// An archive as versions before `idempotency_records` and `deletion_jobs` had these names wrote it.
#[tokio::test]
async fn an_archive_with_former_names_of_tables_is_imported() {
    let files = Files::new();
    let (world, fixture) = files.fixture("first.db", "first").await;
    let mut old = std::fs::read_to_string(files.file("first")).unwrap();
    let names = [("idempotency_records", "first_answers"), ("deletion_jobs", "erasures")];
    for (present, former) in
        names.map(|(present, former)| (format!("\"{present}\""), format!("\"{former}\"")))
    {
        assert!(old.contains(&format!("{{\"t\":{present}")), "{present}");
        old = old.replace(&present, &former);
    }
    let old = old.replacen(",\"20261124000500\"", "", 1);
    let old = with_a_deleted_memory(&old);
    let mut lines = old.split_inclusive('\n').collect::<Vec<_>>();
    let mut end = serde_json::from_str::<Json>(lines.pop().unwrap()).unwrap();
    let digest = |bytes: &str| {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
    };
    end["end"]["header_sha256"] = digest(lines[0]).into();
    end["end"]["sha256"] = digest(&lines[1..].concat()).into();
    std::fs::write(files.file("old"), format!("{}{end}\n", lines.concat())).unwrap();

    files.import(&files.url("moved.db"), "old");
    files.export(&files.url("moved.db"), "second");
    assert_eq!(files.rows("second"), files.rows("first"));
    let moved = World::on(files.stores("moved.db"));
    moved.clock.set(world.clock.now());
    assert_eq!(fixture.seen_in(&moved).await, fixture.seen_in(&world).await);
}

/// The archive with one more memory, which was marked as deleted and kept its text, as versions before the
/// migration `deleted_memories` left it.
fn with_a_deleted_memory(archive: &str) -> String {
    let mut memories = archive.lines().filter(|line| line.starts_with("{\"t\":\"memories\""));
    let (count, last) = (memories.clone().count(), memories.next_back().unwrap());
    let row = serde_json::from_str::<Json>(last).unwrap();
    let [id, status] = ["id", "status"].map(|name| format!("\"{name}\":{}", row["r"][name]));
    let deleted = last.replacen(&id, "\"id\":\"ffffffff-ffff-7fff-bfff-ffffffffffff\"", 1).replacen(
        &status,
        "\"status\":\"deleted\"",
        1,
    );
    let rows = |count: usize| format!("\"memories\":{count},\"messages\"");
    archive.replace(last, &format!("{last}\n{deleted}")).replace(&rows(count), &rows(count + 1))
}

#[tokio::test]
async fn an_archive_goes_through_a_pipe() {
    let files = Files::new();
    files.fixture("first.db", "first").await;
    let mut export = parlance(&files.url("first.db"), &["export"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut copy = Command::new("tee")
        .arg(files.file("copy"))
        .stdin(export.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = copy.stdout.take().unwrap();
    let import = parlance(&files.url("second.db"), &["import"]).stdin(lines).output().unwrap();
    assert!(printed(import).contains("imported"));
    assert!(export.wait().unwrap().success() && copy.wait().unwrap().success());
    files.export(&files.url("second.db"), "second");
    assert_eq!(files.rows("second"), files.rows("copy"));
}

#[tokio::test]
async fn a_backup_has_its_time_in_its_name_and_can_be_verified_and_restored() {
    let files = Files::new();
    files.fixture("first.db", "first").await;
    let database = testkit::postgres::server().database();
    files.import(&database.url(), "first");
    for (number, store) in [files.url("first.db"), database.url()].into_iter().enumerate() {
        let directory = files.file(&format!("backups-{number}"));
        std::fs::create_dir(&directory).unwrap();
        // As a backup that was killed leaves it.
        std::fs::write(directory.join("parlance-backup.part"), "half").unwrap();
        let directory = directory.to_str().unwrap();
        let backup = printed(run(&store, &["backup", "--to", directory, "--json"]));
        let backup = serde_json::from_str::<Json>(&backup).unwrap();
        let path = backup["file"].as_str().unwrap();
        assert!(path.starts_with(directory) && path.ends_with("Z.jsonl"), "{path}");
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(directory).unwrap().count(), 1, "nothing else is left");

        let verify = |path: &str| run("sqlite:/nowhere/none.db", &["backup", "verify", path, "--json"]);
        let report = serde_json::from_str::<Json>(&printed(verify(path))).unwrap();
        let restored = files.url(&format!("restored-{number}.db"));
        let imported = run(&restored, &["import", "--from", path, "--json"]);
        let imported = serde_json::from_str::<Json>(&printed(imported)).unwrap();
        assert!(
            report["rows"].as_u64().unwrap() > 0 && report["rows"] == imported["rows"],
            "{report} {imported}"
        );

        let whole = std::fs::read_to_string(path).unwrap();
        let changed = whole.replacen("\"handle\":\"", "\"handle\":\"x", 1);
        for wrong in [&whole[..whole.len() / 2], changed.as_str(), ""] {
            let file = format!("{directory}/wrong.jsonl");
            std::fs::write(&file, wrong).unwrap();
            assert!(refused(&verify(&file)).contains("`parlance backup`"));
        }
    }
}

#[tokio::test]
async fn texts_that_postgresql_cannot_keep_are_replaced_with_a_warning() {
    let files = Files::new();
    let (world, _) = files.fixture("first.db", "unused").await;
    let attempts = Table::named("attempts").unwrap();
    let mut snapshot = world.stores.archive.snapshot().await.unwrap();
    let mut row = snapshot.rows(attempts, None, 1).await.unwrap().remove(0);
    row[3] = Value::Integer(99);
    row[6] = Value::Text("before\0after".to_owned());
    world.stores.archive.write(attempts, vec![row]).await.unwrap().unwrap();
    files.export(&files.url("first.db"), "first");
    let database = testkit::postgres::server().database();
    let output = run(&database.url(), &["import", "--from", &files.path("first"), "--json"]);
    let warned = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warned.contains("in 1 texts"), "{warned}");
    assert_eq!(serde_json::from_str::<Json>(&printed(output)).unwrap()["replaced"], 1);
    files.export(&database.url(), "second");
    let end = files.rows("first").len() - 1;
    let replaced =
        files.rows("first").into_iter().map(|row| row.replace("before\\u0000after", "before\u{FFFD}after"));
    assert_eq!(files.rows("second")[..end], replaced.collect::<Vec<_>>()[..end]);
    // To a store of the same kind it goes as it is.
    files.import(&files.url("third.db"), "first");
    files.export(&files.url("third.db"), "third");
    assert_eq!(files.rows("third"), files.rows("first"));
}

#[tokio::test]
async fn an_export_only_reads() {
    let files = Files::new();
    files.fixture("first.db", "first").await;
    let database = testkit::postgres::server().database();
    let store = database.url();
    let why = refused(&run(&store, &["export"]));
    assert!(why.contains("There is no store in") && why.contains("`migrate`"), "{why}");
    let report: Json = serde_json::from_str(&printed(run(&store, &["migrate", "--json"]))).unwrap();
    assert_eq!(report["applied"], report["steps"], "the export took no step");
    files.import(&store, "first");
    // As on a standby.
    let mark = if store.contains('?') { '&' } else { '?' };
    let standby = format!("{store}{mark}options=-c%20default_transaction_read_only%3Don");
    assert!(refused(&run(&standby, &["migrate"])).contains("read-only"));
    files.export(&standby, "second");
    assert_eq!(files.rows("second"), files.rows("first"));

    std::fs::write(files.file("empty.db"), "").unwrap();
    let why = refused(&run(&files.url("empty.db"), &["export"]));
    assert!(why.contains("is missing") && why.contains("`parlance migrate`"), "{why}");
    assert_eq!(std::fs::metadata(files.file("empty.db")).unwrap().len(), 0);
}

#[test]
fn a_migration_says_which_steps_it_took() {
    let files = Files::new();
    let database = testkit::postgres::server().database();
    for store in [files.url("store.db"), database.url()] {
        let report = |output| serde_json::from_str::<Json>(&printed(output)).unwrap();
        let first = report(run(&store, &["migrate", "--json"]));
        assert!(!first["steps"].as_array().unwrap().is_empty());
        assert_eq!(first["applied"], first["steps"], "{store}");
        let second = report(run(&store, &["migrate", "--json"]));
        assert_eq!((&second["steps"], &second["applied"]), (&first["steps"], &Json::Array(Vec::new())));
        assert!(printed(run(&store, &["migrate"])).contains("Up to date"));
    }
}
