//! Access tokens, rate limits, and idempotency keys.
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
async fn a_token_is_issued_as_json() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let output = issue(&server, &["--user", "ann", "--ttl", "60", "--json"]);
    let issued: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&issued["token_type"], &issued["user"]),
        (&json!("Bearer"), &json!({"id": ann.id, "handle": "ann"}))
    );
    assert_eq!(issued["token"].as_str().unwrap().split('.').count(), 3);
}

#[tokio::test]
async fn keys_for_tokens_change_while_the_server_runs() {
    let server = Server::start().await;
    server.user("ann");
    let rotate = |arguments: &[&str]| {
        let output = server.command().args(["token", "rotate-keys"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let good = async |token: &str| {
        let bearer = format!("Bearer {token}");
        status(&server, "/api/v1/me/chats", &[("authorization", &bearer)]).await == 200
    };
    let first = token(&server, "ann");
    assert!(good(&first).await);
    rotate(&[]);
    let second = token(&server, "ann");
    assert!(good(&second).await && good(&first).await);
    rotate(&["--forget"]);
    let third = token(&server, "ann");
    assert!(good(&third).await && !good(&second).await && !good(&first).await);
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
    let again = post(&server, path.clone(), body).await;
    assert_eq!((again.0, &again.1["data"]["id"]), (201, &sent.1["data"]["id"]));
    assert_eq!(again.1["data"]["recipients"].as_array().unwrap().len(), 1);
    assert_eq!(ann.get(&path).await.data().as_array().unwrap().len(), 1);
}

/// A flood of guessed keys does not affect a client on the same address.
#[tokio::test]
async fn guessing_keys_is_slowed_while_a_client_on_the_same_address_is_served() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMIT_FAILURES", "1/20")]).await;
    let ann = server.user("ann");
    let key = [("x-api-key", ann.key.as_str())];
    assert_eq!(status(&server, "/api/v1/me/chats", &key).await, 200);
    let mut seen = [0, 0];
    for number in 0..200 {
        let guess = format!("thnv_u_1700000000_{number}");
        match status(&server, "/api/v1/me/chats", &[("x-api-key", &guess)]).await {
            401 => seen[0] += 1,
            429 => seen[1] += 1,
            other => panic!("{other}"),
        }
        if number % 20 == 0 {
            assert_eq!(status(&server, "/api/v1/me/chats", &key).await, 200);
        }
    }
    assert!(seen[0] >= 20 && seen[1] >= 100, "{seen:?}");
    // At the socket as well, with its own code; and the client comes in.
    let mut guess = 0;
    while Socket::connect(&server, &format!("vsn=2.0.0&api_key=guess{guess}"), &[]).await.err() != Some(429) {
        guess += 1;
        assert!(guess < 50, "nobody stops the guesses");
    }
    Socket::of(&server, &ann).await;
}

/// Behind a proxy that is trusted, addresses are those of the proxy's clients.
#[tokio::test]
async fn behind_a_trusted_proxy_only_the_one_who_guesses_is_shut_out() {
    let settings = [("PARLANCE_RATE_LIMIT_FAILURES", "1/5"), ("PARLANCE_TRUSTED_PROXIES", "127.0.0.0/8")];
    let server = Server::start_with(&settings).await;
    let from = async |address: &str, guess: u32| {
        let guess = format!("guess-{guess}");
        let headers = [("x-api-key", guess.as_str()), ("x-forwarded-for", address)];
        status(&server, "/api/v1/agent/me", &headers).await
    };
    let mut guess = 0;
    while from("192.0.2.1", guess).await == 401 {
        guess += 1;
        assert!(guess < 50, "nobody stops the guesses");
    }
    assert_eq!(from("192.0.2.2", 50).await, 401);
}

/// The default limits allow many requests in flight.
#[tokio::test]
async fn the_default_limits_are_generous_and_can_be_switched_off() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let sends = (0..16).map(|_| {
        let ann = ann.clone();
        tokio::spawn(async move {
            for _ in 0..40 {
                assert_eq!(ann.get("/chats").await.status, 200);
            }
        })
    });
    for send in sends.collect::<Vec<_>>() {
        send.await.unwrap();
    }
    let off = Server::start_with(&[("PARLANCE_RATE_LIMITS", "false"), ("PARLANCE_RATE_LIMIT", "1/1")]).await;
    let ben = off.user("ben");
    for _ in 0..5 {
        assert_eq!(ben.get("/chats").await.status, 200);
    }
}
