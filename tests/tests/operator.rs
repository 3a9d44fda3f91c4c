//! The operator interface on the running program.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::{Api, Closed, Server, Socket, soon, until};
use reqwest::Method;
use serde_json::{Value, json};

/// The operator interface, with a key of the first user.
fn operator(server: &Server) -> Api {
    let output = server.command().args(["key", "create", "--user", "admin", "--json"]).output().unwrap();
    let created = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    Api::new(server, "operator", created["api_key"].as_str().unwrap(), "")
}

#[tokio::test]
async fn the_command_line_makes_operators() {
    let server = Server::start().await;
    let root = operator(&server);
    for (handle, more, status, detail) in
        [("ann", &["--operator"][..], 200, json!("operator")), ("ben", &[][..], 403, Value::Null)]
    {
        let email = format!("{handle}@example.org");
        let user = ["user", "create", "--handle", handle, "--email", &email, "--name", handle, "--json"];
        let output = server.command().args(user).args(more).output().unwrap();
        let created = serde_json::from_slice::<Value>(&output.stdout).unwrap();
        let user = Api::new(&server, "operator", created["api_key"].as_str().unwrap(), "");
        assert_eq!(user.get("/overview").await.status, status);
        let newest = root.get("/audit?action=user.created&limit=1").await.data();
        assert_eq!((&newest[0]["subject"]["name"], &newest[0]["detail"]), (&json!(handle), &detail));
    }
}

#[tokio::test]
async fn an_operator_sees_and_ends_connections() {
    let server = Server::start_alone(&[]).await;
    let (root, ann) = (operator(&server), server.user("ann"));
    let bot = ann.register(&server, "Bot").await;
    let mut socket = Socket::of(&server, &bot).await;
    let open = root.get("/connections").await.data();
    assert_eq!(
        (&open[0]["handle"], &open[0]["id"], &open[1]),
        (&json!("ann/bot"), &json!(bot.id), &Value::Null)
    );
    let other = ann.register(&server, "Other").await;
    let newer = Socket::of(&server, &other).await;
    let first = root.get("/connections?limit=1").await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap().to_owned();
    let first = first.data();
    assert_eq!((&first[0]["handle"], &first[1]), (&json!("ann/other"), &Value::Null));
    let rest = root.get(&format!("/connections?limit=1&cursor={cursor}")).await.data();
    assert_eq!((&rest[0]["handle"], &rest[1]), (&json!("ann/bot"), &Value::Null));
    drop(newer);
    let is_alone = async || root.get("/connections").await.data()[1].is_null();
    until("the socket is still listed", is_alone).await;
    let overview = root.get("/overview").await.data();
    assert_eq!(overview["sockets"], json!({"users": 0, "agents": 1}));
    assert_eq!(overview["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&overview["totals"]["users"], &overview["totals"]["agents"]), (&json!(2), &json!(2)));
    let findings = overview["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["check"] == "disk"), "{findings:?}");

    let path = format!("/agents/{}", bot.id);
    assert_eq!(root.call(Method::POST, &format!("{path}/disable"), None).await.status, 204);
    assert_eq!(socket.closed().await, Closed::Code(1008));
    assert!(soon(async || bot.get("/me").await.status == 403).await);
    let ended = async || root.get("/disconnects").await.data()[0].clone();
    until("the disconnect is not stored", async || ended().await["reason"] == "account_ended").await;
    assert_eq!(ended().await["handle"], "ann/bot");
    assert_eq!(root.get("/connections").await.data(), json!([]));

    assert_eq!(root.call(Method::POST, &format!("{path}/enable"), None).await.status, 204);
    assert!(soon(async || bot.get("/me").await.status == 200).await);
    let entries = root.get("/audit?limit=2").await.data();
    for (entry, action) in entries.as_array().unwrap().iter().zip(["account.enabled", "account.disabled"]) {
        let seen = (&entry["action"], &entry["actor"]["name"], &entry["subject"]["name"]);
        assert_eq!(seen, (&json!(action), &json!("admin"), &json!("ann/bot")));
    }
}

/// Without a listener for metrics.
#[tokio::test]
async fn throughput_is_counted_from_the_start() {
    let server = Server::start_alone(&[]).await;
    let (root, ann) = (operator(&server), server.user("ann"));
    let bot = ann.register(&server, "Bot").await;
    assert_eq!(ann.get("/chats/unknown").await.status, 404);
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    let message = ann.sent(&chat, "hello", &[&bot.id]).await;
    for step in ["processing", "processed"] {
        let path = format!("/chats/{chat}/messages/{message}/{step}");
        assert_eq!(bot.call(Method::POST, &path, None).await.status, 200, "{step}");
    }
    let sum = |series: &Value| series.as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>();
    let seen = async || root.get("/throughput").await.data()["series"].clone();
    // A step takes ten seconds. What was done before the success is in this step, or an earlier one.
    until("no step has ended", async || sum(&seen().await["attempts_success"]) > 0).await;
    let series = seen().await;
    let sums = ["messages", "deliveries", "attempts_success", "attempts_failed", "server_errors"]
        .map(|name| sum(&series[name]));
    assert_eq!(sums, [1, 1, 1, 0, 0]);
    assert!(sum(&series["requests"]) >= 6 && sum(&series["client_errors"]) >= 1, "{series}");
}

#[tokio::test]
async fn the_interface_can_be_turned_off() {
    let server = Server::start_alone(&[("PARLANCE_OPERATOR_API", "false")]).await;
    let root = operator(&server);
    for path in ["/overview", "/users", "/audit"] {
        let answer = root.get(path).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{path}");
    }
}
