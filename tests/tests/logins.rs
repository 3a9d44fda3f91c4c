//! Logging in with a password, on the running program.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use e2e::{Answer, Api, Closed, Fleet, LEASE, Server, Socket, at_once, elapse, figure, free_port, until};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Hashes that take no time worth speaking of.
const CHEAP: (&str, &str) = ("PARLANCE_PASSWORD_MEMORY_KIB", "1024");

/// A caller without a credential.
fn public(server: &Server) -> Api {
    Api::new(server, "auth", "", "")
}

fn reset_token(server: &Server, handle: &str) -> String {
    let output = server.command().args(["user", "reset-password", handle, "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    printed["reset_token"].as_str().unwrap().to_owned()
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

/// Logging out, ending a session from another one, and the reuse of a refresh token end the access tokens of the session
/// and their sockets, on the server that handles the request and on another one of the same store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ended_session_ends_its_tokens_and_sockets() {
    let fleet = if e2e::on_postgres() {
        Some(Fleet::start(2, &[CHEAP, ("PARLANCE_CLUSTER_MODE", "multi")]).await)
    } else {
        None
    };
    let single = if fleet.is_some() { None } else { Some(Server::start_with(&[CHEAP]).await) };
    let servers = match (&fleet, &single) {
        (Some(fleet), _) => fleet.servers.iter().collect::<Vec<_>>(),
        (None, single) => single.iter().collect(),
    };
    let here = servers[0];
    here.user("ann");
    let keeper = set_password(here, "ann", "correct horse").await;
    let me = |open: &Value| open["access_token"].as_str().unwrap().to_owned();
    let sessions = async |method: reqwest::Method, path: &str, open: &Value| {
        status(here, method, &format!("/api/v1/me/sessions{path}"), &me(open), &Value::Null).await
    };
    let listed = async |open: &Value| {
        let (code, answer) = sessions(reqwest::Method::GET, "", open).await;
        assert_eq!(code, 200, "{answer}");
        answer["data"].as_array().unwrap().clone()
    };
    let id_of = async |open: &Value| {
        let current = listed(open).await.into_iter().filter(|session| session["is_current"] == true);
        let [current] = &current.collect::<Vec<_>>()[..] else { panic!("one is the current session") };
        current["id"].as_str().unwrap().to_owned()
    };
    for way in ["log out", "end", "end others", "reuse", "end own"] {
        let open = log_in(here, "ann", "correct horse").await.data();
        let mut sockets = Vec::new();
        for server in &servers {
            assert_eq!(profile(server, &open).await, 200);
            let token = me(&open);
            sockets.push(Socket::connect(server, "vsn=2.0.0", &[("x-auth-token", &token)]).await.unwrap());
        }
        let mut kept =
            Socket::connect(servers[servers.len() - 1], "vsn=2.0.0", &[("x-auth-token", &me(&keeper))])
                .await
                .unwrap();
        assert_eq!(listed(&keeper).await.len(), 2);
        let (own, id) = (id_of(&keeper).await, id_of(&open).await);
        assert_ne!(own, id);
        let refresh = json!({"refresh_token": open["refresh_token"]});
        match way {
            "log out" => assert_eq!(public(here).post("/logout", refresh).await.status, 204),
            "end" => {
                let path = format!("/{id}");
                assert_eq!(sessions(reqwest::Method::DELETE, &path, &keeper).await.0, 204);
                assert_eq!(sessions(reqwest::Method::DELETE, &path, &keeper).await.0, 404, "not any more");
            }
            "end own" => assert_eq!(sessions(reqwest::Method::DELETE, &format!("/{id}"), &open).await.0, 204),
            "end others" => assert_eq!(sessions(reqwest::Method::DELETE, "", &keeper).await.0, 204),
            _ => {
                let next = public(here).post("/refresh", refresh.clone()).await;
                assert_eq!(next.status, 200);
                assert_eq!(public(here).post("/refresh", refresh).await.status, 401);
            }
        }
        assert_eq!(profile(here, &open).await, 401, "{way}: at once where it was asked for");
        for (server, socket) in servers.iter().zip(&mut sockets) {
            let what = format!("{way}: the token still works at {}", server.address());
            until(&what, async || profile(server, &open).await == 401).await;
            assert_eq!(socket.closed().await, Closed::Code(1008), "{way}");
        }
        kept.alive().await;
        assert_eq!(listed(&keeper).await.len(), 1);
        for server in &servers {
            assert_eq!(profile(server, &keeper).await, 200);
        }
    }
    // Who calls with a key has no session: all of them are others.
    let key = servers[0].user("ben");
    let open = set_password(here, "ben", "correct horse").await;
    let rows = key.get("/sessions").await.data();
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]["is_current"]), (1, &json!(false)));
    assert_eq!(key.delete("/sessions").await.status, 204);
    assert_eq!(profile(here, &open).await, 401);
    assert_eq!(profile(here, &keeper).await, 200);
}

/// The server is no OIDC provider, and clients that look for one learn that by a 404.
#[tokio::test]
async fn there_is_no_discovery_of_an_oidc_provider() {
    let server = Server::start().await;
    for path in ["/discovery", "/discovery/"] {
        let answer = Api::new(&server, "auth", "", "").get(path).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{path}");
    }
}

/// Also one that another process has set: the operator's token ends what was open.
#[tokio::test]
async fn a_reset_token_works_once() {
    let server = Server::start_with(&[CHEAP]).await;
    server.user("ann");
    let token = reset_token(&server, "ann");
    let body = |password: &str| json!({"reset_token": token, "new_password": password});
    let short = public(&server).post("/reset", body("short")).await;
    assert_eq!((short.status, short.code()), (422, "validation_error"));
    let common = public(&server).post("/reset", body("Password123!")).await;
    assert_eq!((common.status, common.code()), (422, "validation_error"));
    assert!(common.body.to_string().contains("is too common"), "{common:?}");
    assert_eq!(public(&server).post("/reset", body("correct horse")).await.status, 200);
    assert_eq!(public(&server).post("/reset", body("battery staple")).await.status, 401);
    let output = server.command().args(["user", "reset-password", "nobody"]).output().unwrap();
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("No user has the handle"),
        "{output:?}"
    );
}

/// Malformed bodies get every fault, before anything is checked.
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

/// Wrong passwords over the limit are refused before anything is hashed, and lock out no other caller.
#[tokio::test]
async fn too_many_guesses_are_refused_unseen() {
    let server = Server::start_with(&[CHEAP]).await;
    server.user("ann");
    server.user("ben");
    set_password(&server, "ann", "correct horse").await;
    set_password(&server, "ben", "correct horse").await;
    let mut statuses = Vec::new();
    let since = Instant::now();
    for _ in 0..5 {
        statuses.push(log_in(&server, "ann", "wrong").await.status);
    }
    assert_eq!(statuses, [401; 5]);
    let mut guesses = 0;
    for _ in 0..50 {
        let answer = log_in(&server, "ann", "wrong").await;
        match answer.status {
            // On a slow machine the account has earned another guess by now.
            401 => guesses += 1,
            _ => assert_eq!((answer.status, answer.code()), (429, "rate_limited")),
        }
    }
    assert!(guesses <= since.elapsed().as_secs() / 10, "{guesses} guesses in {:?}", since.elapsed());
    assert_eq!(log_in(&server, "ben", "correct horse").await.status, 200);
}

/// Guessing the password that confirms a new key is as slow as at the log-in, also with a token.
#[tokio::test]
async fn guesses_at_a_confirmation_count_like_log_ins() {
    let server = Server::start_with(&[CHEAP]).await;
    server.user("ann");
    let open = set_password(&server, "ann", "correct horse").await;
    let token = open["access_token"].as_str().unwrap();
    let make = async |password: &str| {
        let body = json!({"api_key": {"name": "laptop", "current_password": password}});
        status(&server, reqwest::Method::POST, "/api/v1/me/api-keys", token, &body).await.0
    };
    assert_eq!(make("correct horse").await, 201);
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(make("wrong").await);
    }
    assert_eq!(statuses, [422, 422, 422, 422, 422, 429]);
    assert_eq!(make("correct horse").await, 429);
    assert_eq!(
        log_in(&server, "ann", "correct horse").await.status,
        401,
        "the tries of the account are used up"
    );
    let without = json!({"api_key": {"name": "laptop"}});
    let outcome = status(&server, reqwest::Method::POST, "/api/v1/me/api-keys", token, &without).await.0;
    assert_eq!(outcome, 201, "the log-in was a moment ago");
}

/// A thousand log-ins a second: those over the limit of an account or an address get 429 before anything is hashed,
/// one password is hashed at a time, and other callers are not slowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_wrong_passwords_is_not_hashed() {
    let port = free_port();
    let metrics = format!("127.0.0.1:{port}");
    // Hashing has the lowest priority, so on a busy machine it takes long.
    let server = Server::start_with(&[CHEAP, ("PARLANCE_METRICS_LISTEN", &metrics)]).await;
    let ann = server.user("ann");
    let login = format!("http://{}/api/v1/auth/login", server.address());
    let client = reqwest::Client::new();
    let attempt = async |number: usize| {
        // Half of them guess Ann's password, the others try unknown names.
        let name = if number.is_multiple_of(2) { "ann".to_owned() } else { format!("nobody{number}") };
        let body = json!({"login": name, "password": "wrong"});
        client.post(&login).json(&body).send().await.unwrap().status().as_u16()
    };
    let since = Instant::now();
    let (mut looked_at, mut refused, mut most_at_once) = (0_u32, 0, 0.0_f64);
    for wave in 0..20 {
        let statuses = futures_util::future::join_all((0..50).map(|one| attempt(wave * 50 + one)));
        let now = figure(port, "parlance_password_hashes_in_progress");
        let (statuses, now) = tokio::join!(statuses, now);
        most_at_once = most_at_once.max(now);
        for status in statuses {
            match status {
                401 => looked_at += 1,
                429 => refused += 1,
                other => panic!("{other}"),
            }
        }
        assert_eq!(ann.get("/profile").await.status, 200);
    }
    // Fifty of the address and one more a second, of which Ann's are five and one in ten seconds.
    let seconds = u32::try_from(since.elapsed().as_secs()).unwrap();
    assert!(looked_at <= 51 + seconds, "{looked_at} in {seconds} s");
    assert_eq!(looked_at + refused, 1000);
    let hashes = figure(port, "parlance_password_hashes_total").await;
    assert!(hashes <= f64::from(looked_at), "{hashes} hashes for {looked_at} that were looked at");
    assert!(most_at_once <= 1.0, "{most_at_once} at once");
    assert!(looked_at > 0 && refused > 0, "{looked_at} {refused}");
}

fn wish(handle: &str) -> Value {
    json!({
        "handle": handle, "email": format!("{handle}@example.org"), "name": "Some Body", "password": "correct horse",
    })
}

#[tokio::test]
async fn people_register_where_the_operator_lets_them() {
    let server = Server::start_with(&[CHEAP, ("PARLANCE_REGISTRATION", "open")]).await;
    let open = public(&server).post("/register", wish("ann")).await;
    assert_eq!(open.status, 201);
    let open = open.data();
    assert_eq!((profile(&server, &open).await, &open["user"]["handle"]), (200, &json!("ann")));
    assert_eq!(log_in(&server, "ann@example.org", "correct horse").await.status, 200);
    let taken = public(&server).post("/register", wish("ann")).await;
    assert_eq!((taken.status, taken.code()), (422, "validation_error"));
    assert!(taken.body["error"]["details"].get("/handle").is_some(), "{taken:?}");
    for (name, value) in [
        ("handle", json!("A!")),
        ("email", json!("nowhere")),
        ("name", json!("")),
        ("password", json!("short")),
        ("password", json!("qwertyuiop")),
        ("invitation", json!("thnv_i_nothing")),
    ] {
        let mut body = wish("ben");
        body[name] = value;
        let odd = public(&server).post("/register", body).await;
        assert_eq!((odd.status, odd.code()), (422, "validation_error"), "{name}");
        assert!(odd.body["error"]["details"].get(format!("/{name}")).is_some(), "{odd:?}");
    }
    for registration in ["closed", "invitation"] {
        let server = Server::start_with(&[CHEAP, ("PARLANCE_REGISTRATION", registration)]).await;
        let refused = public(&server).post("/register", wish("ann")).await;
        assert_eq!((refused.status, refused.code()), (403, "forbidden"), "{registration}");
    }
}

#[tokio::test]
async fn not_everybody_registers_at_once() {
    let settings = [CHEAP, ("PARLANCE_REGISTRATION", "open"), ("PARLANCE_REGISTRATIONS_PER_HOUR", "2")];
    let server = Server::start_with(&settings).await;
    let mut statuses = Vec::new();
    for handle in ["ann", "ann", "ben", "cat"] {
        statuses.push(public(&server).post("/register", wish(handle)).await.status);
    }
    assert_eq!(statuses, [201, 422, 429, 429]);
}

/// A request that is held back until its session has ended is refused.
#[tokio::test]
async fn a_body_that_comes_after_the_session_ended_changes_nothing() {
    let server = Server::start_with(&[CHEAP]).await;
    server.user("ann");
    let stolen = set_password(&server, "ann", "correct horse").await;
    let own = log_in(&server, "ann", "correct horse").await.data();
    let bearer = |open: &Value| open["access_token"].as_str().unwrap().to_owned();
    let body = json!({"agent": {"name": "Sleeper", "description": "Waits"}}).to_string();
    let begin = async |open: &Value| {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let head = format!(
            "POST /api/v1/me/agents/register HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            bearer(open),
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body.as_bytes()[..10]).await.unwrap();
        stream
    };
    let end = async |mut stream: TcpStream| {
        stream.write_all(&body.as_bytes()[10..]).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer[9..12].to_owned()
    };
    let (held, slow) = (begin(&stolen).await, begin(&own).await);
    elapse(LEASE).await;
    let ended =
        status(&server, reqwest::Method::DELETE, "/api/v1/me/sessions", &bearer(&own), &Value::Null).await;
    assert_eq!(ended.0, 204, "{ended:?}");
    assert!(at_once(async || profile(&server, &stolen).await == 401).await);
    assert_eq!(end(held).await, "401");
    assert_eq!(end(slow).await, "201");
}

/// A code of six digits (RFC 6238), of the step that is this number of steps later than now.
fn code(secret: &str, later: u64) -> String {
    let bits = secret.bytes().flat_map(|letter| {
        let value = if letter.is_ascii_digit() { letter - b'2' + 26 } else { letter - b'A' };
        (0..5).rev().map(move |bit| (value >> bit) & 1)
    });
    let bits = bits.collect::<Vec<_>>();
    let key = bits.chunks_exact(8).map(|byte| byte.iter().fold(0_u8, |byte, bit| (byte << 1) | bit));
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key.collect::<Vec<_>>());
    #[expect(clippy::disallowed_methods, reason = "the server under test uses the real clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mac = hmac::sign(&key, &(now / 30 + later).to_be_bytes());
    let offset = usize::from(mac.as_ref()[19] & 0xf);
    let truncated = u32::from_be_bytes(mac.as_ref()[offset..offset + 4].try_into().unwrap()) & 0x7fff_ffff;
    format!("{:06}", truncated % 1_000_000)
}

/// Of log-ins at once with one code, one succeeds; and who has lost the device is helped by the operator.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_removes_a_second_factor() {
    let server = Server::start_with(&[CHEAP]).await;
    server.user("ann");
    let open = set_password(&server, "ann", "correct horse").await;
    let token = open["access_token"].as_str().unwrap();
    let post = async |path: &str, body: Value| {
        let path = format!("/api/v1/me/second-factor{path}");
        let (code, answer) = status(&server, reqwest::Method::POST, &path, token, &body).await;
        assert!(code < 300, "{path} {code} {answer}");
        answer["data"].clone()
    };
    let secret = post("", json!({"current_password": "correct horse"})).await["secret"].clone();
    let secret = secret.as_str().unwrap();
    let recovery = post("/confirm", json!({"code": code(secret, 0)})).await["recovery_codes"].clone();
    let answer = log_in(&server, "ann", "correct horse").await;
    assert_eq!((answer.status, answer.code()), (401, "second_factor_required"));
    let public = public(&server);
    let with = |code: &Value| {
        public.post("/login", json!({"login": "ann", "password": "correct horse", "code": code}))
    };
    for code in [json!(code(secret, 1)), recovery[0].clone()] {
        let (one, other) = tokio::join!(with(&code), with(&code));
        let (opened, refused) = if one.status == 200 { (one, other) } else { (other, one) };
        assert_eq!((opened.status, refused.status, refused.code()), (200, 401, "invalid_second_factor"));
    }

    let run = |arguments: &[&str]| {
        let output = server.command().arg("user").args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let shown = run(&["show", "ann", "--json"]).1;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert!(shown["user"]["second_factor_enabled_at"].is_string(), "{shown}");
    assert!(run(&["show", "ann"]).1.contains("second factor on"));
    let removed = run(&["remove-second-factor", "ann", "--json"]).1;
    let removed: Value = serde_json::from_str(&removed).unwrap();
    assert!(!run(&["remove-second-factor", "ann"]).0);
    let answer = log_in(&server, "ann", "correct horse").await;
    assert_eq!((answer.status, answer.code()), (401, "unauthorized"));
    let reset = json!({"reset_token": removed["reset_token"], "new_password": "battery staple"});
    assert_eq!(public.post("/reset", reset).await.status, 200);
    assert_eq!(log_in(&server, "ann", "battery staple").await.status, 200);
}
