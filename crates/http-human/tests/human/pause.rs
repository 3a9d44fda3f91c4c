//! Pausing the organization, and its limit of hops.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::harness::Api;

#[actix_web::test]
async fn admins_pause_and_resume_their_organization() {
    let api = Api::new().await;
    let chat = api.room().await;
    let cai = api.world.colleague("cai", "ann").await;
    let reason = json!({"reason": "runaway costs"});
    for (path, body) in [("/organization/pause", reason.clone()), ("/organization/resume", Value::Null)] {
        assert_eq!(api.post(&cai, path, body).await.code(), (403, "forbidden"));
    }
    let blank = api.post(&api.ann, "/organization/pause", json!({"reason": " "})).await;
    assert_eq!(blank.refusal(), (422, "validation_error", vec!["/reason"]));
    let paused = api.post(&api.ann, "/organization/pause", reason).await;
    let pause = json!({"since": api.now(), "reason": "runaway costs"});
    assert_eq!((paused.status, &paused.data()["pause"]), (200, &pause));
    assert_eq!(api.get(&cai, "/organization").await.data()["pause"], pause);
    assert_eq!(api.get(&api.ann, &format!("/chats/{chat}")).await.data()["work_status"], "stopped");
    assert_eq!(api.get(&api.bob, "/organization").await.data()["pause"], Value::Null);
    let resumed = api.post(&api.ann, "/organization/resume", Value::Null).await;
    assert_eq!((resumed.status, &resumed.data()["pause"]), (200, &Value::Null));
    assert_eq!(api.get(&api.ann, &format!("/chats/{chat}")).await.data()["work_status"], "idle");
}

#[actix_web::test]
async fn admins_set_the_limit_of_hops() {
    let api = Api::new().await;
    let cai = api.world.colleague("cai", "ann").await;
    let patch = async |user: &testkit::TestUser, body: Value| {
        api.call(&user.key, Method::PATCH, "/organization", &json!({"organization": body})).await
    };
    assert_eq!(api.get(&api.ann, "/organization").await.data()["max_hops"], Value::Null);
    assert_eq!(patch(&cai, json!({"max_hops": 5})).await.code(), (403, "forbidden"));
    for (body, pointer) in [
        (json!({}), "/organization/name"),
        (json!({"max_hops": 1_000_001}), "/organization/max_hops"),
        (json!({"max_hops": -1}), "/organization/max_hops"),
        (json!({"max_hops": "5"}), "/organization/max_hops"),
        (json!({"max_pair_messages": 10_001}), "/organization/max_pair_messages"),
    ] {
        assert_eq!(patch(&api.ann, body).await.refusal(), (422, "validation_error", vec![pointer]));
    }
    for max in [json!(0), json!(1_000_000), Value::Null] {
        let changed = patch(&api.ann, json!({"max_hops": max})).await;
        assert_eq!((changed.status, &changed.data()["max_hops"]), (200, &max));
    }
    for max in [json!(0), json!(500), Value::Null] {
        let changed = patch(&api.ann, json!({"max_pair_messages": max})).await;
        assert_eq!((changed.status, &changed.data()["max_pair_messages"]), (200, &max));
    }
    let both = patch(&api.ann, json!({"max_hops": 7, "name": "Acme"})).await;
    assert_eq!((&both.data()["name"], &both.data()["max_hops"]), (&json!("Acme"), &json!(7)));
}

#[actix_web::test]
async fn admins_set_the_policy_for_strangers() {
    let api = Api::new().await;
    let cai = api.world.colleague("cai", "ann").await;
    let patch = async |user: &testkit::TestUser, policy: Value| {
        let body = json!({"organization": {"foreign": policy}});
        api.call(&user.key, Method::PATCH, "/organization", &body).await
    };
    assert_eq!(api.get(&api.ann, "/organization").await.data()["foreign"], "label");
    assert_eq!(patch(&cai, json!("hold")).await.code(), (403, "forbidden"));
    for wrong in [json!("maybe"), json!(""), json!(true), Value::Null] {
        let refused = patch(&api.ann, wrong).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec!["/organization/foreign"]));
    }
    for policy in ["hold", "allow", "label"] {
        let changed = patch(&api.ann, json!(policy)).await;
        assert_eq!((changed.status, &changed.data()["foreign"]), (200, &json!(policy)));
    }
}
