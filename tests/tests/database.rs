//! A server on PostgreSQL while the database is unreachable, misconfigured, or insecurely connected.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use e2e::{Api, Server, Socket, isolated, program, until};
use tempfile::TempDir;
use testkit::postgres::{Cluster, Options, Tls, server as postgres};
use tokio::time::Instant;

async fn server_on(url: &str) -> Server {
    Server::start_with(&[("PARLANCE_DATABASE_URL", url)]).await
}

/// Runs `parlance serve` where it is to end by itself; what it says in its one line.
fn refused(url: &str) -> String {
    let directory = TempDir::new().unwrap();
    let output = serve(url, directory.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let said = text.lines().filter(|line| line.starts_with("parlance: ")).collect::<Vec<_>>();
    assert_eq!(said.len(), 1, "{text}");
    assert!(!text.contains("panicked"), "{text}");
    said[0].to_owned()
}

fn serve(url: &str, directory: &Path) -> Output {
    let mut command = isolated("timeout");
    command.arg("20").arg(program()).current_dir(directory);
    command.args(["--database-url", url, "--listen", "127.0.0.1:0"]).output().unwrap()
}

async fn ready(server: &Server) -> u16 {
    reqwest::get(format!("http://{}/ready", server.address())).await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_away_clients_are_told_to_come_back() {
    let cluster = Cluster::own(Options::default());
    let database = cluster.server().database();
    let server = server_on(&database.url()).await;
    let human = server.user("ann");
    let chat = human.create_chat().await;
    let bot = human.register(&server, "Bot").await;
    human.add(&chat, &bot.id).await;
    let mut socket = Socket::of(&server, &bot).await;
    let topic = format!("chat_room:{chat}");
    socket.join("1", &topic).await;
    assert_eq!(ready(&server).await, 200);

    tokio::task::block_in_place(|| cluster.stop_immediately());
    let asked = Instant::now();
    for answer in [human.send(&chat, "lost?", &[&bot.id]).await, human.get("/chats").await] {
        assert_eq!((answer.status, answer.code()), (503, "service_unavailable"));
    }
    let chats = format!("http://{}/api/v1/me/chats", server.address());
    let answer = reqwest::Client::new().get(chats).header("x-api-key", &human.key).send().await.unwrap();
    assert!(answer.headers().contains_key("retry-after"), "{answer:?}");
    assert!(asked.elapsed() < Duration::from_secs(15), "nobody waits longer than a request may");
    assert_eq!(ready(&server).await, 503);
    let health = reqwest::get(format!("http://{}/health", server.address())).await.unwrap();
    assert_eq!(health.status().as_u16(), 200, "the process lives");

    // The log is read twice a second, so a very short outage goes unnoticed.
    until("the outage is not logged", async || server.logged().contains("change log not followed")).await;
    tokio::task::block_in_place(|| cluster.start());
    until("the server does not heal", async || ready(&server).await == 200).await;
    assert_eq!(human.history(&chat).await.len(), 0);
    let sent = human.send(&chat, "here again", &[&bot.id]).await;
    assert_eq!(sent.status, 201);
    // The socket has stayed open, and hears.
    assert_eq!(socket.event("1", &topic, "message_created").await["id"], sent.data()["id"]);
    // The log tells of the outage once, and of its end once, with how long it took.
    until("the end of the outage is not logged", async || {
        server.logged().contains("change log followed again")
    })
    .await;
    let log = server.logged();
    for (begun, over) in [
        ("store unavailable", "store available again"),
        ("change log not followed", "change log followed again"),
    ] {
        let logged = |text| log.lines().filter(|line| line.contains(text)).collect::<Vec<_>>();
        assert_eq!(logged(begun).len(), 1, "{begun}");
        assert!(
            logged(over).len() == 1 && logged(over)[0].contains("duration_ms"),
            "{over}: {:?}",
            logged(over)
        );
    }
}

/// A database that hangs as a whole answers nothing and closes nothing; its own time-outs hang with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_hangs_nobody_waits_for_ever() {
    let cluster = Cluster::own(Options::default());
    let database = cluster.server().database();
    let url = database.url();
    let settings = [
        ("PARLANCE_DATABASE_URL", url.as_str()),
        ("PARLANCE_POOL_TIMEOUT_MS", "1000"),
        ("PARLANCE_STATEMENT_TIMEOUT_MS", "1000"),
    ];
    let server = Server::start_with(&settings).await;
    let human = server.user("ann");
    let chat = human.create_chat().await;
    let bot = human.register(&server, "Bot").await;
    human.add(&chat, &bot.id).await;
    let before = human.sent(&chat, "before", &[&bot.id]).await;

    signal_database(&cluster, "-STOP");
    let asked = Instant::now();
    let texts = (0..20).map(|number| format!("hangs {number}")).collect::<Vec<_>>();
    let named = [bot.id.as_str()];
    let sends = futures_util::future::join_all(texts.iter().map(|text| human.send(&chat, text, &named)));
    let (sends, read) = futures_util::future::join(sends, human.get("/chats")).await;
    let waited = asked.elapsed();
    signal_database(&cluster, "-CONT");
    assert_eq!(read.status, 503);
    let statuses = sends.iter().map(|answer| answer.status).collect::<Vec<_>>();
    assert!(statuses.iter().all(|status| *status == 503), "{statuses:?}");
    assert!(waited < Duration::from_secs(20), "{waited:?}");

    until("the server does not heal", async || ready(&server).await == 200).await;
    let after = human.sent(&chat, "after", &[&bot.id]).await;
    let history = human.history(&chat).await;
    // Whatever hung may have been kept, once; what was answered is there in its order.
    let ids = history.iter().map(|message| message["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!((ids.first(), ids.last()), (Some(&after.as_str()), Some(&before.as_str())));
    let texts = history.iter().map(|message| message["content"].to_string()).collect::<HashSet<_>>();
    assert_eq!(texts.len(), ids.len(), "nothing is there twice");
}

/// Sends a signal to every process of a cluster.
fn signal_database(cluster: &Cluster, signal: &str) {
    let file = cluster.directory().join("data/postmaster.pid");
    let postmaster = std::fs::read_to_string(file).unwrap().lines().next().unwrap().to_owned();
    let children = Command::new("pgrep").args(["-P", &postmaster]).output().unwrap();
    let mut all = vec![postmaster];
    all.extend(String::from_utf8(children.stdout).unwrap().lines().map(str::to_owned));
    for process in all {
        // A backend may have ended meanwhile.
        let _ = Command::new("kill").args([signal, &process]).status().unwrap();
    }
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_named_without_its_password() {
    let url = postgres().database().url();
    let (before, _) = url.rsplit_once('/').unwrap();
    let missing = format!("{before}/nothing_here").replacen("postgres://", "postgres://", 1);
    let line = refused(&missing);
    assert!(line.contains("nothing_here") && line.contains("does not exist"), "{line}");
    let line = refused("postgres://ann:secret@127.0.0.1:1/parlance");
    assert!(line.contains("'parlance'") && !line.contains("secret"), "{line}");
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let database = postgres().database();
    let server = server_on(&database.url()).await;
    drop(server);
    execute(&database.url(), "INSERT INTO __diesel_schema_migrations (version) VALUES ('29990101000000')")
        .await;
    let line = refused(&database.url());
    assert!(line.contains("newer version") && line.contains("29990101000000"), "{line}");
}

/// A migration that fails leaves everything as it was, so that the previous version still works.
#[tokio::test]
async fn a_step_that_fails_changes_nothing() {
    let database = postgres().database();
    execute(&database.url(), "CREATE TABLE memories (id int)").await;
    let line = refused(&database.url());
    assert!(line.contains("up to date") && line.contains("memories"), "{line}");
    let tables = "SELECT string_agg(tablename, ',') FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(query(&database.url(), tables).await, "memories");
}

#[tokio::test]
async fn several_that_start_at_once_agree_on_the_schema() {
    let database = postgres().database();
    let url = database.url();
    let starts = (0..4).map(|_| server_on(&url));
    let servers = futures_util::future::join_all(starts).await;
    let keys =
        servers.iter().map(|server| server.printed().matches("not shown again").count()).sum::<usize>();
    assert_eq!(keys, 1, "one of them makes the first user");
    let human = servers[0].user("ann");
    for server in &servers {
        let there = Api::new(server, "me", &human.key, &human.id);
        assert_eq!(there.get("/chats").await.status, 200);
    }
}

/// A command of the program that is given `stdin` later.
fn piped(url: &str, arguments: &[&str]) -> Child {
    let mut command = isolated(program());
    command.env("PARLANCE_DATABASE_URL", url).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns whether the command succeeded, and its standard error.
fn ended(mut child: Child, input: &[u8]) -> (bool, String) {
    // It may have ended before it has read all.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test]
async fn an_import_fills_a_database_alone() {
    let trial = Server::start_embedded().await;
    let ann = trial.user("ann");
    let archive = trial.command().arg("export").output().unwrap().stdout;

    let taken = postgres().database();
    let mut server = server_on(&taken.url()).await;
    let another = server_on(&taken.url()).await;
    let (done, why) = ended(piped(&taken.url(), &["import"]), &archive);
    assert!(!done && why.contains("are using") && why.contains("stop them first"), "{why}");
    server.kill9();
    drop(another);
    let (done, why) = ended(piped(&taken.url(), &["import"]), &archive);
    assert!(!done && why.contains("not empty"), "those who were killed are not in its way: {why}");

    let database = postgres().database();
    let url = database.url();
    let mut import = piped(&url, &["import"]);
    // The first line tells the columns; the import begins when it is read.
    let first_line = archive.iter().position(|byte| *byte == b'\n').unwrap();
    let (given, withheld) = archive.split_at(usize::midpoint(first_line, archive.len()));
    import.stdin.as_mut().unwrap().write_all(given).unwrap();
    let holders = "pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND classid = 1885434476 \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let held = format!("SELECT count(*)::text FROM {holders}");
    until("nothing is locked", async || query(&url, &held).await == "1").await;
    let line = refused(&url);
    assert!(line.contains("an import into") && line.contains("wait until it ends"), "{line}");
    let create = ["user", "create", "--handle", "eve", "--email", "eve@example.org", "--name", "Eve"];
    let (done, why) = ended(piped(&url, &create), b"");
    assert!(!done && why.contains("an import into"), "{why}");

    let connections = || {
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", import.id())).unwrap();
        let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    };
    let before = connections();
    execute(&url, &format!("SELECT pg_terminate_backend(pid) FROM {holders}")).await;
    until("the lock is held still", async || query(&url, &held).await == "0").await;
    until("the import keeps its lost connection", async || connections() < before).await;
    let (done, why) = ended(import, withheld);
    assert!(!done && why.contains("Lost the connection") && why.contains("--resume"), "{why}");
    let (done, why) = ended(piped(&url, &["import", "--resume"]), &archive);
    assert!(done, "{why}");
    let known = "SELECT count(*)::text FROM pg_stats WHERE tablename = 'users' AND attname = 'handle'";
    assert_eq!(query(&url, known).await, "1", "the planner knows what there is");
    let server = server_on(&url).await;
    assert_eq!(Api::new(&server, "me", &ann.key, &ann.id).get("/chats").await.status, 200);
}

#[tokio::test]
async fn a_link_is_encrypted_and_verified_as_is_asked() {
    let cluster = Cluster::own(Options::default().tls(Tls::Required));
    let database = cluster.server().database();
    let directory = TempDir::new().unwrap();
    let root = directory.path().join("root.crt");
    std::fs::write(&root, cluster.certificate().unwrap()).unwrap();
    let url = |host: &str, query: &str| {
        format!("{}?{query}", database.url().replace("@localhost:", &format!("@{host}:")))
    };
    let trusting = format!("sslmode=verify-full&sslrootcert={}", root.display());
    for query in ["sslmode=require", "sslmode=prefer", trusting.as_str()] {
        let server = server_on(&url("localhost", query)).await;
        assert_eq!(ready(&server).await, 200, "{query}");
    }
    let anywhere = format!("sslmode=verify-ca&sslrootcert={}", root.display());
    assert_eq!(ready(&server_on(&url("127.0.0.1", &anywhere)).await).await, 200);

    let line = refused(&url("127.0.0.1", &trusting));
    assert!(line.contains("certificate"), "another host's certificate: {line}");
    let line = refused(&url("localhost", "sslmode=verify-full"));
    assert!(line.contains("certificate"), "nobody knows this authority: {line}");
    let line = refused(&url("localhost", "sslmode=disable"));
    assert!(line.contains("cannot connect"), "the database wants it encrypted: {line}");
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn execute(url: &str, statement: &str) {
    connect(url).await.batch_execute(statement).await.unwrap();
}

async fn query(url: &str, statement: &str) -> String {
    connect(url).await.query_one(statement, &[]).await.unwrap().get(0)
}
