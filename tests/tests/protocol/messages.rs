//! The recipients of a message, and its form.

use e2e::cast::Cast;
use e2e::{Server, Socket};
use reqwest::Method;
use serde_json::{Value, json};

/// A1, A2 and U1 on their room's messages, each under a reference of its own.
struct Listeners {
    a1: Socket,
    a2: Socket,
    u1: Socket,
    topic: String,
}

impl Listeners {
    async fn on(server: &Server, cast: &Cast) -> Self {
        let topic = format!("chat_room:{}", cast.r1);
        let mut listeners = Self {
            a1: Socket::of(server, &cast.a1).await,
            a2: Socket::of(server, &cast.a2).await,
            u1: Socket::of(server, &cast.u1).await,
            topic,
        };
        listeners.a1.join("4", &listeners.topic).await;
        listeners.a2.join("5", &listeners.topic).await;
        listeners.u1.join("6", &listeners.topic).await;
        listeners
    }
}

#[tokio::test]
async fn case_39_43_47_a_human_writes_to_one_agent() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut listeners = Listeners::on(&server, &cast).await;
    let id = cast.u1.sent(&cast.r1, "hello @ann/one", &[&cast.a1.id]).await;
    let heard = listeners.a1.event("4", &listeners.topic, "message_created").await;
    for (name, expected) in [
        ("id", json!(id)),
        ("content", json!(format!("hello @[[{}]]", cast.a1.id))),
        ("message_type", json!("text")),
        ("sender_id", json!(cast.u1.id)),
        ("sender_type", json!("User")),
        ("sender_name", json!("ann")),
        ("sender_handle", json!("ann")),
        ("chat_room_id", json!(cast.r1)),
        ("thread_id", Value::Null),
    ] {
        assert_eq!(heard[name], expected, "{name}");
    }
    assert_eq!(heard["metadata"]["mentions"][0]["id"], json!(cast.a1.id));
    assert_eq!(heard["metadata"]["mentions"][0]["handle"], "ann/one");
    for name in ["inserted_at", "updated_at"] {
        assert!(heard[name].as_str().is_some_and(|time| time.ends_with('Z')), "{name}");
    }
    assert_eq!(listeners.u1.event("6", &listeners.topic, "message_created").await["id"], json!(id));
    listeners.a2.silent().await;
}

#[tokio::test]
async fn case_44_45_an_agent_writes_and_does_not_hear_itself() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut listeners = Listeners::on(&server, &cast).await;
    let id = cast.a1.sent(&cast.r1, "to the other", &[&cast.a2.id]).await;
    assert_eq!(listeners.a2.event("5", &listeners.topic, "message_created").await["id"], json!(id));
    assert_eq!(listeners.u1.event("6", &listeners.topic, "message_created").await["id"], json!(id));
    let both = cast.a1.send(&cast.r1, "to itself as well", &[&cast.a1.id, &cast.a2.id]).await;
    assert_eq!((both.status, both.code()), (422, "cannot_mention_self"));
    listeners.a1.silent().await;
    listeners.a2.alive().await;
}

#[tokio::test]
async fn case_40_41_each_socket_has_its_own_reference_and_topics() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let (mut one, mut two) = (Socket::of(&server, &cast.u1).await, Socket::of(&server, &cast.u1).await);
    // These two take part and hear nothing: one joined nothing, the other something else.
    let mut nowhere = Socket::of(&server, &cast.u1).await;
    let mut elsewhere = Socket::of(&server, &cast.a1).await;
    elsewhere.join("1", &format!("agent_rooms:{}", cast.a1.id)).await;
    elsewhere.join("2", &format!("room_participants:{}", cast.r1)).await;
    cast.u1.sent(&cast.r1, "the first, which titles the room", &[&cast.a1.id, &cast.a2.id]).await;
    elsewhere.event("2", &format!("room_participants:{}", cast.r1), "room_title_changed").await;
    one.join("3", &topic).await;
    two.join("11", &topic).await;
    let id = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    assert_eq!(one.event("3", &topic, "message_created").await["id"], json!(id));
    assert_eq!(two.event("11", &topic, "message_created").await["id"], json!(id));
    nowhere.silent().await;
    elsewhere.silent().await;
}

#[tokio::test]
async fn case_46_events_are_for_humans() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut listeners = Listeners::on(&server, &cast).await;
    let typed = format!("@[[{}]] agrees", cast.u1.id);
    let body = json!({ "event": { "content": typed, "message_type": "thought", "metadata": { "a": 1 } } });
    let posted = cast.a1.post(&format!("/chats/{}/events", cast.r1), body).await.data();
    let heard = listeners.u1.event("6", &listeners.topic, "event_created").await;
    assert_eq!((&heard["id"], &heard["message_type"]), (&posted["id"], &json!("thought")));
    assert_eq!(heard["metadata"], json!({ "a": 1 }));
    assert_eq!(heard["content"], format!("@\\[[{}]] agrees", cast.u1.id), "an event mentions nobody");
    assert_eq!(heard["sender_handle"], "ann/one");
    assert_eq!((&heard["sender_id"], &heard["chat_room_id"]), (&json!(cast.a1.id), &json!(cast.r1)));
    listeners.a1.silent().await;
    listeners.a2.silent().await;
}

#[tokio::test]
async fn case_48_49_humans_follow_the_work() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut listeners = Listeners::on(&server, &cast).await;
    let id = cast.u1.sent(&cast.r1, "work", &[&cast.a1.id]).await;
    listeners.u1.event("6", &listeners.topic, "message_created").await;
    listeners.a1.event("4", &listeners.topic, "message_created").await;
    // First that the agent's socket took it.
    let heard = listeners.u1.event("6", &listeners.topic, "message_updated").await;
    let record = &heard["metadata"]["delivery_status"][&cast.a1.id];
    assert_eq!((&heard["id"], &record["status"]), (&json!(id), &json!("delivered")));
    assert_eq!((&record["attempts"], &record["processed_at"]), (&json!([]), &Value::Null));
    assert!(record["delivered_at"].is_string(), "{record}");
    for (step, status, attempt, attempt_status) in [
        ("processing", "processing", 1, "processing"),
        ("failed", "failed", 1, "failed"),
        ("processing", "processing", 2, "processing"),
        ("processed", "processed", 2, "success"),
    ] {
        assert_eq!(cast.a1.step(&cast.r1, &id, step).await.status, 200, "{step}");
        let heard = listeners.u1.event("6", &listeners.topic, "message_updated").await;
        let record = &heard["metadata"]["delivery_status"][&cast.a1.id];
        assert_eq!(
            (&record["status"], &record["current_attempt"]),
            (&json!(status), &json!(attempt)),
            "{step}"
        );
        let newest = record["attempts"].as_array().unwrap().last().unwrap();
        assert_eq!(newest["status"], json!(attempt_status), "{step}");
        let error = if status == "failed" { json!("it did not work") } else { Value::Null };
        assert_eq!(newest["error"], error, "{step}");
        assert!(newest["started_at"].is_string(), "{step}");
        assert_eq!(newest["completed_at"].is_string(), step != "processing", "{step}");
        assert_eq!(record["attempts"].as_array().unwrap().len(), attempt, "{step}");
    }
    listeners.a1.silent().await;
}

/// An edit, work on the edited text, its deletion, and work that comes too late.
#[tokio::test]
async fn case_50_humans_hear_of_changed_texts_and_agents_do_not() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut listeners = Listeners::on(&server, &cast).await;
    let id = cast.u1.sent(&cast.r1, "call @ann/one", &[&cast.a1.id]).await;
    for (socket, join_ref) in [(&mut listeners.u1, "6"), (&mut listeners.a1, "4")] {
        socket.event(join_ref, &listeners.topic, "message_created").await;
    }
    let heard = listeners.u1.event("6", &listeners.topic, "message_updated").await;
    assert_eq!(heard["metadata"]["delivery_status"][&cast.a1.id]["status"], "delivered");
    let path = format!("/chats/{}/messages/{id}", cast.r1);
    let edit = json!({ "message": { "content": "do not call @ann/one" } });
    let edited = cast.u1.call(Method::PATCH, &path, Some(edit)).await.data();
    let heard = listeners.u1.event("6", &listeners.topic, "message_updated").await;
    assert_eq!(heard, edited);
    assert_eq!(heard["content"], format!("do not call @[[{}]]", cast.a1.id));
    assert_eq!(heard["metadata"]["mentions"][0]["id"], json!(cast.a1.id));
    let waiting = cast.a1.get(&format!("/chats/{}/messages/next", cast.r1)).await.data();
    assert_eq!((&waiting["id"], &waiting["content"]), (&json!(id), &heard["content"]));
    cast.a1.step(&cast.r1, &id, "processing").await.data();
    let heard = listeners.u1.event("6", &listeners.topic, "message_updated").await;
    assert_eq!(heard["metadata"]["delivery_status"][&cast.a1.id]["status"], "processing");

    assert_eq!(cast.u1.delete(&path).await.data()["id"], json!(id));
    let heard = listeners.u1.event("6", &listeners.topic, "message_deleted").await;
    assert_eq!(heard, json!({ "id": id, "chat_room_id": cast.r1 }));
    for step in ["processing", "processed", "failed"] {
        let late = cast.a1.step(&cast.r1, &id, step).await;
        assert_eq!((late.status, late.code()), (404, "not_found"), "{step}");
    }
    assert_eq!(cast.a1.next(&cast.r1).await, None);
    assert_eq!(cast.u1.history(&cast.r1).await, Vec::<Value>::new());
    for socket in [&mut listeners.u1, &mut listeners.a1, &mut listeners.a2] {
        socket.alive().await;
    }
}

#[tokio::test]
async fn case_51_52_the_socket_and_next_agree() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let missed = cast.u1.sent(&cast.r1, "while away", &[&cast.a1.id]).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &topic).await;
    socket.silent().await;
    assert_eq!(cast.a1.next(&cast.r1).await, Some(missed.clone()));

    let mut human = Socket::of(&server, &cast.u1).await;
    human.join("2", &topic).await;
    let pushed = cast.u1.sent(&cast.r1, "while here", &[&cast.a1.id]).await;
    assert_eq!(socket.event("1", &topic, "message_created").await["id"], json!(pushed));
    human.event("2", &topic, "message_created").await;
    let updated = human.event("2", &topic, "message_updated").await;
    assert_eq!(updated["metadata"]["delivery_status"][&cast.a1.id]["status"], "delivered");
    // What is delivered waits like what is new, and reading changes neither.
    for _ in 0..2 {
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&missed));
        let open = cast.a1.get(&format!("/chats/{}/messages", cast.r1)).await.data();
        let states = open
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["metadata"]["delivery_status"][&cast.a1.id]["status"].clone());
        assert_eq!(states.collect::<Vec<_>>(), [Value::Null, json!("delivered")]);
    }
    human.silent().await;
    for id in [missed, pushed] {
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&id));
        cast.a1.step(&cast.r1, &id, "processing").await.data();
        cast.a1.step(&cast.r1, &id, "failed").await.data();
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(&id), "failed is offered again");
        cast.a1.step(&cast.r1, &id, "processing").await.data();
        cast.a1.step(&cast.r1, &id, "processed").await.data();
    }
    assert_eq!(cast.a1.next(&cast.r1).await, None);
}
