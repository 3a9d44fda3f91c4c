//! Pausing the organization.

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
