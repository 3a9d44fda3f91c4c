//! Bulk deletions on running servers: killed in the middle, with sockets, and several servers on one database.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::{Api, Closed, Fleet, Server, Socket, until};
use reqwest::Method;
use serde_json::{Value, json};

/// Without limits of rates, since rooms are made quickly.
const FAST: (&str, &str) = ("PARLANCE_RATE_LIMITS", "false");

async fn rooms(owner: &Api, count: usize) -> Vec<String> {
    let mut rooms = Vec::new();
    for _ in 0..count {
        rooms.push(owner.create_chat().await);
    }
    rooms
}

/// Asks for a deletion, which must be accepted; the path of the job.
async fn accepted(by: &Api, what: &str, body: Value) -> String {
    let answer = by.post(&format!("/{what}/bulk-delete"), body).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    format!("/bulk-deletions/{}", answer.data()["id"].as_str().unwrap())
}

async fn finished(by: &Api, job: &str) -> Value {
    let mut seen = Value::Null;
    until("the job is not finished", async || {
        seen = by.get(job).await.data();
        let processed = seen["succeeded"].as_u64().unwrap() + seen["failed"].as_u64().unwrap();
        assert_eq!(seen["processed"], processed, "{seen}");
        !seen["completed_at"].is_null()
    })
    .await;
    assert_eq!(seen["processed"], seen["total"], "{seen}");
    seen
}

/// How often each chat was deleted, by the audit log of its organization.
async fn deletions(by: &Api, chats: &[String]) -> Vec<usize> {
    let log = by.get("/organization/audit?action=chat.deleted&limit=100").await.data();
    let count = |chat: &String| {
        log.as_array().unwrap().iter().filter(|entry| entry["subject"]["id"] == json!(chat)).count()
    };
    chats.iter().map(count).collect()
}

/// The topics of rooms that end with them.
const TOPICS: [&str; 3] = ["room_participants", "chat_room", "room_tasks"];

/// A socket on the topics of the rooms, and on the list of its caller's rooms.
async fn watching(server: &Server, who: &Api, list: &str, rooms: &[String]) -> Socket {
    let mut socket = Socket::of(server, who).await;
    socket.join("list", &format!("{list}:{}", who.id)).await;
    for topic in rooms.iter().flat_map(|room| TOPICS.map(|topic| format!("{topic}:{room}"))) {
        socket.join(&topic, &topic).await;
    }
    socket
}

/// What a socket hears of the end of these rooms, each by itself, until all of their topics have ended.
async fn endings(socket: &mut Socket, rooms: &[String]) -> Vec<Vec<String>> {
    let mut heard = vec![Vec::new(); rooms.len()];
    let is_over = |of_room: &Vec<String>| {
        let times = |event: &str| of_room.iter().filter(|heard| *heard == event).count();
        times("phx_close") == TOPICS.len() && times("room_removed") == 1
    };
    while !heard.iter().all(is_over) {
        let frame = socket.frame().await;
        let event = frame[3].as_str().unwrap();
        // Others tell of the presence of those who connect.
        if !["room_deleted", "phx_close", "room_removed"].contains(&event) {
            continue;
        }
        let is_of = |room: &String| {
            frame[2].as_str().unwrap().ends_with(room.as_str()) || frame[4]["id"] == json!(room)
        };
        if let Some(index) = rooms.iter().position(is_of) {
            heard[index].push(event.to_owned());
        }
    }
    heard
}

#[tokio::test]
async fn a_killed_server_goes_on_with_a_bulk_deletion() {
    let mut server = Server::start_alone(&[FAST]).await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let own = rooms(&ann, 60).await;
    let foreign = ben.create_chat().await;
    let ids = own.iter().chain([&foreign]).cloned().collect::<Vec<_>>();
    let job = accepted(&ann, "chats", json!({"ids": ids})).await;
    // Killed several times; at least once in the middle.
    let mut between = 0;
    for kill in 1..=3 {
        until("the job does not go on", async || {
            ann.get(&job).await.data()["succeeded"].as_u64().unwrap() >= kill * 10
        })
        .await;
        server.kill9();
        server.run().await;
        between += usize::from(ann.get(&job).await.data()["status"] == "processing");
    }
    assert!(between > 0, "the job was finished before the server was killed");
    let done = finished(&ann, &job).await;
    assert_eq!(
        (&done["status"], &done["succeeded"], &done["failed"]),
        (&json!("completed"), &json!(60), &json!(1))
    );
    let results = done["results"].as_array().unwrap();
    let order = results.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(order, ids);
    assert_eq!(done["results"][60]["error"]["code"], "not_found");
    assert_eq!(deletions(&ann, &own).await, [1; 60], "each chat once");
    assert_eq!(ann.get("/chats").await.data(), json!([]));
    assert_eq!(ben.get(&format!("/chats/{foreign}")).await.status, 200);
    assert_eq!(ben.get(&job).await.status, 404);
}

#[tokio::test]
async fn the_keys_and_sockets_of_deleted_agents_end() {
    let server = Server::start_with(&[FAST]).await;
    let ann = server.user("ann");
    let (bot, idle) = (ann.register(&server, "Bot").await, ann.register(&server, "Idle").await);
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    bot.sent(&chat, "hello", &[&ann.id]).await;
    let mut sockets = [Socket::of(&server, &bot).await, Socket::of(&server, &idle).await];
    let ids = json!([bot.id, idle.id]);
    let job = finished(&ann, &accepted(&ann, "agents", json!({"ids": ids})).await).await;
    assert_eq!(job["results"][0]["error"]["code"], "execution_history_exists");
    assert_eq!(job["results"][1], json!({"id": idle.id, "status": "succeeded"}));
    sockets[0].alive().await;
    let body = json!({"ids": ids, "force": true});
    let job = finished(&ann, &accepted(&ann, "agents", body).await).await;
    assert_eq!(job["results"][0], json!({"id": bot.id, "status": "succeeded"}));
    assert_eq!(job["results"][1]["error"]["code"], "not_found");
    for socket in &mut sockets {
        assert_eq!(socket.closed().await, Closed::Code(1008));
    }
    for agent in [&bot, &idle] {
        assert_eq!(agent.get("/me").await.status, 401);
    }
}

/// Every item is told as a single deletion is.
#[tokio::test]
async fn the_topics_of_deleted_rooms_end() {
    let server = Server::start_alone(&[FAST]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let own = rooms(&ann, 2).await;
    for room in &own {
        assert_eq!(ann.add(room, &bot.id).await.status, 201);
    }
    let mut sockets = [
        watching(&server, &ann, "user_rooms", &own).await,
        watching(&server, &bot, "agent_rooms", &own).await,
    ];
    bot.post(&format!("/chats/{}/tasks", own[0]), json!({"subject": "x"})).await.data();
    let file = bot.uploaded(&own[0], "x", b"x").await;
    finished(&ann, &accepted(&ann, "chats", json!({"ids": own})).await).await;
    for socket in &mut sockets {
        let expected = ["room_deleted", "phx_close", "phx_close", "phx_close", "room_removed"];
        assert_eq!(endings(socket, &own).await, [expected; 2]);
    }
    for path in ["board", "tasks", "tasks/1", "tasks/1/history"] {
        assert_eq!(bot.get(&format!("/chats/{}/{path}", own[0])).await.status, 404, "{path}");
    }
    assert_eq!(bot.download(&own[0], file["id"].as_str().unwrap()).await.0, 404);
}

/// One server works on a job at a time, and every server hears of the result.
#[tokio::test]
async fn several_servers_share_bulk_deletions() {
    let fleet = Fleet::with_nats(2, &[]).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    let users = [here.user("ann"), here.user("ben")];
    let (mut jobs, mut all) = (Vec::new(), Vec::new());
    for user in &users {
        all.push(rooms(user, 30).await);
    }
    let bot = users[0].register(here, "Bot").await;
    let shared = all[0][..2].to_vec();
    for room in &shared {
        assert_eq!(users[0].add(room, &bot.id).await.status, 201);
    }
    let mut socket = watching(there, &users[0], "user_rooms", &shared).await;
    let mut of_bot = watching(there, &bot, "agent_rooms", &shared).await;
    for (user, own) in users.iter().zip(all) {
        let first = accepted(user, "chats", json!({"ids": own})).await;
        let second = accepted(&user.on(there), "chats", json!({"ids": own})).await;
        jobs.push((user, own, [first, second]));
    }
    for (user, own, [first, second]) in &jobs {
        let (first, second) = (finished(user, first).await, finished(&user.on(there), second).await);
        let succeeded = |job: &Value| job["succeeded"].as_u64().unwrap();
        assert_eq!(succeeded(&first) + succeeded(&second), 30, "{first} {second}");
        assert_eq!(deletions(user, own).await, [1; 30], "each chat once");
        for server in [here, there] {
            assert_eq!(user.on(server).get("/chats").await.data(), json!([]));
        }
    }
    let mut removed = Vec::new();
    while removed.len() < 30 {
        let frame = socket.frame().await;
        if frame[3] == "room_removed" {
            removed.push(frame[4]["id"].as_str().unwrap().to_owned());
        }
    }
    removed.sort_unstable();
    let mut own = jobs[0].1.clone();
    own.sort_unstable();
    assert_eq!(removed, own);
    // Events of another server come in any order.
    endings(&mut of_bot, &shared).await;
}

/// Also by a bulk deletion, and by whoever wants to edit or delete single messages.
#[tokio::test]
async fn a_hold_is_placed_while_the_server_runs() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let [kept, gone] = [ann.create_chat().await, ann.create_chat().await];
    let message = ann.sent(&kept, "evidence", &[]).await;
    let run = |arguments: &[&str]| {
        let output = server.command().args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(run(&["hold", "place", "--room", &kept, "--reason", "case 4711"]).0);
    let edit = json!({"message": {"content": "nothing"}});
    let path = format!("/chats/{kept}/messages/{message}");
    for refused in [
        ann.call(Method::PATCH, &path, Some(edit)).await,
        ann.delete(&path).await,
        ann.delete(&format!("/chats/{kept}")).await,
    ] {
        assert_eq!((refused.status, refused.code()), (409, "legal_hold"), "{refused:?}");
    }
    let job = finished(&ann, &accepted(&ann, "chats", json!({"ids": [kept, gone]})).await).await;
    let errors = job["results"].as_array().unwrap().iter().map(|item| &item["error"]["code"]);
    assert_eq!(errors.collect::<Vec<_>>(), [&json!("legal_hold"), &Value::Null], "{job}");
    let (ok, listed) = run(&["hold", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert!(ok && listed["holds"][0]["id"] == kept && listed["holds"][0]["on"] == "Chat", "{listed}");
    let (ok, erased) = run(&["user", "erase", "ann", "--json"]);
    let erased: Value = serde_json::from_str(&erased).unwrap();
    assert_eq!((ok, erased), (false, json!({"erased": 0, "held": [kept]})));
    assert!(run(&["hold", "release", "--room", &kept]).0);
    let (ok, erased) = run(&["user", "erase", "ann"]);
    assert!(ok && erased.starts_with("Erased 1 text"), "{erased}");
    assert_eq!(ann.history(&kept).await[0]["content"], "(erased)");
    assert_eq!(ann.delete(&path).await.status, 200);
}
