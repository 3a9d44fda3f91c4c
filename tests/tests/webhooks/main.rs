//! Webhooks: a receiver of this test, and servers that send to it.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod cli;
mod kills;
mod load;
mod organizations;
mod receiver;
mod scene;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::{Server, Socket, elapse, until};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use receiver::{Delivery, Received, Receiver};
use scene::{LOCAL, Scene};

/// The request is signed, and brings what a socket would have brought.
#[tokio::test]
async fn a_message_wakes_an_agent_without_a_socket() {
    let server = Server::start_with(&[LOCAL]).await;
    let scene = Scene::on(&server).await;
    let receiver = Receiver::always(200, "").await;
    let secret = scene.hook(&receiver.url()).await;
    assert!(STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap().len() >= 24);
    let shown = scene.ann.get(&scene.path("")).await.data();
    assert_eq!((&shown["url"], &shown["status"]), (&json!(receiver.url()), &json!("active")));
    assert!(shown.get("secret").is_none(), "{shown}");
    let again = scene.ann.call(Method::PUT, &scene.path(""), Some(json!({ "url": receiver.url() }))).await;
    assert_eq!((again.status, again.body["data"].get("secret")), (200, None));

    // The other agent has a socket.
    let other = scene.ann.register(&server, "Other").await;
    assert_eq!(scene.ann.add(&scene.chat, &other.id).await.status, 201);
    let mut socket = Socket::of(&server, &other).await;
    let topic = format!("chat_room:{}", scene.chat);
    socket.join("r", &topic).await;
    let message = scene.ann.sent(&scene.chat, "hello", &[&scene.bot.id, &other.id]).await;
    let mut pushed = socket.event("r", &topic, "message_created").await;
    let request = receiver.wait(1).await.remove(0);
    assert!(request.is_signed_with(&secret), "{request:?}");
    assert_eq!(
        (request.path.as_str(), request.headers["content-type"].as_str()),
        ("/in", "application/json")
    );
    let mut body = request.json();
    assert_eq!(body["event_type"], "message_created");
    assert_eq!((&body["agent_id"], &body["room_id"]), (&json!(scene.bot.id), &json!(scene.chat)));
    assert_eq!(body["payload"]["id"], json!(message));
    assert_eq!(body["raw"], body["payload"]);
    assert!(body["forwarded_at"].as_str().unwrap().ends_with('Z'));
    // Each agent sees its own record.
    let records = [&mut body["payload"]["metadata"], &mut pushed["metadata"]].map(Value::take);
    assert_eq!(body["payload"], pushed);
    let names = records.each_ref().map(|record| record.as_object().unwrap().keys().collect::<Vec<_>>());
    assert_eq!(names[0], names[1]);

    let delivery = scene.becomes(&message, "delivered").await;
    assert_eq!((&delivery["attempts"], &delivery["last_status"]), (&json!(1), &json!(200)));
    assert_eq!(delivery["id"], request.id());
    assert_eq!(
        scene.bot.next(&scene.chat).await,
        Some(message.clone()),
        "it is delivered, and not processed"
    );
    let listed = scene.bot.get(&format!("/chats/{}/messages?status=all", scene.chat)).await.data();
    assert_eq!(listed[0]["metadata"]["delivery_status"][&scene.bot.id]["status"], "delivered", "{listed}");
    assert_eq!(receiver.received().len(), 1);
}

/// What was sent before there was a webhook is delivered as well, in the order of the room, with failures in between.
#[tokio::test]
async fn failures_are_repeated_and_the_room_keeps_its_order() {
    let server = Server::start_with(&[LOCAL]).await;
    let scene = Scene::on(&server).await;
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(scene.send().await);
    }
    let failures = Arc::new(Semaphore::new(1));
    let receiver = Receiver::start(move |_| {
        let fails = failures.clone().try_acquire_owned().map(OwnedSemaphorePermit::forget).is_ok();
        Box::pin(async move { if fails { (503, "retry-after: 6\r\n") } else { (204, "") } })
    })
    .await;
    scene.hook(&receiver.url()).await;
    receiver.wait(1).await;
    let waiting = scene.becomes(&sent[0], "waiting").await;
    assert_eq!((&waiting["last_status"], &waiting["attempts"]), (&json!(503), &json!(1)));
    assert!(waiting["next_attempt_at"].is_string(), "{waiting}");
    assert_eq!(scene.deliveries().await.len(), 1, "the others wait for the first one");
    sent.push(scene.send().await);
    let requests = receiver.wait(5).await;
    let order = requests.iter().map(Received::message).collect::<Vec<_>>();
    assert_eq!(order[..2], [sent[0].clone(), sent[0].clone()]);
    assert_eq!(order[1..], sent);
    assert_eq!(requests[0].id(), requests[1].id(), "the id of a delivery stays");
    let times = [0, 1].map(|index| requests[index].headers["webhook-timestamp"].parse::<u64>().unwrap());
    assert!(times[1] - times[0] >= 5, "{times:?}");
    scene.becomes(&sent[3], "delivered").await;
    let ids = requests[1..].iter().map(|request| request.id().to_owned());
    assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 4, "each delivery has its own");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = Server::start_with(&[LOCAL]).await;
    let scene = Scene::on(&server).await;
    let receiver = Receiver::always(307, "location: /elsewhere\r\n").await;
    scene.hook(&receiver.url()).await;
    let message = scene.send().await;
    let waiting = scene.becomes(&message, "waiting").await;
    assert_eq!(waiting["last_status"], 307);
    assert!(receiver.received().iter().all(|request| request.path == "/in"));
}

/// Neither when the owner enters one, nor when one is stored already.
#[tokio::test]
async fn private_addresses_need_a_setting() {
    let mut server = Server::start_alone(&[LOCAL]).await;
    let scene = Scene::on(&server).await;
    let receiver = Receiver::always(200, "").await;
    scene.hook(&receiver.url()).await;
    let metadata = json!({ "url": "http://169.254.169.254/latest" });
    assert_eq!(scene.ann.call(Method::PUT, &scene.path(""), Some(metadata)).await.status, 422);
    server.set("PARLANCE_WEBHOOKS_ALLOW_PRIVATE", "");
    server.crash().await;
    let message = scene.send().await;
    let waiting = scene.becomes(&message, "waiting").await;
    assert!(waiting["last_error"].as_str().unwrap().contains("must begin with https://"), "{waiting}");
    assert_eq!(receiver.received().len(), 0);
    for url in [
        "https://127.0.0.1/",
        "https://[::ffff:10.0.0.1]/",
        "https://0x7f.1/",
        "https://localhost/",
        "http://a.example/",
    ] {
        let answer = scene.ann.call(Method::PUT, &scene.path(""), Some(json!({ "url": url }))).await;
        assert_eq!((answer.status, answer.code()), (422, "validation_error"), "{url}");
        assert!(answer.body["error"]["details"]["/url"].is_array(), "{answer:?}");
    }
    server.set("PARLANCE_WEBHOOKS", "false");
    server.crash().await;
    let off =
        scene.ann.call(Method::PUT, &scene.path(""), Some(json!({ "url": "https://a.example/" }))).await;
    assert_eq!(off.status, 404);
}

#[tokio::test]
async fn requests_are_signed_with_both_secrets_after_a_rotation() {
    let server = Server::start_with(&[LOCAL]).await;
    let scene = Scene::on(&server).await;
    let receiver = Receiver::always(200, "").await;
    let old = scene.hook(&receiver.url()).await;
    let rotated = scene.ann.post_nothing(&scene.path("/rotate-secret")).await.data();
    let new = rotated["secret"].as_str().unwrap();
    assert!(new != old && rotated["previous_secret_valid_until"].is_string(), "{rotated}");
    scene.send().await;
    let request = receiver.wait(1).await.remove(0);
    assert_eq!(request.headers["webhook-signature"].split(' ').count(), 2);
    assert!(request.is_signed_with(&old) && request.is_signed_with(new));
    assert!(!request.is_signed_with("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
}

/// Until its owner enables it. What waits is then sent, and what was sent may be sent again.
#[tokio::test]
async fn a_receiver_that_is_gone_is_left_alone() {
    let server = Server::start_with(&[LOCAL]).await;
    let scene = Scene::on(&server).await;
    let (gone, there) = (Receiver::always(410, "").await, Receiver::always(200, "").await);
    scene.hook(&gone.url()).await;
    let message = scene.send().await;
    let mut shown = Value::Null;
    until("it is not disabled", async || {
        shown = scene.ann.get(&scene.path("")).await.data();
        shown["status"] == "disabled"
    })
    .await;
    assert_eq!((&shown["disabled_reason"], shown["disabled_at"].is_string()), (&json!("gone"), true));
    let waiting = scene.becomes(&message, "waiting").await;
    assert_eq!((&waiting["last_status"], &waiting["next_attempt_at"]), (&json!(410), &Value::Null));
    let second = scene.send().await;
    assert_eq!(scene.ann.post_nothing(&scene.path("/enable")).await.data()["status"], "active");
    until("it is not disabled again", async || {
        scene.ann.get(&scene.path("")).await.data()["status"] == "disabled"
    })
    .await;
    assert_eq!(gone.received().len(), 2, "one request after it was enabled");
    let other = scene.ann.call(Method::PUT, &scene.path(""), Some(json!({ "url": there.url() }))).await;
    assert_eq!((other.status, &other.body["data"]["status"]), (200, &json!("active")));
    scene.becomes(&message, "delivered").await;
    let delivery = scene.becomes(&second, "delivered").await;
    let resend = scene.path(&format!("/deliveries/{}/resend", delivery["id"].as_str().unwrap()));
    let again = scene.ann.post_nothing(&resend).await;
    assert_eq!(again.status, 200, "{again:?}");
    let requests = there.wait(3).await;
    assert_eq!((requests[2].message(), requests[2].id()), (second.clone(), requests[1].id()));
    assert_eq!(scene.becomes(&second, "delivered").await["attempts"], 2, "requests are counted on");
    for step in ["processing", "processed"] {
        assert!(scene.bot.step(&scene.chat, &second, step).await.status < 300);
    }
    assert_eq!(scene.ann.post_nothing(&resend).await.status, 409);
    assert_eq!(scene.ann.delete(&scene.path("")).await.status, 204);
    assert_eq!(scene.ann.get(&scene.path("")).await.status, 404);
    let third = scene.send().await;
    elapse(Duration::from_secs(2)).await;
    assert!(there.received().iter().all(|request| request.message() != third));
}

/// A paused agent is not woken; it gets what waits when it is resumed.
#[tokio::test]
async fn a_paused_agent_is_not_woken() {
    let server = Server::start_with(&[LOCAL]).await;
    let scene = Scene::on(&server).await;
    let receiver = Receiver::always(200, "").await;
    scene.hook(&receiver.url()).await;
    let pause = format!("/agents/{}/pause", scene.bot.id);
    assert_eq!(scene.ann.post(&pause, json!({"reason": "wrong answers"})).await.status, 200);
    let message = scene.send().await;
    elapse(Duration::from_secs(2)).await;
    assert_eq!(receiver.received().len(), 0);
    assert_eq!(scene.ann.post_nothing(&format!("/agents/{}/resume", scene.bot.id)).await.status, 200);
    scene.becomes(&message, "delivered").await;
}
