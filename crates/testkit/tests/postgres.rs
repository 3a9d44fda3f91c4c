//! The PostgreSQL of the tests: each test has its own databases, and nothing is left behind.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use testkit::postgres::{Cluster, Options, Tls, server};
use tokio::time::Instant;
use tokio_postgres::{Client, NoTls};

/// The maximum duration of an operation; a server ends only after its writes are on disk.
const PATIENCE: Duration = Duration::from_secs(180);

/// The URL of an external server for processes that these tests start.
const GIVEN: &str = "PARLANCE_TEST_DATABASE_URL";

/// Set for processes that these tests start.
const ROLE: &str = "PARLANCE_TEST_ROLE";

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// A table of one row.
async fn migrate(url: String) {
    let client = connect(&url).await.unwrap();
    client
        .batch_execute("CREATE TABLE rooms (title text); INSERT INTO rooms VALUES ('Lobby')")
        .await
        .unwrap();
}

async fn rooms(url: &str) -> i64 {
    let client = connect(url).await.unwrap();
    client.query_one("SELECT count(*) FROM rooms", &[]).await.unwrap().get(0)
}

/// Returns whether a database exists, as seen from another one.
async fn is_there(name: &str, asked: &str) -> bool {
    let client = connect(asked).await.unwrap();
    !client.query("SELECT FROM pg_database WHERE datname = $1", &[&name]).await.unwrap().is_empty()
}

async fn wait_until(what: &str, mut fact: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !fact().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn each_database_is_empty_and_may_be_written() {
    let (one, other) = (server().database(), server().database());
    migrate(one.url()).await;
    migrate(other.url()).await;
    assert_eq!((rooms(&one.url()).await, rooms(&other.url()).await), (1, 1));
}

#[tokio::test]
async fn dropping_the_handle_drops_a_database_in_use() {
    let (database, other) = (server().database(), server().database());
    let connected = connect(&database.url()).await.unwrap();
    let name = database.name().to_owned();
    assert!(is_there(&name, &other.url()).await);
    drop(database);
    assert!(!is_there(&name, &other.url()).await);
    assert!(connected.query("SELECT 1", &[]).await.is_err());
}

#[tokio::test]
async fn clones_have_what_the_template_has_and_share_nothing() {
    let template = server().template(migrate).await;
    let (one, other) = (template.database(), server().clone_of(&template));
    let client = connect(&one.url()).await.unwrap();
    client.batch_execute("INSERT INTO rooms VALUES ('Kitchen')").await.unwrap();
    assert_eq!((rooms(&one.url()).await, rooms(&other.url()).await), (2, 1));
}

/// A migration may leave connections in some pool, and tests of one process run at the same time.
#[tokio::test]
async fn clones_are_made_by_many_at_once_and_in_spite_of_open_connections() {
    let mut kept = None;
    let template = server()
        .template(async |url| {
            kept = Some(connect(&url).await.unwrap());
            migrate(url).await;
        })
        .await;
    let clones = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| template.database())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for clone in &clones {
        assert_eq!(rooms(&clone.url()).await, 1);
    }
    assert!(kept.unwrap().query("SELECT 1", &[]).await.is_err(), "the template is still in use");
}

/// Tests must notice statements that need more than `CREATE` on the schema.
#[tokio::test]
async fn on_a_private_cluster_the_tests_have_no_special_rights() {
    let cluster = Cluster::own(Options::default());
    let database = cluster.server().database();
    let client = connect(&database.url()).await.unwrap();
    let rights = "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = current_user";
    assert!(!client.query_one(rights, &[]).await.unwrap().get::<_, bool>(0));
}

#[tokio::test]
async fn a_cluster_of_ones_own_stops_and_comes_back_where_it_was() {
    let cluster = Cluster::own(Options::default().setting("work_mem", "5MB"));
    let database = cluster.server().database();
    migrate(database.url()).await;
    let client = connect(&database.url()).await.unwrap();
    let set: String = client.query_one("SHOW work_mem", &[]).await.unwrap().get(0);
    assert_eq!(set, "5MB");

    cluster.stop_immediately();
    assert!(client.query("SELECT 1", &[]).await.is_err(), "the connection outlived its server");
    assert!(connect(&database.url()).await.is_err(), "somebody still listens");
    cluster.start();
    assert_eq!(rooms(&database.url()).await, 1);
    cluster.restart_immediately();
    assert_eq!(rooms(&database.url()).await, 1);
}

#[tokio::test]
async fn a_cluster_of_ones_own_stands_for_as_long_as_it_has_a_database() {
    let cluster = Cluster::own(Options::default());
    let (database, directory) = (cluster.server().database(), cluster.directory());
    drop(cluster);
    migrate(database.url()).await;
    assert!(directory.is_dir());
    drop(database);
    assert!(!directory.exists());
}

#[tokio::test]
async fn tls_is_off_offered_or_required() {
    for (tls, answer, without) in
        [(Tls::Off, b'N', true), (Tls::Offered, b'S', true), (Tls::Required, b'S', false)]
    {
        let cluster = Cluster::own(Options::default().tls(tls));
        let database = cluster.server().database();
        assert_eq!(answer_to_ssl_request(cluster.port()), answer, "{tls:?}");
        assert_eq!(connect(&database.url()).await.is_ok(), without, "{tls:?}");
        assert_eq!(cluster.certificate().is_some(), tls != Tls::Off, "{tls:?}");
    }
}

/// The server's reply to a request for TLS: S for yes, N for no.
fn answer_to_ssl_request(port: u16) -> u8 {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(&SSL_REQUEST).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    answer[0]
}

/// A process with the role below, and the facts that it printed: one line for each fact.
struct Other {
    process: Child,
    facts: Vec<String>,
}

impl Other {
    fn start(role: &str, facts: usize, given: Option<&str>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--ignored", "--nocapture", role]).env(ROLE, role).env_remove(GIVEN);
        command.envs(given.map(|url| (GIVEN, url)));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let printed = lines.filter_map(|line| line.strip_prefix("fact: ").map(str::to_owned));
        let printed: Vec<_> = printed.take(facts).collect();
        assert_eq!(printed.len(), facts, "{role} ended early");
        Self { process, facts: printed }
    }

    /// SIGKILL: nothing of the process runs any more.
    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Prints these facts and runs until it is killed, or until its parent ends.
fn print_and_stay(facts: &[&str]) {
    let mut out = std::io::stdout().lock();
    for fact in facts {
        writeln!(out, "\nfact: {fact}").unwrap();
    }
    drop(out);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn only_as_a_role() {
    std::env::var_os(ROLE).expect("only another test of this file starts this");
}

#[test]
#[ignore = "a role, started as a process by other tests"]
fn keep_a_cluster() {
    only_as_a_role();
    let cluster = Cluster::own(Options::default());
    let _database = cluster.server().database();
    let directory = cluster.directory();
    let postmaster = std::fs::read_to_string(directory.join("data/postmaster.pid")).unwrap();
    let facts =
        [directory.to_str().unwrap(), postmaster.lines().next().unwrap(), &cluster.port().to_string()];
    print_and_stay(&facts);
}

#[test]
#[ignore = "a role, started as a process by other tests"]
fn keep_a_database() {
    only_as_a_role();
    let database = server().database();
    print_and_stay(&[database.name()]);
}

/// The program that a process runs; nothing if it has ended.
fn command_of(process: &str) -> String {
    let output = Command::new("ps").args(["-o", "stat=", "-o", "args=", "-p", process]).output().unwrap();
    let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if line.starts_with('Z') { String::new() } else { line }
}

#[tokio::test]
async fn a_killed_test_process_leaves_no_server_and_no_directory() {
    let mut other = Other::start("keep_a_cluster", 3, None);
    let [directory, postmaster, port] = <[String; 3]>::try_from(std::mem::take(&mut other.facts)).unwrap();
    assert!(command_of(&postmaster).contains("postgres"), "{}", command_of(&postmaster));
    let connected = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();

    other.kill();
    wait_until("the directory is gone", async || !Path::new(&directory).exists()).await;
    assert!(!command_of(&postmaster).contains("postgres"), "the server lives on");
    assert!(TcpStream::connect(format!("127.0.0.1:{port}")).is_err(), "somebody still listens");
    drop(connected);
}

/// An external server is not stopped, so the next process cleans up there.
#[tokio::test]
async fn what_a_killed_test_process_left_on_a_given_server_is_cleared_by_the_next() {
    let cluster = Cluster::own(Options::default());
    let given = format!("postgres://postgres@127.0.0.1:{}/postgres", cluster.port());
    let start = || Other::start("keep_a_database", 1, Some(&given));
    let (mut killed, mut living) = (start(), start());
    killed.kill();
    assert!(is_there(&killed.facts[0], &given).await);

    // Its lock is given back as soon as the server notices that the connection is gone.
    wait_until("the killed process has no lock", async || locks(&given).await == 1).await;
    let mut next = start();
    assert!(!is_there(&killed.facts[0], &given).await);
    assert!(is_there(&living.facts[0], &given).await);
    assert!(is_there(&next.facts[0], &given).await);
    living.kill();
    next.kill();
}

async fn locks(url: &str) -> i64 {
    let client = connect(url).await.unwrap();
    client.query_one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", &[]).await.unwrap().get(0)
}
