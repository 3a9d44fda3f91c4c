//! Rooms, titles, roles, statuses, deletion.

use e2e::cast::Cast;
use e2e::{Answer, Api, Server};
use serde_json::{Value, json};

use crate::{add_as, column, refusal, remove, room, say};

async fn row(viewer: &Api, chat: &str, who: &Api) -> Value {
    let roster = viewer.get(&format!("/chats/{chat}/participants")).await.data();
    roster.as_array().unwrap().iter().find(|row| row["id"] == who.id.as_str()).unwrap().clone()
}

async fn rename(by: &Api, chat: &str, title: &str) -> Answer {
    let body = json!({"chat": {"title": title}});
    by.call(reqwest::Method::PATCH, &format!("/chats/{chat}"), Some(body)).await
}

#[tokio::test]
async fn case_13_whoever_makes_a_room_owns_it() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let chat = cast.a1.create_chat().await;
    assert_eq!(row(&cast.a1, &chat, &cast.a1).await["role"], "owner");
    let rooms = column(cast.u1.get("/chats").await, "id");
    assert!(!rooms.contains(&chat), "the agent's owner takes no part in it");
    let with_agents = column(cast.u1.get("/chats?include=agent_rooms").await, "id");
    assert!(with_agents.contains(&chat), "but may look into it");
    assert!(!column(cast.u2.get("/chats?include=agent_rooms").await, "id").contains(&chat));
    // Looking is all: what an observer says or changes finds no room, or no right.
    assert_eq!(cast.u1.get(&format!("/chats/{chat}/messages")).await.status, 200);
    assert_eq!(refusal(&say(&cast.u1, &chat, "hello", json!([])).await), (404, "not_found"));
    assert_eq!(refusal(&cast.u1.add(&chat, &cast.a2.id).await), (404, "not_found"));
    let renamed = rename(&cast.u1, &chat, "Mine").await;
    assert_eq!(refusal(&renamed), (403, "forbidden"));
    assert_eq!(cast.u1.delete(&format!("/chats/{chat}")).await.status, 200, "an own agent owns it");
}

#[tokio::test]
async fn case_14_the_first_text_makes_the_title_once() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let title = |chat: String| {
        let ann = cast.u1.clone();
        async move { ann.get(&format!("/chats/{chat}")).await.data()["title"].as_str().unwrap().to_owned() }
    };
    assert_eq!(title(cast.r1.clone()).await, "Untitled room");
    cast.u1.sent(&cast.r1, "@ann/one Book   a flight\nto Rome", &[&cast.a1.id, &cast.a2.id]).await;
    assert_eq!(title(cast.r1.clone()).await, "Book a flight");
    cast.u1.sent(&cast.r1, "and a hotel", &[&cast.a1.id]).await;
    assert_eq!(title(cast.r1.clone()).await, "Book a flight");
    let named = cast.u1.post("/chats", json!({"chat": {"title": " Given "}})).await.data();
    let named = named["id"].as_str().unwrap().to_owned();
    cast.u1.sent(&named, "something else", &[]).await;
    assert_eq!(title(named.clone()).await, "Given");
    // Another agent does not learn from the title what was said before it came; nor does the title outlive its text.
    let open = cast.u1.create_chat().await;
    assert_eq!(cast.u1.add(&open, &cast.a1.id).await.status, 201);
    let text = cast.u1.sent(&open, "The offer is 4 million", &[&cast.a1.id]).await;
    assert_eq!(title(open.clone()).await, "The offer is 4 million");
    assert_eq!(cast.u1.add(&open, &cast.a2.id).await.status, 201);
    assert_eq!(title(open.clone()).await, "Untitled room");
    assert_eq!(cast.a2.get(&format!("/chats/{open}")).await.data()["title"], "Untitled room");
    let alone = cast.u1.create_chat().await;
    let secret = cast.u1.sent(&alone, "A secret", &[]).await;
    assert_eq!(title(alone.clone()).await, "A secret");
    assert_eq!(cast.u1.delete(&format!("/chats/{alone}/messages/{secret}")).await.status, 200);
    assert_eq!(title(alone).await, "Untitled room");
    assert_eq!(cast.u1.delete(&format!("/chats/{open}/messages/{text}")).await.status, 200);
    // Renaming is the owner's.
    assert_eq!(cast.u1.add(&named, &cast.a1.id).await.status, 201);
    assert_eq!(refusal(&rename(&cast.a1, &named, "Theirs").await), (403, "forbidden"));
    assert_eq!(refusal(&rename(&cast.u2, &named, "Theirs").await), (404, "not_found"));
    assert_eq!(rename(&cast.u1, &named, "Renamed").await.data()["title"], "Renamed");
    cast.u1.sent(&named, "and more", &[]).await;
    assert_eq!(title(named).await, "Renamed");
}

/// Every row of the table, with humans and agents as callers.
#[tokio::test]
async fn case_15_roles_decide_who_adds_and_removes_whom() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let mut agents = Vec::new();
    for name in ["Owner", "Admin", "Member", "Other", "Extra"] {
        agents.push(ann.register(&server, name).await);
    }
    let [owner, admin, member, other, extra] = agents.as_slice() else { unreachable!() };
    let chat = owner.create_chat().await;
    for (who, role) in [(admin, "admin"), (member, "member"), (other, "member")] {
        assert_eq!(add_as(owner, &chat, who, role).await.status, 201);
    }
    // Adding.
    for (by, role, expected) in [
        (member, "admin", 403),
        (member, "owner", 403),
        (admin, "owner", 403),
        (member, "member", 201),
        (admin, "admin", 201),
        (admin, "member", 201),
        (owner, "owner", 201),
        (owner, "admin", 201),
        (owner, "member", 201),
    ] {
        let answer = add_as(by, &chat, extra, role).await;
        assert_eq!(answer.status, expected, "{role} {answer:?}");
        if expected == 201 {
            assert_eq!(answer.data()["role"], json!(role));
            assert_eq!(remove(owner, &chat, extra).await.status, 200);
        }
    }
    assert_eq!(refusal(&add_as(owner, &chat, member, "admin").await), (409, "conflict"));
    assert_eq!(row(owner, &chat, member).await["role"], "member", "a second adding is no promotion");
    assert_eq!(refusal(&add_as(member, &chat, member, "admin").await), (403, "forbidden"));
    // Removing.
    for (by, target) in [(admin, owner), (member, owner), (member, other), (member, admin)] {
        assert_eq!(refusal(&remove(by, &chat, target).await), (403, "forbidden"));
    }
    assert_eq!(add_as(owner, &chat, &ann, "member").await.status, 201);
    assert_eq!(refusal(&remove(owner, &chat, &ann).await), (403, "forbidden"), "no agent removes a human");
    assert_eq!(remove(&ann, &chat, &ann).await.status, 200);
    assert_eq!(remove(admin, &chat, other).await.status, 200);
    assert_eq!(refusal(&remove(owner, &chat, other).await), (404, "not_found"));
    assert_eq!(remove(owner, &chat, admin).await.status, 200);
    assert_eq!(remove(member, &chat, member).await.status, 200);
    assert_eq!(refusal(&add_as(member, &chat, member, "member").await), (404, "not_found"));
    assert_eq!(add_as(owner, &chat, member, "admin").await.status, 201, "who left may come back");
}

#[tokio::test]
async fn case_16_an_agent_is_active_once_it_has_shown_itself() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    for (who, expected) in [(&cast.u1, "active"), (&cast.a1, "inactive"), (&cast.a2, "inactive")] {
        assert_eq!(row(&cast.u1, &cast.r1, who).await["status"], expected);
    }
    assert_eq!(cast.a1.next(&cast.r1).await, None);
    cast.a2.sent(&cast.r1, "here I am", &[&cast.u1.id]).await;
    for who in [&cast.a1, &cast.a2] {
        assert_eq!(row(&cast.u1, &cast.r1, who).await["status"], "active");
    }
}

#[tokio::test]
async fn case_17_the_only_owner_stays() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let left = remove(&cast.u1, &cast.r1, &cast.u1).await;
    assert_eq!(refusal(&left), (403, "cannot_remove_sole_owner"));
    let chat = room(&cast.a1, &[]).await;
    assert_eq!(refusal(&remove(&cast.a1, &chat, &cast.a1).await), (403, "cannot_remove_sole_owner"));
    assert_eq!(add_as(&cast.a1, &chat, &cast.a2, "owner").await.status, 201);
    assert_eq!(remove(&cast.a1, &chat, &cast.a1).await.status, 200);
}

#[tokio::test]
async fn case_18_a_deleted_room_is_gone_at_once() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    assert_eq!(cast.u1.delete(&format!("/chats/{}", cast.r1)).await.status, 200);
    for path in ["", "/participants", "/messages"] {
        let path = format!("/chats/{}{path}", cast.r1);
        assert_eq!(refusal(&cast.u1.get(&path).await), (404, "not_found"), "{path}");
        assert_eq!(refusal(&cast.a1.get(&path).await), (404, "not_found"), "{path}");
    }
    for path in ["/messages/next", "/context"] {
        assert_eq!(refusal(&cast.a1.get(&format!("/chats/{}{path}", cast.r1)).await), (404, "not_found"));
    }
    let mentions = json!([{"id": cast.a2.id}]);
    assert_eq!(refusal(&say(&cast.a1, &cast.r1, "x", mentions.clone()).await), (404, "not_found"));
    assert_eq!(refusal(&say(&cast.u1, &cast.r1, "x", mentions).await), (404, "not_found"));
    assert_eq!(refusal(&cast.a1.step(&cast.r1, &message, "processing").await), (404, "not_found"));
    assert!(!column(cast.u1.get("/chats").await, "id").contains(&cast.r1));
    assert!(!column(cast.a1.get("/chats").await, "id").contains(&cast.r1));
}
