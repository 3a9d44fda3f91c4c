//! `parlance webhook`, beside a running server.

use e2e::{Server, until};
use serde_json::{Value, json};

use crate::receiver::{Delivery, Receiver};
use crate::scene::{LOCAL, Scene};

/// Runs the command; its output as JSON, or as text with what is in it.
fn run(server: &Server, arguments: &[&str]) -> String {
    let output = server.command().arg("webhook").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn as_json(server: &Server, arguments: &[&str]) -> Value {
    serde_json::from_str(&run(server, &[arguments, &["--json"]].concat())).unwrap()
}

#[tokio::test]
async fn an_operator_manages_webhooks() {
    let server = Server::start_alone(&[LOCAL]).await;
    let scene = Scene::on(&server).await;
    let receiver = Receiver::always(410, "").await;
    let set = as_json(&server, &["set", "ann/bot", &receiver.url()]);
    let secret = set["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_"), "{set}");
    let message = scene.send().await;
    let request = receiver.wait(1).await.remove(0);
    assert!(request.is_signed_with(&secret), "a running server hears of it");
    until("it is not disabled", async || as_json(&server, &["show", "ann/bot"])["disabled_reason"] == "gone")
        .await;
    let shown = run(&server, &["show", "ann/bot"]);
    assert!(shown.contains("disabled (gone)") && !shown.contains("whsec_"), "{shown}");
    assert_eq!(as_json(&server, &["deliveries", "ann/bot"])["deliveries"][0]["next_attempt_at"], Value::Null);

    let there = Receiver::always(200, "").await;
    let moved = as_json(&server, &["set", "ann/bot", &there.url()]);
    assert_eq!((moved.get("secret"), &moved["disabled_at"]), (None, &Value::Null));
    scene.becomes(&message, "delivered").await;
    let listed = run(&server, &["deliveries", "ann/bot"]);
    let heading = ["ID", "STATUS", "ATTEMPTS", "LAST ATTEMPT", "RESPONSE"];
    assert!(heading.iter().all(|name| listed.contains(name)), "{listed}");
    let delivery = &as_json(&server, &["deliveries", "ann/bot", "--limit", "1"])["deliveries"][0];
    assert_eq!(
        (&delivery["message_id"], &delivery["status"], &delivery["attempts"], &delivery["last_status"]),
        (&json!(message), &json!("delivered"), &json!(2), &json!(200))
    );

    let rotated = as_json(&server, &["rotate", "ann/bot"]);
    let fresh = rotated["secret"].as_str().unwrap();
    assert!(fresh != secret && rotated["previous_secret_valid_until"].is_string(), "{rotated}");
    run(&server, &["enable", "ann/bot"]);
    run(&server, &["resend", "ann/bot", delivery["id"].as_str().unwrap()]);
    let again = there.wait(2).await.remove(1);
    assert_eq!((again.message(), again.id()), (message, delivery["id"].as_str().unwrap()));
    assert!(again.is_signed_with(&secret) && again.is_signed_with(fresh));
    let removed = run(&server, &["remove", "ann/bot"]);
    assert_eq!(removed.trim(), "Removed the webhook of 'ann/bot'.");
    assert_eq!(scene.ann.get(&scene.path("")).await.status, 404);
}

#[tokio::test]
async fn an_operator_manages_the_webhook_of_an_organization() {
    let server = Server::start_alone(&[LOCAL]).await;
    let ann = server.user("ann");
    let receiver = Receiver::always(200, "").await;
    let of_ann = |command: &'static str| [command, "ann", "--organization"];
    let events = ["--event", "agent.*", "--event", "key.created"];
    let url = receiver.url();
    let set = as_json(&server, &[&["set", "ann", url.as_str(), "--organization"][..], &events].concat());
    assert_eq!(set["events"], json!(["agent.*", "key.created"]));
    let secret = set["secret"].as_str().unwrap().to_owned();
    let bot = ann.register(&server, "Bot").await;
    let request = receiver.wait(1).await.remove(0);
    assert!(request.is_signed_with(&secret), "a running server hears of it");
    assert_eq!(request.json()["data"]["subject"]["id"], json!(bot.id));
    let mut listed = Value::Null;
    until("it is not delivered", async || {
        listed = as_json(&server, &of_ann("deliveries"));
        listed["deliveries"][0]["status"] == "delivered"
    })
    .await;
    let delivery = &listed["deliveries"][0];
    assert_eq!((&delivery["event"], &delivery["id"]), (&json!("agent.registered"), &json!(request.id())));
    run(&server, &["resend", "ann", request.id(), "--organization"]);
    assert_eq!(receiver.wait(2).await[1].id(), request.id());
    let rotated = as_json(&server, &of_ann("rotate"));
    assert!(rotated["secret"].is_string() && rotated["secret"] != set["secret"], "{rotated}");
    run(&server, &of_ann("enable"));
    let shown = run(&server, &of_ann("show"));
    assert!(shown.contains("organization ann, active") && !shown.contains("whsec_"), "{shown}");
    assert!(shown.contains("events agent.*, key.created"), "{shown}");
    assert_eq!(run(&server, &of_ann("remove")).trim(), "Removed the webhook of 'ann'.");
    assert_eq!(ann.get("/organization/webhook").await.status, 404);
}
