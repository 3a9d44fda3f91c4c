//! API keys on the running program: revoked keys end, whichever process revoked them.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::process::Output;

use e2e::{Api, Closed, Fleet, Server, Socket, at_once, soon};
use serde_json::{Value, json};

/// Runs a command of the program beside the server.
fn command(server: &Server, arguments: &[&str]) -> Output {
    server.command().args(arguments).output().unwrap()
}

/// The JSON output of a command that must succeed.
fn printed(server: &Server, arguments: &[&str]) -> Value {
    let output = command(server, arguments);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The one line of a command that must not work.
fn refused(server: &Server, arguments: &[&str]) -> String {
    let output = command(server, arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let said = text.lines().filter(|line| line.starts_with("parlance: ")).collect::<Vec<_>>();
    assert_eq!(said.len(), 1, "{text}");
    said[0].to_owned()
}

/// One more key of a user: its id and its text.
async fn key_of(user: &Api, name: &str) -> (String, String) {
    let data = user.post("/api-keys", json!({"api_key": {"name": name}})).await.data();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&data["api_key"]["id"]), text(&data["credentials"]["api_key"]))
}

/// A socket of an agent that hears of the end of its connection.
async fn controlled(server: &Server, agent: &Api) -> Socket {
    let mut socket = Socket::of(server, agent).await;
    socket.join("c", &format!("agent_control:{}", agent.id)).await;
    socket
}

/// The socket of an agent ends after the event that its client must not reconnect.
async fn ends_for_good(socket: &mut Socket, agent: &Api) {
    let told = socket.event("c", &format!("agent_control:{}", agent.id), "supersede").await;
    assert_eq!((&told["reason"], &told["retryable"]), (&json!("agent.revoked"), &json!(false)));
    assert_eq!(socket.receive().await, Err(Closed::Code(1008)));
}

#[tokio::test]
async fn what_its_holder_revokes_ends_at_once() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let (id, key) = key_of(&ann, "laptop").await;
    let with_key = ann.with_key(&key);
    let mut socket = Socket::of(&server, &with_key).await;
    let mut other = Socket::of(&server, &ann).await;
    assert_eq!(ann.delete(&format!("/api-keys/{id}")).await.status, 200);
    assert_eq!(with_key.get("/profile").await.code(), "unauthorized");
    assert_eq!(socket.closed().await, Closed::Code(1008));
    other.alive().await;
    let header = [("x-api-key", key.as_str())];
    let is_out = async || Socket::connect(&server, "vsn=2.0.0", &header).await.err() == Some(403);
    assert!(at_once(is_out).await);

    for (name, path) in [("One", "rotate-key"), ("Two", "api-key/regenerate")] {
        let bot = ann.register(&server, name).await;
        let mut socket = controlled(&server, &bot).await;
        let rotated = ann.post(&format!("/agents/{}/{path}", bot.id), json!({})).await.data();
        ends_for_good(&mut socket, &bot).await;
        assert!(at_once(async || bot.get("/me").await.status == 401).await);
        assert_eq!(bot.get("/me").await.code(), "unauthorized");
        let bot = bot.with_key(rotated["credentials"]["api_key"].as_str().unwrap());
        assert_eq!(bot.get("/me").await.status, 200);
        Socket::of(&server, &bot).await.alive().await;
    }
}

#[tokio::test]
async fn what_the_operator_revokes_ends_within_a_second() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let (by_id, by_prefix, whole) =
        (key_of(&ann, "one").await, key_of(&ann, "two").await, key_of(&ann, "three").await);
    let listed = printed(&server, &["key", "list", "@ann", "--json"]);
    let prefix = listed["keys"].as_array().unwrap().iter().find(|key| key["name"] == "two").unwrap();
    let prefix = prefix["prefix"].as_str().unwrap();
    assert!(by_prefix.1.starts_with(prefix) && by_prefix.1.len() > prefix.len() + 30, "{listed}");
    for (arguments, key) in [
        (vec![by_id.0.as_str()], &by_id.1),
        (vec![prefix], &by_prefix.1),
        (vec![&whole.1], &whole.1),
        (vec!["--all-of", "ann/bot"], &bot.key),
        (vec!["--all-of", "ann"], &ann.key),
    ] {
        let holder = if *key == bot.key { bot.clone() } else { ann.with_key(key) };
        let mut socket = Socket::of(&server, &holder).await;
        let mut all = vec!["key", "revoke", "--json"];
        all.extend(arguments);
        let revoked = printed(&server, &all);
        assert!(revoked["keys"][0]["revoked_at"].is_string(), "{revoked}");
        assert!(soon(async || holder.get("/chats").await.status == 401).await);
        assert_eq!(socket.closed().await, Closed::Code(1008));
        let again = refused(&server, &all);
        assert!(again.contains("No such key is active") && !again.contains(&whole.1), "{again}");
    }
    // All of it is gone; the operator makes new ones.
    let made =
        printed(&server, &["key", "create", "--user", "ann", "--name", "new", "--days", "7", "--json"]);
    assert!(made["key"]["expires_at"].is_string() && made["key"]["name"] == "new", "{made}");
    assert_eq!(ann.with_key(made["api_key"].as_str().unwrap()).get("/profile").await.status, 200);
    let made = printed(&server, &["key", "rotate", "ann/bot", "--json"]);
    assert_eq!(bot.with_key(made["api_key"].as_str().unwrap()).get("/me").await.status, 200);
}

/// Written when the server stops, if not before.
#[tokio::test]
async fn the_last_use_of_a_key_is_known() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    assert_eq!(ann.get("/profile").await.status, 200);
    server.terminate().await;
    let listed = printed(&server, &["key", "list", "ann", "--json"]);
    assert!(listed["keys"][0]["last_used_at"].is_string(), "{listed}");
    server.run().await;
    assert_eq!(ann.get("/api-keys").await.data()[0]["last_used_at"], listed["keys"][0]["last_used_at"]);
}

/// Both serve one database; what one ends the other ends as well.
#[tokio::test]
async fn what_one_server_ends_ends_on_another() {
    let fleet = Fleet::start(2, &[]).await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let ann = here.user("ann");
    let (one, two) = (ann.register(here, "One").await, ann.register(here, "Two").await);
    let (id, key) = key_of(&ann, "laptop").await;
    let mut agents = [controlled(there, &one).await, controlled(there, &two).await];
    let mut socket = Socket::of(there, &ann.with_key(&key)).await;
    let mut stays = Socket::of(there, &ann).await;
    assert_eq!(ann.delete(&format!("/agents/{}?force=true", one.id)).await.status, 200);
    assert_eq!(ann.post(&format!("/agents/{}/rotate-key", two.id), json!({})).await.status, 200);
    assert_eq!(ann.delete(&format!("/api-keys/{id}")).await.status, 200);
    for (agent, socket) in [&one, &two].into_iter().zip(&mut agents) {
        ends_for_good(socket, agent).await;
    }
    assert_eq!(socket.closed().await, Closed::Code(1008));
    stays.alive().await;
}

/// The keys that the tests above give out stand in no log.
#[tokio::test]
async fn keys_are_not_logged() {
    let server = Server::start_with(&[("PARLANCE_LOG", "debug")]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let (id, key) = key_of(&ann, "laptop").await;
    assert_eq!(ann.with_key(&key).get("/profile").await.status, 200);
    let rotated = ann.post(&format!("/agents/{}/rotate-key", bot.id), json!({})).await.data();
    printed(&server, &["key", "revoke", &id, "--json"]);
    assert!(soon(async || ann.with_key(&key).get("/profile").await.status == 401).await);
    let rotated = rotated["credentials"]["api_key"].as_str().unwrap();
    for secret in [&ann.key, &bot.key, &key, rotated] {
        assert!(!server.logged().contains(&secret[secret.len() - 30..]));
    }
    assert!(server.logged().contains("request"), "there are lines at all");
}

/// The operator makes a key for a dashboard, and one for a script that may only speak in one chat.
#[tokio::test]
async fn the_operator_limits_a_key() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let (chat, other) = (ann.create_chat().await, ann.create_chat().await);
    let limited = |limits: &[&str]| {
        let made = printed(&server, &[&["key", "create", "--user", "ann", "--json"], limits].concat());
        (made["key"].clone(), ann.with_key(made["api_key"].as_str().unwrap()))
    };
    let (made, reader) = limited(&["--read-only"]);
    assert_eq!(made["read_only"], true, "{made}");
    assert_eq!(reader.get("/chats").await.status, 200);
    let refused_there = reader.post("/chats", json!({"chat": {}})).await;
    assert_eq!((refused_there.status, refused_there.code()), (403, "forbidden"));

    let (made, speaker) = limited(&["--chat", &chat]);
    assert_eq!((&made["read_only"], &made["chat_id"]), (&json!(false), &json!(chat)));
    let text = json!({"message": {"content": "hello", "mentions": []}});
    assert_eq!(speaker.post(&format!("/chats/{chat}/messages"), text.clone()).await.status, 201);
    assert_eq!(speaker.post(&format!("/chats/{other}/messages"), text).await.status, 403);
    let mut socket = Socket::of(&server, &speaker).await;
    socket.join("1", &format!("chat_room:{chat}")).await;

    let (made, _) = limited(&["--agent", "ann/bot"]);
    assert_eq!(made["agent_id"], json!(bot.id));
    let listed = String::from_utf8(command(&server, &["key", "list", "ann"]).stdout).unwrap();
    assert!(listed.contains("SCOPE") && listed.contains("read_only") && listed.contains(&chat), "{listed}");
    for wrong in [["--chat", "x"], ["--chat", bot.id.as_str()], ["--agent", "ann"], ["--agent", "ann/nobody"]]
    {
        let all = [&["key", "create", "--user", "ann"], wrong.as_slice()].concat();
        assert!(refused(&server, &all).contains(wrong[1]), "{wrong:?}");
    }
}
