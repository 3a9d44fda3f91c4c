//! People of another organization in a room: what they ask is labeled, gives an agent fewer rights, and is held.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Server, Socket, until};
use reqwest::Method;
use serde_json::{Value, json};

/// What is shown of the message in the room.
async fn shown(by: &Api, room: &str, message: &Value) -> Value {
    by.history(room).await.into_iter().find(|row| row["id"] == *message).unwrap()
}

/// The text of Ben's for Ann's agent, and its state in the answer.
async fn ask(cast: &Cast) -> (Value, Value) {
    let sent = cast.u2.send(&cast.r1, "go", &[&cast.a1.id]).await;
    assert_eq!(sent.status, 201, "{sent:?}");
    let data = sent.data();
    (data["id"].clone(), data["recipients"][0]["status"].clone())
}

async fn told(by: &Api, room: &str) -> Vec<Value> {
    let events = by.history(room).await.into_iter().filter(|message| message["message_type"] == "attention");
    events.map(|event| event["metadata"]["held_by"].clone()).collect()
}

/// Ben is a contact of Ann, and in her room. The server is killed while his text is held.
#[tokio::test]
async fn strangers_are_labeled_refused_and_held() {
    let mut server = Server::start_alone(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    let cast = Cast::on(&server).await;
    let Cast { u1: ann, u2: ben, a1: agent, r1: room, .. } = &cast;
    for (by, handle) in [(ann, "ben"), (ben, "ann")] {
        let body = json!({"contact_request": {"recipient_handle": handle}});
        assert_eq!(by.post("/contacts/requests", body).await.status, 201);
    }
    assert_eq!(ann.add(room, &ben.id).await.status, 201);
    let topic = format!("chat_room:{room}");
    let mut sockets = [Socket::of(&server, agent).await, Socket::of(&server, ann).await];
    for socket in &mut sockets {
        socket.join("1", &topic).await;
    }
    let foreign = json!({"foreign": true, "originator_type": "User"});
    let (asked, status) = ask(&cast).await;
    assert_eq!(status, "new");
    for socket in &mut sockets {
        let pushed = socket.event("1", &topic, "message_created").await;
        assert_eq!((&pushed["id"], &pushed["metadata"]["origin"]), (&asked, &foreign));
    }
    let text = asked.as_str().unwrap();
    let offered = agent.get(&format!("/chats/{room}/messages/next")).await.data();
    assert_eq!((&offered["id"], &offered["metadata"]["origin"]), (&asked, &foreign));
    assert_eq!(agent.step(room, text, "processing").await.status, 200);

    let memory = json!({"memory": {
        "content": "a fact", "scope": "organization", "system": "long_term", "type": "semantic",
        "segment": "agent", "thought": "why not",
    }});
    let refused = agent.post("/memories", memory.clone()).await;
    assert_eq!((refused.status, refused.code()), (403, "foreign_cause"));
    let event = json!({"event": {
        "message_type": "thought", "content": "hm", "metadata": {"origin": {"foreign": false}, "mine": 1},
    }});
    let event = agent.post(&format!("/chats/{room}/events"), event).await.data();
    let event = shown(ann, room, &event["id"]).await;
    assert_eq!((&event["metadata"]["origin"], &event["metadata"]["mine"]), (&foreign, &json!(1)));
    assert_eq!(agent.step(room, text, "processed").await.status, 200);
    assert_eq!(agent.post("/memories", memory).await.status, 201);
    let own = json!(ann.sent(room, "mine", &[&agent.id]).await);
    assert_eq!(shown(ben, room, &own).await["metadata"].get("origin"), None);
    assert_eq!(agent.step(room, own.as_str().unwrap(), "processing").await.status, 200);
    assert_eq!(agent.step(room, own.as_str().unwrap(), "processed").await.status, 200);

    let policy = json!({"organization": {"foreign": "hold"}});
    assert_eq!(ann.call(Method::PATCH, "/organization", Some(policy)).await.data()["foreign"], "hold");
    let (held, status) = ask(&cast).await;
    assert_eq!((status, agent.next(room).await), (json!("held"), None));
    server.kill9();
    server.run().await;
    until("the humans are told", async || told(ann, room).await == ["foreign"]).await;
    assert_eq!((ask(&cast).await.1, agent.next(room).await), (json!("held"), None));
    let of = async |by: &Api| by.get("/work?state=held").await.data().as_array().unwrap().clone();
    assert_eq!(of(ben).await, Vec::<Value>::new());
    let items = of(ann).await;
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item["held_by"] == "foreign"), "{items:?}");
    let path = format!("/work/{}/{}/retry", held.as_str().unwrap(), agent.id);
    assert_eq!(ben.post_nothing(&path).await.status, 404);
    assert_eq!(ann.post_nothing(&path).await.status, 200);
    assert_eq!(agent.next(room).await.map(Value::from), Some(held));
    assert_eq!((of(ann).await.len(), told(ann, room).await.len()), (1, 1));
}
