//! Plans on the running program: quotas, features, and the operator's commands beside a running server.

use std::process::Output;

use e2e::{Answer, Api, Server, Socket, soon, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{refusal, room, say};

/// A server whose configuration has these plans.
async fn server_with(plans: &str) -> (Server, TempDir) {
    let place = TempDir::new().unwrap();
    let file = place.path().join("plans.toml");
    std::fs::write(&file, plans).unwrap();
    let server = Server::start_with(&[("PARLANCE_CONFIG", file.to_str().unwrap())]).await;
    (server, place)
}

fn run(server: &Server, arguments: &[&str]) -> Output {
    server.command().args(arguments).output().unwrap()
}

/// The JSON output of a command.
fn printed(server: &Server, arguments: &[&str]) -> Value {
    let output = run(server, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn create_user(server: &Server, handle: &str, more: &[&str]) -> Api {
    let email = format!("{handle}@example.org");
    let mut arguments =
        vec!["user", "create", "--handle", handle, "--email", &email, "--name", handle, "--json"];
    arguments.extend(more);
    let created = printed(server, &arguments);
    Api::new(server, "me", created["api_key"].as_str().unwrap(), created["user"]["id"].as_str().unwrap())
}

fn details(answer: &Answer) -> &Value {
    &answer.body["error"]["details"]
}

/// With a quota of N, N of 4 N requests at once go well.
async fn expect_exactly(
    many: usize,
    calls: impl IntoIterator<Item = tokio::task::JoinHandle<Answer>>,
) -> Vec<Answer> {
    let (mut granted, mut refused) = (0, Vec::new());
    for call in calls.into_iter().collect::<Vec<_>>() {
        let answer = call.await.unwrap();
        if answer.status == 201 {
            granted += 1;
        } else {
            assert_eq!(refusal(&answer), (403, "limit_reached"), "{answer:?}");
            assert!(answer.body["error"]["message"].as_str().unwrap().contains("tiny"));
            refused.push(answer);
        }
    }
    assert_eq!(granted, many);
    refused
}

#[tokio::test]
async fn case_40_quotas_are_exact() {
    let plan = "[plans.tiny]\nagents = 3\nchats = 2\nparticipants = 3\nmessages = 5\n";
    let (server, _place) = server_with(plan).await;
    let ann = create_user(&server, "ann", &["--plan", "tiny"]);
    let register = |number: usize| {
        let (ann, body) = (ann.clone(), json!({"agent": {"name": format!("a{number}"), "description": "x"}}));
        tokio::spawn(async move { ann.post("/agents/register", body).await })
    };
    let refused = expect_exactly(3, (0..12).map(register)).await;
    assert_eq!(
        *details(&refused[0]),
        json!({"resource": "agents", "limit": 3, "current": 3, "plan": "tiny"})
    );
    let agents = ann.get("/agents").await.data();
    let ids = agents.as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap().to_owned());
    let ids = ids.collect::<Vec<_>>();
    assert_eq!(ids.len(), 3);

    let create = |_| {
        let ann = ann.clone();
        tokio::spawn(async move { ann.post("/chats", json!({"chat": {}})).await })
    };
    let refused = expect_exactly(2, (0..8).map(create)).await;
    assert_eq!(*details(&refused[0]), json!({"resource": "chats", "limit": 2, "current": 2, "plan": "tiny"}));
    let chats = ann.get("/chats").await.data();
    let chat = chats[0]["id"].as_str().unwrap().to_owned();

    let add = |id: &String| {
        let (ann, chat, id) = (ann.clone(), chat.clone(), id.clone());
        tokio::spawn(async move { ann.add(&chat, &id).await })
    };
    let refused = expect_exactly(2, ids.iter().map(add)).await;
    let expected =
        json!({"resource": "participants", "limit": 3, "current": 3, "plan": "tiny", "scope_id": chat});
    assert_eq!(*details(&refused[0]), expected);

    let send = |number: usize| {
        let (ann, chat) = (ann.clone(), chat.clone());
        tokio::spawn(async move { ann.send(&chat, &format!("{number}"), &[]).await })
    };
    let refused = expect_exactly(5, (0..20).map(send)).await;
    let expected =
        json!({"resource": "messages", "limit": 5, "current": 5, "plan": "tiny", "scope_id": chat});
    assert_eq!(*details(&refused[0]), expected);
    assert_eq!(ann.history(&chat).await.len(), 5);
    // Deleting makes room: for one text, and for a chat.
    let newest = ann.history(&chat).await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(ann.delete(&format!("/chats/{chat}/messages/{newest}")).await.status, 200);
    assert_eq!(ann.send(&chat, "instead", &[]).await.status, 201);
    assert_eq!(ann.send(&chat, "one more", &[]).await.status, 403);
    assert_eq!(ann.delete(&format!("/chats/{chat}")).await.status, 200);
    let fresh = room(&ann, &[]).await;
    assert_eq!(say(&ann, &fresh, "goes on", json!([])).await.status, 201);
}

#[tokio::test]
async fn case_40_memories_count_towards_the_bytes() {
    let (server, _place) = server_with("[plans.tiny]\nbytes = 1000\n").await;
    let ann = create_user(&server, "ann", &["--plan", "tiny"]);
    let bot = ann.register(&server, "Bot").await;
    let store = async || bot.post("/memories", json!({"content": "x".repeat(998)})).await;
    let first = store().await;
    assert_eq!(first.status, 201, "{first:?}");
    // The sum is renewed every few seconds.
    let listed = || {
        let all = printed(&server, &["org", "list", "--json"]);
        let all = all["organizations"].as_array().unwrap().iter();
        all.filter(|one| one["name"] == "ann").map(|one| one["bytes"].clone()).next().unwrap()
    };
    until("the memory is counted", async || listed() == 1000).await;
    let refused = store().await;
    assert_eq!(refusal(&refused), (403, "limit_reached"), "{refused:?}");
    assert_eq!(
        *details(&refused),
        json!({"resource": "bytes", "limit": 1000, "current": 1000, "plan": "tiny"})
    );
    let path = format!("/memories/{}", first.body["data"]["id"].as_str().unwrap());
    assert_eq!(ann.delete(&path).await.status, 204);
    until("a deleted memory makes room", async || store().await.status == 201).await;
}

#[tokio::test]
async fn case_40_a_plan_may_forbid_the_human_interface() {
    let (server, _place) = server_with("[plans.mute]\nhuman_interface = false\n").await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    assert_eq!(ann.get("/profile").await.status, 200);
    let changed = printed(&server, &["plan", "set", "mute", "--user", "@Ann", "--json"]);
    assert_eq!(
        (&changed["organization"]["plan"], &changed["organization"]["name"]),
        (&json!("mute"), &json!("ann"))
    );
    assert!(soon(async || ann.get("/profile").await.status == 403).await);
    let unknown = "0190c5a4-0000-7000-8000-0000000000a1";
    let (job, tasks) = (format!("/bulk-deletions/{unknown}"), format!("/chats/{unknown}/tasks"));
    for path in ["/profile", "/agents", "/chats", "/peers", &job, &tasks] {
        assert_eq!(refusal(&ann.get(path).await), (403, "plan_required"), "{path}");
    }
    for path in ["/agents/bulk-delete", "/chats/bulk-delete"] {
        let answer = ann.post(path, json!({"ids": [unknown]})).await;
        assert_eq!(refusal(&answer), (403, "plan_required"), "{path}");
    }
    assert_eq!(refusal(&ann.at(&server, "/v1").get("/agents").await), (403, "plan_required"));
    let socket = async |key: &str| Socket::connect(&server, "vsn=2.0.0", &[("x-api-key", key)]).await;
    assert_eq!(socket(&ann.key).await.err(), Some(403));
    assert!(socket(&bot.key).await.is_ok(), "agents go on");
    assert_eq!(bot.get("/me").await.status, 200, "agents go on");
    printed(&server, &["plan", "set", "enterprise", "--org", "ANN", "--json"]);
    assert!(soon(async || ann.get("/profile").await.status == 200).await);
}

#[tokio::test]
async fn operators_see_and_set_plans_beside_a_running_server() {
    let plans = "default_plan = 'free'\n[plans.free]\nagents = 1\nmemories = false\n[plans.pro]\n";
    let (server, _place) = server_with(plans).await;
    let ann = create_user(&server, "ann", &["--org", "Acme"]);
    create_user(&server, "ben", &["--org", "acme"]);
    create_user(&server, "zoe", &["--plan", "pro"]);
    ann.register(&server, "Only").await;
    let second = ann.post("/agents", json!({"name": "Second"})).await;
    assert_eq!(refusal(&second), (403, "limit_reached"));
    let listed = printed(&server, &["org", "list", "--json"]);
    let rows = listed["organizations"].as_array().unwrap().iter();
    let rows = rows.map(|row| (row["name"].as_str().unwrap(), row["plan"].as_str().unwrap(), &row["users"]));
    let expected = [("Acme", "free", &json!(2)), ("admin", "free", &json!(1)), ("zoe", "pro", &json!(1))];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    let listed = printed(&server, &["plan", "list", "--json"]);
    let free = listed["plans"].as_array().unwrap().iter().find(|plan| plan["name"] == "free").unwrap();
    assert_eq!(
        (&free["agents"], &free["chats"], &free["memories"]),
        (&json!(1), &Value::Null, &json!(false))
    );
    assert_eq!(free["organizations"], json!(2));
}
