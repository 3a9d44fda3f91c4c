//! Agents that answer each other for ever, on one server that is killed, and on two.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, Socket, until};
use serde_json::{Value, json};

/// A text to an agent: its id, and the state of the recipient as the answer has it.
async fn say(by: &Api, room: &str, to: &Api) -> (String, String) {
    let body = json!({"message": {"content": "and you?", "mentions": [{"id": to.id}]}});
    let sent = by.post(&format!("/chats/{room}/messages"), body).await.data();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&sent["id"]), text(&sent["recipients"][0]["status"]))
}

/// The agents answer one another in turn, from this text for the first of them, until a text is held; the texts.
async fn echo(agents: &[Api], room: &str, first: &str) -> Vec<String> {
    let mut texts = vec![first.to_owned()];
    for turn in 0..100 {
        let (from, to) = (&agents[turn % agents.len()], &agents[(turn + 1) % agents.len()]);
        let last = texts.last().unwrap();
        assert_eq!(from.next(room).await.as_ref(), Some(last));
        assert_eq!(from.step(room, last, "processing").await.status, 200);
        let (text, status) = say(from, room, to).await;
        assert_eq!(from.step(room, last, "processed").await.status, 200);
        texts.push(text);
        if status == "held" {
            assert_eq!(to.next(room).await, None);
            return texts;
        }
    }
    panic!("they go on for ever");
}

/// The events of a room about what is held, and the texts that they name.
async fn told(by: &Api, room: &str) -> Vec<String> {
    let events = by.history(room).await.into_iter().filter(|message| message["message_type"] == "attention");
    let about = events.map(|event| {
        assert_eq!(event["metadata"]["held_by"], "max_hops");
        event["metadata"]["message_id"].as_str().unwrap().to_owned()
    });
    about.collect()
}

async fn held(by: &Api) -> Vec<Value> {
    by.get("/work?state=held").await.data().as_array().unwrap().clone()
}

/// What is held stays held when the server is killed, is told once, and goes on when the tree is released.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pair_stops_and_goes_on_when_it_is_released() {
    let mut server =
        Server::start_alone(&[("PARLANCE_MAX_HOPS", "5"), ("PARLANCE_RATE_LIMITS", "false")]).await;
    let cast = Cast::on(&server).await;
    let (pair, room) = ([cast.a1.clone(), cast.a2.clone()], &cast.r1);
    let (begun, status) = say(&cast.u1, room, &pair[0]).await;
    assert_eq!(status, "new");
    let texts = echo(&pair, room, &begun).await;
    assert_eq!(texts.len(), 7, "the root, five hops, and one that is held");
    server.kill9();
    server.run().await;
    let last = texts.last().unwrap();
    until("the humans are told", async || told(&cast.u1, room).await == [last.as_str()]).await;
    server.kill9();
    server.run().await;
    let [item] = &held(&cast.u1).await[..] else { panic!("one item") };
    assert_eq!((&item["message_id"], &item["held_by"]), (&json!(last), &json!("max_hops")));
    assert_eq!((&item["state"], &item["flags"]), (&json!("held"), &json!(["held"])));

    let retry = json!({"state": "held", "root": begun});
    assert_eq!(cast.u1.post("/work/retry", retry).await.data()["changed"], 1);
    assert_eq!(held(&cast.u1).await, Vec::<Value>::new());
    let more = echo(&pair, room, last).await;
    assert_eq!(more.len(), 7, "as many hops again");
    until("the humans are told again", async || told(&cast.u1, room).await.len() == 2).await;
    let end = json!({"state": "held", "root": begun, "reason": "a loop"});
    assert_eq!(cast.u1.post("/work/dead-letter", end).await.data()["changed"], 1);

    // Fresh work is not held, however much there is.
    for _ in 0..8 {
        let (fresh, _) = say(&cast.u1, room, &pair[0]).await;
        assert_eq!(pair[0].step(room, &fresh, "processing").await.status, 200);
        let (asked, status) = say(&pair[0], room, &pair[1]).await;
        assert_eq!(status, "new");
        for (agent, message) in [(&pair[0], &fresh), (&pair[1], &asked)] {
            agent.step(room, message, "processing").await;
            assert_eq!(agent.step(room, message, "processed").await.status, 200);
        }
    }
    assert_eq!(told(&cast.u1, room).await.len(), 2);
}

/// Each of the agents is on another server than the one before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_of_three_stops_over_two_servers() {
    let fleet = Fleet::with_nats(2, &[("PARLANCE_MAX_HOPS", "4"), ("PARLANCE_RATE_LIMITS", "false")]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    let room = &cast.r1;
    let third = cast.u1.register(here, "Last").await;
    assert_eq!(cast.u1.add(room, &third.id).await.status, 201);
    let ring = [cast.a1.on(here), cast.a2.on(there), third];
    let topic = format!("chat_room:{room}");
    let mut sockets = [Socket::of(here, &cast.u1).await, Socket::of(there, &cast.u1).await];
    for socket in &mut sockets {
        socket.join("1", &topic).await;
    }
    let (begun, _) = say(&cast.u1, room, &ring[0]).await;
    let texts = echo(&ring, room, &begun).await;
    assert_eq!(texts.len(), 6);
    for socket in &mut sockets {
        let event = loop {
            let frame = socket.frame().await;
            if frame[3] == "event_created" {
                break frame[4].clone();
            }
        };
        assert_eq!(
            (&event["message_type"], &event["metadata"]["root_id"]),
            (&json!("attention"), &json!(begun))
        );
    }
    let (next, _) = say(&cast.u1, room, &ring[0]).await;
    echo(&ring, room, &next).await;
    until("both trees are told of", async || told(&cast.u1, room).await.len() == 2).await;
}

/// Their clients tell no server what they work on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pair_that_opens_no_attempts_stops() {
    let settings = [("PARLANCE_MAX_PAIR_MESSAGES", "32"), ("PARLANCE_RATE_LIMITS", "false")];
    let server = Server::start_with(&settings).await;
    let cast = Cast::on(&server).await;
    let (pair, room) = ([cast.a1.clone(), cast.a2.clone()], &cast.r1);
    let talk = async || {
        for turn in 0..100 {
            let (text, status) = say(&pair[turn % 2], room, &pair[(turn + 1) % 2]).await;
            if status == "held" {
                return (turn, text);
            }
        }
        panic!("they go on for ever");
    };
    let (number, text) = talk().await;
    assert!((33..=40).contains(&number), "they are counted after every eight: {number}");
    let [item] = &held(&cast.u1).await[..] else { panic!("one item") };
    assert_eq!((&item["message_id"], &item["held_by"]), (&json!(text), &json!("max_pair_messages")));
    until("the humans are told", async || {
        let history = cast.u1.history(room).await;
        let told = history.iter().filter(|message| message["message_type"] == "attention");
        told.map(|event| &event["metadata"]["held_by"]).collect::<Vec<_>>() == ["max_pair_messages"]
    })
    .await;
    let retry = json!({"state": "held"});
    assert_eq!(cast.u1.post("/work/retry", retry).await.data()["changed"], 1);
    let (number, _) = talk().await;
    assert!((24..=40).contains(&number), "as many again: {number}");
}
