//! Mentions, content, and what a stored message carries.

use e2e::cast::Cast;
use e2e::{Api, Server};
use serde_json::{Value, json};

use crate::{refusal, say};

async fn newest(viewer: &Api, chat: &str) -> Value {
    viewer.history(chat).await[0].clone()
}

#[tokio::test]
async fn case_19_each_fault_of_a_mention_refuses_the_whole_text() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (me, other, human, stranger) = (&cast.a1.id, &cast.a2.id, &cast.u1.id, &cast.a3.id);
    // Alone, then together with everything that is looked for later.
    for (mentions, code) in [
        (json!([{"name": "One"}]), "mention_missing_identifier"),
        (json!([{"id": other, "kind": "shout"}]), "invalid_mention_kind"),
        (json!([{"id": other, "kind": null}]), "invalid_mention_kind"),
        (json!([{"handle": "ann/nobody"}]), "handle_not_found"),
        (json!([{"id": stranger}]), "mentioned_participant_not_in_room"),
        (json!([{"id": me}]), "cannot_mention_self"),
        (json!([{"id": other}, {"handle": "ann/two"}]), "duplicate_mentions"),
        (json!([]), "mentions_required"),
        (json!([{"id": other, "kind": "reference"}]), "mentions_required"),
        (
            json!([{"id": stranger}, {"id": me}, {"id": other}, {"id": other}]),
            "mentioned_participant_not_in_room",
        ),
        (json!([{"id": me}, {"id": other}, {"id": other}]), "cannot_mention_self"),
        (json!([{"handle": "no/body"}, {"id": stranger}, {"name": "x"}]), "mention_missing_identifier"),
    ] {
        let answer = say(&cast.a1, &cast.r1, "hello", mentions.clone()).await;
        assert_eq!(refusal(&answer), (422, code), "{mentions}");
        if code == "mentioned_participant_not_in_room" {
            assert!(
                answer.body["error"]["message"].as_str().unwrap().contains(code),
                "clients read the text"
            );
        }
    }
    assert_eq!(cast.u1.history(&cast.r1).await, Vec::<Value>::new());
    assert_eq!(cast.a2.next(&cast.r1).await, None);
    assert_eq!(say(&cast.a1, &cast.r1, "hello", json!([{"id": human}])).await.status, 201);
}

#[tokio::test]
async fn case_20_names_in_the_text_become_markers() {
    let server = Server::start().await;
    let john = server.user("john");
    let (bot, teller) = (john.register(&server, "Bot").await, john.register(&server, "Teller").await);
    let chat = crate::room(&john, &[&bot, &teller]).await;
    let (j, b) = (format!("@[[{}]]", john.id), format!("@[[{}]]", bot.id));
    let both = json!([{"id": john.id}, {"id": bot.id}]);
    for (content, mentions, expected) in [
        ("@john and @john/bot and @john-agent", both.clone(), format!("{j} and {b} and @john-agent")),
        ("@JOHN twice @john.", json!([{"handle": "john"}]), format!("{j} twice {j}.")),
        ("no name", both, format!("{j} {b} no name")),
        ("ask @Bot please", json!([{"id": bot.id}]), format!("ask {b} please")),
        ("mail@john.de", json!([{"id": john.id}]), format!("{j} mail@john.de")),
    ] {
        assert_eq!(say(&teller, &chat, content, mentions).await.status, 201, "{content}");
        assert_eq!(newest(&john, &chat).await["content"], json!(expected), "{content}");
    }
}

#[tokio::test]
async fn case_21_a_reference_wakes_nobody() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mentions = json!([{"id": cast.u1.id}, {"id": cast.a2.id, "kind": "reference"}]);
    let sent = say(&cast.a1, &cast.r1, "about @ann/two", mentions).await.data();
    let recipients = sent["recipients"].as_array().unwrap();
    assert_eq!((recipients.len(), &recipients[0]["id"]), (1, &json!(cast.u1.id)));
    assert_eq!(cast.a2.next(&cast.r1).await, None);
    let stored = newest(&cast.u1, &cast.r1).await;
    let kinds = stored["metadata"]["mentions"].as_array().unwrap().iter().map(|mention| &mention["kind"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["mention", "reference"]);
    assert!(stored["content"].as_str().unwrap().contains(&format!("@[[{}]]", cast.a2.id)));
}

#[tokio::test]
async fn case_22_blank_is_white_space_and_texts_have_a_limit() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let to_two = || json!([{"id": cast.a2.id}]);
    for visible in ["\u{200b}", "\u{feff}\u{2060}", "."] {
        assert_eq!(say(&cast.a1, &cast.r1, visible, to_two()).await.status, 201, "{visible:?}");
        assert!(newest(&cast.u1, &cast.r1).await["content"].as_str().unwrap().ends_with(visible));
    }
    for blank in ["", " ", "\n\t\u{3000}\u{00a0}"] {
        let answer = say(&cast.a1, &cast.r1, blank, to_two()).await;
        assert_eq!(refusal(&answer), (422, "validation_error"), "{blank:?}");
        assert!(answer.body["error"]["details"]["/message/content"].is_array());
    }
    let longest = "ä".repeat(524_288 / 2);
    assert_eq!(say(&cast.a1, &cast.r1, &longest, to_two()).await.status, 201);
    let answer = say(&cast.a1, &cast.r1, &format!("{longest}x"), to_two()).await;
    assert_eq!(refusal(&answer), (422, "validation_error"));
}

#[tokio::test]
async fn case_23_unknown_properties_are_refused_but_not_in_metadata() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = format!("/chats/{}/messages", cast.r1);
    for body in [
        json!({"message": {"content": "x", "mentions": [{"id": cast.a2.id}]}, "y": 1}),
        json!({"message": {"content": "x", "mentions": [{"id": cast.a2.id}], "y": 1}}),
        json!({"message": {"content": "x", "mentions": [{"id": cast.a2.id, "y": 1}]}}),
    ] {
        assert_eq!(refusal(&cast.a1.post(&message, body).await), (400, "bad_request"));
    }
    let metadata = json!({"any": {"thing": [1, null, {"deep": true}]}});
    let body = json!({"event": {"message_type": "tool_call", "content": "x", "metadata": metadata}});
    assert_eq!(cast.a1.post(&format!("/chats/{}/events", cast.r1), body).await.status, 201);
    assert_eq!(newest(&cast.u1, &cast.r1).await["metadata"]["any"], metadata["any"]);
}

#[tokio::test]
async fn case_24_what_every_message_carries() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    assert_eq!(newest(&cast.u1, &cast.r1).await["metadata"]["status"], "sent");
    cast.a1.sent(&cast.r1, "hello", &[&cast.u1.id]).await;
    let body = json!({"event": {"message_type": "thought", "content": "hm"}});
    cast.a1.post(&format!("/chats/{}/events", cast.r1), body).await.data();
    let history = cast.u1.history(&cast.r1).await;
    let every = |member: &str| history.iter().map(|m| m[member].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(every("sender_name"), ["One", "One", "ann"]);
    assert_eq!(every("sender_handle"), ["ann/one", "ann/one", "ann"]);
}
