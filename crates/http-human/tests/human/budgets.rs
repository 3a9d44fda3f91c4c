//! The budgets of the organization.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::harness::Api;

#[actix_web::test]
async fn admins_set_budgets() {
    let api = Api::new().await;
    let cai = api.world.colleague("cai", "ann").await;
    let path = "/organization/budgets";
    let patch = async |user: &testkit::TestUser, body: Value| {
        api.call(&user.key, Method::PATCH, path, &json!({"budgets": body})).await
    };
    let none = json!({
        "tree_messages": null, "tree_tokens": null, "room_messages": null, "room_tokens": null,
        "agent_messages": null, "agent_tokens": null, "organization_messages": null,
        "organization_tokens": null, "used_today": {"messages": 0, "tokens": 0},
    });
    assert_eq!(*api.get(&cai, path).await.data(), none);
    assert_eq!(patch(&cai, json!({"room_tokens": 5})).await.code(), (403, "forbidden"));
    for (body, pointer) in [
        (json!({}), "/budgets/tree_messages"),
        (json!({"room_tokens": 0}), "/budgets/room_tokens"),
        (json!({"room_tokens": 9_007_199_254_740_992_u64}), "/budgets/room_tokens"),
        (json!({"room_tokens": "5"}), "/budgets/room_tokens"),
    ] {
        assert_eq!(patch(&api.ann, body).await.refusal(), (422, "validation_error", vec![pointer]));
    }
    let unknown = patch(&api.ann, json!({"day_tokens": 5})).await;
    assert_eq!(unknown.refusal(), (400, "bad_request", vec!["/budgets/day_tokens"]));
    let most = 9_007_199_254_740_991_u64;
    let set = patch(&api.ann, json!({"room_messages": 1, "agent_tokens": most})).await;
    assert_eq!((set.status, &set.data()["room_messages"]), (200, &json!(1)));
    let chat = api.room().await;
    api.world.budgets.check().await.unwrap();
    let say = async || {
        let message = json!({"message": {"content": "go", "mentions": [{"handle": "ann/helper"}]}});
        let sent = api.post(&api.ann, &format!("/chats/{chat}/messages"), message).await;
        sent.data()["recipients"][0]["status"].clone()
    };
    assert_eq!(say().await, "new");
    api.world.budgets.check().await.unwrap();
    assert_eq!(say().await, "held");
    let held = api.get(&api.ann, "/work?state=held").await;
    assert_eq!(held.data()[0]["held_by"], "room_messages");
    let removed = patch(&api.ann, json!({"room_messages": null})).await;
    let removed = removed.data();
    assert_eq!((&removed["room_messages"], &removed["agent_tokens"]), (&Value::Null, &json!(most)));
    assert_eq!(api.get(&cai, path).await.data()["used_today"], json!({"messages": 1, "tokens": 0}));
    assert_eq!(*api.get(&api.bob, path).await.data(), none);
}
