//! Disabling users and agents: it takes effect everywhere, and no message is lost.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::{Api, Closed, Fleet, Server, Socket, soon, until};
use serde_json::{Value, json};

/// The JSON output of a command that must succeed.
fn printed(server: &Server, arguments: &[&str]) -> Value {
    let output = server.command().args(arguments).arg("--json").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Refused soon as one who is known and kept out.
async fn kept_out(who: &Api, path: &str) {
    let refused = async || {
        let answer = who.get(path).await;
        if answer.status == 200 {
            return false;
        }
        assert_eq!((answer.status, answer.code()), (403, "forbidden"));
        assert!(answer.body["error"]["message"].as_str().unwrap().contains("disabled"), "{answer:?}");
        true
    };
    assert!(soon(refused).await, "{path}");
}

/// Let in again soon.
async fn comes_in(who: &Api, path: &str) {
    assert!(soon(async || who.get(path).await.status == 200).await, "{path}");
}

/// The status with which a socket is refused; `None` if it is let in.
async fn connects(server: &Server, query: &str) -> Option<u16> {
    Socket::connect(server, &format!("vsn=2.0.0&{query}"), &[]).await.err()
}

/// Waits until a socket is let in.
async fn let_in(server: &Server, who: &Api) {
    until("the socket is not let in", async || {
        let status = connects(server, &format!("api_key={}", who.key)).await;
        assert!([None, Some(403)].contains(&status), "{status:?}");
        status.is_none()
    })
    .await;
}

#[tokio::test]
async fn an_agent_is_kept_out_and_finds_all_when_it_is_back() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let (bot, other) = (ann.register(&server, "Bot").await, ann.register(&server, "Other").await);
    let chat = ann.create_chat().await;
    for agent in [&bot, &other] {
        assert_eq!(ann.add(&chat, &agent.id).await.status, 201);
    }
    let as_bot = format!("api_key={}&agent_id={}", ann.key, bot.id);
    let (mut socket, mut others) = (Socket::of(&server, &bot).await, Socket::of(&server, &other).await);
    let mut anns = Socket::of(&server, &ann).await;
    let disabled = printed(&server, &["agent", "disable", "ann/bot"]);
    assert!(disabled["changed"] == true && disabled["agent"]["disabled_at"].is_string(), "{disabled}");
    kept_out(&bot, "/me").await;
    assert_eq!(socket.closed().await, Closed::Code(1008));
    assert_eq!(connects(&server, &format!("api_key={}", bot.key)).await, Some(403));
    assert_eq!(connects(&server, &as_bot).await, Some(403), "nor as the agent by its owner's key");
    others.alive().await;
    anns.alive().await;

    // It stays in the room, and its messages wait, but it is not shown as a peer.
    let waits = ann.sent(&chat, "for later", &[&bot.id]).await;
    let participants = ann.get(&format!("/chats/{chat}/participants")).await.data();
    assert!(participants.as_array().unwrap().iter().any(|one| one["id"] == bot.id.as_str()));
    let peers = ann.get("/peers").await.data();
    let names = peers.as_array().unwrap().iter().map(|peer| peer["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names, ["Other"]);
    let again = printed(&server, &["agent", "disable", "@ann/bot"]);
    assert_eq!((&again["changed"], &again["agent"]), (&json!(false), &disabled["agent"]));
    let listed = printed(&server, &["agent", "list", "--disabled"])["agents"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &disabled["agent"]["id"]));
    assert_eq!(listed[0]["work"]["open"], 1, "what waits for it");

    let enabled = printed(&server, &["agent", "enable", "ann/bot"]);
    assert_eq!((&enabled["changed"], &enabled["agent"]["disabled_at"]), (&json!(true), &Value::Null));
    comes_in(&bot, "/me").await;
    assert_eq!(bot.next(&chat).await, Some(waits));
    let_in(&server, &bot).await;
}

#[tokio::test]
async fn a_user_is_kept_out_with_all_agents() {
    let server = Server::start().await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let bot = ann.register(&server, "Bot").await;
    let token = printed(&server, &["token", "issue", "--user", "ann"])["token"].as_str().unwrap().to_owned();
    let by_token = format!("token={token}");
    let mut sockets = vec![Socket::of(&server, &ann).await, Socket::of(&server, &bot).await];
    sockets.push(Socket::connect(&server, &format!("vsn=2.0.0&{by_token}"), &[]).await.ok().unwrap());
    let mut bens = Socket::of(&server, &ben).await;
    printed(&server, &["user", "disable", "ann"]);
    kept_out(&ann, "/profile").await;
    kept_out(&bot, "/chats").await;
    kept_out(&ann.at(&server, "/api/v1"), "/chats").await;
    for mut socket in sockets {
        assert_eq!(socket.closed().await, Closed::Code(1008));
    }
    for query in [&by_token, &format!("api_key={}", ann.key), &format!("api_key={}", bot.key)] {
        assert_eq!(connects(&server, query).await, Some(403));
    }
    bens.alive().await;
    let issued = server.command().args(["token", "issue", "--user", "ann"]).output().unwrap();
    assert!(!issued.status.success() && issued.stdout.is_empty(), "{issued:?}");
    let shown = printed(&server, &["agent", "show", "ann/bot"]);
    assert!(shown["agent"]["owner_disabled_at"].is_string() && shown["agent"]["disabled_at"].is_null());
    printed(&server, &["user", "enable", "ann"]);
    comes_in(&ann, "/profile").await;
    comes_in(&bot, "/me").await;
    let_in(&server, &ann).await;
    let_in(&server, &bot).await;
    assert_eq!(connects(&server, &by_token).await, None, "the token is as good as before");
}

#[tokio::test]
async fn a_user_is_deleted_with_all_agents() {
    let server = Server::start().await;
    let (ben, ann) = (server.colleague("ben", "house"), server.colleague("ann", "house"));
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    for id in [&bot.id, &ben.id] {
        assert_eq!(ann.add(&chat, id).await.status, 201);
    }
    let sent = ann.sent(&chat, "stays", &[&bot.id]).await;
    let refused = server.command().args(["user", "delete", "ann"]).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && message.contains("because 'ann' has 1 agent and is in 1 chat."),
        "{message}"
    );
    assert_eq!(ann.get("/profile").await.status, 200);

    let mut sockets = vec![Socket::of(&server, &ann).await, Socket::of(&server, &bot).await];
    let mut bens = Socket::of(&server, &ben).await;
    let deleted = printed(&server, &["user", "delete", "ann", "--force"]);
    assert_eq!((&deleted["agents"], &deleted["chats"]), (&json!(1), &json!(1)));
    for mut socket in sockets.drain(..) {
        assert_eq!(socket.closed().await, Closed::Code(1008));
    }
    for (who, path) in [(&ann, "/profile"), (&bot, "/me")] {
        assert!(soon(async || who.get(path).await.status == 401).await, "{path}");
    }
    bens.alive().await;

    // The messages are kept, but their author cannot be found.
    let participants = ben.get(&format!("/chats/{chat}/participants")).await.data();
    let participants = participants.as_array().unwrap();
    assert_eq!(participants.len(), 1, "{participants:?}");
    assert_eq!((&participants[0]["id"], &participants[0]["role"]), (&json!(ben.id), &json!("owner")));
    let messages = ben.get(&format!("/chats/{chat}/messages")).await.data();
    let message = messages.as_array().unwrap().iter().find(|one| one["id"] == sent.as_str()).unwrap();
    assert!(message["content"].as_str().unwrap().contains("stays"), "{message}");
    let users = printed(&server, &["user", "list"])["users"].clone();
    let handles = users.as_array().unwrap().iter().map(|user| user["handle"].clone()).collect::<Vec<_>>();
    assert!(!handles.contains(&json!("ann")), "{handles:?}");
    let log = server.command().args(["audit", "--limit", "100", "--json"]).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    let entry = log.lines().find(|line| line.contains("user.deleted")).unwrap();
    assert!(entry.contains("\"ann\""), "{entry}");

    assert_eq!(message["sender_handle"], "ann");

    // The handle stays reserved.
    let again = ["user", "create", "--handle", "ann", "--email", "ann@example.org", "--name", "Ann"];
    let again = server.command().args(again).output().unwrap();
    assert!(!again.status.success() && again.stdout.is_empty(), "{again:?}");
}

/// Requests of a disabled caller count against its own limit and lock out no one else.
#[tokio::test]
async fn who_is_kept_out_is_counted() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMIT", "1/20")]).await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    printed(&server, &["user", "disable", "ann"]);
    let mut statuses = Vec::new();
    for _ in 0..100 {
        statuses.push(ann.get("/profile").await.status);
    }
    assert!(statuses.iter().all(|status| [403, 429].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(ben.get("/profile").await.status, 200);
}

/// Both serve one database; what the operator does holds on both.
#[tokio::test]
async fn every_server_keeps_out_whom_one_command_disables() {
    let fleet = Fleet::start(2, &[]).await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let ann = here.user("ann");
    let bot = ann.register(here, "Bot").await;
    let mut sockets = Vec::new();
    for server in [here, there] {
        sockets.push(Socket::of(server, &ann).await);
    }
    sockets.push(Socket::of(there, &bot).await);
    printed(here, &["user", "disable", "ann"]);
    for mut socket in sockets {
        assert_eq!(socket.closed().await, Closed::Code(1008));
    }
    printed(here, &["user", "enable", "ann"]);
    for server in [here, there] {
        let_in(server, &bot).await;
    }
}
