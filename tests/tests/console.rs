//! The console as the running program serves it: its files, and the session of a browser.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::{Server, until};
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, Response, StatusCode, redirect::Policy};
use serde_json::{Value, json};

/// Hashes that take no time worth speaking of.
const CHEAP: (&str, &str) = ("PARLANCE_PASSWORD_MEMORY_KIB", "1024");

/// A browser that keeps what a test gives it.
struct Browser {
    client: Client,
    base: String,
}

impl Browser {
    fn new(server: &Server) -> Self {
        let client = Client::builder().redirect(Policy::none()).build().unwrap();
        Self { client, base: format!("http://{}", server.address()) }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Response {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.send(Method::GET, path, headers, None).await
    }

    async fn log_in(&self, body: Value) -> Response {
        let own = [("sec-fetch-site", "same-origin")];
        self.send(Method::POST, "/console/session", &own, Some(body)).await
    }

    async fn renew(&self, cookie: &str) -> Response {
        let headers = [("sec-fetch-site", "same-origin"), ("cookie", cookie)];
        self.send(Method::POST, "/console/session/token", &headers, Some(json!({}))).await
    }

    /// The status of the caller's profile with an access token.
    async fn profile(&self, token: &str) -> u16 {
        let bearer = format!("Bearer {token}");
        self.get("/api/v1/me/profile", &[("authorization", &bearer)]).await.status().as_u16()
    }
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

/// The cookie that an answer sets, as a browser sends it, and its attributes.
fn cookie_of(answer: &Response) -> (String, String) {
    let set = header(answer.headers(), "set-cookie").to_owned();
    let (cookie, attributes) = set.split_once("; ").unwrap();
    (cookie.to_owned(), attributes.to_owned())
}

async fn code(answer: Response) -> (u16, String) {
    let status = answer.status().as_u16();
    let body = answer.json::<Value>().await.unwrap();
    (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
}

/// The token of the link that the first start prints, good once.
#[tokio::test]
async fn the_printed_link_sets_a_password_and_logs_in() {
    let server = Server::start_with(&[CHEAP]).await;
    let browser = Browser::new(&server);
    let printed = server.printed();
    let (base, token) = printed.split_once("/console/welcome#").unwrap();
    let token = token.split_whitespace().next().unwrap();
    assert!(base.ends_with(&browser.base), "{printed}");
    let body = json!({"reset_token": token, "new_password": "correct horse"});
    let answer = browser.log_in(body.clone()).await;
    let (cookie, attributes) = cookie_of(&answer);
    assert_eq!(attributes, "Path=/console/session; HttpOnly; SameSite=Strict; Max-Age=2592000");
    let open = answer.json::<Value>().await.unwrap();
    assert_eq!((&open["user"]["handle"], &open["expires_in"]), (&json!("admin"), &json!(900)));
    for member in ["is_operator", "has_boards", "has_files", "has_webhooks", "has_a2a"] {
        assert_eq!(open[member], true, "{member}");
    }
    assert_eq!(browser.profile(open["access_token"].as_str().unwrap()).await, 200);
    assert_eq!(code(browser.log_in(body).await).await, (401, "unauthorized".to_owned()), "it is used up");

    // Two tabs at the same time, and after a restart.
    let (one, other) = tokio::join!(browser.renew(&cookie), browser.renew(&cookie));
    assert_eq!((one.status(), other.status()), (StatusCode::OK, StatusCode::OK));
    assert_eq!(cookie_of(&one).0, cookie, "it stays the same");
    let mut server = server;
    server.kill9();
    server.run().await;
    let browser = Browser::new(&server);
    let token = browser.renew(&cookie).await.json::<Value>().await.unwrap();
    let token = token["access_token"].as_str().unwrap();

    let headers = [("sec-fetch-site", "same-origin"), ("cookie", cookie.as_str())];
    let out = browser.send(Method::DELETE, "/console/session", &headers, None).await;
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    assert_eq!(header(out.headers(), "clear-site-data"), "\"storage\"");
    let gone = out.headers().get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
    let gone = gone.map(|set| set.split(';').next().unwrap()).collect::<Vec<_>>();
    assert_eq!(gone, ["parlance_session=", "parlance_log_in="], "also a log-in that is under way");
    assert_eq!(code(browser.renew(&cookie).await).await, (401, "unauthorized".to_owned()));
    until("the access token ends", async || browser.profile(token).await == 401).await;
}

/// Only a user's key without a limit; what it opened ends when it is revoked.
#[tokio::test]
async fn an_api_key_logs_in_too() {
    let server = Server::start_with(&[CHEAP]).await;
    let browser = Browser::new(&server);
    let ann = server.user("ann");
    let agent = json!({"agent": {"name": "Helper", "description": "Helps"}});
    let agent = ann.post("/agents/register", agent).await.data();
    let agent_key = agent["credentials"]["api_key"].as_str().unwrap();
    let made = ann.post("/api-keys", json!({"api_key": {"name": "Browser"}})).await.data();
    let limited = json!({"api_key": {"name": "Limited", "read_only": true}});
    let limited = ann.post("/api-keys", limited).await.data();
    for (key, status, refusal) in [
        (agent_key, 403, "forbidden"),
        (limited["credentials"]["api_key"].as_str().unwrap(), 403, "forbidden"),
        ("thnv_u_unknown", 401, "unauthorized"),
    ] {
        let answer = browser.log_in(json!({"api_key": key})).await;
        assert!(!answer.headers().contains_key("set-cookie"));
        assert_eq!(code(answer).await, (status, refusal.to_owned()));
    }
    let answer = browser.log_in(json!({"api_key": made["credentials"]["api_key"]})).await;
    let (cookie, _) = cookie_of(&answer);
    let open = answer.json::<Value>().await.unwrap();
    assert_eq!((&open["user"]["handle"], &open["is_operator"]), (&json!("ann"), &json!(false)));
    let token = open["access_token"].as_str().unwrap();
    assert_eq!(browser.profile(token).await, 200);
    assert_eq!(
        ann.delete(&format!("/api-keys/{}", made["api_key"]["id"].as_str().unwrap())).await.status,
        200
    );
    assert_eq!(browser.renew(&cookie).await.status(), StatusCode::UNAUTHORIZED);
    until("the access token ends", async || browser.profile(token).await == 401).await;
}

/// A page of another site can neither use the session nor read what it answers.
#[tokio::test]
async fn other_sites_cannot_use_the_session() {
    let server = Server::start_with(&[CHEAP, ("PARLANCE_CORS_ORIGINS", "*")]).await;
    let browser = Browser::new(&server);
    let ann = server.user("ann");
    let answer = browser.log_in(json!({"api_key": ann.key})).await;
    let (cookie, _) = cookie_of(&answer);
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://elsewhere.example")] {
        for (method, path) in [
            (Method::POST, "/console/session"),
            (Method::DELETE, "/console/session"),
            (Method::POST, "/console/session/token"),
        ] {
            let headers = [(name, value), ("cookie", cookie.as_str())];
            let body = Some(json!({"api_key": ann.key}));
            let answer = browser.send(method, path, &headers, body).await;
            assert!(!answer.headers().contains_key("access-control-allow-origin"), "{path}");
            assert!(!answer.headers().contains_key("set-cookie"), "{path}");
            assert_eq!(code(answer).await, (403, "forbidden".to_owned()), "{name} {path}");
        }
    }
    assert_eq!(browser.renew(&cookie).await.status(), StatusCode::OK);
    // A form can send other types than JSON.
    let form = browser.client.post(format!("{}/console/session", browser.base));
    let form = form.header("content-type", "text/plain").body("{}").send().await.unwrap();
    assert_eq!(form.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

/// As the browser reaches the server, or a trusted proxy.
#[tokio::test]
async fn the_cookie_of_a_request_by_tls_is_sent_by_tls_only() {
    let settings = [CHEAP, ("PARLANCE_PUBLIC_URL", "https://chat.example.org")];
    let trusting = [CHEAP, ("PARLANCE_TRUSTED_PROXIES", "127.0.0.0/8")];
    for (settings, headers, is_secure) in [
        (settings, [("host", "chat.example.org"), ("x-forwarded-proto", "http")], true),
        (settings, [("host", "192.0.2.7:4000"), ("x-forwarded-proto", "https")], false),
        (trusting, [("host", "192.0.2.7:4000"), ("x-forwarded-proto", "https")], true),
        (trusting, [("host", "192.0.2.7:4000"), ("x-forwarded-proto", "http")], false),
    ] {
        let server = Server::start_with(&settings).await;
        let ann = server.user("ann");
        let body = Some(json!({"api_key": ann.key}));
        let answer = Browser::new(&server).send(Method::POST, "/console/session", &headers, body).await;
        let (cookie, attributes) = cookie_of(&answer);
        assert_eq!(attributes.ends_with("; Secure"), is_secure, "{settings:?} {headers:?}");
        let is_of_host = cookie.starts_with("__Host-parlance_session=") && attributes.starts_with("Path=/;");
        assert_eq!(is_of_host, is_secure, "{cookie}; {attributes}");
        for (sent, status) in [(cookie.as_str(), 200), (cookie.trim_start_matches("__Host-"), 401)] {
            let headers = headers.into_iter().chain([("cookie", sent)]).collect::<Vec<_>>();
            let renewed = Browser::new(&server)
                .send(Method::POST, "/console/session/token", &headers, Some(json!({})))
                .await;
            let expected = if is_secure { status } else { 200 };
            assert_eq!(renewed.status(), expected, "{sent}");
        }
    }
}

/// Every operation that needs a credential, and the socket.
#[tokio::test]
async fn the_cookie_is_accepted_nowhere_else() {
    let server = Server::start_with(&[CHEAP]).await;
    let browser = Browser::new(&server);
    let ann = server.user("ann");
    let (cookie, _) = cookie_of(&browser.log_in(json!({"api_key": ann.key})).await);
    let mut refused = 0;
    let document: Value = serde_json::from_str(include_str!("../../docs/openapi/openapi.json")).unwrap();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let Ok(method) = method.to_uppercase().parse::<Method>() else { continue };
            let is_public = operation["security"].as_array().is_none_or(Vec::is_empty);
            if is_public || !matches!(method.as_str(), "GET" | "POST" | "PUT" | "PATCH" | "DELETE") {
                continue;
            }
            let path = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
            let path = path.collect::<Vec<_>>().join("/");
            let answer = browser.send(method.clone(), &path, &[("cookie", &cookie)], Some(json!({}))).await;
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{method} {path}");
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
    let upgrade = [
        ("cookie", cookie.as_str()),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let answer = browser.get("/api/v1/socket/websocket?vsn=2.0.0", &upgrade).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN, "as for every socket without a credential");
}

/// The page for every path, and files that a browser may keep.
#[tokio::test]
async fn the_files_are_served_with_their_policy() {
    let server = Server::start_with(&[CHEAP]).await;
    let browser = Browser::new(&server);
    let page = browser.get("/console/", &[]).await;
    let policy = header(page.headers(), "content-security-policy").to_owned();
    for part in [
        "default-src 'none'",
        "script-src 'self';",
        "img-src 'self' blob:;",
        "require-trusted-types-for 'script'",
        "worker-src 'self';",
        "trusted-types worker",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert_eq!(policy.matches("blob:").count(), 1, "only pictures come from the page itself: {policy}");
    for forbidden in ["unsafe", "http:", "https:", "*", "data:"] {
        assert!(!policy.contains(forbidden), "{policy}");
    }
    assert_eq!(header(page.headers(), "cache-control"), "no-cache");
    let tag = header(page.headers(), "etag").to_owned();
    let html = page.text().await.unwrap();
    assert!(!html.contains("<style") && !html.contains("style=") && !html.contains("://"), "{html}");
    let deep = browser.get("/console/rooms/019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77?at=x", &[]).await;
    assert_eq!(deep.text().await.unwrap(), html);
    assert_eq!(browser.get("/console/", &[("if-none-match", &tag)]).await.status(), StatusCode::NOT_MODIFIED);
    let head = browser.send(Method::HEAD, "/console/", &[], None).await;
    assert_eq!((head.status(), header(head.headers(), "etag")), (StatusCode::OK, tag.as_str()));

    let script = html.split('"').find(|part| part.ends_with("/app.js")).unwrap();
    let plain = browser.get(script, &[]).await;
    assert_eq!(header(plain.headers(), "content-type"), "text/javascript; charset=utf-8");
    assert_eq!(header(plain.headers(), "cache-control"), "public, max-age=31536000, immutable");
    let small = browser.get(script, &[("accept-encoding", "br, gzip")]).await;
    assert_eq!(header(small.headers(), "content-encoding"), "gzip");
    assert_eq!(header(small.headers(), "vary"), "accept-encoding");
    let (plain, small) = (plain.bytes().await.unwrap().len(), small.bytes().await.unwrap().len());
    assert!(small * 2 < plain, "{small} of {plain}");
    // A page of another version still gets its script, but the browser does not keep it.
    let foreign = browser.get("/console/assets/0123456789abcdef/app.js", &[]).await;
    assert_eq!(header(foreign.headers(), "cache-control"), "no-store");
    // What is loaded later must fit into the page, so another version of it is refused.
    let later = browser.get(&script.replace("app.js", "later.js"), &[]).await;
    assert_eq!(header(later.headers(), "content-type"), "text/javascript; charset=utf-8");
    assert_eq!(header(later.headers(), "cache-control"), "public, max-age=31536000, immutable");
    let text = later.text().await.unwrap();
    assert!(text.contains("\"./app.js\"") && !html.contains("later.js"), "{text}");
    let foreign = browser.get("/console/assets/0123456789abcdef/later.js", &[]).await;
    assert_eq!(code(foreign).await, (404, "not_found".to_owned()));
    let missing = browser.get("/console/assets/0123456789abcdef/../index.html.map", &[]).await;
    assert_ne!(missing.headers().get("cache-control").unwrap(), "immutable");
    assert_eq!(code(browser.get("/console/assets/0123456789abcdef/x.js", &[]).await).await.0, 404);
    let post = browser.send(Method::POST, "/console/", &[], None).await;
    assert_eq!(code(post).await, (405, "method_not_allowed".to_owned()));

    let root = browser.get("/", &[("accept", "text/html,*/*;q=0.8")]).await;
    assert_eq!((root.status(), header(root.headers(), "location")), (StatusCode::SEE_OTHER, "/console/"));
    let program = browser.get("/", &[("accept", "*/*")]).await.json::<Value>().await.unwrap();
    assert_eq!(program["name"], "parlance");
}

#[tokio::test]
async fn nobody_is_an_operator_without_the_interface() {
    let off = [
        ("PARLANCE_OPERATOR_API", "false"),
        ("PARLANCE_MAX_TASKS", "0"),
        ("PARLANCE_MAX_FILE_BYTES", "0"),
        ("PARLANCE_WEBHOOKS", "false"),
        ("PARLANCE_A2A", "false"),
    ];
    let server = Server::start_with(&[&[CHEAP][..], &off].concat()).await;
    let browser = Browser::new(&server);
    let printed = server.printed();
    let token = printed.split_once("/console/welcome#").unwrap().1.split_whitespace().next().unwrap();
    let answer = browser.log_in(json!({"reset_token": token, "new_password": "correct horse"})).await;
    let open = answer.json::<Value>().await.unwrap();
    assert_eq!((&open["user"]["role"], &open["is_operator"]), (&json!("admin"), &json!(false)));
    for member in ["has_boards", "has_files", "has_webhooks", "has_a2a", "has_docs"] {
        assert_eq!(open[member], false, "{member}");
    }
}

#[tokio::test]
async fn the_console_can_be_turned_off() {
    let server = Server::start_with(&[CHEAP, ("PARLANCE_CONSOLE", "false")]).await;
    let browser = Browser::new(&server);
    assert!(!server.printed().contains("/console/"), "{}", server.printed());
    for path in ["/console/", "/console/session", "/console/assets/x/app.js"] {
        assert_eq!(browser.get(path, &[]).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let root = browser.get("/", &[("accept", "text/html")]).await;
    assert_eq!(root.status(), StatusCode::OK);
}
