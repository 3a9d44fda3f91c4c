//! Stop, play, executions, and interrupt.

use domain::chat::Role;
use domain::delivery::DeliveryStep;
use domain::id::MessageId;
use serde_json::{Value, json};

use crate::harness::Api;

#[actix_web::test]
async fn a_stopped_room_is_shown_as_such() {
    let api = Api::new().await;
    let chat = api.room().await;
    let stop = format!("/chats/{chat}/agents/stop");
    api.world.clock.advance(std::time::Duration::from_secs(1));
    let stopped = api.post(&api.ann, &stop, Value::Null).await;
    assert_eq!((stopped.status, &stopped.data()["work_status"]), (200, &json!("stopped")));
    assert_eq!(stopped.data(), api.get(&api.ann, &format!("/chats/{chat}")).await.data());
    assert_eq!(stopped.data()["updated_at"], api.now());
    assert_eq!(api.get(&api.ann, "/chats").await.data()[0]["work_status"], "stopped");
    let again = api.post(&api.ann, &stop, json!({})).await;
    assert_eq!((again.status, again.data()), (200, stopped.data()));
    let play = format!("/chats/{chat}/agents/play");
    let playing = api.post(&api.ann, &play, Value::Null).await;
    assert_eq!((playing.status, &playing.data()["work_status"]), (200, &json!("idle")));
    assert_eq!(api.post(&api.ann, &play, json!({"color": "red"})).await.status, 400);
}

#[actix_web::test]
async fn only_owners_stop_and_play() {
    let api = Api::new().await;
    let chat = api.room().await;
    let observed = api.empty_room(api.helper.caller).await;
    let cai = api.world.colleague("cai", "ann").await;
    api.add(api.ann.caller, chat, cai.id.into(), Role::Admin).await;
    for verb in ["stop", "play"] {
        let path = format!("/chats/{chat}/agents/{verb}");
        assert_eq!(api.post(&cai, &path, Value::Null).await.code(), (403, "forbidden"));
        assert_eq!(api.post(&api.bob, &path, Value::Null).await.code(), (404, "not_found"));
        let path = format!("/chats/{observed}/agents/{verb}");
        assert_eq!(api.post(&api.ann, &path, Value::Null).await.code(), (403, "forbidden"));
    }
}

#[actix_web::test]
async fn executions_are_listed_and_interrupted() {
    let api = Api::new().await;
    let joined = api.now();
    let chat = api.room().await;
    let message = MessageId::parse(&api.mention(api.ann.caller, chat, &api.helper, "do it").await).unwrap();
    api.world.deliveries.advance(api.helper.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    api.world.clock.advance(std::time::Duration::from_secs(1));
    api.post(&api.ann, &format!("/chats/{chat}/agents/stop"), Value::Null).await;
    let path = format!("/agents/{}/executions", api.helper.id);
    let listed = api.get(&api.ann, &path).await;
    let id = listed.data()[0]["id"].as_str().unwrap().to_owned();
    let expected = json!({
        "id": id, "agent_id": api.helper.id.to_string(), "chat_room_id": chat.to_string(),
        "status": "processing", "stopped": true, "inserted_at": joined, "updated_at": api.now(),
    });
    assert_eq!((listed.status, listed.data()), (200, &json!([expected])));
    assert_eq!(listed.body["metadata"], json!({"has_more": false, "limit": 20, "next_cursor": null}));
    let interrupted = api.post(&api.ann, &format!("{path}/{id}/interrupt"), Value::Null).await;
    assert_eq!((interrupted.status, interrupted.data()), (200, &expected));

    for _ in 0..2 {
        let room = api.empty_room(api.ann.caller).await;
        api.add(api.ann.caller, room, api.helper.id.into(), Role::Member).await;
    }
    let first = api.get(&api.ann, &format!("{path}?limit=2")).await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let second = api.get(&api.ann, &format!("{path}?limit=2&cursor={cursor}")).await;
    assert_eq!((first.column("id").len(), second.column("id")), (2, vec![id.as_str()]));
    let elsewhere = format!("/agents/{}/executions?limit=2&cursor={cursor}", api.scout.id);
    assert_eq!(api.get(&api.ann, &elsewhere).await.status, 422);

    assert_eq!(api.get(&api.bob, &path).await.code(), (404, "not_found"));
    assert_eq!(
        api.post(&api.bob, &format!("{path}/{id}/interrupt"), Value::Null).await.code(),
        (404, "not_found")
    );
    let of_scout = format!("/agents/{}/executions/{id}/interrupt", api.scout.id);
    assert_eq!(api.post(&api.ann, &of_scout, Value::Null).await.code(), (404, "not_found"));
}
