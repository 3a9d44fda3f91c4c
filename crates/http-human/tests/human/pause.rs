//! Pausing the organization or an agent, and the limits of the organization.

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
async fn owners_and_admins_pause_and_resume_an_agent() {
    let api = Api::new().await;
    let chat = api.room().await;
    let cai = api.world.colleague("cai", "ann").await;
    let of_cai = api.world.agent(&cai, "Own").await;
    let (agent, foreign) = (format!("/agents/{}", api.helper.id), format!("/agents/{}", of_cai.id));
    let (pause, resume) = (format!("{agent}/pause"), format!("{agent}/resume"));
    let reason = || json!({"reason": "wrong answers"});
    for stranger in [&cai, &api.bob] {
        assert_eq!(api.post(stranger, &pause, reason()).await.code(), (404, "not_found"));
        assert_eq!(api.post(stranger, &resume, Value::Null).await.code(), (404, "not_found"));
    }
    let blank = api.post(&api.ann, &pause, json!({"reason": " "})).await;
    assert_eq!(blank.refusal(), (422, "validation_error", vec!["/reason"]));
    let paused = api.post(&api.ann, &pause, reason()).await;
    let shown = json!({"since": api.now(), "reason": "wrong answers"});
    assert_eq!((paused.status, &paused.data()["pause"]), (200, &shown));
    assert_eq!(api.get(&api.ann, &agent).await.data()["pause"], shown);
    let text = json!({"message": {"content": "hi", "mentions": [{"id": api.helper.id.to_string()}]}});
    let sent = api.post(&api.ann, &format!("/chats/{chat}/messages"), text).await;
    let recipient = &sent.data()["recipients"][0];
    assert_eq!((&recipient["stopped"], &recipient["paused"]), (&json!(false), &json!(true)));
    let receipts = format!("/chats/{chat}/messages/{}/receipts", sent.data()["id"].as_str().unwrap());
    assert_eq!(api.get(&api.ann, &receipts).await.data()[0]["paused"], true);

    let scope = json!({"api_key": {"name": "as helper", "agent_id": api.helper.id.to_string()}});
    let limited = api.post(&api.ann, "/api-keys", scope).await;
    let limited = limited.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    let own = api.call(&limited, Method::POST, &resume, &Value::Null).await;
    assert_eq!(own.code(), (403, "forbidden"), "who acts as the agent does not end its pause");
    let resumed = api.post(&api.ann, &resume, Value::Null).await;
    assert_eq!((resumed.status, &resumed.data()["pause"]), (200, &Value::Null));

    assert_eq!(api.post(&api.ann, &format!("{foreign}/pause"), reason()).await.status, 200, "by an admin");
    assert_eq!(api.post(&cai, &format!("{foreign}/resume"), Value::Null).await.status, 200);
}

#[actix_web::test]
async fn admins_see_what_the_organization_has_used() {
    let api = Api::new().await;
    let cai = api.world.colleague("cai", "ann").await;
    api.world.agent(&cai, "Own").await;
    let before = api.get(&api.ann, "/organization").await.data()["used"].clone();
    api.empty_room(cai.caller).await;
    api.world.agent(&api.ann, "Another").await;
    let used = api.get(&api.ann, "/organization").await.data()["used"].clone();
    let more = |name: &str| used[name].as_u64().unwrap() - before[name].as_u64().unwrap();
    assert_eq!((more("agents"), more("chats"), more("bytes")), (1, 1, 0));
    assert_eq!(api.get(&cai, "/organization").await.data()["used"], Value::Null);
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
