//! `parlance migrate`, `export` and `import`: the built program moves whole stores.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use adapters_sqlite::Location;
use domain::archive::{Table, Value};
use domain::ports::Clock;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use testkit::{Fixture, Stores, World};
use tokio::time::Instant;
use uuid::Uuid;

/// The program with these arguments, on the store at this URL.
fn parlance(store: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parlance"));
    command.env_clear().env("PARLANCE_DATABASE_URL", store).args(arguments).stdin(Stdio::null());
    command
}

fn run(store: &str, arguments: &[&str]) -> Output {
    parlance(store, arguments).output().unwrap()
}

/// What it printed; it ended well.
fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The one line that says why it did not end well.
fn refused(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    let mut lines = told.lines().filter_map(|line| line.strip_prefix("parlance: "));
    let line = lines.next().unwrap_or_else(|| panic!("{told}")).to_owned();
    assert!(lines.next().is_none() && !told.contains("panicked"), "{told}");
    line
}

/// A directory for the stores and archives of a test.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.file(name).to_str().unwrap().to_owned()
    }

    fn url(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name))
    }

    fn stores(&self, name: &str) -> Stores {
        Stores::sqlite(&Location::File(self.file(name)))
    }

    /// An archive of a store in which everything was made.
    async fn fixture(&self, store: &str, archive: &str) -> (World, Fixture) {
        let world = World::on(self.stores(store));
        let fixture = Fixture::in_world(&world).await;
        self.export(&self.url(store), archive);
        (world, fixture)
    }

    fn export(&self, store: &str, archive: &str) {
        assert_eq!(printed(run(store, &["export", "--to", &self.path(archive)])), "");
    }

    fn import(&self, store: &str, archive: &str) -> Json {
        let told = run(store, &["import", "--from", &self.path(archive), "--json"]);
        serde_json::from_str(&printed(told)).unwrap()
    }

    /// All lines but the first, which tells when it was written, and the digest of that in the last.
    fn rows(&self, archive: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(archive)).unwrap();
        let mut rows = text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        let mut end = serde_json::from_str::<Json>(&rows.pop().unwrap()).unwrap();
        assert!(end["end"].as_object_mut().unwrap().remove("header_sha256").is_some());
        rows.push(end.to_string());
        rows
    }
}

#[tokio::test]
async fn a_store_moves_to_postgresql_and_back_as_it_was() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let (world, fixture) = place.fixture("first.db", "first").await;
    let database = testkit::postgres::server().database();
    let imported = place.import(&database.url(), "first");
    let rows = place.rows("first");
    assert_eq!(imported["rows"].as_u64(), Some(rows.len() as u64 - 1));
    assert_eq!(imported["replaced"], 0);
    place.export(&database.url(), "second");
    assert_eq!(place.rows("second"), rows, "every row of every table, and the digest");
    place.import(&place.url("third.db"), "second");
    place.export(&place.url("third.db"), "third");
    assert_eq!(place.rows("third"), rows);

    let moved = World::on(place.stores("third.db"));
    moved.clock.set(world.clock.now());
    assert_eq!(fixture.seen_in(&moved).await, fixture.seen_in(&world).await);

    let mode = std::fs::metadata(place.file("first")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names = std::fs::read_dir(place.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left = names.filter(|name| name.to_string_lossy().contains(".p")).collect::<Vec<_>>();
    assert_eq!(left, Vec::<std::ffi::OsString>::new(), "no draft and no position is left");
}

/// An archive as versions before `idempotency_records` and `deletion_jobs` had these names wrote it.
#[tokio::test]
async fn an_archive_with_former_names_of_tables_is_imported() {
    let place = Place::new();
    let (world, fixture) = place.fixture("first.db", "first").await;
    let mut old = std::fs::read_to_string(place.file("first")).unwrap();
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
    std::fs::write(place.file("old"), format!("{}{end}\n", lines.concat())).unwrap();

    place.import(&place.url("moved.db"), "old");
    place.export(&place.url("moved.db"), "second");
    assert_eq!(place.rows("second"), place.rows("first"));
    let moved = World::on(place.stores("moved.db"));
    moved.clock.set(world.clock.now());
    assert_eq!(fixture.seen_in(&moved).await, fixture.seen_in(&world).await);
}

/// The archive with one more memory, which was marked as deleted and kept its text, as versions before the migration
/// `deleted_memories` left it.
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
    let place = Place::new();
    place.fixture("first.db", "first").await;
    let mut export = parlance(&place.url("first.db"), &["export"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut copy = Command::new("tee")
        .arg(place.file("copy"))
        .stdin(export.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = copy.stdout.take().unwrap();
    let import = parlance(&place.url("second.db"), &["import"]).stdin(lines).output().unwrap();
    assert!(printed(import).contains("imported"));
    assert!(export.wait().unwrap().success() && copy.wait().unwrap().success());
    place.export(&place.url("second.db"), "second");
    assert_eq!(place.rows("second"), place.rows("copy"));
}

#[tokio::test]
async fn a_backup_has_its_time_in_its_name_and_can_be_verified_and_restored() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    place.fixture("first.db", "first").await;
    let database = testkit::postgres::server().database();
    place.import(&database.url(), "first");
    for (number, store) in [place.url("first.db"), database.url()].into_iter().enumerate() {
        let directory = place.file(&format!("backups-{number}"));
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
        let restored = place.url(&format!("restored-{number}.db"));
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
async fn an_export_that_is_killed_leaves_one_draft_for_the_next() {
    let place = Place::new();
    let (world, _) = place.fixture("first.db", "small").await;
    write_many(&world.stores, 20_000).await;
    let (store, archive) = (place.url("first.db"), place.path("first"));
    let arguments = ["export", "--to", &archive];
    for _ in 0..2 {
        let mut export = parlance(&store, &arguments).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while std::fs::metadata(place.file("first.part")).map_or(0, |part| part.len()) == 0 {
            assert!(export.try_wait().unwrap().is_none(), "it ended before it was halted");
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
            std::thread::sleep(Duration::from_millis(1));
        }
        let halt = Command::new("kill").args(["-STOP", &export.id().to_string()]).status();
        assert!(halt.unwrap().success());
        let why = refused(&run(&store, &arguments));
        assert!(why.contains("another process is writing it"), "{why}");
        export.kill().unwrap();
        assert!(!export.wait().unwrap().success(), "it was over before it was killed");
        let names = std::fs::read_dir(place.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left = names.filter(|name| name.to_string_lossy().starts_with("first.p")).collect::<Vec<_>>();
        assert_eq!((left, place.file("first").exists()), (vec!["first.part".into()], false));
        // So that what the next one writes is told from what was left.
        std::fs::write(place.file("first.part"), "").unwrap();
    }
    place.export(&store, "first");
    assert!(!place.file("first.part").exists() && place.rows("first").len() > 20_000);
}

/// More rows than are written at once: copies of one message, each at its own place.
async fn write_many(stores: &Stores, number: u128) {
    let messages = Table::named("messages").unwrap();
    let mut snapshot = stores.archive.snapshot().await.unwrap();
    let pattern = snapshot.rows(messages, None, 1).await.unwrap().remove(0);
    let place = |name: &str| messages.columns.iter().position(|column| column.name == name).unwrap();
    let (sequence, content) = (place("sequence"), place("content"));
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
    let begun = Instant::now();
    let kept = loop {
        let kept = std::fs::read_to_string(position).unwrap_or_default();
        if !kept.is_empty() && kept != before {
            break kept;
        }
        assert!(import.try_wait().unwrap().is_none(), "it ended before it was killed");
        assert!(begun.elapsed() < Duration::from_secs(60), "no position is kept");
        std::thread::sleep(Duration::from_millis(1));
    };
    import.kill().unwrap();
    assert!(!import.wait().unwrap().success(), "it was over before it was killed");
    kept
}

fn is_resumed_after_kills(store: &str, place: &Place) {
    let archive = place.path("first");
    let position = place.file("first.position");
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
    let told = run(store, &["import", "--from", &archive, "--resume", "--json"]);
    let told: Json = serde_json::from_str(&printed(told)).unwrap();
    assert!(rows > 0 && told["new"].as_u64().unwrap() + rows <= told["rows"].as_u64().unwrap(), "{told}");
    assert!(!position.exists());
    // It is only compared: had it been killed, nothing would be half done.
    let told = run(store, &["import", "--from", &archive, "--resume", "--json"]);
    assert!(printed(told).contains("\"new\":0"));
    // From here on commands seal and extend the audit log of the new store.
    place.export(store, "moved");
    assert_eq!(place.rows("moved"), place.rows("first"));
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
    let place = Place::new();
    let (world, _) = place.fixture("first.db", "small").await;
    write_many(&world.stores, 20_000).await;
    place.export(&place.url("first.db"), "first");
    is_resumed_after_kills(&place.url("second.db"), &place);
    let database = testkit::postgres::server().database();
    is_resumed_after_kills(&database.url(), &place);
}

#[tokio::test]
async fn a_position_of_another_store_or_archive_is_not_believed() {
    let place = Place::new();
    let (world, _) = place.fixture("first.db", "first").await;
    let whole = std::fs::read_to_string(place.file("first")).unwrap();
    let end: Json = serde_json::from_str(whole.lines().last().unwrap()).unwrap();
    let digest = end["end"]["sha256"].as_str().unwrap();
    for (number, (digest, rows)) in [(digest, 9999), ("another", 1)].into_iter().enumerate() {
        let position = format!(
            "{{\"sha256\":\"{digest}\",\"bytes\":{},\"rows\":{rows},\"replaced\":0}}",
            whole.len() - 9
        );
        std::fs::write(place.file("first.position"), position).unwrap();
        let store = place.url(&format!("new-{number}.db"));
        printed(run(&store, &["import", "--from", &place.path("first"), "--resume"]));
        place.export(&store, "moved");
        assert_eq!(place.rows("moved"), place.rows("first"));
    }
    // A store with other rows beside those of the archive is not what the archive says.
    world.user("eve").await;
    let more = run(&place.url("first.db"), &["import", "--from", &place.path("first"), "--resume"]);
    assert!(refused(&more).contains("but the archive has"), "{more:?}");
}

#[tokio::test]
async fn what_is_no_whole_archive_is_refused_before_the_store_is_touched() {
    let place = Place::new();
    place.fixture("first.db", "first").await;
    let whole = std::fs::read_to_string(place.file("first")).unwrap();
    let lines = whole.split_inclusive('\n').collect::<Vec<_>>();
    let (last, others) = lines.split_last().unwrap();
    let without_one = [&others[..others.len() - 1], &[*last]].concat().concat();
    for (broken, told) in [
        (String::new(), "not an archive"),
        ("{}\n".to_owned(), "not an archive"),
        (lines[0].to_owned(), "is truncated"),
        (others.concat(), "is truncated"),
        (whole[..whole.len() - 1].to_owned(), "is truncated"),
        (whole[..whole.len() / 2].to_owned(), "is truncated"),
        (whole.replacen("ann@example.org", "eve@example.org", 1), "damaged"),
        (without_one, "damaged"),
        (format!("{whole}\n"), "data after the end"),
        (whole.replacen("\"program\":\"", "\"program\":\"9", 1), "first line"),
        (whole.replacen("\"format\":1,", "\"format\":2,", 1), "newer"),
        (whole.replacen("\"handle\"", "\"handel\"", 1), "handel"),
    ] {
        std::fs::write(place.file("broken"), &broken).unwrap();
        let output = run(&place.url("new.db"), &["import", "--from", &place.path("broken")]);
        let why = refused(&output);
        assert!(why.contains(told), "{told}: {why}");
        assert!(!place.file("new.db").exists(), "{told}");
        // From a pipe it is known later, and said as well.
        let mut piped = parlance(&place.url("piped.db"), &["import"]);
        let mut piped =
            piped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may have heard enough before all is said.
        let _ = piped.stdin.take().unwrap().write_all(broken.as_bytes());
        assert!(refused(&piped.wait_with_output().unwrap()).contains(told), "{told}");
        assert!(
            told != "not an archive" || !place.file("piped.db").exists(),
            "an empty store would be served"
        );
        for name in ["piped.db", "piped.db-wal", "piped.db-shm"] {
            let _ = std::fs::remove_file(place.file(name));
        }
    }
    let output = run(&place.url("new.db"), &["import", "--from", &place.path("nothing")]);
    assert!(refused(&output).contains("nothing"));
    assert!(refused(&run(&place.url("no.db"), &["export"])).contains("no store at"));
    // The first start of a server that was killed has left it.
    std::fs::write(place.file("empty.db"), "").unwrap();
    assert!(refused(&run(&place.url("empty.db"), &["status"])).contains("no store at"));
    assert_eq!(std::fs::metadata(place.file("empty.db")).unwrap().len(), 0);
    assert!(refused(&run("sqlite::memory:", &["export"])).contains("memory"));
}

#[tokio::test]
async fn only_an_empty_store_without_a_server_is_filled() {
    let place = Place::new();
    place.fixture("first.db", "first").await;
    let arguments = ["import", "--from", &place.path("first")];
    let full = refused(&run(&place.url("first.db"), &arguments));
    assert!(full.contains("not empty") && full.contains("--resume"), "{full}");
    let lock = std::fs::File::create(place.file("second.db.lock")).unwrap();
    lock.lock().unwrap();
    let served = refused(&run(&place.url("second.db"), &arguments));
    assert!(served.contains("already runs"), "{served}");
    drop(lock);
    // A store with its schema only is an empty one.
    printed(run(&place.url("second.db"), &["migrate"]));
    place.import(&place.url("second.db"), "first");
    // Beside an archive on a medium that is only read, no position can be kept.
    std::fs::create_dir(place.file("first.position")).unwrap();
    place.import(&place.url("third.db"), "first");
}

#[tokio::test]
async fn texts_that_postgresql_cannot_keep_are_replaced_with_a_warning() {
    let place = Place::new();
    let (world, _) = place.fixture("first.db", "unused").await;
    let attempts = Table::named("attempts").unwrap();
    let mut snapshot = world.stores.archive.snapshot().await.unwrap();
    let mut row = snapshot.rows(attempts, None, 1).await.unwrap().remove(0);
    row[2] = Value::Integer(99);
    row[6] = Value::Text("before\0after".to_owned());
    world.stores.archive.write(attempts, vec![row]).await.unwrap().unwrap();
    place.export(&place.url("first.db"), "first");
    let database = testkit::postgres::server().database();
    let output = run(&database.url(), &["import", "--from", &place.path("first"), "--json"]);
    let warned = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warned.contains("in 1 texts"), "{warned}");
    assert_eq!(serde_json::from_str::<Json>(&printed(output)).unwrap()["replaced"], 1);
    place.export(&database.url(), "second");
    let end = place.rows("first").len() - 1;
    let replaced =
        place.rows("first").into_iter().map(|row| row.replace("before\\u0000after", "before\u{FFFD}after"));
    assert_eq!(place.rows("second")[..end], replaced.collect::<Vec<_>>()[..end]);
    // To a store of the same kind it goes as it is.
    place.import(&place.url("third.db"), "first");
    place.export(&place.url("third.db"), "third");
    assert_eq!(place.rows("third"), place.rows("first"));
}

#[tokio::test]
async fn an_export_only_reads() {
    let place = Place::new();
    place.fixture("first.db", "first").await;
    let database = testkit::postgres::server().database();
    let store = database.url();
    let why = refused(&run(&store, &["export"]));
    assert!(why.contains("There is no store in") && why.contains("`migrate`"), "{why}");
    let told: Json = serde_json::from_str(&printed(run(&store, &["migrate", "--json"]))).unwrap();
    assert_eq!(told["applied"], told["steps"], "the export took no step");
    place.import(&store, "first");
    // As on a standby.
    let mark = if store.contains('?') { '&' } else { '?' };
    let standby = format!("{store}{mark}options=-c%20default_transaction_read_only%3Don");
    assert!(refused(&run(&standby, &["migrate"])).contains("read-only"));
    place.export(&standby, "second");
    assert_eq!(place.rows("second"), place.rows("first"));

    std::fs::write(place.file("empty.db"), "").unwrap();
    let why = refused(&run(&place.url("empty.db"), &["export"]));
    assert!(why.contains("is missing") && why.contains("`parlance migrate`"), "{why}");
    assert_eq!(std::fs::metadata(place.file("empty.db")).unwrap().len(), 0);
}

#[test]
fn a_migration_says_which_steps_it_took() {
    let place = Place::new();
    let database = testkit::postgres::server().database();
    for store in [place.url("store.db"), database.url()] {
        let told = |output| serde_json::from_str::<Json>(&printed(output)).unwrap();
        let first = told(run(&store, &["migrate", "--json"]));
        assert!(!first["steps"].as_array().unwrap().is_empty());
        assert_eq!(first["applied"], first["steps"], "{store}");
        let second = told(run(&store, &["migrate", "--json"]));
        assert_eq!((&second["steps"], &second["applied"]), (&first["steps"], &Json::Array(Vec::new())));
        assert!(printed(run(&store, &["migrate"])).contains("up to date"));
    }
}
