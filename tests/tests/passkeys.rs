//! Logging in with a passkey, on the running program, with a device in software.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::{Api, Fleet, Server, passkey, until};
use reqwest::{Client, Response};
use serde_json::{Value, json};

/// Where devices believe that the server is.
const ORIGIN: &str = "https://chat.example.org";

const SETTINGS: [(&str, &str); 2] =
    [("PARLANCE_PUBLIC_URL", ORIGIN), ("PARLANCE_PASSWORD_MEMORY_KIB", "1024")];

/// Posts to the console as its own page does.
async fn post(server: &Server, path: &str, cookie: &str, body: &Value) -> Response {
    let request = Client::new().post(format!("http://{}/console/session{path}", server.address()));
    let request = request.header("sec-fetch-site", "same-origin").header("cookie", cookie);
    request.json(body).send().await.unwrap()
}

/// The cookies that an answer sets, without their attributes.
fn cookies(answer: &Response) -> Vec<String> {
    let all = answer.headers().get_all("set-cookie").iter();
    all.map(|set| set.to_str().unwrap().split(';').next().unwrap().to_owned()).collect()
}

/// A challenge, and the cookie that belongs to it.
async fn challenge(server: &Server) -> (Value, String) {
    let answer = post(server, "/passkey", "", &json!({})).await;
    assert_eq!(answer.status(), 200);
    let set = answer.headers().get("set-cookie").unwrap().to_str().unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/console/session", "Max-Age=300"] {
        assert!(set.contains(attribute), "{set}");
    }
    let cookie = cookies(&answer).remove(0);
    (answer.json::<Value>().await.unwrap()["options"].clone(), cookie)
}

fn run(server: &Server, arguments: &[&str]) -> (bool, String) {
    let output = server.command().arg("user").args(arguments).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

/// A user with a password.
async fn ann(server: &Server) -> Api {
    let ann = server.user("ann");
    let printed =
        serde_json::from_str::<Value>(&run(server, &["reset-password", "ann", "--json"]).1).unwrap();
    let body = json!({"reset_token": printed["reset_token"], "new_password": "correct horse"});
    assert_eq!(Api::new(server, "auth", "", "").post("/reset", body).await.status, 200);
    ann
}

async fn profile(server: &Server, token: &str) -> u16 {
    let request = Client::new().get(format!("http://{}/api/v1/me/profile", server.address()));
    request.bearer_auth(token).send().await.unwrap().status().as_u16()
}

/// The challenge is that of one server, and the answer goes to another one of the same store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passkey_logs_in_at_any_server() {
    let fleet = if e2e::on_postgres() {
        Some(Fleet::start(2, &[SETTINGS[0], SETTINGS[1], ("PARLANCE_CLUSTER_MODE", "multi")]).await)
    } else {
        None
    };
    let single = if fleet.is_some() { None } else { Some(Server::start_with(&SETTINGS).await) };
    let servers = match (&fleet, &single) {
        (Some(fleet), _) => fleet.servers.iter().collect::<Vec<_>>(),
        (None, single) => single.iter().collect(),
    };
    let (here, there) = (servers[0], servers[servers.len() - 1]);
    let ann = ann(here).await;
    let (mut device, id) = passkey::add(&ann, ORIGIN, "correct horse").await;
    let listed = ann.get("/passkeys").await.data();
    assert_eq!((listed[0]["id"].as_str(), &listed[0]["last_used_at"]), (Some(&*id), &Value::Null));

    let (options, cookie) = challenge(here).await;
    device.sign_count = 7;
    let (_, other_browser) = challenge(here).await;
    for cookie in ["", "parlance_passkey=x", &*other_browser] {
        let refused = post(there, "", cookie, &json!({"passkey": device.get(&options)})).await;
        assert_eq!((refused.status().as_u16(), cookies(&refused)), (401, vec![]), "{cookie}");
    }
    let answer = json!({"passkey": device.get(&options)});
    let open = post(there, "", &cookie, &answer).await;
    assert_eq!(open.status(), 200);
    let [session, gone] = &cookies(&open)[..] else { panic!("{open:?}") };
    assert_eq!(gone, "parlance_passkey=");
    let session = session.clone();
    let open = open.json::<Value>().await.unwrap();
    assert_eq!((&open["user"]["handle"], &open["has_passkeys"]), (&json!("ann"), &json!(true)));
    let token = open["access_token"].as_str().unwrap();
    assert_eq!(profile(here, token).await, 200);
    assert!(ann.get("/passkeys").await.data()[0]["last_used_at"].is_string());

    for server in &servers {
        assert_eq!(post(server, "", &cookie, &answer).await.status(), 401, "it was used");
    }
    // A copy of the key would not know how often the device has answered.
    let (options, cookie) = challenge(there).await;
    device.sign_count = 7;
    let copied = json!({"passkey": device.get(&options)});
    assert_eq!(post(here, "", &cookie, &copied).await.status(), 401);
    until("the log warns", async || here.log().contains("there may be a copy of its key")).await;
    device.sign_count = 8;
    let (options, cookie) = challenge(there).await;
    assert_eq!(post(here, "", &cookie, &json!({"passkey": device.get(&options)})).await.status(), 200);

    let renew = async |server: &Server| post(server, "/token", &session, &json!({})).await.status().as_u16();
    assert_eq!(renew(there).await, 200);
    let proof = json!({"current_password": "correct horse"});
    assert_eq!(ann.post(&format!("/passkeys/{id}/remove"), proof).await.status, 204);
    assert_eq!(renew(there).await, 401);
    for server in &servers {
        until("the token still works", async || profile(server, token).await == 401).await;
    }
    let (options, cookie) = challenge(here).await;
    device.sign_count = 9;
    let removed = post(here, "", &cookie, &json!({"passkey": device.get(&options)})).await;
    assert_eq!(removed.status(), 401);
}

/// Browsers allow passkeys only at a host name with TLS.
#[tokio::test]
async fn without_a_suitable_public_url_there_are_no_passkeys() {
    for url in [None, Some("http://chat.example.org")] {
        let url = url.map(|url| (SETTINGS[0].0, url));
        let settings = url.into_iter().chain([SETTINGS[1]]).collect::<Vec<_>>();
        let server = Server::start_with(&settings).await;
        let ann = ann(&server).await;
        let refused = ann.post("/passkeys/challenge", json!({"current_password": "correct horse"})).await;
        assert_eq!((refused.status, refused.code()), (403, "forbidden"));
        assert_eq!(ann.get("/passkeys").await.data(), json!([]));
        assert_eq!(post(&server, "/passkey", "", &json!({})).await.status(), 403);
        let ways = Client::new().get(format!("http://{}/console/oidc", server.address()));
        let ways = ways.send().await.unwrap().json::<Value>().await.unwrap();
        assert_eq!(ways["has_passkeys"], false);
    }
}

/// Together with the second factor: the device that is lost may have held both.
#[tokio::test]
async fn the_operator_removes_passkeys() {
    let server = Server::start_with(&SETTINGS).await;
    let ann = ann(&server).await;
    let (device, id) = passkey::add(&ann, ORIGIN, "correct horse").await;
    let shown = serde_json::from_str::<Value>(&run(&server, &["show", "ann", "--json"]).1).unwrap();
    let listed = &shown["user"]["passkeys"][0];
    assert_eq!(
        (&listed["id"], &listed["name"], &listed["last_used_at"]),
        (&json!(id), &json!("Laptop"), &Value::Null)
    );
    assert!(run(&server, &["show", "ann"]).1.contains("1 passkey"));
    assert!(run(&server, &["remove-second-factor", "ann"]).0);
    assert!(!run(&server, &["remove-second-factor", "ann"]).0);
    assert_eq!(ann.get("/passkeys").await.data(), json!([]));
    let (options, cookie) = challenge(&server).await;
    assert_eq!(post(&server, "", &cookie, &json!({"passkey": device.get(&options)})).await.status(), 401);
}
