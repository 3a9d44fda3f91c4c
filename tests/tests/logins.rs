//! Logging in with a password, on the running program.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::time::{Duration, Instant};

use e2e::{Answer, Api, Closed, Server, Socket};
use serde_json::{Value, json};

/// Hashes that take no time worth speaking of.
const CHEAP: (&str, &str) = ("PARLANCE_PASSWORD_MEMORY_KIB", "1024");

/// Everybody who is nobody yet.
fn public(server: &Server) -> Api {
    Api::new(server, "auth", "", "")
}

fn reset_token(server: &Server, handle: &str) -> String {
    let output = server.command().args(["user", "reset-password", handle, "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    told["reset_token"].as_str().unwrap().to_owned()
}

async fn set_password(server: &Server, handle: &str, password: &str) -> Value {
    let body = json!({"reset_token": reset_token(server, handle), "new_password": password});
    public(server).post("/reset", body).await.data()
}

async fn log_in(server: &Server, login: &str, password: &str) -> Answer {
    public(server).post("/login", json!({"login": login, "password": password})).await
}

/// The status of a call with a token.
async fn status(
    server: &Server,
    method: reqwest::Method,
    path: &str,
    token: &str,
    body: &Value,
) -> (u16, Value) {
    let url = format!("http://{}{path}", server.address());
    let request = reqwest::Client::new().request(method, url).bearer_auth(token);
    let request = if body.is_null() { request } else { request.json(body) };
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn profile(server: &Server, open: &Value) -> u16 {
    let token = open["access_token"].as_str().unwrap();
    status(server, reqwest::Method::GET, "/api/v1/me/profile", token, &Value::Null).await.0
}

#[tokio::test]
async fn a_password_opens_sessions_until_it_is_another_one() {
    let server = Server::start_with(&[CHEAP]).await;
    server.user("ann");
    let open = set_password(&server, "ann", "correct horse").await;
    assert_eq!((open["token_type"].as_str(), open["expires_in"].as_i64()), (Some("Bearer"), Some(900)));
    assert_eq!((profile(&server, &open).await, &open["user"]["handle"]), (200, &json!("ann")));
    for login in ["ann", "@ann", "ANN@example.org"] {
        let open = log_in(&server, login, "correct horse").await.data();
        assert_eq!(profile(&server, &open).await, 200);
    }
    for (login, password) in [("ann", "wrong"), ("nobody", "correct horse")] {
        let answer = log_in(&server, login, password).await;
        assert_eq!((answer.status, answer.code()), (401, "unauthorized"));
    }
    let headers = [("x-auth-token", open["access_token"].as_str().unwrap())];
    let mut socket = Socket::connect(&server, "vsn=2.0.0", &headers).await.unwrap();
    let body = json!({"current_password": "correct horse", "new_password": "battery staple"});
    let token = open["access_token"].as_str().unwrap();
    let (code, changed) = status(&server, reqwest::Method::POST, "/api/v1/auth/password", token, &body).await;
    assert_eq!(code, 200, "{changed}");
    assert_eq!(socket.closed().await, Closed::Code(1008));
    assert_eq!((profile(&server, &open).await, profile(&server, &changed["data"]).await), (401, 200));
    assert_eq!(log_in(&server, "ann", "correct horse").await.status, 401);
    assert_eq!(log_in(&server, "ann", "battery staple").await.status, 200);
}

#[tokio::test]
async fn a_session_goes_on_and_ends() {
    let mut server = Server::start_with(&[CHEAP]).await;
    server.user("ann");
    let first = set_password(&server, "ann", "correct horse").await;
    let refresh = async |server: &Server, open: &Value| {
        public(server).post("/refresh", json!({"refresh_token": open["refresh_token"]})).await
    };
    let second = refresh(&server, &first).await.data();
    assert_eq!(profile(&server, &second).await, 200);
    // Also after a restart.
    server.crash().await;
    let third = refresh(&server, &second).await.data();
    let answer = refresh(&server, &first).await;
    assert_eq!((answer.status, answer.code()), (401, "unauthorized"));
    assert_eq!(refresh(&server, &third).await.status, 401, "a copy was shown, so the session is over");
    let other = log_in(&server, "ann", "correct horse").await.data();
    let out = public(&server).post("/logout", json!({"refresh_token": other["refresh_token"]})).await;
    assert_eq!(out.status, 204);
    assert_eq!(refresh(&server, &other).await.status, 401);
}

/// Also one that another process has set: the operator's token ends what was open.
#[tokio::test]
async fn a_reset_token_is_good_once() {
    let server = Server::start_with(&[CHEAP]).await;
    server.user("ann");
    let token = reset_token(&server, "ann");
    let body = |password: &str| json!({"reset_token": token, "new_password": password});
    let short = public(&server).post("/reset", body("short")).await;
    assert_eq!((short.status, short.code()), (422, "validation_error"));
    assert_eq!(public(&server).post("/reset", body("correct horse")).await.status, 200);
    assert_eq!(public(&server).post("/reset", body("battery staple")).await.status, 401);
    let output = server.command().args(["user", "reset-password", "nobody"]).output().unwrap();
    assert!(
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("no user"),
        "{output:?}"
    );
}

/// What cannot be a log-in is told so, part by part, before anything is looked at.
#[tokio::test]
async fn what_is_wrong_with_a_body_is_named() {
    let server = Server::start_with(&[CHEAP]).await;
    let bodies = [
        ("/login", json!({"login": "ann", "password": "correct horse"})),
        ("/refresh", json!({"refresh_token": "x.y"})),
        ("/logout", json!({"refresh_token": "x.y"})),
        ("/reset", json!({"reset_token": "x", "new_password": "correct horse"})),
    ];
    for (path, body) in bodies {
        let odd = public(&server).post(&format!("{path}?color=red"), body.clone()).await;
        assert_eq!((odd.status, odd.code()), (422, "validation_error"), "{path}");
        let with = |name: &str, value: Value| {
            let mut body = body.clone();
            body[name] = value;
            body
        };
        let odd = public(&server).post(path, with("nobody_knows", json!(1))).await;
        assert_eq!((odd.status, odd.code()), (400, "bad_request"), "{path}");
        for name in body.as_object().unwrap().keys() {
            for value in [json!(7), json!({"x": 1}), json!(null), json!("x".repeat(600_000))] {
                let odd = public(&server).post(path, with(name, value)).await;
                assert_eq!((odd.status, odd.code()), (422, "validation_error"), "{path} {name}");
                assert!(odd.body["error"]["details"].get(format!("/{name}")).is_some(), "{odd:?}");
            }
        }
    }
}

/// Wrong passwords are refused before anything is hashed, and lock nobody else out.
#[tokio::test]
async fn too_many_guesses_are_refused_unseen() {
    let server = Server::start_with(&[("PARLANCE_PASSWORD_MEMORY_KIB", "65536")]).await;
    server.user("ann");
    server.user("ben");
    set_password(&server, "ann", "correct horse").await;
    set_password(&server, "ben", "correct horse").await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(log_in(&server, "ann", "wrong").await.status);
    }
    assert_eq!(statuses, [401; 5]);
    let since = Instant::now();
    for _ in 0..50 {
        let refused = log_in(&server, "ann", "wrong").await;
        assert_eq!((refused.status, refused.code()), (429, "rate_limited"));
    }
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
    assert_eq!(log_in(&server, "ben", "correct horse").await.status, 200);
}
