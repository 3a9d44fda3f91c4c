//! The audit log of the running program, its chain, and the log lines about failed authentication.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::io::Write;
use std::process::{Command, Stdio};

use e2e::{Api, Server, Socket, soon, until};
use serde_json::{Value, json};

/// Hashes that take no time worth speaking of.
const CHEAP: (&str, &str) = ("PARLANCE_PASSWORD_MEMORY_KIB", "1024");

const OPERATIONS: &str = include_str!("../../docs/operations.md");

/// Returns whether a command succeeded, and its output.
fn run(server: &Server, arguments: &[&str]) -> (bool, String) {
    let output = server.command().args(arguments).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

/// The entries of the audit log with this action, newest first.
fn entries(server: &Server, action: &str) -> Vec<Value> {
    let (ok, text) = run(server, &["audit", "--limit", "1000", "--json"]);
    assert!(ok, "{text}");
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|entry| entry["action"] == action).collect()
}

async fn set_password(server: &Server, handle: &str, password: &str) {
    let (ok, text) = run(server, &["user", "reset-password", handle, "--json"]);
    assert!(ok, "{text}");
    let reported: Value = serde_json::from_str(&text).unwrap();
    let body = json!({"reset_token": reported["reset_token"], "new_password": password});
    assert_eq!(public(server).post("/reset", body).await.status, 200);
}

fn public(server: &Server) -> Api {
    Api::new(server, "auth", "", "")
}

/// The lines on failed authentication so far.
fn failure_lines(server: &Server) -> Vec<String> {
    let log = server.logged();
    log.lines().filter(|line| line.contains("failed authentication")).map(str::to_owned).collect()
}

/// The number of lines that the filter for fail2ban in the documentation matches.
fn matched_by_the_filter(lines: &[String]) -> usize {
    let regex = OPERATIONS.lines().find_map(|line| line.strip_prefix("failregex = ")).unwrap();
    assert_eq!(regex.matches("<ADDR>").count(), 1);
    let regex = regex.replace("<ADDR>", "(?:\\d{1,3}(?:\\.\\d{1,3}){3}|[0-9a-fA-F:]+)");
    let mut grep = Command::new("grep");
    let mut grep = grep.args(["-cP", &regex]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(grep.stdin.take().unwrap(), "{}", lines.join("\n")).unwrap();
    let count = grep.wait_with_output().unwrap().stdout;
    String::from_utf8(count).unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn log_ins_edits_and_exports_are_audited_and_the_chain_holds() {
    let mut server = Server::start_alone(&[CHEAP]).await;
    let ann = server.user("ann");
    set_password(&server, "ann", "correct horse").await;
    let log_in = async |login: &str, password: &str| {
        public(&server).post("/login", json!({"login": login, "password": password})).await
    };
    let open = log_in("ann", "correct horse").await.data();
    for (login, password) in
        [("ann", "wrong horse"), ("ann", "wrong horse"), ("nobody-at-all", "wrong horse")]
    {
        assert_eq!(log_in(login, password).await.status, 401);
    }
    let refresh = json!({"refresh_token": open["refresh_token"]});
    assert_eq!(public(&server).post("/refresh", refresh.clone()).await.status, 200);
    assert_eq!(public(&server).post("/refresh", refresh).await.status, 401);
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    ann.add(&chat, &bot.id).await;
    let text = ann.sent(&chat, "hello", &[&bot.id]).await;
    let (path, edit) = (format!("/chats/{chat}/messages/{text}"), json!({"message": {"content": "bye"}}));
    assert_eq!(ann.call(reqwest::Method::PATCH, &path, Some(edit)).await.status, 200);
    let renamed = json!({"chat": {"title": "Plans"}});
    assert_eq!(ann.call(reqwest::Method::PATCH, &format!("/chats/{chat}"), Some(renamed)).await.status, 200);
    let shared = json!({"agent": {"bio": "Reads", "shared_with_organization": true}});
    let of_bot = format!("/agents/{}", bot.id);
    assert_eq!(ann.call(reqwest::Method::PATCH, &of_bot, Some(shared)).await.status, 200);
    let (ok, _) = run(&server, &["token", "issue", "--user", "ann"]);
    assert!(ok);
    let (ok, _) = run(&server, &["export"]);
    assert!(ok);
    // What was counted and not written yet is written at the end.
    server.terminate().await;

    let succeeded = entries(&server, "login.succeeded");
    assert_eq!((succeeded.len(), &succeeded[0]["actor"]["name"]), (2, &json!("ann")), "{succeeded:?}");
    assert_eq!(succeeded[0]["detail"], "address=127.0.0.1");
    let failed = entries(&server, "login.failed");
    let counted = |subject: &str| {
        let details = failed.iter().filter(|entry| entry["subject"]["type"] == subject);
        let counts = details.map(|entry| {
            assert_eq!(entry["actor"], Value::Null);
            let detail = entry["detail"].as_str().unwrap();
            detail.strip_prefix("address=127.0.0.1 count=").unwrap().parse::<u64>().unwrap()
        });
        counts.sum::<u64>()
    };
    assert_eq!((counted("User"), counted("Installation")), (2, 1), "{failed:?}");
    assert!(!format!("{failed:?}").contains("nobody-at-all"));
    for action in [
        "session.token_reused",
        "message.edited",
        "store.exported",
        "password.set",
        "chat.renamed",
        "token.issued",
        "agent.updated",
    ] {
        assert_eq!(entries(&server, action).len(), 1, "{action}");
    }
    assert_eq!(entries(&server, "agent.updated")[0]["detail"], "bio shared=true");

    let (ok, text) = run(&server, &["audit", "verify", "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert!(ok && report["checked"].as_u64().unwrap() > 10, "{report}");
    assert_eq!(
        (&report["ok"], &report["unsealed"], &report["faults"]),
        (&json!(true), &json!(0), &json!([]))
    );
    let anchor = report["anchor"].as_str().unwrap();
    let (ok, text) = run(&server, &["audit", "verify", "--anchor", anchor]);
    assert!(ok && text.contains(anchor), "{text}");
    let other = anchor.replace(':', ":f").split_at(anchor.len()).0.to_owned();
    let (ok, text) = run(&server, &["audit", "verify", "--anchor", &other, "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert!(!ok && report["faults"][0]["kind"] == "anchor", "{report}");
}

/// Each address has a line at once and the rest with the next, with a count; fail2ban can read them.
#[tokio::test]
async fn failed_authentication_leaves_a_line_for_fail2ban() {
    let mut server = Server::start_alone(&[CHEAP, ("PARLANCE_TRUSTED_PROXIES", "127.0.0.1")]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let other = ann.register(&server, "Other").await;
    let client = reqwest::Client::new();
    let ask = async |address: &str, name: &str, value: &str| {
        let request = client.get(format!("http://{}/api/v1/me/profile", server.address()));
        let answer = request.header("x-forwarded-for", address).header(name, value).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap()["error"]["message"].clone())
    };
    let mut messages = Vec::new();
    for (name, value) in [
        ("x-nothing", "x"),
        ("x-api-key", "thnv_u_1790000000_unknown"),
        ("authorization", "Bearer thnv_u_1790000000_unknown"),
        ("x-api-key", "aaaa.bbbb.cccc"),
        ("authorization", "Bearer aaaa.bbbb.cccc"),
    ] {
        let (status, message) = ask("192.0.2.7", name, value).await;
        assert_eq!(status, 401);
        assert!(!messages.contains(&message), "{name} {value}: {message}");
        messages.push(message);
    }
    assert_eq!(ask("2001:db8::1", "x-api-key", "thnv_u_1790000000_unknown").await.0, 401);
    until("the failures are not logged", async || failure_lines(&server).len() >= 2).await;
    for _ in 0..5 {
        ask("192.0.2.7", "x-api-key", "thnv_u_1790000000_unknown").await;
    }

    // A valid key of another agent is no guess by an attacker, but an operator wants to know.
    let query = format!("vsn=2.0.0&agent_id={}", other.id);
    let key = [("x-api-key", bot.key.as_str())];
    assert_eq!(Socket::connect(&server, &query, &key).await.err(), Some(403));
    let refused =
        async || server.logged().lines().any(|line| line.contains("INFO") && line.contains(&other.id));
    assert!(soon(refused).await, "{}", server.log());

    server.terminate().await;
    let lines = failure_lines(&server);
    let of = |address: &str| {
        lines.iter().filter(|line| line.contains(&format!("={address} "))).collect::<Vec<_>>()
    };
    assert_eq!((of("192.0.2.7").len(), of("2001:db8::1").len()), (2, 1), "{lines:?}");
    let counts =
        of("192.0.2.7").into_iter().map(|line| line.rsplit_once("count=").unwrap().1.parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), 9, "a request without a credential is no failure: {lines:?}");
    assert!(lines.iter().all(|line| line.contains(" WARN ")), "{lines:?}");
    assert_eq!(matched_by_the_filter(&lines), lines.len(), "{lines:?}");
    assert_eq!(matched_by_the_filter(&["INFO x: listening address=192.0.2.7".to_owned()]), 0);
}

/// A caller with a valid key on an address that is limited gets the reason.
#[tokio::test]
async fn who_is_slowed_with_others_is_told_why() {
    let mut server = Server::start_alone(&[CHEAP, ("PARLANCE_RATE_LIMIT_FAILURES", "1/3")]).await;
    let ann = server.user("ann");
    let others = (0..20).map(|number| server.user(&format!("user{number}"))).collect::<Vec<_>>();
    for guess in 0..20 {
        ann.with_key(&format!("thnv_u_1790000000_guess{guess}")).get("/profile").await;
    }
    // One key is checked each second, and a key that was valid is not checked again for a while, so each request has
    // another one.
    let mut asking = others.iter();
    let answer = loop {
        let answer = asking.next().expect("somebody is slowed").get("/profile").await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!((answer.status, answer.code()), (429, "rate_limited"));
    let message = answer.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("failed authentications") && message.contains("not checked"), "{message}");
    for _ in 0..8 {
        public(&server).post("/login", json!({"login": "ann", "password": "wrong horse"})).await;
    }
    // Most of it was refused without a look, and is in the count.
    server.terminate().await;
    let lines = failure_lines(&server);
    let counts = lines.iter().map(|line| line.rsplit_once("count=").unwrap().1.parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), 20 + 1 + 8, "{lines:?}");
    assert!(lines.len() <= 2, "{lines:?}");
}
