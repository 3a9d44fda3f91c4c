//! The context of an agent in a room.

use serde_json::{Value, json};

use crate::harness::{Api, text_for};

#[actix_web::test]
async fn an_agent_sees_what_it_sent_and_what_was_said_to_it() {
    let api = Api::new().await;
    let chat = api.room().await;
    let asked = api.mention(api.ann.caller, chat, &api.helper, "question").await;
    api.mention(api.ann.caller, chat, &api.scout, "for another agent").await;
    let thought = json!({"message_type": "thought", "content": "hm"});
    let thought = api.post(&api.helper, &format!("/chats/{chat}/events"), thought).await;
    let answered =
        api.post(&api.helper, &format!("/chats/{chat}/messages"), text_for(api.ann.id, "answer")).await;

    let context = api.get(&api.helper, &format!("/chats/{chat}/context")).await;
    let expected =
        [asked.as_str(), thought.data()["id"].as_str().unwrap(), answered.data()["id"].as_str().unwrap()];
    assert_eq!(context.column("id"), expected);
    let metadata = json!({
        "has_more": false, "limit": 50, "next_cursor": null,
        "page": 1, "page_size": 50, "total_count": 3, "total_pages": 1,
    });
    assert_eq!(context.body["metadata"], metadata);
    assert_eq!(context.body["meta"], metadata);
}

#[actix_web::test]
async fn cursors_go_through_everything_once_while_others_write() {
    let api = Api::new().await;
    let chat = api.room().await;
    let mut sent = Vec::new();
    for number in 0..7 {
        sent.push(api.mention(api.ann.caller, chat, &api.helper, &format!("text {number}")).await);
    }
    let path = format!("/chats/{chat}/context");
    let (mut seen, mut query) = (Vec::new(), "?limit=3".to_owned());
    loop {
        let answer = api.get(&api.helper, &format!("{path}{query}")).await;
        seen.extend(answer.column("id").into_iter().map(str::to_owned));
        assert_eq!(answer.body["metadata"].get("page"), None, "no count for cursors");
        let metadata = &answer.body["metadata"];
        let Some(cursor) = metadata["next_cursor"].as_str() else {
            assert_eq!(metadata["has_more"], false);
            break;
        };
        assert_eq!(metadata["has_more"], true);
        if sent.len() == 7 {
            sent.push(api.mention(api.ann.caller, chat, &api.helper, "in between").await);
        }
        query = format!("?limit=3&cursor={cursor}");
    }
    assert_eq!(seen, sent);
}

#[actix_web::test]
async fn a_first_answer_without_parameters_can_be_gone_on_with_either_way() {
    let api = Api::new().await;
    let chat = api.room().await;
    for number in 0..51 {
        api.mention(api.ann.caller, chat, &api.helper, &format!("text {number}")).await;
    }
    let path = format!("/chats/{chat}/context");
    let first = api.get(&api.helper, &path).await;
    assert_eq!((first.column("id").len(), &first.body["metadata"]["total_pages"]), (50, &json!(2)));
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let by_cursor = api.get(&api.helper, &format!("{path}?cursor={cursor}")).await;
    let by_page = api.get(&api.helper, &format!("{path}?page=2&page_size=50")).await;
    assert_eq!((by_cursor.column("id").len(), by_cursor.data()), (1, by_page.data()));
    assert_eq!(by_page.body["metadata"]["total_count"], 51);
    assert_eq!(by_page.body["metadata"]["next_cursor"], Value::Null);
}

#[actix_web::test]
async fn wrong_cursors_are_refused() {
    let api = Api::new().await;
    let (chat, other) = (api.room().await, api.room().await);
    for _ in 0..2 {
        api.mention(api.ann.caller, chat, &api.helper, "x").await;
    }
    let answer = api.get(&api.helper, &format!("/chats/{chat}/context?limit=1")).await;
    let cursor = answer.body["metadata"]["next_cursor"].as_str().unwrap();
    for path in [
        format!("/chats/{chat}/context?cursor=x"),
        format!("/chats/{chat}/context?cursor="),
        format!("/chats/{chat}/context?cursor={cursor}&page=1"),
        format!("/chats/{chat}/context?cursor={cursor}&cursor={cursor}"),
        format!("/chats/{other}/context?cursor={cursor}"),
        format!("/chats/{chat}/messages?cursor={cursor}"),
    ] {
        let answer = api.get(&api.helper, &path).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec!["/cursor"]), "{path}");
    }
}

/// By cursor a heavy page ends early; by number, where rows would be hidden, it is refused.
#[actix_web::test]
async fn heavy_messages_are_read_in_light_pages() {
    let api = Api::new().await;
    let chat = api.room().await;
    let large = "x".repeat(500_000);
    for _ in 0..20 {
        api.mention(api.helper.caller, chat, &api.scout, &large).await;
    }
    for list in ["context", "messages"] {
        let path = format!("/chats/{chat}/{list}");
        let refused = api.get(&api.scout, &format!("{path}?page_size=20")).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec!["/page_size"]), "{list}");
        let (mut seen, mut query) = (0, String::new());
        loop {
            let page = api.get(&api.scout, &format!("{path}?limit=100{query}")).await;
            let bytes = page.body.to_string().len();
            assert!(bytes < 1_100_000, "{list}: {bytes} bytes");
            seen += page.column("id").len();
            let Some(cursor) = page.body["metadata"]["next_cursor"].as_str() else { break };
            query = format!("&cursor={cursor}");
        }
        assert_eq!(seen, 20, "{list}");
        let half = api.get(&api.scout, &format!("{path}?page=2&page_size=10")).await;
        assert_eq!(half.column("id").len(), 10, "{list}: a page by number keeps its rows");
    }
}
