//! Who may call, and how often; what is sent twice and counts once.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use e2e::{Server, Socket};
use serde_json::{Value, json};

/// `parlance token issue` on the server's store.
fn issue(server: &Server, arguments: &[&str]) -> Output {
    server.command().args(["token", "issue"]).args(arguments).output().unwrap()
}

fn token(server: &Server, handle: &str) -> String {
    let output = issue(server, &["--user", handle]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The status of `GET path` with these headers.
async fn status(server: &Server, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = reqwest::Client::new().get(format!("http://{}{path}", server.address()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_token_issued_beside_a_running_server_opens_rest_and_socket_also_after_a_crash() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    let agent = ann.register(&server, "Bot").await;
    let token = token(&server, "@ANN");
    let bearer = format!("Bearer {token}");
    for restart in [false, true] {
        if restart {
            server.crash().await;
        }
        let authorization = [("authorization", bearer.as_str())];
        assert_eq!(status(&server, "/api/v1/me/agents", &authorization).await, 200);
        assert_eq!(status(&server, "/api/v1/agent/me", &authorization).await, 403);
        let mut socket = Socket::connect(&server, &format!("vsn=2.0.0&token={token}"), &[]).await.unwrap();
        socket
            .send_raw(&json!(["1", "1", format!("user_rooms:{}", ann.id), "phx_join", {}]).to_string())
            .await;
        assert_eq!(socket.frame().await[4]["status"], "ok");
        let altered = format!("{bearer}x");
        assert_eq!(status(&server, "/api/v1/me/agents", &[("authorization", &altered)]).await, 401);
        assert_eq!(status(&server, "/api/v1/agent/me", &[("authorization", &altered)]).await, 401);
        let key_as_token = format!("Bearer {}", ann.key);
        assert_eq!(status(&server, "/api/v1/me/agents", &[("authorization", &key_as_token)]).await, 401);
    }
    assert_eq!(status(&server, "/api/v1/agent/me", &[("x-api-key", &agent.key)]).await, 200);
    assert!(!server.logged().contains(&token), "a log holds no token");
    let keys = server.data().join("parlance.db.token-keys");
    assert_eq!(std::fs::metadata(keys).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_token_is_made_for_known_users_and_a_quarter_of_an_hour_at_most() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let output = issue(&server, &["--user", "ann", "--ttl", "60", "--json"]);
    let issued: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&issued["token_type"], &issued["user"]),
        (&json!("Bearer"), &json!({"id": ann.id, "handle": "ann"}))
    );
    assert_eq!(issued["token"].as_str().unwrap().split('.').count(), 3);
    for (arguments, said) in [
        (&["--user", "nobody"][..], "no user with this handle"),
        (&["--user", "a b"], "--user"),
        (&["--user", "ann", "--ttl", "901"], "1 to 900 seconds"),
        (&["--user", "ann", "--ttl", "0"], "1 to 900 seconds"),
    ] {
        let output = issue(&server, arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(said), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty());
    }
}

/// A token of one installation is worth nothing at another.
#[tokio::test]
async fn every_installation_signs_for_itself() {
    let (here, there) = (Server::start().await, Server::start().await);
    here.user("ann");
    there.user("ann");
    let bearer = format!("Bearer {}", token(&here, "ann"));
    assert_eq!(status(&here, "/api/v1/me/chats", &[("authorization", &bearer)]).await, 200);
    assert_eq!(status(&there, "/api/v1/me/chats", &[("authorization", &bearer)]).await, 401);
}

/// The answer was lost with the server; the client sends again, and nothing is made twice.
#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_also_after_a_crash() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let client = reqwest::Client::new();
    let post = async |server: &Server, path: String, body: Value| {
        let url = format!("http://{}/api/v1/me{path}", server.address());
        let request = client.post(url).header("x-api-key", &ann.key).header("idempotency-key", "once");
        let answer = request.json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let room = post(&server, "/chats".to_owned(), json!({"chat": {}})).await;
    let chat = room.1["data"]["id"].as_str().unwrap().to_owned();
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    let path = format!("/chats/{chat}/messages");
    let body = json!({"message": {"content": "hi", "mentions": [{"id": bot.id}]}});
    let sent = post(&server, path.clone(), body.clone()).await;
    assert_eq!((room.0, sent.0), (201, 201), "{room:?} {sent:?}");
    server.crash().await;
    assert_eq!(post(&server, "/chats".to_owned(), json!({"chat": {}})).await, room);
    assert_eq!(post(&server, path.clone(), body).await, sent);
    assert_eq!(ann.get(&path).await.data().as_array().unwrap().len(), 1);
}
