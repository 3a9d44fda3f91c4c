//! What an agent may not do while it works for another organization.

use domain::chat::Role;
use domain::id::ParticipantId;
use serde_json::json;

use crate::harness::Api;

/// It is an agent of Ann, and Bob of another organization asks it. The candidates need not exist.
#[actix_web::test]
async fn an_agent_of_strangers_gets_403() {
    let api = Api::new().await;
    let chat = api.room().await;
    api.world.connect((api.helper.caller, "ann/helper"), (api.bob.caller, "bob")).await;
    api.add(api.helper.caller, chat, api.bob.id.into(), Role::Member).await;
    let asked = api.world.send(api.bob.caller, chat, "go", &[ParticipantId::Agent(api.helper.id)]).await.id;
    let id = "00000000-0000-7000-8000-000000000009";
    let memory = |scope: &str| {
        json!({"memory": {
            "content": "a fact", "scope": scope, "system": "long_term", "type": "semantic", "segment": "agent",
            "thought": "why not",
        }})
    };
    let known = api.post(&api.helper, "/memories", memory("organization")).await;
    let known = known.body["data"]["id"].as_str().unwrap().to_owned();
    let calls = [
        ("/memories".to_owned(), memory("organization"), 201),
        (format!("/memories/{known}/archive"), json!(null), 200),
        ("/contacts/add".to_owned(), json!({"handle": "nobody-at-all"}), 404),
        (
            "/contacts/requests".to_owned(),
            json!({"contact_request": {"recipient_handle": "nobody-at-all"}}),
            404,
        ),
        ("/contacts/requests/respond".to_owned(), json!({"action": "approve", "request_id": id}), 404),
        (format!("/contacts/requests/{id}/approve"), json!(null), 404),
        (format!("/chats/{chat}/participants"), json!({"participant": {"participant_id": id}}), 404),
    ];
    let statuses = async || {
        let mut found = Vec::new();
        for (path, body, _) in &calls {
            let answer = api.post(&api.helper, path, body.clone()).await;
            if answer.status == 403 {
                assert_eq!(answer.code(), (403, "foreign_cause"), "{path}");
            }
            found.push(answer.status);
        }
        found
    };
    let free = calls.iter().map(|(.., status)| *status).collect::<Vec<_>>();
    assert_eq!(statuses().await, free);
    let step = async |step: &str| {
        let path = format!("/chats/{chat}/messages/{asked}/{step}");
        assert_eq!(api.post(&api.helper, &path, json!(null)).await.status, 200, "{step}");
    };
    step("processing").await;
    assert_eq!(statuses().await, [403; 7]);
    assert_eq!(api.post(&api.helper, "/memories", memory("agent")).await.status, 201, "its own");
    let reject = format!("/contacts/requests/{id}/reject");
    assert_eq!(api.post(&api.helper, &reject, json!(null)).await.status, 404);
    step("processed").await;
    assert_eq!(statuses().await, free);
}
