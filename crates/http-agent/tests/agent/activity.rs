//! Reading who is at work.

use domain::chat::Role;
use serde_json::{Value, json};

use crate::harness::Api;

#[actix_web::test]
async fn agents_see_who_is_at_work() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/activity");
    assert_eq!(api.get(&api.helper, &path).await.data(), &json!({"working_agents": []}));
    let call = json!({"working": true, "activity": {"kind": "tool_call", "name": "read file"}});
    api.post(&api.scout, &path, call).await;
    api.post(&api.helper, &path, json!({"working": true, "activity": null})).await;
    let shown = api.get(&api.helper, &path).await.data().clone();
    let rows = shown["working_agents"].as_array().unwrap();
    let row = |id: String, name: &str, activity: Value| {
        let execution = rows.iter().find(|row| row["agent_id"] == json!(id)).unwrap()["execution_id"].clone();
        json!({
            "agent_id": id, "agent_name": name, "execution_id": execution, "working": true, "activity": activity,
        })
    };
    let helper = row(api.helper.id.to_string(), "Helper", json!({"kind": "reasoning"}));
    let scout = row(api.scout.id.to_string(), "Scout", json!({"kind": "tool_call", "name": "read_file"}));
    assert_eq!(rows, &[helper.clone(), scout], "the caller is among them");

    // A new report replaces the kind, and the detail counts only while the agent works.
    let done = json!({"working": false, "activity": {"kind": "memory"}});
    assert_eq!(api.post(&api.scout, &path, done).await.data(), &json!({"working": false}));
    assert_eq!(api.get(&api.scout, &path).await.data()["working_agents"], json!([helper]));
    let memory = json!({"working": true, "activity": {"kind": "memory"}});
    api.post(&api.helper, &path, memory).await;
    let shown = api.get(&api.scout, &path).await.data()["working_agents"][0]["activity"].clone();
    assert_eq!(shown, json!({"kind": "memory"}));
    api.world.clock.advance(std::time::Duration::from_secs(10));
    assert_eq!(api.get(&api.scout, &path).await.data(), &json!({"working_agents": []}));
}

#[actix_web::test]
async fn strangers_do_not_see_who_is_at_work() {
    let api = Api::new().await;
    let chat = api.empty_room(api.ann.caller).await;
    api.add(api.ann.caller, chat, api.helper.id.into(), Role::Member).await;
    let path = format!("/chats/{chat}/activity");
    for stranger in [&api.scout, &api.rival] {
        assert_eq!(api.get(stranger, &path).await.code(), (404, "not_found"));
    }
    assert_eq!(api.get(&api.helper, "/chats/x/activity").await.code(), (404, "not_found"));
}
