//! Stop, play, interrupt, and pause, on one server and on two.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Answer, Api, Fleet, Server, Socket, elapse, message, until};
use serde_json::{Value, json};

/// A first redelivery after one second, and of a backlog after three.
const SOON: (&str, &str) = ("PARLANCE_REDELIVERY_AFTER_MS", "1000");

async fn verb(by: &Api, room: &str, verb: &str) -> Answer {
    by.post_nothing(&format!("/chats/{room}/agents/{verb}")).await
}

async fn must(by: &Api, room: &str, what: &str) -> Value {
    let answer = verb(by, room, what).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.data()
}

/// The status and the text of a refusal.
fn refusal(answer: &Answer) -> (u16, &str, &str) {
    (answer.status, answer.code(), answer.body["error"]["message"].as_str().unwrap())
}

/// Expects the answers that a stopped agent gets; `message` is one that was sent to it.
async fn is_stopped(agent: &Api, room: &str, sent: &str) {
    assert_eq!(agent.next(room).await, None);
    for step in ["processing", "processed", "failed"] {
        let answer = agent.step(room, sent, step).await;
        assert_eq!((answer.status, answer.body), (204, Value::Null), "{step}");
    }
    let event = json!({"event": {"message_type": "thought", "content": "hm"}});
    for answer in [
        agent.post(&format!("/chats/{room}/messages"), message("done", &[])).await,
        agent.post(&format!("/chats/{room}/events"), event).await,
    ] {
        assert_eq!(refusal(&answer), (403, "forbidden", "Agent execution is stopped"));
    }
    let activity = agent.post(&format!("/chats/{room}/activity"), json!({"working": true})).await;
    assert_eq!(activity.data(), json!({"working": false}));
}

/// The next frame must be a signal to the agent; its correlation id.
async fn signal(socket: &mut Socket, agent: &Api, mode: &str, room: Option<&str>, execution: &str) -> String {
    let payload = socket.event("c", &format!("agent_control:{}", agent.id), "agent.control").await;
    let correlation = payload["correlation_id"].as_str().unwrap().to_owned();
    let expected = json!({
        "type": "agent.control",
        "mode": mode,
        "scope": if room.is_some() { "room" } else { "agent" },
        "agent_id": agent.id,
        "room_id": room,
        "execution_id": execution,
        "correlation_id": correlation,
        "reason": "user_requested",
    });
    assert_eq!(payload, expected);
    correlation
}

async fn listen(server: &Server, agent: &Api, room: &str) -> Socket {
    let mut socket = Socket::of(server, agent).await;
    socket.join("c", &format!("agent_control:{}", agent.id)).await;
    socket.join("r", &format!("chat_room:{room}")).await;
    socket
}

/// What a command prints, which must succeed.
fn run(server: &Server, arguments: &[&str]) -> String {
    let output = server.command().args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn execution(owner: &Api, agent: &Api) -> String {
    let found = owner.get(&format!("/agents/{}/executions", agent.id)).await.data();
    found[0]["id"].as_str().unwrap().to_owned()
}

/// Whoever the room belongs to stops all of its agents and no others. A server that is killed knows it afterwards.
#[tokio::test]
async fn a_stop_holds_until_play_and_over_a_kill() {
    let mut server = Server::start_alone(&[SOON]).await;
    let cast = Cast::on(&server).await;
    let (one, two) = (execution(&cast.u1, &cast.a1).await, execution(&cast.u1, &cast.a2).await);
    let begun = cast.u1.sent(&cast.r1, "begun", &[&cast.a1.id]).await;
    assert_eq!(cast.a1.step(&cast.r1, &begun, "processing").await.status, 200);
    let working = json!({"working": true});
    assert_eq!(cast.a1.post(&format!("/chats/{}/activity", cast.r1), working).await.status, 200);
    let mut watching = Socket::of(&server, &cast.u1).await;
    let activity = format!("room_activity:{}", cast.r1);
    let shown = |working: bool| json!({"agent_id": cast.a1.id, "execution_id": one, "working": working});
    watching.join_with("1", &activity, json!({"working_agents": [shown(true)]})).await;
    let mut first = listen(&server, &cast.a1, &cast.r1).await;
    let mut second = listen(&server, &cast.a2, &cast.r1).await;
    let mut third = listen(&server, &cast.a3, &cast.r2).await;

    assert_eq!(must(&cast.u1, &cast.r1, "stop").await["work_status"], "stopped");
    let mut seen = vec![
        signal(&mut first, &cast.a1, "stop", Some(&cast.r1), &one).await,
        signal(&mut second, &cast.a2, "stop", Some(&cast.r1), &two).await,
    ];
    assert_eq!(watching.event("1", &activity, "agent_activity_stopped").await, shown(false));
    third.alive().await;
    is_stopped(&cast.a1, &cast.r1, &begun).await;
    must(&cast.u1, &cast.r1, "stop").await;
    seen.push(signal(&mut first, &cast.a1, "stop", Some(&cast.r1), &one).await);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 3, "each signal has its own id");

    let waiting = cast.u1.sent(&cast.r1, "waiting", &[&cast.a1.id]).await;
    server.crash().await;
    is_stopped(&cast.a1, &cast.r1, &begun).await;
    let room = cast.u1.get(&format!("/chats/{}", cast.r1)).await.data();
    assert_eq!(room["work_status"], "stopped");
    let mut first = listen(&server, &cast.a1, &cast.r1).await;
    // Longer than a backlog waits.
    elapse(Duration::from_secs(5)).await;
    first.alive().await;

    assert_eq!(must(&cast.u1, &cast.r1, "play").await["work_status"], "working");
    signal(&mut first, &cast.a1, "play", Some(&cast.r1), &one).await;
    assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&begun));
    assert_eq!(cast.a1.step(&cast.r1, &begun, "processed").await.status, 200);
    assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&waiting));
    // An agent that does not ask gets it over its socket.
    let topic = format!("chat_room:{}", cast.r1);
    assert_eq!(first.event("r", &topic, "message_created").await["id"], json!(waiting));
    assert_eq!(cast.a1.send(&cast.r1, "done", &[&cast.u1.id]).await.status, 201);
}

/// Killed right after the answer to the verb: its effect is stored, whether or not the signal left.
#[tokio::test]
async fn a_kill_between_a_verb_and_its_effect_loses_neither() {
    let mut server = Server::start_alone(&[SOON]).await;
    let cast = Cast::on(&server).await;
    let sent = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    for _ in 0..3 {
        must(&cast.u1, &cast.r1, "stop").await;
        server.crash().await;
        is_stopped(&cast.a1, &cast.r1, &sent).await;
        must(&cast.u1, &cast.r1, "play").await;
        server.crash().await;
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&sent));
    }
    assert_eq!(cast.a1.step(&cast.r1, &sent, "processing").await.status, 200);
}

#[tokio::test]
async fn only_the_owner_of_a_room_stops_it() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let member = server.colleague("cai", "ann");
    assert_eq!(cast.u1.add(&cast.r1, &member.id).await.status, 201);
    let observed = cast.a1.create_chat().await;
    for what in ["stop", "play"] {
        for (by, room, status) in
            [(&member, &cast.r1, 403), (&cast.u1, &observed, 403), (&cast.u2, &cast.r1, 404)]
        {
            assert_eq!(verb(by, room, what).await.status, status);
        }
        let path = format!("/chats/{}/agents/{what}", cast.r1);
        assert_eq!(cast.u1.with_key(&cast.a1.key).post_nothing(&path).await.status, 403);
    }
}

#[tokio::test]
async fn an_interrupt_reaches_the_agent_once_and_changes_nothing() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let other = cast.u1.create_chat().await;
    assert_eq!(cast.u1.add(&other, &cast.a1.id).await.status, 201);
    let executions = cast.u1.get(&format!("/agents/{}/executions", cast.a1.id)).await.data();
    let rooms = executions.as_array().unwrap().iter().map(|row| row["chat_room_id"].as_str().unwrap());
    assert_eq!(rooms.collect::<Vec<_>>(), [&other, &cast.r1], "newest first");
    let sent = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    assert_eq!(cast.a1.step(&cast.r1, &sent, "processing").await.status, 200);
    let mut first = listen(&server, &cast.a1, &cast.r1).await;
    let mut second = listen(&server, &cast.a2, &cast.r1).await;
    let interrupt =
        |agent: &Api, execution: &str| format!("/agents/{}/executions/{execution}/interrupt", agent.id);
    let named = executions[0]["id"].as_str().unwrap();
    let answer = cast.u1.post_nothing(&interrupt(&cast.a1, named)).await.data();
    assert_eq!(
        (&answer["id"], &answer["status"], &answer["stopped"]),
        (&json!(named), &json!("new"), &json!(false))
    );
    signal(&mut first, &cast.a1, "interrupt", None, named).await;
    second.alive().await;
    assert_eq!(cast.a1.step(&cast.r1, &sent, "processed").await.status, 200);
    assert_eq!(cast.u1.post_nothing(&interrupt(&cast.a2, named)).await.status, 404);
    assert_eq!(cast.u2.post_nothing(&interrupt(&cast.a1, named)).await.status, 404);
    assert_eq!(cast.u2.get(&format!("/agents/{}/executions", cast.a1.id)).await.status, 404);
}

/// What the answer to a send tells of its recipient: whether it is connected, stopped, and paused.
fn told(sent: &Value) -> (bool, bool, bool) {
    let recipient = &sent["recipients"][0];
    assert_eq!(recipient["status"], "new");
    let is = |member: &str| recipient[member].as_bool().unwrap();
    (is("connected"), is("stopped"), is("paused"))
}

/// The verb is called on one server; the agent is connected to the other, and asks there.
async fn reaches_the_other_server(fleet: &Fleet, has_bus: bool) {
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    let agent = cast.a1.on(there);
    let one = execution(&cast.u1, &cast.a1).await;
    let mut socket = listen(there, &cast.a1, &cast.r1).await;
    let topic = format!("chat_room:{}", cast.r1);
    let sent = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    assert_eq!(socket.event("r", &topic, "message_created").await["id"], json!(sent));
    assert_eq!(agent.step(&cast.r1, &sent, "processing").await.status, 200);
    assert!(
        agent.post(&format!("/chats/{}/activity", cast.r1), json!({"working": true})).await.status == 200
    );
    let receipts = format!("/chats/{}/messages/{sent}/receipts", cast.r1);
    until("the agent is not known to be connected", async || {
        cast.u1.get(&receipts).await.data()[0]["connected"] == true
    })
    .await;
    must(&cast.u1, &cast.r1, "stop").await;
    if has_bus {
        signal(&mut socket, &cast.a1, "stop", Some(&cast.r1), &one).await;
    }
    is_stopped(&agent, &cast.r1, &sent).await;
    let sent_now = cast.u1.send(&cast.r1, "waiting", &[&cast.a1.id]).await.data();
    assert_eq!(told(&sent_now), (true, true, false), "{sent_now}");
    let waiting = sent_now["id"].as_str().unwrap().to_owned();
    elapse(Duration::from_secs(5)).await;
    socket.alive().await;
    must(&cast.u1, &cast.r1, "play").await;
    if has_bus {
        signal(&mut socket, &cast.a1, "play", Some(&cast.r1), &one).await;
    }
    assert_eq!(agent.next(&cast.r1).await.as_ref(), Some(&sent));
    assert_eq!(agent.step(&cast.r1, &sent, "processed").await.status, 200);
    assert_eq!(socket.event("r", &topic, "message_created").await["id"], json!(waiting));
    // The servers find out about a pause by themselves, so its signal needs no bus.
    for paused in ["/organization".to_owned(), format!("/agents/{}", cast.a1.id)] {
        assert_eq!(cast.u1.post(&format!("{paused}/pause"), json!({"reason": "costs"})).await.status, 200);
        is_stopped(&agent, &cast.r1, &waiting).await;
        signal(&mut socket, &cast.a1, "stop", Some(&cast.r1), &one).await;
        let sent_now = cast.u1.send(&cast.r1, "later", &[&cast.a1.id]).await.data();
        assert_eq!(told(&sent_now), (true, false, true), "{sent_now}");
        assert_eq!(cast.u1.post_nothing(&format!("{paused}/resume")).await.status, 200);
        signal(&mut socket, &cast.a1, "play", Some(&cast.r1), &one).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_on_one_server_holds_on_the_other() {
    let fleet = Fleet::with_nats(2, &[SOON]).await;
    fleet.acquainted().await;
    reaches_the_other_server(&fleet, true).await;
}

/// Without NATS, no signal reaches the other server; its agents learn of the state from their requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_holds_on_the_other_server_without_signals() {
    let settings = [SOON, ("PARLANCE_CLUSTER_MODE", "multi"), ("PARLANCE_RATE_LIMITS", "false")];
    let fleet = Fleet::start(2, &settings).await;
    reaches_the_other_server(&fleet, false).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    // The indicator of an agent that reports elsewhere goes off within the interval of the change log.
    let ann = here.user("eve");
    let bot = ann.register(here, "Bot").await;
    let room = ann.create_chat().await;
    assert_eq!(ann.add(&room, &bot.id).await.status, 201);
    let working = json!({"working": true});
    assert_eq!(bot.on(there).post(&format!("/chats/{room}/activity"), working).await.status, 200);
    let mut watching = Socket::of(there, &ann).await;
    let activity = format!("room_activity:{room}");
    let id = execution(&ann, &bot).await;
    let shown = |working: bool| json!({"agent_id": bot.id, "execution_id": id, "working": working});
    watching.join_with("1", &activity, json!({"working_agents": [shown(true)]})).await;
    must(&ann, &room, "stop").await;
    assert_eq!(watching.event("1", &activity, "agent_activity_stopped").await, shown(false));
    until("the room is not shown as stopped", async || {
        ann.on(there).get(&format!("/chats/{room}")).await.data()["work_status"] == "stopped"
    })
    .await;
}

/// On the command line or by REST; it survives a kill, and reaches agents on the other server.
#[tokio::test]
async fn a_paused_organization_works_again_when_it_is_resumed() {
    let mut server = Server::start_alone(&[SOON]).await;
    let cast = Cast::on(&server).await;
    let one = execution(&cast.u1, &cast.a1).await;
    let sent = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    let mut socket = listen(&server, &cast.a1, &cast.r1).await;
    let said = run(&server, &["org", "pause", "ann", "--reason", "runaway costs"]);
    assert!(said.contains("paused since") && said.contains("runaway costs"), "{said}");
    signal(&mut socket, &cast.a1, "stop", Some(&cast.r1), &one).await;
    is_stopped(&cast.a1, &cast.r1, &sent).await;
    let shown = run(&server, &["agent", "show", "ann/one"]);
    assert!(shown.contains("organization paused since") && shown.contains("runaway costs"), "{shown}");
    let status = serde_json::from_str::<Value>(&run(&server, &["status", "--json"])).unwrap();
    assert_eq!(status["paused_organizations"], 1);
    assert_eq!(cast.u1.get("/organization").await.data()["pause"]["reason"], "runaway costs");
    let other = cast.u2.sent(&cast.r2, "hello", &[&cast.a3.id]).await;
    assert_eq!(cast.a3.next(&cast.r2).await, Some(other), "others go on");
    server.crash().await;
    is_stopped(&cast.a1, &cast.r1, &sent).await;
    let mut socket = listen(&server, &cast.a1, &cast.r1).await;
    let resumed = cast.u1.post_nothing("/organization/resume").await.data();
    assert_eq!(resumed["pause"], Value::Null);
    signal(&mut socket, &cast.a1, "play", Some(&cast.r1), &one).await;
    assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&sent));
    let again = cast.u1.post("/organization/pause", json!({"reason": "again"})).await;
    assert_eq!(again.status, 200);
    let said = serde_json::from_str::<Value>(&run(&server, &["org", "resume", "ann", "--json"])).unwrap();
    assert_eq!(said["organization"]["pause"], Value::Null);
}

/// In every room, also in one that it enters meanwhile; it survives a kill. The owner and the operator end it.
#[tokio::test]
async fn a_paused_agent_works_again_when_it_is_resumed() {
    let mut server = Server::start_alone(&[SOON]).await;
    let cast = Cast::on(&server).await;
    let one = execution(&cast.u1, &cast.a1).await;
    let sent = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    let mut socket = listen(&server, &cast.a1, &cast.r1).await;
    let mut watching = Socket::of(&server, &cast.u1).await;
    let agents = format!("user_agents:{}", cast.u1.id);
    watching.join("1", &agents).await;
    let (pause, resume) = (format!("/agents/{}/pause", cast.a1.id), format!("/agents/{}/resume", cast.a1.id));
    let reason = json!({"reason": "wrong answers"});
    assert_eq!(cast.u2.post(&pause, reason.clone()).await.status, 404);
    assert_eq!(cast.u1.post(&pause, reason).await.data()["pause"]["reason"], "wrong answers");
    assert_eq!(watching.event("1", &agents, "agent_updated").await["pause"]["reason"], "wrong answers");
    signal(&mut socket, &cast.a1, "stop", Some(&cast.r1), &one).await;
    is_stopped(&cast.a1, &cast.r1, &sent).await;
    let own = cast.a1.get("/me").await.data();
    assert!(own["pause"]["since"].is_string());
    assert_eq!(own["pause"]["reason"], Value::Null, "the reason is meant for people");
    let other = cast.u1.sent(&cast.r1, "hello", &[&cast.a2.id]).await;
    assert_eq!(cast.a2.next(&cast.r1).await, Some(other), "others go on");
    let shown = run(&server, &["agent", "show", "ann/one"]);
    assert!(shown.contains("paused since") && shown.contains("wrong answers"), "{shown}");
    let status = serde_json::from_str::<Value>(&run(&server, &["status", "--json"])).unwrap();
    assert_eq!(status["paused_agents"], 1);
    let late = cast.u1.create_chat().await;
    assert_eq!(cast.u1.add(&late, &cast.a1.id).await.status, 201);
    let later = cast.u1.sent(&late, "hello", &[&cast.a1.id]).await;
    server.crash().await;
    is_stopped(&cast.a1, &cast.r1, &sent).await;
    is_stopped(&cast.a1, &late, &later).await;

    let mut socket = listen(&server, &cast.a1, &cast.r1).await;
    assert_eq!(cast.u1.post_nothing(&resume).await.data()["pause"], Value::Null);
    signal(&mut socket, &cast.a1, "play", Some(&cast.r1), &one).await;
    assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&sent));
    assert_eq!(cast.a1.next(&late).await.as_ref(), Some(&later));
    let said = run(&server, &["agent", "pause", "ann/one", "--reason", "again"]);
    assert!(said.contains("paused since") && said.contains("again"), "{said}");
    signal(&mut socket, &cast.a1, "stop", Some(&cast.r1), &one).await;
    let said =
        serde_json::from_str::<Value>(&run(&server, &["agent", "resume", "ann/one", "--json"])).unwrap();
    assert_eq!(said["agent"]["pause"], Value::Null);
    signal(&mut socket, &cast.a1, "play", Some(&cast.r1), &one).await;
}
