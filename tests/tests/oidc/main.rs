//! Logging in at an identity provider, on the running program, with a provider that lies.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod provider;

use std::path::PathBuf;

use e2e::{Server, figure, free_port, until};
use provider::{CLIENT, Provider, SECRET, Signature, doctor, now};
use reqwest::header::HeaderMap;
use reqwest::{Client, Response, Url, redirect::Policy};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Hashes that take no time worth speaking of.
const CHEAP: (&str, &str) = ("PARLANCE_PASSWORD_MEMORY_KIB", "1024");

/// A server with this provider.
struct Scene {
    server: Server,
    provider: Provider,
    /// The port of its metrics.
    metrics: u16,
    _directory: TempDir,
}

impl Scene {
    async fn new(more: &str, settings: &[(&str, &str)]) -> Self {
        let provider = Provider::start().await;
        let (directory, file) = configuration(&provider, more);
        let (config, metrics) = (file.display().to_string(), free_port());
        let listen = format!("127.0.0.1:{metrics}");
        let own = [CHEAP, ("PARLANCE_CONFIG", &*config), ("PARLANCE_METRICS_LISTEN", &*listen)];
        let server = Server::start_with(&[&own, settings].concat()).await;
        Self { server, provider, metrics, _directory: directory }
    }

    fn browser(&self) -> Browser {
        Browser::new(&self.server)
    }

    /// The word for what went wrong with a log-in, or nothing.
    async fn outcome(&self) -> String {
        let browser = self.browser();
        let begun = browser.begin(&self.provider, "").await;
        browser.answer(&begun, &format!("code=1&state={}", begun.state)).await.problem
    }
}

/// The configuration of a server with this provider.
fn configuration(provider: &Provider, more: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("parlance.toml");
    let issuer = provider.issuer();
    let text = format!(
        "public_url = \"http://chat.example\"\n[oidc.sso]\nissuer = \"{issuer}\"\nclient_id = \"{CLIENT}\"\n\
         client_secret = \"{SECRET}\"\nlabel = \"Company\"\n{more}\n"
    );
    std::fs::write(&file, text).unwrap();
    (directory, file)
}

/// A log-in that a browser has begun.
struct Begun {
    /// Where the browser is sent.
    url: Url,
    state: String,
    /// The cookie, as a browser sends it.
    cookie: String,
}

/// The end of a log-in.
struct Answer {
    /// Where the browser is sent.
    location: String,
    /// The word for what went wrong, or nothing.
    problem: String,
    /// The cookie of the session.
    session: Option<String>,
}

/// A browser that keeps what a test gives it.
struct Browser {
    client: Client,
    base: String,
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned()
}

/// The cookie with this name that an answer sets.
fn cookie(answer: &Response, name: &str) -> Option<(String, String)> {
    let all = answer.headers().get_all("set-cookie").iter().map(|value| value.to_str().unwrap());
    let mut all = all.filter_map(|set| set.split_once("; ")).filter(|(pair, _)| pair.starts_with(name));
    all.next().map(|(pair, attributes)| (pair.to_owned(), attributes.to_owned()))
}

impl Browser {
    fn new(server: &Server) -> Self {
        let client = Client::builder().redirect(Policy::none()).build().unwrap();
        Self { client, base: format!("http://{}", server.address()) }
    }

    async fn get(&self, path: &str, cookie: &str) -> Response {
        let request = self.client.get(format!("{}{path}", self.base)).header("cookie", cookie);
        request.send().await.unwrap()
    }

    /// Goes to the provider, which remembers what the server wants.
    async fn begin(&self, provider: &Provider, query: &str) -> Begun {
        let answer = self.get(&format!("/console/oidc/sso/log-in{query}"), "").await;
        let location = header(answer.headers(), "location");
        assert_eq!(answer.status(), 303, "{location}");
        let url = Url::parse(&location).unwrap_or_else(|_| panic!("{location}"));
        let part = |name: &str| {
            let found = url.query_pairs().find(|(key, _)| key == name);
            found.map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        provider.set(|state| (state.nonce, state.challenge) = (part("nonce"), part("code_challenge")));
        let state = part("state");
        let (cookie, attributes) = cookie(&answer, "parlance_log_in").unwrap();
        assert_eq!(attributes, "Path=/console/oidc; HttpOnly; SameSite=Lax; Max-Age=600");
        Begun { url, state, cookie }
    }

    /// Comes back from the provider.
    async fn answer(&self, begun: &Begun, query: &str) -> Answer {
        self.answer_with(&begun.cookie, query).await
    }

    async fn answer_with(&self, sent: &str, query: &str) -> Answer {
        let answer = self.get(&format!("/console/oidc/sso/callback?{query}"), sent).await;
        assert_eq!(answer.status(), 303);
        let location = header(answer.headers(), "location");
        let problem = location.strip_prefix("/console/login?problem=").unwrap_or_default().to_owned();
        let gone = cookie(&answer, "parlance_log_in").unwrap();
        assert_eq!(gone.0, "parlance_log_in=", "it is removed");
        let session = cookie(&answer, "parlance_session").map(|(pair, attributes)| {
            assert_eq!(attributes, "Path=/console/session; HttpOnly; SameSite=Strict; Max-Age=86400");
            pair
        });
        assert_eq!(session.is_some(), problem.is_empty(), "{location}");
        Answer { location, problem, session }
    }

    async fn renew(&self, session: &str) -> (u16, Value) {
        let request = self.client.post(format!("{}/console/session/token", self.base)).json(&json!({}));
        let request = request.header("cookie", session).header("sec-fetch-site", "same-origin");
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    async fn log_in(&self, body: Value) -> (u16, Value) {
        let request = self.client.post(format!("{}/console/session", self.base)).json(&body);
        let answer = request.header("sec-fetch-site", "same-origin").send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    async fn log_out_at_provider(&self, token: &str) -> u16 {
        let url = format!("{}/console/oidc/sso/back-channel-logout", self.base);
        let request = self.client.post(url).header("content-type", "application/x-www-form-urlencoded");
        request.body(format!("logout_token={token}")).send().await.unwrap().status().as_u16()
    }

    async fn profile(&self, token: &str) -> u16 {
        let request = self.client.get(format!("{}/api/v1/me/profile", self.base)).bearer_auth(token);
        request.send().await.unwrap().status().as_u16()
    }
}

/// The whole way: to the provider and back to where the browser was, with a session like every other, also when the
/// server was killed meanwhile.
#[tokio::test]
async fn a_person_logs_in_at_the_provider_and_out_again() {
    let mut scene = Scene::new("create_accounts = true", &[]).await;
    let browser = scene.browser();
    let listed = browser.get("/console/oidc", "").await.json::<Value>().await.unwrap();
    let providers = json!([{"name": "sso", "label": "Company"}]);
    assert_eq!(listed, json!({"providers": providers, "has_passwords": true, "has_passkeys": false}));

    let begun = browser.begin(&scene.provider, "?return_to=%2Frooms%2F1%3Fat%3D2").await;
    let sent = begun.url.query_pairs().collect::<std::collections::BTreeMap<_, _>>();
    assert_eq!(sent["response_type"], "code");
    assert_eq!(sent["code_challenge_method"], "S256");
    assert_eq!(sent["client_id"], CLIENT);
    assert_eq!(sent["scope"], "openid email profile");
    assert_eq!(sent["redirect_uri"], "http://chat.example/console/oidc/sso/callback");
    scene.server.kill9();
    scene.server.run().await;
    let browser = scene.browser();
    let query = format!("code=1&state={}&session_state=x&iss=y", begun.state);
    let answer = browser.answer(&begun, &query).await;
    assert_eq!((answer.location.as_str(), answer.problem.as_str()), ("/console/rooms/1?at=2#in", ""));
    let session = answer.session.unwrap();
    let (status, open) = browser.renew(&session).await;
    assert_eq!((status, &open["user"]["handle"]), (200, &json!("dana")));
    let token = open["access_token"].as_str().unwrap();
    assert_eq!(browser.profile(token).await, 200, "the same token is good for REST");

    // The answer is good once: the browser has forgotten what belonged to it.
    assert_eq!(browser.answer_with("", &query).await.problem, "expired");

    // Of another person, and of this one.
    let logout = |changes: Value| scene.provider.logout_token(&changes);
    assert_eq!(browser.log_out_at_provider(&logout(json!({"sub": "other"}))).await, 200);
    assert_eq!(browser.profile(token).await, 200);
    assert_eq!(browser.log_out_at_provider(&logout(json!({}))).await, 200);
    assert_eq!(browser.renew(&session).await.0, 401);
    until("the access token ends", async || browser.profile(token).await == 401).await;
}

/// Tokens of nobody, of others, of other times, and of another kind.
#[tokio::test]
async fn only_true_logout_tokens_end_sessions() {
    let scene = Scene::new("create_accounts = true", &[]).await;
    let browser = scene.browser();
    let begun = browser.begin(&scene.provider, "").await;
    let answer = browser.answer(&begun, &format!("code=1&state={}", begun.state)).await;
    let session = answer.session.unwrap();
    for wrong in [
        json!({"iss": "http://other.example"}),
        json!({"aud": "other"}),
        json!({"aud": ["other"]}),
        json!({"aud": null}),
        json!({"iat": now() - 3600}),
        json!({"iat": now() + 3600}),
        json!({"iat": null}),
        json!({"exp": now() - 3600}),
        json!({"exp": "soon"}),
        json!({"events": {}}),
        json!({"events": null}),
        json!({"nonce": "n"}),
        json!({"jti": null}),
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": 7}),
    ] {
        let token = scene.provider.logout_token(&wrong);
        assert_eq!(browser.log_out_at_provider(&token).await, 400, "{wrong}");
    }
    for signature in [Signature::OtherKey, Signature::None, Signature::PublicKey, Signature::ClientSecret] {
        scene.provider.set(|state| state.signature = signature);
        let token = scene.provider.logout_token(&json!({}));
        assert_eq!(browser.log_out_at_provider(&token).await, 400, "{signature:?}");
    }
    for nonsense in ["", "x", "a.b.c", "..", "e30.e30.e30"] {
        assert_eq!(browser.log_out_at_provider(nonsense).await, 400, "{nonsense}");
    }
    assert_eq!(browser.renew(&session).await.0, 200);
    assert!(figure(scene.metrics, "parlance_provider_logouts_total{result=\"refused\"}").await >= 20.0);
}

/// What the provider answers is checked: each lie is refused with a word for the browser, and a reason in the log.
#[tokio::test]
async fn a_provider_that_lies_lets_nobody_in() {
    let scene = Scene::new("create_accounts = true", &[]).await;
    let provider = &scene.provider;
    for lie in [
        json!({"iss": "http://other.example"}),
        json!({"aud": "other"}),
        json!({"aud": [CLIENT, "other"]}),
        json!({"azp": "other"}),
        json!({"nonce": "other"}),
        json!({"nonce": null}),
        json!({"exp": now() - 3600}),
        json!({"exp": null}),
        json!({"exp": "tomorrow"}),
        json!({"iat": now() + 3600}),
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": "x".repeat(300)}),
        json!({"sub": "a\u{0}b"}),
    ] {
        provider.set(|state| state.claims = lie.clone());
        assert_eq!(scene.outcome().await, "refused", "{lie}");
    }
    provider.behave();
    for signature in [Signature::OtherKey, Signature::None, Signature::PublicKey, Signature::ClientSecret] {
        provider.set(|state| state.signature = signature);
        assert_eq!(scene.outcome().await, "refused", "{signature:?}");
    }
    provider.behave();
    let json = "application/json";
    let huge = format!("{{\"x\": \"{}\"}}", "y".repeat(1024 * 1024));
    for (status, kind, body) in [
        (200, json, "{"),
        (200, json, "[]"),
        (200, json, "{}"),
        (200, json, "{\"access_token\": \"a\", \"token_type\": \"Bearer\"}"),
        (200, json, "{\"access_token\": \"a\", \"token_type\": \"Bearer\", \"id_token\": \"a.b.c\"}"),
        (200, json, "{\"access_token\": \"a\", \"token_type\": \"Bearer\", \"id_token\": 7}"),
        (200, "text/html", "<html>"),
        (400, json, "{\"error\": \"invalid_grant\"}"),
        (302, json, "http://127.0.0.1:1/"),
    ] {
        provider.set(|state| state.instead = vec![("/token", status, kind, body.to_owned())]);
        assert_eq!(scene.outcome().await, "refused", "{status} {kind} {body}");
    }
    for status in [500, 502, 429] {
        provider.set(|state| state.instead = vec![("/token", status, "text/plain", "no".to_owned())]);
        assert_eq!(scene.outcome().await, "unavailable", "{status}");
    }
    provider.set(|state| state.instead = vec![("/token", 200, json, huge)]);
    assert_eq!(scene.outcome().await, "unavailable", "it is not read to its end");
    // The page of the person is asked for the address.
    provider.set(|state| {
        state.instead.clear();
        state.claims = json!({"email": null});
        state.person = json!({"sub": "another", "email": "boss@example.org", "email_verified": true});
    });
    assert_eq!(scene.outcome().await, "refused");
    provider.set(|state| state.person = json!({"email": "dana@example.org", "email_verified": true}));
    assert_eq!(scene.outcome().await, "");
    provider.behave();
    assert_eq!(scene.outcome().await, "", "it can be used as before");

    let log = scene.server.log();
    for reason in [
        "Invalid issuer",
        "Invalid audiences",
        "another client",
        "nonce mismatch",
        "missing nonce",
        "Expired",
        "issued in the future",
        "Disallowed signature algorithm",
        "invalid_grant",
        "another subject",
    ] {
        assert!(log.contains(reason), "{reason} is not in the log");
    }
    assert!(!log.contains(SECRET) && !log.contains("\"access\""));
    assert!(figure(scene.metrics, "parlance_provider_logins_total{result=\"refused\"}").await >= 25.0);
}

/// Of its own only: nonsense of others neither helps nor harms.
#[tokio::test]
async fn answers_that_belong_to_no_log_in_are_refused() {
    let scene = Scene::new("create_accounts = true", &[]).await;
    let (victim, attacker) = (scene.browser(), scene.browser());
    let begun = victim.begin(&scene.provider, "").await;
    let other = attacker.begin(&scene.provider, "").await;
    let code = |state: &str| format!("code=1&state={state}");
    // The answer of another browser's log-in.
    assert_eq!(victim.answer(&begun, &code(&other.state)).await.problem, "expired");
    assert_eq!(victim.answer_with("", &code(&begun.state)).await.problem, "expired");
    let forged = begun.cookie.replace("parlance_log_in=", "parlance_log_in=A");
    assert_eq!(victim.answer_with(&forged, &code(&begun.state)).await.problem, "expired");
    assert_eq!(victim.answer(&begun, "").await.problem, "expired");
    assert_eq!(
        victim.answer(&begun, &format!("state={}&error=access_denied", begun.state)).await.problem,
        "denied"
    );
    assert_eq!(
        victim.answer(&begun, &format!("state={}&error=%0a%3cx%3e", begun.state)).await.problem,
        "refused"
    );
    assert_eq!(victim.answer(&begun, "state=other&error=access_denied").await.problem, "expired");
    let long = "x".repeat(10_000);
    assert_eq!(victim.answer(&begun, &format!("state={long}&code=1")).await.problem, "refused");
    assert_eq!(scene.provider.asked("/token"), 0, "the provider is not asked");
    // Nowhere else is returned to.
    for bad in
        ["https://evil.example", "//evil.example", "/%5cevil.example", "/..%2f..", "/%0d%0aset-cookie:x"]
    {
        let begun = victim.begin(&scene.provider, &format!("?return_to={bad}")).await;
        let answer = victim.answer(&begun, &code(&begun.state)).await;
        assert_eq!(answer.location, "/console/#in", "{bad}");
    }
    for path in ["/console/oidc/other/log-in", "/console/oidc/other/callback?code=1&state=2"] {
        let location = header(victim.get(path, "").await.headers(), "location");
        assert!(location.starts_with("/console/login?problem="), "{path} {location}");
    }
}

/// A provider that changes its key is followed, and forged tokens do not make the server ask again and again.
#[tokio::test]
async fn keys_that_change_are_read_again_but_not_always() {
    let scene = Scene::new("create_accounts = true", &[]).await;
    for _ in 0..2 {
        assert_eq!(scene.outcome().await, "");
    }
    assert_eq!(scene.provider.asked("/keys"), 1);
    scene.provider.rotate("second");
    for _ in 0..2 {
        assert_eq!(scene.outcome().await, "");
    }
    assert_eq!(scene.provider.asked("/keys"), 2);
    scene.provider.rotate("third");
    for _ in 0..3 {
        assert_eq!(scene.outcome().await, "refused");
    }
    let browser = scene.browser();
    assert_eq!(browser.log_out_at_provider(&scene.provider.logout_token(&json!({}))).await, 400);
    assert_eq!(scene.provider.asked("/keys"), 2, "not within a minute");
    assert_eq!(scene.provider.asked("/.well-known/openid-configuration"), 1, "endpoints are remembered");
}

/// A provider that is down, slow, or not what it was is a clear error, and the operator has a way in.
#[tokio::test]
async fn without_the_provider_a_code_is_the_way_in() {
    let provider = Provider::start().await;
    let (_directory, file) = configuration(&provider, "");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("oidc_only = true\n{text}")).unwrap();
    let config = file.display().to_string();
    let server = Server::start_with(&[CHEAP, ("PARLANCE_CONFIG", &config)]).await;
    let browser = Browser::new(&server);
    let discovery = "/.well-known/openid-configuration";
    let json = "application/json";
    for (kind, body) in
        [(json, "{"), (json, "{\"issuer\": \"http://other.example\"}"), ("text/html", "<html>")]
    {
        provider.set(|state| state.instead = vec![(discovery, 200, kind, body.to_owned())]);
        let location = header(browser.get("/console/oidc/sso/log-in", "").await.headers(), "location");
        assert_eq!(location, "/console/login?problem=unavailable");
    }
    assert!(provider.asked(discovery) < 3, "it is left alone for some seconds");
    let listed = browser.get("/console/oidc", "").await.json::<Value>().await.unwrap();
    assert_eq!(listed["has_passwords"], false);

    server.user("ann");
    let refused = browser.log_in(json!({"login": "ann", "password": "correct horse"})).await;
    assert_eq!((refused.0, &refused.1["error"]["code"]), (403, &json!("forbidden")));
    assert!(refused.1["error"]["message"].as_str().unwrap().contains("no log-in with passwords"));
    let run = |arguments: &[&str]| server.command().args(arguments).output().unwrap();
    let (outcome, said) = doctor(&server).await;
    assert!(outcome == "fault" && said.contains("discovery"), "{said}");
    provider.behave();
    let (outcome, said) = doctor(&server).await;
    assert_eq!(outcome, "ok", "{said}");
    let issuer = provider.issuer();
    provider.set(|state| state.issuer = "http://other.example".to_owned());
    let (outcome, said) = doctor(&server).await;
    assert!(outcome == "fault" && said.contains("http://other.example"), "{said}");
    provider.set(|state| state.issuer = issuer);
    let reset = run(&["user", "reset-password", "ann"]);
    let said = String::from_utf8(reset.stderr).unwrap();
    assert!(!reset.status.success() && said.contains("parlance user login-link"), "{said}");
    let link = run(&["user", "login-link", "ann", "--json"]);
    assert!(link.status.success(), "{link:?}");
    let link: Value = serde_json::from_slice(&link.stdout).unwrap();
    let code = link["login_code"].as_str().unwrap();
    assert_eq!(link["link"], format!("http://chat.example/console/enter#{code}"));
    let (status, open) = browser.log_in(json!({ "login_code": code })).await;
    assert_eq!((status, &open["user"]["handle"]), (200, &json!("ann")));
    assert_eq!(browser.log_in(json!({ "login_code": code })).await.0, 401, "it is used up");

    // What the operator links by hand.
    let link = run(&["user", "link", "ann", "--provider", "sso", "--subject", "248289761001"]);
    assert!(link.status.success(), "{link:?}");
    let shown = String::from_utf8(run(&["user", "show", "ann"]).stdout).unwrap();
    assert!(shown.contains("linked to '248289761001'"), "{shown}");
    let unlinked = run(&["user", "unlink", "ann", "--provider", "sso"]);
    assert!(unlinked.status.success(), "{unlinked:?}");
}

/// The reason is in the log; the browser waits no longer than ten seconds.
#[tokio::test]
async fn a_slow_provider_is_not_waited_for() {
    let scene = Scene::new("create_accounts = true", &[]).await;
    scene.provider.set(|state| state.silent = "/token");
    assert_eq!(scene.outcome().await, "unavailable");
    assert!(scene.server.log().contains("no response within 10 s"));
    scene.provider.behave();
    assert_eq!(scene.outcome().await, "");
}

/// Every web page can make a browser send an answer that it has not asked for, so these count for nothing.
#[tokio::test]
async fn forged_answers_shut_nobody_out() {
    let scene = Scene::new("create_accounts = true", &[("PARLANCE_RATE_LIMIT_FAILURES", "1/5")]).await;
    let browser = scene.browser();
    for number in 0..12 {
        assert_eq!(browser.answer_with("", &format!("code=1&state={number}")).await.problem, "expired");
    }
    assert_eq!(scene.outcome().await, "");
}

/// With `max_age_minutes`, somebody at a browser that is still logged in at the provider must prove to be the person.
#[tokio::test]
async fn who_authenticated_long_ago_authenticates_again() {
    let scene = Scene::new("create_accounts = true\nmax_age_minutes = 10", &[]).await;
    let begun = scene.browser().begin(&scene.provider, "").await;
    assert!(begun.url.query_pairs().any(|(name, value)| name == "max_age" && value == "600"));
    assert_eq!(scene.outcome().await, "refused", "the provider does not say when");
    for (auth_time, outcome) in [(now() - 3600, "refused"), (now(), "")] {
        scene.provider.set(|state| state.claims = json!({"auth_time": auth_time}));
        assert_eq!(scene.outcome().await, outcome);
    }
    assert!(scene.server.log().contains("authenticated too long ago"));
}
