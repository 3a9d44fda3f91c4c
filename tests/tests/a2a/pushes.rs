//! Push notifications: what receivers get, and who can configure them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use e2e::receiver::Receiver;
use e2e::secrets::keep;
use e2e::{Server, pace, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{BINDINGS, Binding, Client, list, listed, new_in, next, text};
use crate::refused::key;
use crate::tasks::{answer, begin};

/// Receivers are on this machine.
pub(crate) const LOCAL: (&str, &str) = ("PARLANCE_WEBHOOKS_ALLOW_PRIVATE", "127.0.0.1");

const CREATE: &str = "CreateTaskPushNotificationConfig";
const GET: &str = "GetTaskPushNotificationConfig";
const LIST: &str = "ListTaskPushNotificationConfigs";
const DELETE: &str = "DeleteTaskPushNotificationConfig";

/// The parameters of a text with a push notification configuration.
pub(crate) fn told_to(id: &str, url: &str) -> Value {
    let mut params = text(id, "Count");
    params["configuration"]["taskPushNotificationConfig"] = json!({"url": url});
    params
}

/// The notifications that a receiver got.
pub(crate) fn told(receiver: &Receiver) -> Vec<String> {
    receiver.received().iter().map(|request| new_in(&request.json())).collect()
}

/// Waits until a receiver has got these notifications.
pub(crate) async fn is_told(receiver: &Receiver, expected: &[&str]) {
    until("the receiver is not told", async || told(receiver).len() >= expected.len()).await;
    assert_eq!(told(receiver), expected);
}

/// A receiver gets the task and each change, in order, and recognizes the server.
#[tokio::test]
async fn a_receiver_is_told_what_happens() {
    let server = Server::start_with(&[LOCAL]).await;
    let cast = listed(&server).await;
    let (token, credentials) = ("a-token-of-a-receiver", "credentials-of-a-receiver");
    keep(token);
    keep(credentials);
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let receiver = Receiver::always(204, "").await;
        let mut params = told_to(&client.own("m1"), &receiver.url());
        let config = &mut params["configuration"]["taskPushNotificationConfig"];
        config["token"] = json!(token);
        config["authentication"] = json!({"scheme": "Bearer", "credentials": credentials});
        let task = client.send(params.clone()).await;
        is_told(&receiver, &["task TASK_STATE_SUBMITTED"]).await;
        let first = &receiver.received()[0];
        assert_eq!(first.path, "/in");
        assert_eq!(first.headers["x-a2a-notification-token"], token);
        assert_eq!(first.headers["authorization"], format!("Bearer {credentials}"));
        assert_eq!(first.headers["content-type"], "application/json");
        assert_eq!(first.json()["task"]["id"], task["id"]);
        let (room, message) = begin(&cast.a1, &task).await;
        is_told(&receiver, &["task TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]).await;
        answer(&cast.a1, &room, "One", &cast.u1).await;
        answer(&cast.a1, &room, "Two", &cast.u1).await;
        assert_eq!(cast.a1.step(&room, &message, "processed").await.status, 200);
        let all = ["task TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "One", "Two", "TASK_STATE_COMPLETED"];
        is_told(&receiver, &all).await;
        let last = receiver.received()[4].json();
        assert_eq!(last["statusUpdate"]["taskId"], task["id"], "{last}");
        assert_eq!(last["statusUpdate"]["contextId"], task["contextId"], "{last}");
        assert_eq!(client.send(params).await["id"], task["id"], "the same message again");
        let config = &client.call(LIST, json!({"taskId": task["id"]})).await["configs"];
        assert_eq!(config.as_array().map(Vec::len), Some(1), "{config}");
        assert_eq!(told(&receiver), all, "and nothing twice");
    }
    assert_eq!(server.leaked(), [""; 0]);
    let log = server.command().args(["audit", "--json"]).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains("push.set") && !log.contains(token) && !log.contains(credentials), "{log}");
}

/// The receiver of a task that exists gets it as it is then; configurations are read, changed, and removed.
#[tokio::test]
async fn callers_manage_their_configurations() {
    let server = Server::start_with(&[LOCAL]).await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let task = client.send(text(&client.own("m1"), "Count")).await;
        let (room, message) = begin(&cast.a1, &task).await;
        answer(&cast.a1, &room, "One", &cast.u1).await;
        let [receiver, other] = [Receiver::always(200, "").await, Receiver::always(200, "").await];
        let of_task = json!({"taskId": task["id"]});
        let config = json!({
            "taskId": task["id"], "id": "mine", "url": receiver.url(), "token": "t",
            "authentication": {"scheme": "Basic", "credentials": "YTpi"},
        });
        let created = client.call(CREATE, config.clone()).await;
        assert_eq!(created, config);
        is_told(&receiver, &["task TASK_STATE_WORKING"]).await;
        let shown = receiver.received()[0].json();
        assert_eq!(shown["task"]["artifacts"][0]["parts"][0]["text"], "One", "{shown}");
        assert_eq!(client.call(CREATE, config.clone()).await, config, "again");
        let without_id = json!({"taskId": task["id"], "url": other.url()});
        let unnamed = client.call(CREATE, without_id.clone()).await;
        assert_eq!(unnamed["id"], task["id"], "{unnamed}");
        client.call(CREATE, without_id).await;
        is_told(&other, &["task TASK_STATE_WORKING"]).await;
        let listed = client.call(LIST, of_task.clone()).await;
        assert_eq!(listed["configs"], json!([config, unnamed]), "{listed}");
        let one = json!({"taskId": task["id"], "id": "mine"});
        assert_eq!(client.call(GET, one.clone()).await, config);

        // A key for reading shows no secrets; others see nothing, and change nothing.
        let reading = key(&cast.u1, json!({"read_only": true})).await;
        let reading = Client::with_key(&server, &reading, &cast.a1, binding);
        let shown = reading.call(GET, one.clone()).await;
        assert_eq!((&shown["token"], &shown["url"]), (&Value::Null, &config["url"]), "{shown}");
        assert_eq!(shown["authentication"], json!({"scheme": "Basic"}), "{shown}");
        assert_eq!(reading.refused(CREATE, config.clone()).await.1, "FORBIDDEN");
        assert_eq!(reading.refused(DELETE, one.clone()).await.1, "FORBIDDEN");
        for other in [&cast.u2, &cast.a2] {
            let other = Client::new(&server, other, &cast.a1, binding);
            for (method, params) in [(CREATE, &config), (GET, &one), (LIST, &of_task), (DELETE, &one)] {
                assert_eq!(other.refused(method, params.clone()).await.1, "TASK_NOT_FOUND", "{method}");
            }
        }

        assert_eq!(client.call(DELETE, one.clone()).await, json!({}));
        assert_eq!(client.call(DELETE, one.clone()).await, json!({}), "again");
        assert_eq!(client.refused(GET, one).await.1, "TASK_NOT_FOUND");
        assert_eq!(cast.a1.step(&room, &message, "processed").await.status, 200);
        is_told(&other, &["task TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]).await;
        assert_eq!(told(&receiver).len(), 1, "it was removed");
    }
}

/// Addresses that webhooks may not reach, and values that no header can have.
#[tokio::test]
async fn configurations_are_checked() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let task = client.send(text(&client.own("m1"), "Count")).await;
        let good = json!({"taskId": task["id"], "id": "mine", "url": "https://receiver.invalid/"});
        for (member, value) in [
            ("url", json!("")),
            ("url", json!("receiver.invalid")),
            ("url", json!("http://receiver.invalid/")),
            ("url", json!("https://user:word@receiver.invalid/")),
            ("url", json!("https://127.0.0.1/")),
            ("url", json!("https://[::ffff:10.0.0.1]/")),
            ("url", json!("https://169.254.169.254/latest")),
            ("id", json!("a/b")),
            ("id", json!("x".repeat(201))),
            ("token", json!("a\r\nx: b")),
            ("authentication", json!({"scheme": "Bearer x"})),
            ("authentication", json!({"scheme": "Bearer", "credentials": "\u{e4}"})),
        ] {
            let mut config = good.clone();
            config[member] = value;
            let (code, reason) = client.refused(CREATE, config.clone()).await;
            let expected = if binding == Binding::Rpc { -32602 } else { 400 };
            assert_eq!((code, reason.as_str()), (expected, "INVALID_PARAMS"), "{config}");
            let mut params = text(&client.own("m2"), "Not sent");
            params["configuration"]["taskPushNotificationConfig"] = config;
            assert_eq!(client.refused("SendMessage", params).await.1, "INVALID_PARAMS");
        }
        let tasks = client.call("ListTasks", json!({"contextId": task["contextId"]})).await;
        assert_eq!(tasks["tasks"].as_array().map(Vec::len), Some(1), "{tasks}");
        client.call(CREATE, good).await;
        for number in 1..10 {
            let url = "https://receiver.invalid/";
            client.call(CREATE, json!({"taskId": task["id"], "id": number.to_string(), "url": url})).await;
        }
        let more = json!({"taskId": task["id"], "id": "more", "url": "https://receiver.invalid/"});
        assert_eq!(client.refused(CREATE, more.clone()).await.1, "FORBIDDEN");
        let named = |name: &str| json!({"taskId": task["id"], "id": name});
        let go_on = |id: &str, name: &str| {
            let mut params = next(&client.own(id), "Go on", &task);
            let config = json!({"id": name, "url": "https://receiver.invalid/"});
            params["configuration"]["taskPushNotificationConfig"] = config;
            params
        };
        assert_eq!(client.refused("SendMessage", go_on("m3", "more")).await.1, "FORBIDDEN");
        client.send(go_on("m4", "mine")).await;
        client.call(DELETE, named("mine")).await;
        client.send(go_on("m5", "another")).await;
        client.call(DELETE, named("another")).await;
        client.call(CREATE, more).await;
        let again = client.send(go_on("m5", "another")).await;
        assert_eq!(again["id"], task["id"], "a message that was sent is answered again");
        let shown = client.call("GetTask", json!({"id": task["id"]})).await;
        assert_eq!(shown["history"].as_array().map(Vec::len), Some(3), "{shown}");
        assert_eq!(
            cast.u1.delete(&format!("/chats/{}", task["contextId"].as_str().unwrap())).await.status,
            200
        );
    }
}

/// What fails is repeated, in order; a slow receiver holds no other one up, and one that is gone gets nothing more.
#[tokio::test]
async fn receivers_fail_are_slow_and_go() {
    let server = Server::start_alone(&[LOCAL]).await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Rpc);
    let count = Arc::<AtomicUsize>::default();
    let failing = Receiver::start(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { if number == 1 { (503, "retry-after: 5\r\n") } else { (200, "") } })
    });
    let slow = Receiver::start(|_| {
        Box::pin(async {
            pace(Duration::from_secs(60)).await;
            (200, "")
        })
    });
    let (failing, slow, gone) = (failing.await, slow.await, Receiver::always(410, "").await);
    let task = client.send(told_to("m1", &failing.url())).await;
    for (id, receiver) in [("slow", &slow), ("gone", &gone)] {
        client.call(CREATE, json!({"taskId": task["id"], "id": id, "url": receiver.url()})).await;
    }
    is_told(&failing, &["task TASK_STATE_SUBMITTED"]).await;
    is_told(&gone, &["task TASK_STATE_SUBMITTED"]).await;
    let (room, message) = begin(&cast.a1, &task).await;
    answer(&cast.a1, &room, "One", &cast.u1).await;
    assert_eq!(cast.a1.step(&room, &message, "processed").await.status, 200);
    let count =
        async || client.call(LIST, json!({"taskId": task["id"]})).await["configs"].as_array().unwrap().len();
    until("the one that is gone is not removed", async || count().await == 2).await;
    until("what failed is not repeated", async || {
        told(&failing).last().is_some_and(|last| last == "TASK_STATE_COMPLETED")
    })
    .await;
    let mut all = told(&failing);
    let repeated = all.remove(1);
    assert_eq!(repeated, all[1], "what failed came again");
    let mut shown =
        all.iter().map(String::as_str).filter(|new| *new != "TASK_STATE_WORKING").collect::<Vec<_>>();
    assert_eq!(shown.pop(), Some("TASK_STATE_COMPLETED"));
    assert_eq!(shown, ["task TASK_STATE_SUBMITTED", "One"]);
    assert_eq!(told(&gone).len(), 1);
    until("the slow receiver is not asked again", async || told(&slow).len() >= 2).await;
    assert!(slow.received().iter().all(|request| request.json()["task"].is_object()));
}

/// What a caller can no longer read is not sent, and nothing is sent for a key that was revoked.
#[tokio::test]
async fn nothing_is_told_without_a_right() {
    let server = Server::start_with(&[LOCAL]).await;
    let cast = listed(&server).await;
    let made = cast.u1.post("/api-keys", json!({"api_key": {"name": "Short"}})).await.data();
    let key = made["credentials"]["api_key"].as_str().unwrap();
    let receivers = [(); 3].map(|()| Receiver::always(200, ""));
    let [left, revoked, agent] = receivers;
    let (left, revoked, agent) = (left.await, revoked.await, agent.await);
    let keyed = Client::with_key(&server, key, &cast.a1, Binding::Http);
    let with_key = keyed.send(told_to("m1", &revoked.url())).await;
    let asking = Client::new(&server, &cast.a2, &cast.a1, Binding::Rpc);
    let mut params = told_to("m2", &left.url());
    params["message"]["contextId"] = json!(cast.r1);
    let in_room = asking.send(params).await;
    let of_agent = asking.send(told_to("m3", &agent.url())).await;
    for receiver in [&left, &revoked, &agent] {
        is_told(receiver, &["task TASK_STATE_SUBMITTED"]).await;
    }
    assert!(agent.received()[0].json()["task"]["metadata"].is_null(), "agents do not see sequences");
    let id = made["api_key"]["id"].as_str().unwrap();
    assert!(cast.u1.delete(&format!("/api-keys/{id}")).await.status < 300);
    assert_eq!(cast.u1.delete(&format!("/chats/{}/participants/{}", cast.r1, cast.a2.id)).await.status, 200);
    for task in [&with_key, &in_room, &of_agent] {
        begin(&cast.a1, task).await;
    }
    is_told(&agent, &["task TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]).await;
    let owner = Client::new(&server, &cast.u1, &cast.a1, Binding::Rpc);
    until("the configuration of the revoked key is not removed", async || {
        owner.call(LIST, json!({"taskId": with_key["id"]})).await["configs"].is_null()
    })
    .await;
    until("the configuration of the one that has left is not removed", async || {
        let log = server.command().args(["audit", "--json"]).output().unwrap();
        String::from_utf8(log.stdout).unwrap().contains("unreadable")
    })
    .await;
    assert_eq!((told(&left).len(), told(&revoked).len()), (1, 1));
}

/// A token without a session can be revoked by nobody, so no configuration could end with it.
#[tokio::test]
async fn a_token_without_a_session_creates_none() {
    let server = Server::start().await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let agent = ben.register(&server, "Bot").await;
    list(&ben, &agent).await;
    let issued = server.command().args(["token", "issue", "--user", "ann"]).output().unwrap();
    let issued = String::from_utf8(issued.stdout).unwrap();
    let client = Client::new(&server, &ann, &agent, Binding::Http);
    let request = client.http.post(format!("{}/v1/message:send", client.url)).header("a2a-version", "1.0");
    let sent =
        request.bearer_auth(issued.trim()).json(&told_to("m1", "https://receiver.invalid/")).send().await;
    let sent = sent.unwrap();
    assert_eq!(sent.status(), 403);
    let text = sent.text().await.unwrap();
    assert!(text.contains("has no session"), "{text}");
}

/// A server that sends no webhooks sends no push notifications, and says so.
#[tokio::test]
async fn a_server_without_webhooks_sends_none() {
    let server = Server::start_with(&[("PARLANCE_WEBHOOKS", "false")]).await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let card = client.at(Method::GET, "/.well-known/agent-card.json").send().await.unwrap();
        assert_eq!(card.json::<Value>().await.unwrap()["capabilities"]["pushNotifications"], false);
        let task = client.send(text(&client.own("m1"), "Count")).await;
        let config = json!({"taskId": task["id"], "id": "mine", "url": "https://receiver.invalid/"});
        for (method, params) in [
            (CREATE, config.clone()),
            (GET, config.clone()),
            (LIST, config.clone()),
            (DELETE, config),
            ("SendMessage", told_to(&client.own("m2"), "https://receiver.invalid/")),
        ] {
            let expected = if binding == Binding::Rpc { -32003 } else { 400 };
            let found = client.refused(method, params).await;
            assert_eq!(found, (expected, "PUSH_NOTIFICATION_NOT_SUPPORTED".to_owned()), "{method}");
        }
    }
}
