//! Webhooks of organizations, which receive the entries of the audit log.

use std::collections::BTreeSet;
use std::sync::Arc;

use e2e::{Api, Fleet, Server, until};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::receiver::{Delivery, Received, Receiver};
use crate::scene::{FAST, LOCAL};

const HOOK: &str = "/organization/webhook";

/// Gives the user's organization a webhook; its secret.
async fn hook(ann: &Api, url: &str) -> String {
    let body = json!({ "url": url, "events": ["agent.*"] });
    let answer = ann.call(Method::PUT, HOOK, Some(body)).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.data()["secret"].as_str().unwrap().to_owned()
}

/// The deliveries, the oldest entry first, once there are so many and the receiver has accepted all.
async fn delivered(ann: &Api, count: usize) -> Vec<Value> {
    let mut all = Vec::new();
    until("not all events are delivered", async || {
        let answer = ann.get(&format!("{HOOK}/deliveries?limit=100")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        all.clone_from(answer.data().as_array().unwrap());
        all.len() == count && all.iter().all(|one| one["status"] == "delivered")
    })
    .await;
    all.reverse();
    all
}

fn ids(requests: &[Received]) -> Vec<&str> {
    requests.iter().map(Delivery::id).collect()
}

/// Each entry is sent as the list of entries shows it, with its id.
#[tokio::test]
async fn an_organization_receives_its_events() {
    let server = Server::start_with(&[LOCAL]).await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let receiver = Receiver::always(200, "").await;
    let secret = hook(&ann, &receiver.url()).await;
    ben.register(&server, "Other").await;
    let bot = ann.register(&server, "Bot").await;
    let pause = format!("/agents/{}/pause", bot.id);
    assert_eq!(ann.post(&pause, json!({"reason": "wrong answers"})).await.status, 200);
    let requests = receiver.wait(2).await;
    let deliveries = delivered(&ann, 2).await;
    let entries = ann.get(&format!("/organization/audit?subject_id={}", bot.id)).await.data();
    let actions = ["agent.registered", "agent.paused"];
    for (index, (request, entry)) in requests.iter().zip(entries.as_array().unwrap().iter().rev()).enumerate()
    {
        assert!(request.is_signed_with(&secret), "{request:?}");
        let body = json!({ "type": actions[index], "timestamp": entry["inserted_at"], "data": entry });
        assert_eq!((request.json(), &entry["id"]), (body, &json!(request.id())));
        let sent = &deliveries[index];
        assert_eq!((&sent["id"], &sent["event"]), (&entry["id"], &entry["action"]));
        assert_eq!((&sent["attempts"], &sent["last_status"]), (&json!(1), &json!(200)));
    }
    let resend = format!("{HOOK}/deliveries/{}/resend", requests[0].id());
    assert_eq!(ann.post_nothing(&resend).await.status, 200);
    assert_eq!(ids(&receiver.wait(3).await)[2], requests[0].id(), "and nothing of another organization");
    assert_eq!(ann.delete(HOOK).await.status, 204);
    assert_eq!(ann.get(HOOK).await.status, 404);
}

/// As for agents: the sender and the rules are the same.
#[tokio::test]
async fn an_organization_cannot_name_private_addresses() {
    let server = Server::start().await;
    let ann = server.user("ann");
    for url in ["https://127.0.0.1/", "https://localhost/", "http://a.example/"] {
        let answer = ann.call(Method::PUT, HOOK, Some(json!({ "url": url }))).await;
        assert_eq!((answer.status, answer.code()), (422, "validation_error"), "{url}");
        assert!(answer.body["error"]["details"]["/url"].is_array(), "{answer:?}");
    }
}

#[tokio::test]
async fn events_keep_their_order_when_one_fails() {
    let server = Server::start_with(&[LOCAL]).await;
    let ann = server.user("ann");
    let failures = Arc::new(Semaphore::new(1));
    let receiver = Receiver::start(move |_| {
        let fails = failures.clone().try_acquire_owned().map(OwnedSemaphorePermit::forget).is_ok();
        Box::pin(async move { if fails { (503, "retry-after: 6\r\n") } else { (204, "") } })
    })
    .await;
    hook(&ann, &receiver.url()).await;
    for name in ["One", "Two", "Three"] {
        ann.register(&server, name).await;
    }
    let requests = receiver.wait(4).await;
    let deliveries = delivered(&ann, 3).await;
    let order = deliveries.iter().map(|sent| sent["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!((ids(&requests)[0], &ids(&requests)[1..]), (order[0], &order[..]));
    assert_eq!((&deliveries[0]["attempts"], &deliveries[1]["attempts"]), (&json!(2), &json!(1)));
}

/// The request in flight is repeated when its lease has ended, and the next ones follow.
#[tokio::test]
async fn a_killed_server_loses_no_event() {
    let mut server = Server::start_alone(&[LOCAL, FAST]).await;
    let ann = server.user("ann");
    let gate = Arc::new(Semaphore::new(0));
    let opened = gate.clone();
    let receiver = Receiver::start(move |_| {
        let gate = gate.clone();
        Box::pin(async move {
            gate.acquire().await.unwrap().forget();
            (200, "")
        })
    })
    .await;
    hook(&ann, &receiver.url()).await;
    for name in ["One", "Two", "Three"] {
        ann.register(&server, name).await;
    }
    receiver.wait(1).await;
    server.kill9();
    opened.add_permits(10);
    server.run().await;
    let deliveries = delivered(&ann, 3).await;
    let attempts = deliveries.iter().map(|sent| sent["attempts"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(attempts, [2, 1, 1]);
    let order = deliveries.iter().map(|sent| sent["id"].as_str().unwrap()).collect::<Vec<_>>();
    let requests = receiver.received();
    assert_eq!((ids(&requests)[0], &ids(&requests)[1..]), (order[0], &order[..]));
}

/// Whichever of them seals the entries. The one with the request in flight is killed, and the other takes over.
#[tokio::test]
async fn two_servers_send_each_event_once() {
    let mut fleet = Fleet::start(2, &[LOCAL, FAST]).await;
    let ann = fleet.servers[0].user("ann");
    let gate = Arc::new(Semaphore::new(0));
    let opened = gate.clone();
    let receiver = Receiver::start(move |_| {
        let gate = gate.clone();
        Box::pin(async move {
            gate.acquire().await.unwrap().forget();
            (200, "")
        })
    })
    .await;
    hook(&ann, &receiver.url()).await;
    for number in 0..8 {
        let server = &fleet.servers[number % 2];
        ann.on(server).register(server, &format!("Bot {number}")).await;
    }
    receiver.wait(1).await;
    let mut in_flight = [0.0; 2];
    until("the request is not in flight", async || {
        for (index, count) in in_flight.iter_mut().enumerate() {
            *count = fleet.figure(index, "parlance_webhook_requests_in_flight").await;
        }
        in_flight.iter().sum::<f64>() > 0.5
    })
    .await;
    assert!(in_flight.iter().sum::<f64>() < 1.5, "by one server: {in_flight:?}");
    let killed = usize::from(in_flight[1] > in_flight[0]);
    fleet.servers[killed].kill9();
    opened.add_permits(100);
    let ann = ann.on(&fleet.servers[1 - killed]);
    let deliveries = delivered(&ann, 8).await;
    let attempts = deliveries.iter().map(|sent| sent["attempts"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(attempts, [2, 1, 1, 1, 1, 1, 1, 1]);
    let order = deliveries.iter().map(|sent| sent["id"].as_str().unwrap()).collect::<Vec<_>>();
    let requests = receiver.received();
    assert_eq!((ids(&requests)[0], &ids(&requests)[1..]), (order[0], &order[..]));
    let logged = ann.get("/organization/audit?action=agent.registered&page_size=100").await.data();
    let logged = logged.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap());
    assert_eq!(order.into_iter().collect::<BTreeSet<_>>(), logged.collect());
}
