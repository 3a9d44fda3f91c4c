//! `parlance doctor` on sound and on faulty installations.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use e2e::{Server, free_port, isolated, on_postgres, program};
use serde_json::Value;
use tempfile::TempDir;
use testkit::postgres::{Cluster, Options};

/// The findings: whether there is a fault, and each check with its outcome and what to do next.
struct Found(Output, Value);

impl Found {
    fn by(command: &mut Command) -> Self {
        let output = command.args(["doctor", "--json"]).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(output.status.success(), found["ok"].as_bool().unwrap(), "{output:?}");
        for finding in found["findings"].as_array().unwrap() {
            let well = finding["outcome"] == "ok";
            assert_eq!(finding["next"].is_null(), well, "who is not well is told what to do: {finding}");
        }
        Self(output, found)
    }

    /// The outcomes and texts of a check.
    fn of(&self, check: &str) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = self.1["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
        all.map(|finding| {
            (
                text(&finding["outcome"]),
                format!("{} next: {}", text(&finding["found"]), text(&finding["next"])),
            )
        })
        .collect()
    }

    fn has(&self, check: &str, outcome: &str, part: &str) {
        let found = self.of(check);
        assert!(found.iter().any(|(o, text)| o == outcome && text.contains(part)), "{check}: {}", self.1);
    }

    fn is_well(&self) -> bool {
        self.0.status.success()
    }
}

/// The program with a data directory of its own.
fn alone(directory: &Path, listen: &str) -> Command {
    let mut command = isolated(program());
    command
        .current_dir(directory)
        .env("PARLANCE_DATA_DIR", directory.join("data"))
        .env("PARLANCE_LISTEN", listen);
    command
}

fn free() -> String {
    format!("127.0.0.1:{}", free_port())
}

#[tokio::test]
async fn a_running_server_is_well() {
    let metrics = free();
    // The database of the other tests does not flush what it commits.
    let durable =
        on_postgres().then(|| Cluster::own(Options::default().setting("fsync", "on")).server().database());
    let url = durable.as_ref().map(testkit::postgres::Database::url);
    let mut settings = vec![("PARLANCE_METRICS_LISTEN", metrics.as_str())];
    settings.extend(url.iter().map(|url| ("PARLANCE_DATABASE_URL", url.as_str())));
    let server = Server::start_with(&settings).await;
    let found = Found::by(&mut server.command());
    assert!(found.is_well(), "{}", found.1);
    found.has("store", "ok", "answers");
    found.has("schema", "ok", "migrations are applied");
    found.has("work", "ok", "no message waits for too long");
    found.has("durability", "ok", "survives a crash");
    found.has("clock", "ok", if on_postgres() { "differ by" } else { "of this machine" });
    let said =
        if on_postgres() { "a Parlance server answers at" } else { "used by the server of this store" };
    found.has("listen", "ok", said);
    found.has("metrics_listen", "ok", said);
    found.has("files", "ok", "token-keys is not accessible to others");
    let plain = server.command().arg("doctor").output().unwrap();
    let text = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.status.success() && text.contains("ok       schema"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_does_not_keep_what_it_acknowledges_is_a_fault() {
    let database = Cluster::own(Options::default().setting("full_page_writes", "off")).server().database();
    let server = Server::start_with(&[("PARLANCE_DATABASE_URL", &database.url())]).await;
    let found = Found::by(&mut server.command());
    assert!(!found.is_well(), "{}", found.1);
    found.has("durability", "fault", "fsync is off");
    found.has("durability", "fault", "set full_page_writes = on");
    let logged = server.logged();
    let logged =
        logged.lines().filter(|line| line.contains("acknowledged data can be lost")).collect::<Vec<_>>();
    assert!(logged.len() == 2 && logged.iter().all(|line| line.contains("ERROR")), "{logged:?}");
}

#[tokio::test]
async fn a_data_directory_that_others_may_look_into_is_a_warning() {
    let directory = TempDir::new().unwrap();
    let data = directory.path().join("deep/data");
    let url = format!("sqlite:{}/parlance.db", data.display());
    let mut server = Server::start_on(directory.path(), &[("PARLANCE_DATABASE_URL", &url)]).await;
    for made in ["deep", "deep/data"] {
        let mode = std::fs::metadata(directory.path().join(made)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{made}");
    }
    server.terminate().await;
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = Found::by(&mut server.command());
    assert!(found.is_well(), "{}", found.1);
    found.has("files", "warning", "chmod 700");
}

#[test]
fn an_installation_without_a_store_is_a_fault_and_stays_as_it_is() {
    let directory = TempDir::new().unwrap();
    let found = Found::by(&mut alone(directory.path(), &free()));
    assert!(!found.is_well(), "{}", found.1);
    let place = directory.path().join("data/parlance.db");
    found.has("store", "fault", &format!("none at {} yet; the first start creates it", place.display()));
    found.has("listen", "ok", "is free");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "it only looks");
}

#[tokio::test]
async fn open_files_and_another_program_on_the_port_are_faults() {
    let mut server = Server::start_embedded().await;
    server.terminate().await;
    let keys = server.data().join("parlance.db.token-keys");
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o644)).unwrap();
    let another = TcpListener::bind(server.address()).unwrap();
    let found = Found::by(&mut server.command());
    assert!(!found.is_well());
    found.has("files", "fault", "chmod 600");
    found.has("listen", "fault", "set listen to another port");
    drop(another);
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(Found::by(&mut server.command()).is_well());
}

/// A server of another store on the same port is not taken for this one's.
#[tokio::test]
async fn a_server_of_another_store_is_told_apart() {
    let mut server = Server::start_embedded().await;
    let another = Server::start_embedded().await;
    let listen = another.address().clone();
    let said = |server: &Server| {
        let mut command = server.command();
        let output = command.env("PARLANCE_LISTEN", &listen).arg("status").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(&another).contains(&format!("Server         running at {listen}")), "{}", said(&another));
    server.terminate().await;
    let line = format!("Server         not running on this store; another Parlance server uses {listen}");
    assert!(said(&server).contains(&line), "{}", said(&server));
    let found = Found::by(server.command().env("PARLANCE_LISTEN", &listen));
    found.has("listen", "warning", "not running on this store; another Parlance server uses");
    Found::by(another.command().env("PARLANCE_LISTEN", &listen)).has(
        "listen",
        "ok",
        "the server of this store",
    );
}

#[tokio::test]
async fn a_schema_that_is_not_of_this_version_is_a_fault() {
    let mut server = Server::start_embedded().await;
    server.terminate().await;
    let database = server.data().join("parlance.db");
    let change = |sql: &str| {
        let script =
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()";
        let done = Command::new("python3").args(["-c", script]).arg(&database).arg(sql).status().unwrap();
        assert!(done.success());
    };
    change("INSERT INTO __diesel_schema_migrations (version) VALUES ('99990101000000')");
    let newer = Found::by(&mut server.command());
    newer.has("schema", "fault", "use the version that wrote it");
    change("DELETE FROM __diesel_schema_migrations WHERE version = '99990101000000'");
    change(
        "DELETE FROM __diesel_schema_migrations WHERE version = (SELECT max(version) FROM __diesel_schema_migrations)",
    );
    let older = Found::by(&mut server.command());
    older.has("schema", "fault", "parlance migrate");
    std::fs::write(&database, "this is no database, but long enough to be one ".repeat(50)).unwrap();
    let damaged = Found::by(&mut server.command());
    damaged.has("store", "fault", "not a database");
    assert!(!damaged.1.to_string().contains("`parlance doctor`"), "{}", damaged.1);
    // The advice never is to change the permissions of another kind of file.
    std::fs::set_permissions(&database, std::fs::Permissions::from_mode(0o644)).unwrap();
    let foreign = Found::by(&mut server.command());
    assert!(foreign.of("files").is_empty(), "{}", foreign.1);
}

#[test]
fn what_cannot_be_reached_is_a_fault_and_tells_no_password() {
    let directory = TempDir::new().unwrap();
    let nobody = free();
    let url = format!("postgres://u:secret@{nobody}/d?sslmode=disable");
    let found = Found::by(alone(directory.path(), &free()).env("PARLANCE_DATABASE_URL", url));
    found.has("store", "fault", "database_url");
    found.has(
        "store",
        "fault",
        &format!("the PostgreSQL database 'd' at {nobody}: connection refused next:"),
    );
    assert!(!found.1.to_string().contains("`parlance doctor`"), "{}", found.1);
    assert!(!format!("{:?}", found.0).contains("secret"));

    std::fs::write(directory.path().join("data"), "a file").unwrap();
    let found = Found::by(&mut alone(directory.path(), "192.0.2.1:4000"));
    found.has("disk", "fault", "not a directory");
    found.has("listen", "fault", "cannot listen on");

    let found = Found::by(alone(directory.path(), "nowhere").env("PARLANCE_LISEN", "x"));
    assert_eq!(found.of("configuration").len(), 2, "{}", found.1);
    assert!(!found.is_well());
}

#[test]
fn shells_are_given_completions() {
    let directory = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        // Also where the configuration is wrong.
        let output = alone(directory.path(), "x").args(["completions", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && script.contains("doctor") && script.contains("metrics-listen"),
            "{shell}"
        );
        for hidden in ["fault-lose-messages", "push-again-after-ms", "database-wait-ms"] {
            assert!(!script.contains(hidden), "{shell} offers --{hidden}");
        }
        // The server's settings are offered by the three commands that describe them, and not in front of a command.
        let offered = script.matches("redelivery-after-ms").count();
        let of_every_command = script.matches("data-dir").count();
        assert!(offered > 0 && offered * 5 < of_every_command, "{shell}: {offered} of {of_every_command}");
    }
    let script = alone(directory.path(), "x").args(["completions", "bash"]).output().unwrap().stdout;
    let file = directory.path().join("completions.bash");
    std::fs::write(&file, script).unwrap();
    assert!(Command::new("bash").arg("-n").arg(&file).status().unwrap().success(), "it is no script");
    let wrong = alone(directory.path(), "x").args(["completions", "cmd"]).output().unwrap();
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("bash"));
}
