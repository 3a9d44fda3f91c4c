//! The tokens that the caller's agents report, and the organization's.

use domain::delivery::DeliveryStep;
use domain::id::{ChatId, MessageId};
use domain::message::{EventContent, EventMetadata, MessageKind, PostEvent};
use serde_json::{Value, json};

use crate::harness::Api;

/// Reports as band-sdk does.
async fn report(api: &Api, chat: ChatId, usage: Value) -> MessageId {
    let metadata = json!({ "band_usage": usage }).as_object().unwrap().clone();
    let event = PostEvent {
        kind: MessageKind::Task,
        content: EventContent::new("Token usage: input=120 output=30".to_owned()).unwrap(),
        metadata: EventMetadata::new(metadata).unwrap(),
        in_reply_to: None,
    };
    api.world.messages.post_event(api.helper.caller, chat, event).await.unwrap().id
}

fn sums([input, output, read, write]: [u64; 4], reports: u64) -> Value {
    json!({
        "input_tokens": input, "output_tokens": output, "cache_read_tokens": read, "cache_write_tokens": write,
        "reports": reports, "cost": null, "unpriced_tokens": input + output + read + write,
    })
}

fn with(mut sums: Value, more: &Value) -> Value {
    sums.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    sums
}

#[actix_web::test]
async fn usage_is_listed_with_totals_and_shown_with_its_tree() {
    let api = Api::new().await;
    let chat = api.room().await;
    let asked = api.mention(api.ann.caller, chat, &api.helper, "do it").await;
    let root = MessageId::parse(&asked).unwrap();
    api.world.deliveries.advance(api.helper.caller, chat, root, DeliveryStep::Begin).await.unwrap();
    let usage =
        json!({"input_tokens": 120, "output_tokens": 30, "cache_read_tokens": 7, "cache_write_tokens": 0});
    report(&api, chat, usage).await;
    report(&api, chat, json!({"input_tokens": "many", "output_tokens": 5})).await;
    let all = sums([120, 35, 7, 0], 2);
    let helper = json!({
        "id": api.helper.id.to_string(), "name": "Helper", "handle": "ann/helper", "chat_room_id": null,
    });
    let metadata = json!({
        "has_more": false, "limit": 20, "next_cursor": null, "group_by": "agent", "currency": null, "totals": all,
    });
    for path in ["/usage", "/organization/usage"] {
        let answer = api.get(&api.ann, path).await;
        assert_eq!((answer.status, answer.data()), (200, &json!([with(all.clone(), &helper)])), "{path}");
        assert_eq!(answer.body["metadata"], metadata, "{path}");
    }
    let title = api.world.chats.find(api.ann.caller, chat).await.unwrap().title;
    let text = format!("@[[{}]] do it", api.helper.id);
    for (group, row) in [
        ("tree", json!({"id": asked, "name": text, "handle": null, "chat_room_id": chat.to_string()})),
        ("room", json!({"id": chat.to_string(), "name": title, "handle": null, "chat_room_id": null})),
        (
            "owner",
            json!({"id": api.ann.id.to_string(), "name": "ann Example", "handle": "ann", "chat_room_id": null}),
        ),
        ("day", json!({"id": &api.now()[..10], "name": null, "handle": null, "chat_room_id": null})),
        ("model", json!({"id": null, "name": null, "handle": null, "chat_room_id": null})),
    ] {
        let answer = api.get(&api.ann, &format!("/usage?group_by={group}")).await;
        assert_eq!(answer.data(), &json!([with(all.clone(), &row)]), "{group}");
        assert_eq!(answer.body["metadata"]["group_by"], group);
    }
    let tree = api.get(&api.ann, &format!("/chats/{chat}/messages/{asked}/tree?limit=1")).await;
    let tokens = json!({
        "input_tokens": 120, "output_tokens": 35, "cache_read_tokens": 7, "cache_write_tokens": 0, "reports": 2,
    });
    assert_eq!(tree.body["metadata"]["usage"], tokens, "the cost is for those who pay");
    assert_eq!(tree.body["metadata"]["has_more"], true);
}

#[actix_web::test]
async fn usage_is_filtered_and_paged() {
    let api = Api::new().await;
    let chat = api.room().await;
    let roots = [
        report(&api, chat, json!({"input_tokens": 2})).await,
        report(&api, chat, json!({"input_tokens": 1})).await,
    ];
    let (today, helper) = (api.now()[..10].to_owned(), api.helper.id);
    for (query, found) in [
        (format!("since={today}&until={today}"), 2),
        ("until=2000-01-01".to_owned(), 0),
        ("since=9999-12-31".to_owned(), 0),
        (format!("agent_id={helper}&chat_id={chat}&root_id={}", roots[0]), 1),
        (format!("agent_id={}", api.scout.id), 0),
        (format!("chat_id={helper}"), 0),
    ] {
        for path in ["/usage", "/organization/usage"] {
            let answer = api.get(&api.ann, &format!("{path}?group_by=tree&{query}")).await;
            let totals = &answer.body["metadata"]["totals"]["reports"];
            assert_eq!((answer.column("id").len(), totals), (found, &json!(found)), "{path} {query}");
        }
    }
    let first = api.get(&api.ann, "/usage?group_by=tree&limit=1").await;
    assert_eq!(first.column("id"), [roots[0].to_string()]);
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let second = api.get(&api.ann, &format!("/usage?group_by=tree&cursor={cursor}")).await;
    assert_eq!(second.column("id"), [roots[1].to_string()]);
    assert_eq!(
        (&first.body["metadata"]["totals"]["reports"], &second.body["metadata"]["totals"]),
        (&json!(2), &json!(null))
    );
    for other in ["/usage?", "/usage?group_by=room&", "/usage?group_by=tree&since=2000-01-01&"] {
        let refused = api.get(&api.ann, &format!("{other}cursor={cursor}")).await;
        assert_eq!(refused.code(), (422, "cursor_filter_mismatch"), "{other}");
    }
    let elsewhere = api.get(&api.ann, &format!("/organization/usage?group_by=tree&cursor={cursor}")).await;
    assert_eq!(elsewhere.code(), (422, "validation_error"));
    for (query, pointer) in [
        ("since=yesterday", "/since"),
        ("since=2026-07-01T00:00:00Z", "/since"),
        ("until=2026-02-30", "/until"),
        ("until=", "/until"),
        ("agent_id=helper", "/agent_id"),
        ("chat_id=1", "/chat_id"),
        ("root_id=", "/root_id"),
        ("group_by=org", "/group_by"),
        ("group_by=agent&group_by=day", "/group_by"),
        ("limit=0", "/limit"),
        ("page=1", "/page"),
        ("model=x", "/model"),
    ] {
        for path in ["/usage", "/organization/usage"] {
            let refused = api.get(&api.ann, &format!("{path}?{query}")).await;
            assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]), "{path} {query}");
        }
    }
}

#[actix_web::test]
async fn others_do_not_see_usage() {
    let api = Api::new().await;
    let chat = api.room().await;
    report(&api, chat, json!({"output_tokens": 1})).await;
    let cat = api.world.colleague("cat", "ann").await;
    for user in [&api.bob, &cat] {
        assert_eq!(api.get(user, "/usage").await.data(), &json!([]));
    }
    assert_eq!(api.get(&cat, "/organization/usage").await.code(), (403, "forbidden"), "no admin");
    assert_eq!(api.get(&api.bob, "/organization/usage").await.data(), &json!([]), "another organization");
}
