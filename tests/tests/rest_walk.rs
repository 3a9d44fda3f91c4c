//! The main job over REST alone, crash recovery, and who is kept out of what.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Server};
use reqwest::Method;
use serde_json::{Value, json};

/// The status of a participant in a room.
async fn membership(viewer: &Api, chat: &str, who: &Api) -> Value {
    let roster = viewer.get(&format!("/chats/{chat}/participants")).await.data();
    let row = roster.as_array().unwrap().iter().find(|row| row["id"] == who.id.as_str()).unwrap();
    row["status"].clone()
}

#[tokio::test]
async fn a_message_is_worked_on_until_it_is_done() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (ann, bot, chat) = (&cast.u1, &cast.a1, &cast.r1);
    assert_eq!(membership(ann, chat, bot).await, "inactive");
    assert_eq!(bot.next(chat).await, None);
    assert_eq!(membership(ann, chat, bot).await, "active");

    let first = ann.sent(chat, "@ann/one please", &[&bot.id]).await;
    let second = ann.sent(chat, "and this", &[&bot.id]).await;
    assert_eq!(bot.next(chat).await.as_ref(), Some(&first), "oldest first");
    let too_early = bot.step(chat, &first, "processed").await;
    assert_eq!((too_early.status, too_early.code()), (422, "validation_error"));
    assert!(too_early.body["error"]["details"]["/processing_attempt"].is_array(), "{too_early:?}");

    for (step, status, attempt) in
        [("processing", "processing", 1), ("failed", "failed", 1), ("processing", "processing", 2)]
    {
        let answer = bot.step(chat, &first, step).await.data();
        let expected = (json!(first), json!(status), json!(attempt), json!(true));
        let got = ["id", "status", "attempt_number", "success"].map(|name| answer[name].clone());
        assert_eq!((got[0].clone(), got[1].clone(), got[2].clone(), got[3].clone()), expected);
        assert_eq!(bot.next(chat).await.as_ref(), Some(&first), "after {step}");
    }
    bot.step(chat, &first, "processed").await.data();
    assert_eq!(bot.next(chat).await.as_ref(), Some(&second));
    bot.step(chat, &second, "processing").await.data();
    bot.step(chat, &second, "processed").await.data();
    assert_eq!(bot.next(chat).await, None, "all is done");
    assert_eq!(bot.get(&format!("/chats/{chat}/messages")).await.data(), json!([]));

    let shown = ann.history(chat).await.pop().unwrap();
    let record = &shown["metadata"]["delivery_status"][&bot.id];
    assert_eq!((&record["status"], &record["current_attempt"]), (&json!("processed"), &json!(2)));
    let attempts = shown["metadata"]["attempts"].as_array().unwrap();
    let states = attempts.iter().map(|attempt| &attempt["status"]).collect::<Vec<_>>();
    assert_eq!(states, ["failed", "success"]);
    assert!(attempts.iter().all(|a| a["agent_id"] == bot.id.as_str() && a["completed_at"].is_string()));
    assert_eq!((&shown["metadata"]["status"], &shown["sender_name"]), (&json!("sent"), &json!("ann")));
}

/// With nothing but the key that the first start printed.
#[tokio::test]
async fn a_new_user_gets_an_answer_from_an_agent() {
    let server = Server::start().await;
    let printed = server.printed();
    let key = printed.split_whitespace().find(|word| word.starts_with("thnv_u_")).unwrap();
    let me = Api::new(&server, "me", key, "");
    let bot = me.register(&server, "Echo").await;
    assert!(bot.key.starts_with("thnv_a_"));
    let profile = bot.get("/me").await.data();
    assert_eq!((&profile["id"], &profile["handle"]), (&json!(bot.id), &json!("admin/echo")));
    let listed = me.get("/agents").await.data().to_string();
    assert!(listed.contains(&bot.id) && !listed.contains(&bot.key), "a key is shown once: {listed}");

    let chat = me.create_chat().await;
    assert_eq!(me.add(&chat, &bot.id).await.status, 201);
    let question = me.sent(&chat, "Are you there?", &[&bot.id]).await;
    let next = bot.get(&format!("/chats/{chat}/messages/next")).await.data();
    assert_eq!((&next["id"], &next["sender_type"]), (&json!(question), &json!("User")));
    bot.step(&chat, &question, "processing").await.data();
    let asker = next["sender_id"].as_str().unwrap();
    let answer = bot.sent(&chat, "You said: Are you there?", &[asker]).await;
    bot.step(&chat, &question, "processed").await.data();

    let history = me.history(&chat).await;
    let ids = history.iter().map(|message| message["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(ids, [&answer, &question], "newest first");
    assert_eq!((&history[0]["sender_name"], &history[0]["sender_type"]), (&json!("Echo"), &json!("Agent")));
    let record = &history[1]["metadata"]["delivery_status"][&bot.id];
    assert_eq!((&record["status"], &record["current_attempt"]), (&json!("processed"), &json!(1)));
}

#[tokio::test]
async fn what_was_edited_and_deleted_is_so_after_a_crash() {
    let mut server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (ann, bot, chat) = (&cast.u1, &cast.a1, &cast.r1);
    let gone = ann.sent(chat, "never mind", &[&bot.id]).await;
    let kept = ann.sent(chat, "first", &[&bot.id]).await;
    bot.step(chat, &gone, "processing").await.data();
    let edit = json!({"content": "second"});
    ann.call(Method::PATCH, &format!("/chats/{chat}/messages/{kept}"), Some(edit)).await.data();
    ann.delete(&format!("/chats/{chat}/messages/{gone}")).await.data();
    server.crash().await;
    let history = ann.history(chat).await;
    assert_eq!((history.len(), &history[0]["id"]), (1, &json!(kept)));
    assert_eq!(history[0]["content"], format!("@[[{}]] second", bot.id));
    assert_eq!(bot.next(chat).await.as_ref(), Some(&kept));
    assert_eq!(bot.step(chat, &gone, "processed").await.status, 404);
    bot.step(chat, &kept, "processing").await.data();
    bot.step(chat, &kept, "processed").await.data();
    assert_eq!(bot.next(chat).await, None);
    ann.sent(chat, "goes on", &[&bot.id]).await;
}

#[tokio::test]
async fn an_agent_goes_on_after_a_crash_of_the_server() {
    let mut server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (bot, chat) = (&cast.a1, &cast.r1);
    let done = cast.u1.sent(chat, "done before", &[&bot.id]).await;
    let open = cast.u1.sent(chat, "open when it happens", &[&bot.id]).await;
    for (message, step) in [(&done, "processing"), (&done, "processed"), (&open, "processing")] {
        bot.step(chat, message, step).await.data();
    }
    server.crash().await;
    assert_eq!(bot.next(chat).await.as_ref(), Some(&open));
    assert_eq!(
        bot.step(chat, &open, "processed").await.data()["attempt_number"],
        1,
        "the attempt is still open"
    );
    assert_eq!(bot.next(chat).await, None);

    // An agent that crashed with the server starts over instead: that is the second attempt.
    let again = cast.u1.sent(chat, "tried twice", &[&bot.id]).await;
    bot.step(chat, &again, "processing").await.data();
    server.crash().await;
    assert_eq!(bot.next(chat).await.as_ref(), Some(&again));
    assert_eq!(bot.step(chat, &again, "processing").await.data()["attempt_number"], 2);
    bot.step(chat, &again, "processed").await.data();
    server.crash().await;
    assert_eq!(bot.next(chat).await, None, "done stays done");
}

#[tokio::test]
async fn whoever_comes_back_finds_what_was_open() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (ann, bot, chat) = (&cast.u1, &cast.a1, &cast.r1);
    let open = ann.sent(chat, "open", &[&bot.id]).await;
    let path = format!("/chats/{chat}/participants/{}", bot.id);
    assert_eq!(ann.delete(&path).await.status, 200);
    for (method, path, body) in room_operations(chat, &open, "agent") {
        let answer = bot.call(method.clone(), &path, body).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{method} {path}");
    }
    assert_eq!(ann.add(chat, &bot.id).await.status, 201);
    assert_eq!(bot.next(chat).await, Some(open));
}

#[tokio::test]
async fn a_deleted_room_is_gone_for_everybody_at_once() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "soon gone", &[&cast.a1.id]).await;
    assert_eq!(cast.u1.delete(&format!("/chats/{}", cast.r1)).await.status, 200);
    for (api, interface) in [(&cast.u1, "me"), (&cast.a1, "agent")] {
        for (method, path, body) in room_operations(&cast.r1, &message, interface) {
            let answer = api.call(method.clone(), &path, body).await;
            assert_eq!((answer.status, answer.code()), (404, "not_found"), "{interface} {method} {path}");
        }
        assert_eq!(api.get("/chats").await.data(), json!([]), "{interface}");
    }
}

#[tokio::test]
async fn another_tenant_finds_nothing() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "ours", &[&cast.a1.id]).await;
    let before = cast.u1.history(&cast.r1).await;
    for (api, interface) in [(&cast.u2, "me"), (&cast.a3, "agent")] {
        for (method, path, body) in room_operations(&cast.r1, &message, interface) {
            let answer = api.call(method.clone(), &path, body).await;
            assert_eq!((answer.status, answer.code()), (404, "not_found"), "{interface} {method} {path}");
        }
    }
    // A message of another room, reached through a room of one's own.
    for step in ["processing", "processed", "failed"] {
        let answer = cast.a3.step(&cast.r2, &message, step).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{step}");
    }
    // Nobody is brought in who is not a peer.
    for stranger in [&cast.a1.id, &cast.u1.id] {
        let answer = cast.u2.add(&cast.r2, stranger).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"));
    }
    assert_eq!(cast.u1.history(&cast.r1).await, before, "and nothing has changed");
    let agents = cast.u2.get("/agents").await.data();
    let names = agents.as_array().unwrap().iter().map(|agent| &agent["name"]).collect::<Vec<_>>();
    assert_eq!(names, ["Three"]);
}

#[tokio::test]
async fn each_key_is_for_its_own_interface() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    for (interface, own, other) in [("me", &cast.u1, &cast.a1), ("agent", &cast.a1, &cast.u1)] {
        let mut operations = room_operations(&cast.r1, &message, interface);
        let whole = match interface {
            "me" => {
                vec![
                    (Method::GET, "/agents"),
                    (Method::POST, "/agents/register"),
                    (Method::GET, "/chats"),
                    (Method::POST, "/chats"),
                ]
            }
            _ => vec![(Method::GET, "/me"), (Method::GET, "/chats"), (Method::POST, "/chats")],
        };
        operations.extend(whole.into_iter().map(|(method, path)| (method, path.to_owned(), Some(json!({})))));
        operations.push((Method::GET, "/nothing-here".to_owned(), None));
        for (key, status, code) in [
            (other.key.as_str(), 403, "forbidden"),
            ("thnv_u_wrong", 401, "unauthorized"),
            ("", 401, "unauthorized"),
        ] {
            let caller = Api::new(&server, interface, key, "");
            for (method, path, body) in &operations {
                let answer = caller.call(method.clone(), path, body.clone()).await;
                assert_eq!((answer.status, answer.code()), (status, code), "{interface} {method} {path}");
            }
        }
        let nowhere = own.get("/nothing-here").await;
        assert_eq!((nowhere.status, nowhere.code()), (404, "not_found"));
        let wrong = own.call(Method::PUT, "/chats", Some(json!({}))).await;
        assert_eq!((wrong.status, wrong.code()), (405, "method_not_allowed"));
    }
}

#[tokio::test]
async fn roles_decide_who_may_add_and_remove() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let third = cast.u1.register(&server, "Third").await;
    let room = &cast.r1;
    let add = |role: &str| json!({ "participant": { "participant_id": third.id, "role": role } });
    let people = format!("/chats/{room}/participants");
    let as_admin = cast.a1.post(&people, add("admin")).await;
    assert_eq!((as_admin.status, as_admin.code()), (403, "forbidden"), "a member gives no higher role");
    assert_eq!(cast.a1.post(&people, add("member")).await.status, 201, "a member brings a sibling in");
    let again = cast.a1.add(room, &third.id).await;
    assert_eq!((again.status, again.code()), (409, "conflict"));
    let remove = |who: &Api| format!("{people}/{}", who.id);
    for (caller, target, status, code) in [
        (&cast.a1, &cast.a2, 403, "forbidden"),
        (&cast.a1, &cast.u1, 403, "forbidden"),
        (&cast.u1, &cast.u1, 403, "cannot_remove_sole_owner"),
        (&cast.u1, &cast.u2, 404, "not_found"),
    ] {
        let answer = caller.delete(&remove(target)).await;
        assert_eq!((answer.status, answer.code()), (status, code));
    }
    assert_eq!(cast.a1.delete(&remove(&cast.a1)).await.status, 200, "anybody may leave");
    assert_eq!(cast.a1.get(&people).await.status, 404);
    assert_eq!(cast.u1.delete(&remove(&third)).await.status, 200);
}

/// Every operation on a room, with a body that would be accepted.
fn room_operations(chat: &str, message: &str, interface: &str) -> Vec<(Method, String, Option<Value>)> {
    let someone = "0190c5a4-0000-7000-8000-00000000dead";
    let text = json!({ "message": { "content": "x", "mentions": [{ "id": someone }] } });
    let participant = json!({ "participant": { "participant_id": someone } });
    let mut operations = vec![
        (Method::GET, String::new(), None),
        (Method::GET, "/participants".to_owned(), None),
        (Method::POST, "/participants".to_owned(), Some(participant)),
        (Method::DELETE, format!("/participants/{someone}"), None),
        (Method::GET, "/messages".to_owned(), None),
        (Method::POST, "/messages".to_owned(), Some(text)),
    ];
    if interface == "me" {
        operations.push((Method::DELETE, String::new(), None));
    } else {
        let event = json!({ "event": { "content": "x", "message_type": "thought" } });
        operations.extend([
            (Method::GET, "/messages/next".to_owned(), None),
            (Method::POST, format!("/messages/{message}/processing"), None),
            (Method::POST, format!("/messages/{message}/processed"), None),
            (Method::POST, format!("/messages/{message}/failed"), Some(json!({ "error": "x" }))),
            (Method::POST, "/events".to_owned(), Some(event)),
            (Method::GET, "/context".to_owned(), None),
            (Method::POST, "/activity".to_owned(), Some(json!({ "working": true }))),
        ]);
    }
    operations
        .into_iter()
        .map(|(method, path, body)| (method, format!("/chats/{chat}{path}"), body))
        .collect()
}
