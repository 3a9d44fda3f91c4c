//! Joining and leaving rooms, and their deletion.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Server, Socket, is_spread};
use serde_json::json;

/// The first asks, the second agrees: they are peers.
async fn acquaint(first: &Api, handle: &str, second: &Api) {
    let body = json!({ "contact_request": { "recipient_handle": handle } });
    let request = first.post("/contacts/requests", body).await.data();
    let path = format!("/contacts/requests/{}/approve", request["id"].as_str().unwrap());
    assert_eq!(second.post_nothing(&path).await.data()["status"], "approved");
}

#[tokio::test]
async fn case_38_53_whoever_is_added_hears_of_it_and_may_join_at_once() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let newcomer = cast.u1.register(&server, "Four").await;
    let rooms = format!("agent_rooms:{}", newcomer.id);
    let people = format!("room_participants:{}", cast.r1);
    let mut agent = Socket::of(&server, &newcomer).await;
    agent.join("1", &rooms).await;
    let mut human = Socket::of(&server, &cast.u1).await;
    human.join("2", &people).await;

    assert_eq!(cast.u1.add(&cast.r1, &newcomer.id).await.status, 201);
    let added = agent.event("1", &rooms, "room_added").await;
    assert_eq!(added["id"], json!(cast.r1));
    for name in ["title", "inserted_at", "updated_at", "status", "type"] {
        assert!(added[name].is_string(), "{name}: {added}");
    }
    agent.join("3", &format!("chat_room:{}", cast.r1)).await;
    let came = human.event("2", &people, "participant_added").await;
    assert_eq!(
        (&came["id"], &came["name"], &came["type"]),
        (&json!(newcomer.id), &json!("Four"), &json!("Agent"))
    );
    assert_eq!(came["handle"], "ann/four");
    assert!(came.get("email").is_none());
}

/// The event may come before the answer to the request that caused it; the join is good all the same.
#[tokio::test]
async fn case_38_every_room_may_be_joined_as_soon_as_it_is_told() {
    const ROOMS: usize = 20;
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let rooms = format!("agent_rooms:{}", cast.a1.id);
    let mut agent = Socket::of(&server, &cast.a1).await;
    agent.join("1", &rooms).await;
    let mut fresh = Vec::new();
    for _ in 0..ROOMS {
        fresh.push(cast.u1.create_chat().await);
    }
    let (owner, member, chats) = (cast.u1.clone(), cast.a1.id.clone(), fresh.clone());
    let adding = tokio::spawn(async move {
        for chat in chats {
            assert_eq!(owner.add(&chat, &member).await.status, 201);
        }
    });
    // The next room's event may come before the answers to the joins of this one.
    let (mut reported, mut joined) = (Vec::new(), Vec::new());
    while joined.len() < ROOMS {
        let frame = agent.frame().await;
        if frame[3] == "room_added" {
            let chat = frame[4]["id"].as_str().unwrap().to_owned();
            agent
                .send_raw(&json!([chat, chat, format!("chat_room:{chat}"), "phx_join", {}]).to_string())
                .await;
            reported.push(chat);
        } else {
            assert_eq!(frame[4], json!({ "status": "ok", "response": {} }), "{frame}");
            joined.push(frame[0].as_str().unwrap().to_owned());
        }
    }
    adding.await.unwrap();
    assert_eq!((&reported, &joined), (&fresh, &fresh));
}

#[tokio::test]
async fn case_58_a_human_who_is_added() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    acquaint(&cast.u1, "ben", &cast.u2).await;
    let (people, rooms) = (format!("room_participants:{}", cast.r1), format!("user_rooms:{}", cast.u2.id));
    let mut inside = Socket::of(&server, &cast.u1).await;
    inside.join("1", &people).await;
    let mut newcomer = Socket::of(&server, &cast.u2).await;
    newcomer.join("2", &rooms).await;
    assert_eq!(cast.u1.add(&cast.r1, &cast.u2.id).await.status, 201);
    let came = inside.event("1", &people, "participant_added").await;
    assert_eq!((&came["id"], &came["type"]), (&json!(cast.u2.id), &json!("User")));
    assert!(!came.to_string().contains("example.org"), "{came}");
    assert_eq!(newcomer.event("2", &rooms, "room_added").await["id"], json!(cast.r1));
}

/// As the nodes for n8n connect: an owner's key in the query, and the agent it wants to be.
#[tokio::test]
async fn case_75_an_agent_on_its_owners_key() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let query = format!("api_key={}&agent_id={}&vsn=2.0.0", cast.u1.key, cast.a1.id);
    let mut socket = Socket::connect(&server, &query, &[]).await.unwrap();
    let rooms = format!("agent_rooms:{}", cast.a1.id);
    socket.join("1", &rooms).await;
    let room = cast.u1.create_chat().await;
    assert_eq!(cast.u1.add(&room, &cast.a1.id).await.status, 201);
    assert_eq!(socket.event("1", &rooms, "room_added").await["id"], json!(room));
    let chat = format!("chat_room:{room}");
    socket.join("2", &chat).await;
    let id = cast.u1.sent(&room, "hello", &[&cast.a1.id]).await;
    let heard = socket.event("2", &chat, "message_created").await;
    assert_eq!((&heard["id"], &heard["sender_id"]), (&json!(id), &json!(cast.u1.id)));
}

#[tokio::test]
async fn case_54_the_creator_hears_of_its_own_room() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let rooms = format!("agent_rooms:{}", cast.a1.id);
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &rooms).await;
    let room = cast.a1.create_chat().await;
    assert_eq!(socket.event("1", &rooms, "room_added").await["id"], json!(room));
    socket.join("2", &format!("chat_room:{room}")).await;
}

#[tokio::test]
async fn case_55_56_whoever_is_removed_hears_nothing_more() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (chat, people) = (format!("chat_room:{}", cast.r1), format!("room_participants:{}", cast.r1));
    let rooms = format!("agent_rooms:{}", cast.a2.id);
    let mut human = Socket::of(&server, &cast.u1).await;
    human.join("3", &people).await;
    let mut removed = Socket::of(&server, &cast.a2).await;
    let mut came = [human.frame().await[3].clone(), human.frame().await[3].clone()];
    came.sort_by_key(ToString::to_string);
    assert_eq!(came, ["agent_connected", "participant_presence_changed"]);
    removed.join("1", &chat).await;
    removed.join("2", &rooms).await;

    let path = format!("/chats/{}/participants/{}", cast.r1, cast.a2.id);
    assert_eq!(cast.u1.delete(&path).await.status, 200);
    let left = human.event("3", &people, "participant_removed").await;
    assert_eq!(
        (&left["id"], &left["name"], &left["type"]),
        (&json!(cast.a2.id), &json!("Two"), &json!("Agent"))
    );
    let end = json!(["1", "1", chat, "phx_close", {}]);
    let mut heard = [removed.frame().await, removed.frame().await];
    heard.sort_by_key(|frame| frame[3] != "phx_close");
    assert_eq!(heard[0], end);
    assert_eq!((&heard[1][3], &heard[1][4]["id"]), (&json!("room_removed"), &json!(cast.r1)));
    assert!(heard[1][4]["removed_at"].is_string(), "{heard:?}");

    let mention = cast.u1.send(&cast.r1, "are you there", &[&cast.a2.id]).await;
    assert_eq!((mention.status, mention.code()), (422, "mentioned_participant_not_in_room"));
    removed.silent().await;
    removed.refused("4", &chat, "unauthorized").await;
}

#[tokio::test]
async fn a_first_message_titles_the_room_for_those_in_it() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let people = format!("room_participants:{}", cast.r1);
    let mut human = Socket::of(&server, &cast.u1).await;
    human.join("1", &people).await;
    let rooms = format!("user_rooms:{}", cast.u1.id);
    human.join("2", &rooms).await;
    cast.u1.sent(&cast.r1, "@ann/one plan the week\nin detail", &[&cast.a1.id, &cast.a2.id]).await;
    let mut heard = [human.frame().await, human.frame().await];
    if is_spread() {
        // What is a room's and what is a user's come by two ways.
        heard.sort_by_key(|frame| frame[0].to_string());
    }
    let title = json!({ "id": cast.r1, "title": "plan the week" });
    assert_eq!(heard[0], json!(["1", null, people, "room_title_changed", title]));
    let row = cast.u1.get(&format!("/chats/{}", cast.r1)).await.data();
    assert_eq!(heard[1], json!(["2", null, rooms, "room_updated", row]));
    assert_eq!(row["title"], "plan the week");
    cast.u1.sent(&cast.r1, "something else", &[]).await;
    human.silent().await;
}

/// Also if the sender and the reader are on different nodes: the last state comes, in the row that REST has.
#[tokio::test]
async fn a_room_that_is_not_open_is_told_to_have_changed() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut human = Socket::of(&server, &cast.u1).await;
    human.join("1", &format!("user_rooms:{}", cast.u1.id)).await;
    let fresh = cast.u1.create_chat().await;
    assert_eq!(cast.u1.add(&fresh, &cast.a1.id).await.status, 201);
    for room in [&cast.r1, &fresh] {
        for number in 0..12 {
            cast.a1.sent(room, &format!("text {number}"), &[&cast.u1.id]).await;
        }
        let row = loop {
            let row = human.changed_room().await;
            if row["id"] == json!(room) && row["unread"]["count"] == 12 {
                break row;
            }
        };
        let listed =
            cast.u1.get(&format!("/chats/{room}?include=last_message,membership,unread")).await.data();
        for part in ["title", "unread", "agents", "membership", "last_message_at", "work_status"] {
            assert_eq!(row[part], listed[part], "{part}");
        }
        for part in ["id", "content", "sequence"] {
            assert_eq!(row["last_message"][part], listed["last_message"][part], "{part}");
        }
    }
    let marked = cast.u1.post_nothing("/chats/read").await.data();
    assert_eq!((marked["rooms"].as_array().unwrap().len(), &marked["has_more"]), (2, &json!(false)));
    let mut read = [human.frame().await, human.frame().await];
    read.sort_by_key(|frame| frame[4]["id"].to_string());
    for (frame, room) in read.iter().zip(marked["rooms"].as_array().unwrap()) {
        assert_eq!((&frame[3], &frame[4]), (&json!("room_read"), room));
    }
}
