//! Notifications: receivers of this test, and servers that send to them.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod smtp;

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::cast::Cast;
use e2e::receiver::{Received, Receiver};
use e2e::{Api, Fleet, Server, elapse, until};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use smtp::Smtp;

const LOCAL: (&str, &str) = ("PARLANCE_WEBHOOKS_ALLOW_PRIVATE", "127.0.0.1");
const FROM: (&str, &str) = ("PARLANCE_SMTP_FROM", "Parlance <parlance@example.org>");
const PUBLIC: &str = "http://chat.example.org";

async fn channel(user: &Api, body: Value) -> Value {
    let answer = user.post("/notifications/channels", body).await;
    assert_eq!(answer.status, 201, "{:?}", answer.body);
    answer.data()
}

/// A channel as it is shown.
async fn shown(user: &Api, channel: &Value) -> Value {
    user.get(&format!("/notifications/channels/{}", channel["id"].as_str().unwrap())).await.data()
}

/// Posts a question; its id.
async fn ask(agent: &Api, room: &str, content: &str) -> String {
    let event = json!({"event": {
        "content": content, "message_type": "attention", "metadata": {"kind": "question"},
    }});
    let answer = agent.post(&format!("/chats/{room}/events"), event).await;
    answer.data()["id"].as_str().unwrap().to_owned()
}

/// A text with which a published adapter asks whether a tool may run.
async fn request(agent: &Api, room: &str, owner: &str, token: &str) -> String {
    let text = format!(
        "Approval requested (Bash: `ls`). Token: `{token}`.\nReply `/approve {token}` or `/decline {token}`.\n\
         Use `/approvals` to list pending approvals."
    );
    agent.sent(room, &text, &[owner]).await
}

async fn log(user: &Api) -> Vec<Value> {
    user.get("/notifications").await.data().as_array().unwrap().clone()
}

fn is_signed(request: &Received, secret: &str) -> bool {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let (id, timestamp) = (&request.headers["webhook-id"], &request.headers["webhook-timestamp"]);
    let signed = format!("{id}.{timestamp}.{}", request.body);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), signed.as_bytes());
    request.headers["webhook-signature"] == format!("v1,{}", STANDARD.encode(tag))
}

/// The URL of a link on the server of the test, which is at another address than links say.
fn followed(server: &Server, link: &Value) -> String {
    link["url"].as_str().unwrap().replace(PUBLIC, &format!("http://{}", server.address()))
}

/// E-mail, ntfy, and a webhook, each with as much of the room as its user allows.
#[tokio::test]
async fn what_waits_is_told_on_every_channel() {
    let (smtp, web) = (Smtp::start("250 ok").await, Receiver::always(200, "").await);
    let server = Server::start_with(&[
        LOCAL,
        FROM,
        ("PARLANCE_SMTP_URL", &smtp.url()),
        ("PARLANCE_PUBLIC_URL", PUBLIC),
    ])
    .await;
    let cast = Cast::on(&server).await;
    let title = json!({"chat": {"title": "Room <b>&\""}});
    cast.u1.call(Method::PATCH, &format!("/chats/{}", cast.r1), Some(title)).await;
    let mail = channel(&cast.u1, json!({"kind": "email"})).await;
    assert_eq!(
        (&mail["url"], &mail["content"], &mail["links"]),
        (&Value::Null, &json!("none"), &json!(false))
    );
    let topic = format!("{}/my-topic", web.origin());
    let ntfy = json!({"kind": "ntfy", "url": topic, "token": "tk_1", "content": "title", "links": true});
    assert!(channel(&cast.u1, ntfy).await.get("token").is_none());
    let hook = json!({"kind": "webhook", "url": web.url(), "content": "excerpt"});
    let hook = channel(&cast.u1, hook).await;
    let secret = hook["secret"].as_str().unwrap();
    assert!(shown(&cast.u1, &hook).await.get("secret").is_none());

    let asked = ask(&cast.a1, &cast.r1, "Which key?\r\nBcc: x@evil.example\r\n\r\nsecret").await;
    let sent = smtp.wait(1).await.remove(0);
    assert_eq!(sent.to, "ann@example.org");
    assert_eq!(sent.header("Subject"), Some("A question waits for your answer"));
    assert_eq!(sent.header("From"), Some("Parlance <parlance@example.org>"));
    assert_eq!(sent.header("Auto-Submitted"), Some("auto-generated"));
    assert!(!sent.source.contains("secret") && !sent.source.contains("Room"), "{}", sent.source);
    assert!(sent.source.contains(&format!("{PUBLIC}/console/")), "{}", sent.source);

    let requests = web.wait(2).await;
    let to_ntfy = requests.iter().find(|request| request.path == "/").unwrap();
    assert_eq!(to_ntfy.headers["authorization"], "Bearer tk_1");
    let body = to_ntfy.json();
    assert_eq!(
        (&body["topic"], &body["title"]),
        (&json!("my-topic"), &json!("A question waits for your answer"))
    );
    assert!(body["message"].as_str().unwrap().contains("Room: Room <b>&\""), "{body}");
    assert!(!to_ntfy.body.contains("secret"), "{body}");
    let to_hook = requests.iter().find(|request| request.path == "/in").unwrap();
    assert!(is_signed(to_hook, secret), "{to_hook:?}");
    let item = &to_hook.json()["data"]["items"][0];
    assert_eq!(item["excerpt"], "Which key? Bcc: x@evil.example secret");
    assert_eq!((&item["message_id"], &item["kind"]), (&json!(asked), &json!("attention")));

    let mentioned = cast.a1.sent(&cast.r1, "hello", &[&cast.u1.id]).await;
    assert_eq!(smtp.wait(2).await[1].header("Subject"), Some("You were mentioned"));
    assert_eq!(smtp.connections(), 1, "the connection is kept");
    cast.u1.sent(&cast.r1, "own text", &[&cast.a1.id]).await;
    cast.a1.sent(&cast.r1, "to another agent", &[&cast.a2.id]).await;
    let rows = log(&cast.u1).await;
    assert_eq!(rows.len(), 6, "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row["message_id"] == json!(mentioned)).count(), 3);
    until("all are delivered", async || log(&cast.u1).await.iter().all(|row| row["status"] == "delivered"))
        .await;
    assert_eq!(log(&cast.u2).await, [Value::Null; 0]);
    assert_eq!((smtp.mails().len(), web.received().len()), (2, 4));
}

/// Hostile names and texts are in the text of an e-mail only, and never a header.
#[tokio::test]
async fn an_email_has_no_header_from_a_room() {
    let smtp = Smtp::start("250 ok").await;
    let server = Server::start_with(&[FROM, ("PARLANCE_SMTP_URL", &smtp.url())]).await;
    let cast = Cast::on(&server).await;
    channel(&cast.u1, json!({"kind": "email", "content": "excerpt"})).await;
    ask(&cast.a1, &cast.r1, "a\r\nBcc: x@evil.example\r\n.\r\nMAIL FROM:<x>\r\n\u{2028}Subject: b").await;
    let mail = smtp.wait(1).await.remove(0);
    for line in mail.head() {
        assert!(!line.contains("evil") && !line.starts_with("Bcc"), "{}", mail.source);
    }
    let subjects = mail.head().iter().filter(|line| line.starts_with("Subject:")).count();
    assert_eq!((subjects, smtp.mails().len()), (1, 1), "{}", mail.source);
}

/// A button decides once. A program that only looks at the URL changes nothing.
#[tokio::test]
async fn a_button_decides_once() {
    let web = Receiver::always(200, "").await;
    let server = Server::start_with(&[LOCAL, ("PARLANCE_PUBLIC_URL", PUBLIC)]).await;
    let cast = Cast::on(&server).await;
    let topic = format!("{}/my-topic", web.origin());
    channel(&cast.u1, json!({"kind": "ntfy", "url": topic, "content": "excerpt", "links": true})).await;
    let item = request(&cast.a1, &cast.r1, &cast.u1.id, "a-1").await;
    let body = web.wait(1).await[0].json();
    let actions = body["actions"].as_array().unwrap();
    let labels = actions.iter().map(|action| action["label"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(labels, ["Approve", "Decline"], "{body}");
    assert!(actions.iter().all(|action| action["method"] == "POST"), "{body}");
    let [approve, decline] = [0, 1].map(|index: usize| followed(&server, &actions[index]));
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let state = async || cast.u1.get(&format!("/attention/{item}")).await.data()["state"].clone();
    for method in [Method::GET, Method::HEAD, Method::GET] {
        let page = client.request(method.clone(), &approve).send().await.unwrap();
        if method == Method::GET {
            assert_eq!(page.status(), 200);
            let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
            assert!(
                policy.contains("default-src 'none'") && policy.contains("form-action 'self'"),
                "{policy}"
            );
            assert!(page.text().await.unwrap().contains("<button type=\"submit\">Approve</button>"));
        }
        assert_eq!(state().await, "open");
    }
    let forged = [
        format!("{approve}0"),
        approve.replace("thnv_n_", "thnv_u_"),
        approve.split('?').next().unwrap().to_owned(),
    ];
    for url in forged {
        assert_eq!(client.post(&url).send().await.unwrap().status(), 404, "{url}");
    }
    let both = [client.post(&approve).send(), client.post(&approve).send()];
    let both = futures_util::future::join_all(both).await;
    let mut statuses = both.into_iter().map(|answer| answer.unwrap().status()).collect::<Vec<_>>();
    statuses.sort();
    assert_eq!(statuses[0], StatusCode::OK);
    assert!([StatusCode::GONE, StatusCode::CONFLICT].contains(&statuses[1]), "{statuses:?}");
    assert_eq!(state().await, "answered");
    let replies = cast.u1.history(&cast.r1).await;
    let replies = replies.iter().filter(|row| row["content"].as_str().unwrap().contains("/approve a-1"));
    assert_eq!(replies.filter(|row| row["sender_id"] == json!(cast.u1.id)).count(), 1);
    assert_eq!(client.post(&approve).send().await.unwrap().status(), 410);
    assert_eq!(client.get(&approve).send().await.unwrap().status(), 410);
    assert_eq!(client.post(&decline).send().await.unwrap().status(), 409, "it was decided");
    let hostile = format!("{}&next=https://evil.example", followed(&server, &actions[1]));
    let answer = client.post(&hostile).send().await.unwrap();
    assert!(!answer.status().is_redirection() && answer.headers().get("location").is_none());
}

/// An address that no server takes is switched off, and its user sees why.
#[tokio::test]
async fn a_bouncing_address_is_switched_off() {
    let smtp = Smtp::start("550 5.1.1 no such user").await;
    let server = Server::start_with(&[FROM, ("PARLANCE_SMTP_URL", &smtp.url())]).await;
    let cast = Cast::on(&server).await;
    let mail = channel(&cast.u1, json!({"kind": "email"})).await;
    let path = format!("/notifications/channels/{}", mail["id"].as_str().unwrap());
    assert_eq!(cast.u1.post_nothing(&format!("{path}/test")).await.status, 201);
    until("it is off", async || shown(&cast.u1, &mail).await["status"] == "off").await;
    let off = shown(&cast.u1, &mail).await;
    assert_eq!(off["off_reason"], "refused");
    assert!(off["off_note"].as_str().unwrap().contains("no such user"), "{off}");
    let row = log(&cast.u1).await.remove(0);
    assert_eq!((&row["status"], &row["last_status"]), (&json!("dropped"), &json!(550)));
    let refused = cast.u1.post_nothing(&format!("{path}/test")).await;
    assert_eq!((refused.status, refused.code()), (409, "conflict"));
    smtp.answer("250 ok");
    let on = cast.u1.call(Method::PATCH, &path, Some(json!({"enabled": true}))).await;
    assert_eq!(on.data()["status"], "active");
    assert_eq!(cast.u1.post_nothing(&format!("{path}/test")).await.status, 201);
    assert_eq!(smtp.wait(1).await[0].header("Subject"), Some("This is a test"));
    let entries = cast.u1.get("/organization/audit?action=notification.channel_disabled").await.data();
    assert_eq!(entries[0]["detail"], "email refused", "{entries}");
}

/// What was written before a server was killed is told once by the next one.
#[tokio::test]
async fn what_was_written_before_a_kill_is_told_once() {
    let smtp = Smtp::start("451 try again").await;
    let mut server = Server::start_alone(&[FROM, ("PARLANCE_SMTP_URL", &smtp.url())]).await;
    let cast = Cast::on(&server).await;
    let mail = channel(&cast.u1, json!({"kind": "email"})).await;
    ask(&cast.a1, &cast.r1, "One?").await;
    until("it fails", async || shown(&cast.u1, &mail).await["status"] == "failing").await;
    smtp.answer("250 ok");
    // The second one may not have been looked at.
    ask(&cast.a1, &cast.r1, "Two?").await;
    server.crash().await;
    smtp.wait(2).await;
    elapse(Duration::from_secs(2)).await;
    assert_eq!(smtp.mails().len(), 2);
    until("all are delivered", async || log(&cast.u1).await.iter().all(|row| row["status"] == "delivered"))
        .await;
}

/// Two servers on one store tell everything once.
#[tokio::test]
async fn several_servers_tell_everything_once() {
    let smtp = Smtp::start("250 ok").await;
    let fleet = Fleet::start(2, &[FROM, ("PARLANCE_SMTP_URL", &smtp.url())]).await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    channel(&cast.u1, json!({"kind": "email"})).await;
    for number in 0..10 {
        let by = if number % 2 == 0 { cast.a1.on(here) } else { cast.a1.on(there) };
        ask(&by, &cast.r1, "Which?").await;
    }
    smtp.wait(10).await;
    elapse(Duration::from_secs(3)).await;
    assert_eq!(smtp.mails().len(), 10);
    let mut ids =
        smtp.mails().iter().map(|mail| mail.header("Message-ID").unwrap().to_owned()).collect::<Vec<_>>();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 10);
}

/// What cannot be reached is refused when it is entered.
#[tokio::test]
async fn wrong_channels_are_named() {
    let server = Server::start_with(&[]).await;
    let ann = server.user("ann");
    for (body, status, place) in [
        (json!({"kind": "email"}), 409, ""),
        (json!({"kind": "pigeon"}), 422, "/kind"),
        (json!({"kind": "ntfy"}), 422, "/url"),
        (json!({"kind": "ntfy", "url": "https://ntfy.example/"}), 422, "/url"),
        (json!({"kind": "ntfy", "url": "http://127.0.0.1/topic"}), 422, "/url"),
        (json!({"kind": "webhook", "url": "https://169.254.169.254/"}), 422, "/url"),
        (json!({"kind": "webhook", "url": "https://a.example/", "token": "x"}), 422, "/token"),
        (json!({"kind": "ntfy", "url": "https://a.example/t", "token": "a\r\nb"}), 422, "/token"),
        (json!({"kind": "webhook", "url": "https://a.example/", "content": "all"}), 422, "/content"),
        (
            json!({"kind": "webhook", "url": "https://a.example/", "quiet_hours": "night"}),
            422,
            "/quiet_hours",
        ),
        (
            json!({"kind": "webhook", "url": "https://a.example/", "digest_minutes": 1441}),
            422,
            "/digest_minutes",
        ),
        (json!({"kind": "web_push", "url": "https://a.example/"}), 422, "/p256dh"),
        (
            json!({"kind": "web_push", "url": "https://a.example/", "p256dh": "B", "auth": "c"}),
            422,
            "/p256dh",
        ),
    ] {
        let answer = ann.post("/notifications/channels", body.clone()).await;
        assert_eq!(answer.status, status, "{body}: {:?}", answer.body);
        if !place.is_empty() {
            assert!(answer.body["error"]["details"].get(place).is_some(), "{body}: {:?}", answer.body);
        }
    }
    assert_eq!(ann.get("/notifications/channels").await.data(), json!([]));
}
