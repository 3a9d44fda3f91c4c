//! Budgets that are used up, on one server that is killed, and on two.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, until};
use reqwest::Method;
use serde_json::{Value, json};

const PATH: &str = "/organization/budgets";

/// A text to an agent: its id, and the state of the recipient as the answer has it.
async fn say(by: &Api, room: &str, to: &Api) -> (String, String) {
    let body = json!({"message": {"content": "go", "mentions": [{"id": to.id}]}});
    let sent = by.post(&format!("/chats/{room}/messages"), body).await.data();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&sent["id"]), text(&sent["recipients"][0]["status"]))
}

async fn set(by: &Api, budgets: Value) {
    let body = Some(json!({"budgets": budgets}));
    assert_eq!(by.call(Method::PATCH, PATH, body).await.status, 200);
}

/// The levels of which a room was told.
async fn told(by: &Api, room: &str) -> Vec<String> {
    let history = by.history(room).await;
    let events = history.iter().filter(|message| message["message_type"] == "attention");
    let mut kinds =
        events.map(|event| event["metadata"]["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    kinds.sort_unstable();
    kinds
}

/// The tokens of a turn count, across a kill; a release lets the agent use as many again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_used_up_budget_holds_until_it_is_released() {
    let mut server = Server::start_alone(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    let cast = Cast::on(&server).await;
    let (agent, other, room) = (&cast.a1, &cast.a2, &cast.r1);
    let report = async |tokens: u64| {
        let metadata = json!({"band_usage": {"input_tokens": tokens}});
        let event = json!({"event": {"content": "usage", "message_type": "task", "metadata": metadata}});
        assert_eq!(agent.post(&format!("/chats/{room}/events"), event).await.status, 201);
    };
    set(&cast.u1, json!({"agent_tokens": 1000})).await;
    until("the server knows of the budget", async || {
        assert_eq!(say(&cast.u1, room, other).await.1, "new");
        cast.u1.get(PATH).await.data()["used_today"]["messages"].as_u64().unwrap() > 0
    })
    .await;
    report(850).await;
    assert_eq!(cast.u1.get(PATH).await.data()["used_today"]["tokens"], 850);
    until("the humans are warned", async || told(&cast.u1, room).await == ["review"]).await;
    assert_eq!(say(&cast.u1, room, agent).await.1, "new");
    report(500).await;
    until("the humans are told", async || told(&cast.u1, room).await == ["failure", "review"]).await;
    let (held, state) = say(&cast.u1, room, agent).await;
    assert_eq!((state.as_str(), say(&cast.u1, room, other).await.1.as_str()), ("held", "new"));
    server.kill9();
    server.run().await;
    until("the hold is known after a start", async || say(&cast.u1, room, agent).await.1 == "held").await;
    assert_eq!(agent.step(room, &held, "processing").await.status, 409);

    let retry = cast.u1.post("/work/retry", json!({"state": "held"})).await.data();
    assert!(retry["changed"].as_u64().unwrap() >= 1, "{retry}");
    until("the release counts", async || say(&cast.u1, room, agent).await.1 == "new").await;
    assert_eq!(agent.step(room, &held, "processing").await.status, 200);
    report(1000).await;
    until("as many again", async || say(&cast.u1, room, agent).await.1 == "held").await;
    until("the humans are told again", async || told(&cast.u1, room).await.len() == 3).await;
    set(&cast.u1, json!({"agent_tokens": null})).await;
    until("without a budget", async || say(&cast.u1, room, agent).await.1 == "new").await;
}

/// Each server counts what it stores; both hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_counts_over_two_servers() {
    let fleet = Fleet::with_nats(2, &[("PARLANCE_RATE_LIMITS", "false")]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    let room = &cast.r1;
    set(&cast.u1, json!({"room_messages": 40})).await;
    let users = [cast.u1.on(here), cast.u1.on(there)];
    let mut number = 0;
    until("both servers hold", async || {
        number += 1;
        let mut states = Vec::new();
        for user in &users {
            states.push(say(user, room, &cast.a1).await.1);
        }
        states == ["held", "held"]
    })
    .await;
    assert!(number > 20, "each has sent half of them: {number}");
    until("the room is told", async || told(&cast.u1, room).await.last().is_some()).await;
    set(&users[1], json!({"room_messages": 1_000_000})).await;
    for user in &users {
        until("both know of the larger amount", async || say(user, room, &cast.a1).await.1 == "new").await;
    }
}
