//! Operating the program: the first start, users, faults at the start, a full disk, and a graceful stop.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod disk;
mod first_start;
mod settings;

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use e2e::{Api, Closed, Server, Socket, is_full, isolated, program, until};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The keys of users that stand in a text.
fn keys_in(text: &str) -> Vec<String> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = text.split(|c| !is_key(c)).filter(|word| word.starts_with("thnv_u_"));
    words.map(str::to_owned).collect()
}

/// The keys of users that a server has printed.
fn printed_keys(server: &Server) -> Vec<String> {
    keys_in(&server.printed())
}

/// Runs the program to its end in a directory of its own.
fn run(arguments: &[&str], settings: &[(&str, &str)], directory: &Path) -> Output {
    let mut command = isolated("timeout");
    command.arg("20").arg(program()).args(arguments).current_dir(directory);
    command.envs(settings.iter().copied()).output().unwrap()
}

/// The program ended without success and said why in one line, which is given.
fn one_line(output: &Output) -> String {
    assert!(!output.status.success());
    assert_ne!(output.status.code(), Some(124), "it did not end by itself");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let said = text.lines().filter(|line| line.starts_with("parlance: ")).collect::<Vec<_>>();
    assert_eq!(said.len(), 1, "{text}");
    assert!(!text.contains("panicked"), "{text}");
    said[0].to_owned()
}

/// Measured by the quickest of three starts. While other tests run, much more is allowed.
#[tokio::test]
async fn a_start_on_an_existing_store_is_quick() {
    let mut server = Server::start().await;
    let mut quickest = Duration::MAX;
    for _ in 0..3 {
        server.terminate().await;
        quickest = quickest.min(server.run().await);
    }
    let bound = if is_full() { 1 } else { 10 };
    assert!(quickest < Duration::from_secs(bound), "{quickest:?}");
}

#[tokio::test]
async fn users_are_created_while_the_server_runs() {
    let server = Server::start().await;
    let ann = server.user("ann");
    assert_eq!(ann.get("/agents").await.status, 200);
    let create = |handle: &str, email: &str| {
        let arguments = ["user", "create", "--handle", handle, "--email", email, "--name", "X", "--json"];
        server.command().args(arguments).output().unwrap()
    };
    for (handle, email, part) in [
        ("ann", "other@example.org", "handle is already taken"),
        ("other", "ANN@example.org", "address is already taken"),
        ("a!", "other@example.org", "--handle"),
        ("other", "nowhere", "--email"),
    ] {
        let output = create(handle, email);
        assert!(one_line(&output).contains(part), "{output:?}");
        assert!(output.stdout.is_empty());
    }
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused() {
    let server = Server::start_embedded().await;
    let output = server.command().args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    assert!(one_line(&output).contains("Another server"), "{output:?}");
    assert_eq!(server.user("ann").get("/agents").await.status, 200);
}

#[tokio::test]
async fn a_store_in_memory_serves() {
    let server = Server::start_with(&[("PARLANCE_DATABASE_URL", "sqlite::memory:")]).await;
    let admin = Api::new(&server, "me", &printed_keys(&server)[0], "");
    let chat = admin.create_chat().await;
    admin.sent(&chat, "hello", &[]).await;
    assert_eq!(admin.history(&chat).await.len(), 1);
    assert_eq!(std::fs::read_dir(server.data()).unwrap().count(), 0, "nothing is left behind");
}

#[tokio::test]
async fn a_stop_with_open_sockets_and_connections_is_quick_and_clean() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    // Two who never finish what they began to send, one of them in the midst of a request.
    let head = format!("POST /api/v1/me/chats HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\n", ann.key);
    let mut halves = Vec::new();
    for rest in ["content-le", "content-type: application/json\r\ncontent-length: 9\r\n\r\n{"] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
        halves.push(stream);
    }
    let mut sockets = Vec::new();
    for _ in 0..20 {
        sockets.push(Socket::of(&server, &ann).await);
        assert_eq!(ann.get("/agents").await.status, 200, "and the connection stays open");
    }
    let took = server.terminate().await;
    assert!(took < Duration::from_secs(15), "{took:?}");
    for socket in &mut sockets {
        assert_eq!(socket.closed().await, Closed::Code(1012));
    }
}

#[tokio::test]
async fn a_hangup_stops_the_server_in_order() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    let mut socket = Socket::of(&server, &ann).await;
    server.signal("-HUP");
    assert_eq!(socket.closed().await, Closed::Code(1012));
    server.ended().await;
}

#[tokio::test]
async fn a_store_has_one_server_whatever_it_is_called() {
    let server = Server::start_embedded().await;
    let store = server.data().join("parlance.db");
    let elsewhere = TempDir::new().unwrap();
    let (hard, soft) = (elsewhere.path().join("hard.db"), elsewhere.path().join("soft.db"));
    std::fs::hard_link(&store, &hard).unwrap();
    std::os::unix::fs::symlink(&store, &soft).unwrap();
    for name in [hard, soft] {
        let url = format!("sqlite:{}", name.display());
        let listen = ("PARLANCE_LISTEN", "127.0.0.1:0");
        let output = run(&[], &[("PARLANCE_DATABASE_URL", &url), listen], elsewhere.path());
        assert!(one_line(&output).contains("Another server already runs"), "{output:?}");
    }
    let ann = server.user("ann");
    assert_eq!(ann.get("/agents").await.status, 200);
}

/// The same archive with another id for a message, as if it had been made at another time.
fn with_id(archive: &Path, id: &str, other: &str) {
    let text = std::fs::read_to_string(archive).unwrap().replace(id, other);
    let (rows, end) = text.trim_end().rsplit_once('\n').unwrap();
    let mut end = serde_json::from_str::<Value>(end).unwrap();
    let (_, lines) = rows.split_once('\n').unwrap();
    let digest = Sha256::digest(format!("{lines}\n"));
    let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
    end["end"]["sha256"] = hex.concat().into();
    std::fs::write(archive, format!("{rows}\n{end}\n")).unwrap();
}

#[tokio::test]
async fn what_is_older_than_it_is_kept_is_erased_after_a_start() {
    let data = TempDir::new().unwrap();
    let settings = [("PARLANCE_RETENTION_TEXT_DAYS", "2"), ("PARLANCE_RETENTION_EVENT_DAYS", "0")];
    let mut server = Server::start_on(data.path(), &settings).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    ann.add(&chat, &bot.id).await;
    let (old, young) = (ann.sent(&chat, "old", &[&bot.id]).await, ann.sent(&chat, "young", &[&bot.id]).await);
    server.terminate().await;

    let archive = data.path().join("archive");
    let done = |output: Output| assert!(output.status.success(), "{output:?}");
    done(server.command().args(["export", "--to"]).arg(&archive).output().unwrap());
    with_id(&archive, &old, "0190a000-0000-7000-8000-000000000001");
    for file in ["parlance.db", "parlance.db-wal", "parlance.db-shm"] {
        let _ = std::fs::remove_file(data.path().join(file));
    }
    done(server.command().args(["import", "--from"]).arg(&archive).output().unwrap());

    server.run().await;
    until("one message is left", async || ann.history(&chat).await.len() == 1).await;
    let left = ann.history(&chat).await;
    let left = left.iter().map(|message| message["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(left, [&young], "{}", server.log());
    assert_eq!(bot.next(&chat).await, Some(young));
}

#[tokio::test]
async fn the_version_is_told_to_everybody_with_all_that_old_clients_read() {
    let server = Server::start().await;
    for path in ["/version", "/api/version"] {
        let address = format!("http://{}{path}", server.address());
        let answer = reqwest::get(address).await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        let body: serde_json::Value = answer.json().await.unwrap();
        for member in ["version", "commit", "built_at"] {
            assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member} of {body}");
        }
    }
}

/// The page with the API is found without the slash at its end.
#[tokio::test]
async fn the_page_with_the_api_needs_no_final_slash() {
    let server = Server::start().await;
    let page = reqwest::get(format!("http://{}/api/v1/docs", server.address())).await.unwrap();
    assert_eq!((page.status().as_u16(), page.url().path()), (200, "/api/v1/docs/"));
    assert!(page.text().await.unwrap().contains("swagger-ui"));
}

/// A command that opens and closes the store beside the server takes nothing from it.
#[tokio::test]
async fn commands_beside_the_server_cost_no_message() {
    let mut server = Server::start().await;
    let human = server.user("ann");
    let room = human.create_chat().await;
    let mut accepted = Vec::new();
    for number in 0..5 {
        accepted.push(human.sent(&room, &format!("before user {number}"), &[]).await);
        let created = server.user(&format!("user-{number}"));
        assert_eq!(created.get("/agents").await.status, 200);
        accepted.push(human.sent(&room, &format!("after user {number}"), &[]).await);
    }
    server.crash().await;
    let mut found = human.history(&room).await;
    found.reverse();
    let found = found.iter().map(|message| message["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(found, accepted);
}
