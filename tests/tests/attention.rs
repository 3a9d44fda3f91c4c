//! What waits for a human, in one list: over REST and from the command line, and across a kill.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Server, Socket};
use serde_json::{Value, json};

async fn ask(by: &Api, room: &str, content: &str, metadata: Value) -> String {
    let event = json!({"content": content, "message_type": "attention", "metadata": metadata});
    let posted = by.post(&format!("/chats/{room}/events"), json!({"event": event})).await;
    assert_eq!(posted.status, 201, "{:?}", posted.body);
    posted.data()["id"].as_str().unwrap().to_owned()
}

/// The ids of a list.
async fn listed(by: &Api, query: &str) -> Vec<String> {
    let rows = by.get(&format!("/attention{query}")).await.data();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Runs `parlance attention …`; what it prints as JSON.
fn command(server: &Server, arguments: &[&str]) -> Result<Value, String> {
    let output = server.command().arg("attention").args(arguments).arg("--json").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        return Err(text(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}

/// The agent gets the answer at its socket. A kill forgets neither what waits nor who answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_answered_once_and_survives_a_kill() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let mate = server.colleague("mate", "ann");
    assert_eq!(cast.u1.add(&cast.r1, &mate.id).await.status, 201);
    let asked = ask(&cast.a1, &cast.r1, "Which key?", json!({"kind": "question", "blocking": true})).await;
    let assumed = ask(&cast.a1, &cast.r1, "The old one.", json!({"kind": "assumption"})).await;
    server.kill9();
    server.run().await;
    assert_eq!(listed(&cast.u1, "").await, [asked.clone(), assumed.clone()]);
    assert_eq!(listed(&cast.u2, "?state=all").await, [""; 0]);
    let refused =
        cast.u2.post(&format!("/attention/{asked}/answer"), json!({"answer": {"content": "x"}})).await;
    assert_eq!(refused.status, 404);
    let item = cast.u1.get(&format!("/attention/{asked}")).await.data();
    assert_eq!(
        (&item["kind"], &item["blocking"], &item["state"]),
        (&json!("question"), &json!(true), &json!("open"))
    );
    assert_eq!(item["asker"]["handle"], "ann/one");
    assert_eq!(item["answers"], json!(["answer", "dismiss"]));
    let mut socket = Socket::of(&server, &cast.a1).await;
    let topic = format!("chat_room:{}", cast.r1);
    socket.join("1", &topic).await;
    let answer = json!({"answer": {"content": "the staging key"}});
    let path = format!("/attention/{asked}/answer");
    let answered = cast.u1.post(&path, answer.clone()).await;
    assert_eq!(answered.status, 200, "{:?}", answered.body);
    let answered = answered.data();
    let pushed = socket.event("1", &topic, "message_created").await;
    assert_eq!(pushed["id"], answered["answer_id"]);
    assert_eq!((&answered["outcome"], &answered["answers"]), (&json!("answered"), &json!([])));
    server.kill9();
    server.run().await;
    let again = cast.u1.post(&path, answer.clone()).await.data();
    assert_eq!(again["answer_id"], answered["answer_id"]);
    let refused = mate.post(&path, answer).await;
    assert_eq!(refused.status, 409);
    assert_eq!(refused.body["error"]["details"]["answered_by"]["handle"], "ann");
    let dismissed = mate.post_nothing(&format!("/attention/{assumed}/dismiss")).await.data();
    assert_eq!(
        (&dismissed["outcome"], &dismissed["answered_by"]["handle"]),
        (&json!("dismissed"), &json!("mate"))
    );
    assert_eq!(listed(&cast.u1, "?state=answered").await, [assumed, asked]);
    assert_eq!(listed(&cast.u1, "").await, [""; 0]);
}

/// A running server pushes what a command has answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_answers_what_waits() {
    let server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let request = "Approval requested (command: ls). Approval id: `d-1`. Reply `/approve d-1` or `/decline d-1` or \
                   `/approve-session d-1` (approve all similar for this session). Use `/approvals` to list pending approvals.";
    let approval = cast.a1.sent(&cast.r1, request, &[&cast.u1.id]).await;
    let review = ask(&cast.a1, &cast.r1, "Please look.", json!({"kind": "review"})).await;
    let rows = command(&server, &["list", "ann"]).unwrap();
    let row = |index: usize, name: &str| rows["attention"][index][name].clone();
    assert_eq!([row(0, "id"), row(1, "id")], [json!(approval), json!(review)]);
    assert_eq!(row(0, "answers"), json!(["approve", "approve_session", "decline", "dismiss"]));
    let mut socket = Socket::of(&server, &cast.a1).await;
    let topic = format!("chat_room:{}", cast.r1);
    socket.join("1", &topic).await;
    let refused = command(&server, &["answer", "ann", &approval, "--text", "yes"]).unwrap_err();
    assert!(refused.contains("--decision"), "{refused}");
    let refused = command(&server, &["dismiss", "ben", &approval]).unwrap_err();
    assert!(refused.contains("no such item"), "{refused}");
    let answered = command(&server, &["answer", "ann", &approval, "--decision", "approve-session"]).unwrap();
    let pushed = socket.event("1", &topic, "message_created").await;
    assert_eq!(pushed["id"], answered["attention"]["answer_id"]);
    assert_eq!(pushed["content"], format!("@[[{}]] /approve-session d-1", cast.a1.id));
    command(&server, &["dismiss", "ann", &review]).unwrap();
    assert_eq!(command(&server, &["list", "ann"]).unwrap()["attention"], json!([]));
}
