//! The doors of an agent: its owner sees the last call and the last failure of each, and nobody else does.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, Socket, until};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Doors are read again and again.
const NO_LIMITS: (&str, &str) = ("PARLANCE_RATE_LIMITS", "false");

/// The doors of an agent, each with the code of its last failure.
async fn doors(owner: &Api, agent: &str) -> Vec<(String, Option<String>)> {
    let shown = owner.get(&format!("/agents/{agent}?include=doors")).await.data();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let all = shown["doors"].as_array().unwrap().iter().map(|one| {
        assert!(one["called_at"].is_string() || one["failed_at"].is_string(), "{one}");
        assert_eq!(one["failed_at"].is_null(), one["failure"].is_null(), "{one}");
        (text(&one["door"]).unwrap(), text(&one["failure"]["code"]))
    });
    all.collect()
}

/// Waits until the agent has these doors: uses are written every ten seconds.
async fn become_doors(owner: &Api, agent: &str, expected: &[(&str, Option<&str>)]) {
    let expected = expected.iter().map(|(door, code)| ((*door).to_owned(), code.map(str::to_owned)));
    let expected = expected.collect::<Vec<_>>();
    let mut seen = Vec::new();
    until(&format!("the doors are not {expected:?}"), async || {
        seen = doors(owner, agent).await;
        seen == expected
    })
    .await;
}

/// The detail of the last failure of a door.
async fn detail(owner: &Api, agent: &str, door: &str) -> Value {
    let shown = owner.get(&format!("/agents/{agent}?include=doors")).await.data();
    let all = shown["doors"].as_array().unwrap();
    all.iter().find(|one| one["door"] == door).unwrap()["failure"]["detail"].clone()
}

/// A receiver that answers every request with this status.
async fn receiver(status: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://127.0.0.1:{port}/")
}

/// Posts a message of JSON-RPC; the status.
async fn rpc(server: &Server, path: &str, key: &str, method: &str, params: Value) -> u16 {
    let request = reqwest::Client::new().post(format!("http://{}{path}", server.address()));
    let request = request.header("x-api-key", key).header("a2a-version", "1.0");
    let request = request.header("accept", "application/json, text/event-stream");
    let request = request.header("mcp-protocol-version", "2025-11-25");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    request.json(&message).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn an_owner_sees_the_last_use_of_every_door() {
    let server = Server::start_with(&[("PARLANCE_WEBHOOKS_ALLOW_PRIVATE", "127.0.0.1"), NO_LIMITS]).await;
    let Cast { u1: ann, u2: ben, a1: bot, a3: other, r1: room, .. } = Cast::on(&server).await;
    assert_eq!(doors(&ann, &bot.id).await, []);

    // REST: a message that does not exist, and then one that another process has claimed, which is not a failure.
    let exclusive = json!({"agent": {"claims": "exclusive", "a2a": true}});
    let path = format!("/agents/{}", bot.id);
    assert_eq!(ann.call(Method::PATCH, &path, Some(exclusive)).await.status, 200);
    let message = ann.sent(&room, "work", &[&bot.id]).await;
    assert_eq!(bot.step(&room, &room, "processing").await.code(), "not_found");
    assert_eq!(bot.step(&room, &message, "processing").await.status, 200);
    assert_eq!(bot.step(&room, &message, "processing").await.code(), "already_claimed");

    // The socket: a topic of another agent.
    let mut socket = Socket::of(&server, &bot).await;
    socket.refused("1", &format!("agent_rooms:{}", other.id), "unauthorized").await;

    // MCP: a tool that fails.
    let finish = json!({"name": "finish", "arguments": {"room": room, "message": room}});
    assert_eq!(rpc(&server, "/mcp", &bot.key, "tools/call", finish).await, 200);

    // A2A: what another user does wrong is a call, and not a failure of the agent. It is no call of the user's own agents.
    let card = format!("/a2a/{}", bot.id);
    rpc(&server, &card, &ben.key, "GetTask", json!({"id": room})).await;
    rpc(&server, &card, &other.key, "ListTasks", json!({})).await;

    // The webhook: the receiver fails.
    let url = receiver(503).await;
    assert_eq!(
        ann.call(Method::PUT, &format!("{path}/webhook"), Some(json!({"url": url}))).await.status,
        201
    );
    drop(socket);
    let another = ann.create_chat().await;
    assert_eq!(ann.add(&another, &bot.id).await.status, 201);
    ann.sent(&another, "wake up", &[&bot.id]).await;

    let expected = [
        ("rest", Some("not_found")),
        ("socket", Some("connection_lost")),
        ("mcp", Some("not_found")),
        ("webhook", Some("http_503")),
        ("a2a", None),
    ];
    become_doors(&ann, &bot.id, &expected).await;
    let processing = "POST /api/v1/agent/chats/{chat_id}/messages/{message_id}/processing";
    assert_eq!(detail(&ann, &bot.id, "rest").await, processing);
    assert_eq!(detail(&ann, &bot.id, "mcp").await, "finish");

    // Nobody else, and not without being asked.
    assert_eq!(ben.get(&format!("{path}?include=doors")).await.code(), "not_found");
    assert!(ann.get(&path).await.data().get("doors").is_none());
    let listed = ann.get("/agents?include=doors,work&sort=name&order=asc").await.data();
    assert_eq!(listed[0]["doors"][0]["failure"]["code"], "not_found", "{listed}");
    assert_eq!((&listed[1]["doors"], listed[1]["work"]["open"].as_u64()), (&json!([]), Some(0)), "{listed}");
    for agent in [&bot, &other] {
        let own = agent.get("/me").await.data();
        assert!(own.get("doors").is_none(), "{own}");
    }
    let none = ben.get(&format!("/agents/{}?include=doors", other.id)).await.data();
    assert!(none["doors"].as_array().unwrap().iter().all(|one| one["door"] != "a2a"), "{none}");

    let output = server.command().args(["agent", "show", "ann/one"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("  REST: last successful call ") && text.contains(": not_found\n"), "{text}");
    let mut doors = text.lines().skip_while(|line| !line.starts_with("  REST"));
    assert!(doors.all(|line| line.chars().count() <= 80), "{text}");
    let output = server.command().args(["agent", "show", "ann/one", "--json"]).output().unwrap();
    let shown = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    assert_eq!(shown["agent"]["doors"][3]["failure"]["code"], "http_503", "{shown}");
}

/// Clients of MCP try methods that the server does not have, and of several instances only one connects.
#[tokio::test]
async fn normal_refusals_are_not_failures() {
    let server = Server::start_with(&[NO_LIMITS]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let header = [("x-api-key", bot.key.as_str())];
    let socket = Socket::of(&server, &bot).await;
    let second = Socket::connect(&server, "vsn=2.0.0&on_conflict=reject", &header).await;
    assert_eq!(second.err(), Some(409));
    assert_eq!(rpc(&server, "/mcp", &bot.key, "tools/list", json!({})).await, 200);
    for method in [Method::GET, Method::DELETE] {
        let tried = reqwest::Client::new().request(method, format!("http://{}/mcp", server.address()));
        assert_eq!(tried.header("x-api-key", &bot.key).send().await.unwrap().status(), 405);
    }
    // What was noted before the last failure is written with it, or earlier.
    assert_eq!(bot.get("/nowhere").await.code(), "not_found");
    let expected = [("rest", Some("not_found")), ("socket", None), ("mcp", None)];
    become_doors(&ann, &bot.id, &expected).await;
    drop(socket);
}

/// The reason of a refused topic is told, and the time of the connection stays.
#[tokio::test]
async fn a_refused_topic_is_seen_with_its_reason() {
    let server = Server::start_with(&[NO_LIMITS]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let mut socket = Socket::of(&server, &bot).await;
    socket.refused("1", "nothing:1", "unmatched topic").await;
    become_doors(&ann, &bot.id, &[("socket", Some("join_refused"))]).await;
    assert_eq!(detail(&ann, &bot.id, "socket").await, "unmatched topic");
    let shown = ann.get(&format!("/agents/{}?include=doors,work", bot.id)).await.data();
    let door = &shown["doors"][0];
    assert!(door["called_at"].as_str().unwrap() < door["failed_at"].as_str().unwrap(), "{door}");
    assert_eq!(shown["connected"], true);
    drop(socket);
}

/// A program that still has the old key after a rotation.
#[tokio::test]
async fn a_key_that_was_rotated_is_seen() {
    let server = Server::start_with(&[NO_LIMITS]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let rotated = ann.post(&format!("/agents/{}/rotate-key", bot.id), json!({})).await;
    assert_eq!(rotated.status, 200, "{rotated:?}");
    until("the old key still works", async || bot.get("/me").await.status == 401).await;
    let header = [("x-api-key", bot.key.as_str())];
    assert_eq!(Socket::connect(&server, "vsn=2.0.0", &header).await.err(), Some(403));
    let expected = [("rest", Some("key_revoked")), ("socket", Some("key_revoked"))];
    become_doors(&ann, &bot.id, &expected).await;
}

/// What was noted last is written when the server stops, and survives.
#[tokio::test]
async fn the_last_uses_are_written_when_a_server_stops() {
    let mut server = Server::start_alone(&[]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    assert_eq!(bot.get("/nowhere").await.code(), "not_found");
    server.terminate().await;
    server.run().await;
    let (ann, bot) = (ann.on(&server), bot.on(&server));
    let expected = [("rest".to_owned(), Some("not_found".to_owned()))];
    assert_eq!(doors(&ann, &bot.id).await, expected);
}

/// Two servers write the same row, and both show it.
#[tokio::test]
async fn servers_share_the_uses_of_doors() {
    if !e2e::on_postgres() {
        return;
    }
    let fleet = Fleet::start(2, &[NO_LIMITS]).await;
    let [one, two] = [&fleet.servers[0], &fleet.servers[1]];
    let ann = one.user("ann");
    let bot = ann.register(one, "Bot").await;
    assert_eq!(bot.get("/nowhere").await.code(), "not_found");
    assert_eq!(bot.on(two).get("/chats?page=x").await.status, 422);
    let expected = [("rest", Some("validation_error"))];
    become_doors(&ann.on(two), &bot.id, &expected).await;
    become_doors(&ann, &bot.id, &expected).await;
}
