//! Several workers of one agent with exclusive claims: on one server, over a kill, and on two servers.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeMap;
use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Answer, Api, Fleet, Server, Socket, message, until};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

/// The maximum wait for all answers of a test.
const PATIENCE: Duration = Duration::from_secs(120);

/// Workers that have nothing to do ask again and again.
const NO_LIMITS: (&str, &str) = ("PARLANCE_RATE_LIMITS", "false");

async fn set(owner: &Api, agent: &Api, claims: &str) {
    let body = json!({"agent": {"claims": claims}});
    let answer = owner.call(Method::PATCH, &format!("/agents/{}", agent.id), Some(body)).await;
    assert_eq!(answer.data()["claims"], claims);
}

/// A step that names its attempt.
async fn step_of(agent: &Api, room: &str, message: &str, step: &str, attempt: u64) -> Answer {
    let mut body = json!({"attempt_number": attempt});
    if step == "failed" {
        body["error"] = json!("it did not work");
    }
    agent.post(&format!("/chats/{room}/messages/{message}/{step}"), body).await
}

/// The code and the attempt of a refused `/processing`.
fn refusal(answer: &Answer) -> (u16, &str, &Value) {
    (answer.status, answer.code(), &answer.body["error"]["details"]["attempt_number"])
}

/// Answers what is offered until as many messages as `wanted` have an answer.
async fn work(agent: Api, room: String, human: Api, wanted: usize) {
    while answers(&human, &agent, &room).await.len() < wanted {
        let Some(taken) = agent.next(&room).await else { continue };
        let begun = agent.step(&room, &taken, "processing").await;
        if begun.status == 409 {
            assert!(["already_claimed", "already_processed"].contains(&begun.code()), "{begun:?}");
            continue;
        }
        let attempt = begun.data()["attempt_number"].as_u64().unwrap();
        let mut answer = message("done", &[&human.id]);
        answer["message"]["in_reply_to"] = json!(taken);
        assert_eq!(agent.post(&format!("/chats/{room}/messages"), answer).await.status, 201);
        assert_eq!(step_of(&agent, &room, &taken, "processed", attempt).await.status, 200);
    }
}

/// The number of answers of an agent to each message.
async fn answers(human: &Api, agent: &Api, room: &str) -> BTreeMap<String, usize> {
    let mut answers = BTreeMap::new();
    for written in human.history(room).await {
        if written["sender_id"] == agent.id.as_str() {
            let cause = written["metadata"]["cause"]["message_id"].as_str().unwrap().to_owned();
            *answers.entry(cause).or_default() += 1;
        }
    }
    answers
}

/// All workers race for all messages, and each message is answered by one of them, at its first attempt.
async fn every_message_is_answered_once(cast: &Cast, workers: Vec<Api>) {
    set(&cast.u1, &cast.a1, "exclusive").await;
    let mut sent = Vec::new();
    for number in 0..20 {
        sent.push(cast.u1.sent(&cast.r1, &format!("message {number}"), &[&cast.a1.id]).await);
    }
    let all = workers.into_iter().map(|worker| work(worker, cast.r1.clone(), cast.u1.clone(), sent.len()));
    timeout(PATIENCE, join_all(all)).await.expect("everything is answered");
    let answers = answers(&cast.u1, &cast.a1, &cast.r1).await;
    assert_eq!(answers, sent.iter().map(|id| (id.clone(), 1)).collect());
    until("everything is processed", async || {
        let history = cast.u1.history(&cast.r1).await;
        sent.iter().all(|id| {
            let message = history.iter().find(|message| message["id"] == id.as_str()).unwrap();
            let delivery = &message["metadata"]["delivery_status"][&cast.a1.id];
            delivery["status"] == "processed" && delivery["current_attempt"] == 1
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_answer_every_message_once() {
    let server = Server::start_with(&[NO_LIMITS]).await;
    let cast = Cast::on(&server).await;
    every_message_is_answered_once(&cast, vec![cast.a1.clone(); 4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_two_servers_answer_every_message_once() {
    let fleet = Fleet::start(2, &[("PARLANCE_CLUSTER_MODE", "multi"), NO_LIMITS]).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    let cast = Cast::on(here).await;
    let workers = [here, there, here, there].map(|server| cast.a1.on(server));
    every_message_is_answered_once(&cast, workers.to_vec()).await;

    // The same message at the same moment on both.
    let other = cast.a1.on(there);
    for number in 0..20 {
        let sent = cast.u1.sent(&cast.r1, &format!("race {number}"), &[&cast.a1.id]).await;
        let (one, two) = tokio::join!(
            cast.a1.step(&cast.r1, &sent, "processing"),
            other.step(&cast.r1, &sent, "processing")
        );
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{one:?} {two:?}");
        assert_eq!(cast.a1.next(&cast.r1).await, None);
        assert_eq!(other.step(&cast.r1, &sent, "processed").await.status, 200);
    }
}

/// What a worker is told that comes too late, also by a server that was killed meanwhile.
#[tokio::test]
async fn a_claim_outlives_a_kill() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let handle = cast.u1.get(&format!("/agents/{}", cast.a1.id)).await.data()["handle"].clone();
    let set = ["agent", "set", handle.as_str().unwrap(), "--claims", "exclusive", "--json"];
    let output = server.command().args(set).output().unwrap();
    let set: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(set["agent"]["claims"], "exclusive");
    let first = cast.u1.sent(&cast.r1, "first", &[&cast.a1.id]).await;
    let second = cast.u1.sent(&cast.r1, "second", &[&cast.a1.id]).await;
    let claimed = cast.a1.step(&cast.r1, &first, "processing").await.data();
    let until = claimed["claimed_until"].as_str().unwrap().to_owned();
    for kill in [false, true] {
        if kill {
            server.kill9();
            server.run().await;
        }
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&second));
        let refused = cast.a1.step(&cast.r1, &first, "processing").await;
        assert_eq!(refusal(&refused), (409, "already_claimed", &json!(1)));
        let error = &refused.body["error"];
        assert_eq!(error["details"]["claimed_until"], json!(until));
        assert!(error["message"].as_str().unwrap().contains("/next"), "{error}");
    }
    let renewed = step_of(&cast.a1, &cast.r1, &first, "processing", 1).await.data();
    assert_eq!((&renewed["attempt_number"], &renewed["status"]), (&json!(1), &json!("processing")));
    assert!(renewed["claimed_until"].as_str().unwrap() > until.as_str(), "{renewed}");
    let done = step_of(&cast.a1, &cast.r1, &first, "processed", 1).await.data();
    assert!(done.get("claimed_until").is_none(), "{done}");
    let again = cast.a1.step(&cast.r1, &first, "processing").await;
    assert_eq!((again.status, again.code()), (409, "already_processed"));
}

/// What a worker has left is offered to the next one, and pushed to none.
#[tokio::test]
async fn a_claim_that_has_ended_is_made_again() {
    let settings = [("PARLANCE_CLAIM_LEASE_MS", "300"), ("PARLANCE_REDELIVERY_AFTER_MS", "100"), NO_LIMITS];
    let server = Server::start_with(&settings).await;
    let cast = Cast::on(&server).await;
    set(&cast.u1, &cast.a1, "exclusive").await;
    let mut socket = Socket::of(&server, &cast.a1).await;
    let topic = format!("chat_room:{}", cast.r1);
    socket.join("1", &topic).await;
    let sent = cast.u1.sent(&cast.r1, "work", &[&cast.a1.id]).await;
    assert_eq!(socket.event("1", &topic, "message_created").await["id"], json!(sent));
    assert_eq!(cast.a1.step(&cast.r1, &sent, "processing").await.data()["attempt_number"], 1);
    until("it is offered again", async || cast.a1.next(&cast.r1).await.as_ref() == Some(&sent)).await;
    assert_eq!(cast.a1.step(&cast.r1, &sent, "processing").await.data()["attempt_number"], 2);
    for step in ["processing", "processed", "failed"] {
        let late = step_of(&cast.a1, &cast.r1, &sent, step, 1).await;
        assert_eq!((late.status, late.code()), (422, "validation_error"), "{step}");
        assert!(late.body["error"]["details"]["/processing_attempt"][0].is_string(), "{late:?}");
    }
    // Late, but nobody else has begun.
    until("the second claim has ended", async || cast.a1.next(&cast.r1).await.is_some()).await;
    assert_eq!(step_of(&cast.a1, &cast.r1, &sent, "processed", 2).await.status, 200);
    assert_eq!(cast.a1.next(&cast.r1).await, None);
    socket.silent().await;
}

/// Without the setting, a second worker takes over as ever, and nothing is shown of claims.
#[tokio::test]
async fn shared_claims_change_nothing() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let sent = cast.u1.sent(&cast.r1, "work", &[&cast.a1.id]).await;
    for attempt in 1..=3 {
        let expected = json!({
            "id": sent, "chat_room_id": cast.r1, "status": "processing", "attempt_number": attempt, "success": true,
        });
        assert_eq!(cast.a1.step(&cast.r1, &sent, "processing").await.data(), expected);
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&sent));
    }
    assert_eq!(cast.a1.step(&cast.r1, &sent, "processed").await.status, 200);
    assert_eq!(cast.a1.step(&cast.r1, &sent, "processing").await.data()["attempt_number"], 4);
}
