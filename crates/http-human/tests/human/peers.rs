//! Peers and the directory.

use domain::account::AgentMarks;
use domain::id::ParticipantId;
use serde_json::json;

use crate::harness::Api;

#[actix_web::test]
async fn peers_are_ones_agents_and_the_global_ones() {
    let api = Api::new().await;
    let global = AgentMarks { is_global: Some(true), ..AgentMarks::default() };
    api.world.accounts.mark_agent("bob/rival", global).await.unwrap();
    api.world.presence.connect(ParticipantId::Agent(api.scout.id));
    let answer = api.get(&api.ann, "/peers").await;
    assert_eq!(answer.column("handle"), ["ann/helper", "ann/scout", "bob/rival"]);
    let expected = json!({
        "id": api.scout.id.to_string(), "type": "Agent", "name": "Scout", "handle": "ann/scout",
        "description": "Scout of ann", "is_external": true, "listed_in_directory": false, "is_global": false,
        "tags": [], "source": "registry", "is_contact": false, "online": true,
    });
    assert_eq!(answer.data()[1], expected);
    assert_eq!(answer.data()[0]["online"], json!(false));
    let expected = json!({"page": 1, "page_size": 20, "total_count": 3, "total_pages": 1});
    assert_eq!(answer.body["metadata"], expected);

    let second = api.get(&api.ann, "/peers?page=2&page_size=2&type=Agent").await;
    assert_eq!(second.column("handle"), ["bob/rival"]);
    let expected = json!({"page": 2, "page_size": 2, "total_count": 3, "total_pages": 2});
    assert_eq!(second.body["metadata"], expected);
    assert_eq!(*api.get(&api.ann, "/peers?type=User").await.data(), json!([]));
}

#[actix_web::test]
async fn those_in_a_room_are_left_out() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/peers?not_in_chat={chat}");
    assert_eq!(*api.get(&api.ann, &path).await.data(), json!([]));
    let gone = api.delete(&api.ann, &format!("/chats/{chat}/participants/{}", api.scout.id)).await;
    assert_eq!(gone.status, 200);
    assert_eq!(api.get(&api.ann, &path).await.column("name"), ["Scout"]);
    assert_eq!(api.get(&api.bob, &path).await.code(), (404, "not_found"));
    let nowhere = "/peers?not_in_chat=0190c5a4-0000-7000-8000-000000000001";
    assert_eq!(api.get(&api.ann, nowhere).await.code(), (404, "not_found"));
    for (query, pointer) in [
        ("not_in_chat=odd", "/not_in_chat"),
        ("type=user", "/type"),
        ("page=0", "/page"),
        ("page_size=x", "/page_size"),
        ("cursor=x", "/cursor"),
    ] {
        let refused = api.get(&api.ann, &format!("/peers?{query}")).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]), "{query}");
    }
}

#[actix_web::test]
async fn listed_agents_stand_in_the_directory() {
    let api = Api::new().await;
    assert_eq!(*api.get(&api.ann, "/directory").await.data(), json!([]));
    let path = format!("/agents/{}", api.rival.id);
    api.patch(&api.bob, &path, json!({"listed_in_directory": true, "tags": ["fast"]})).await;
    let answer = api.get(&api.ann, "/directory").await;
    let card = json!({
        "type": "Agent", "name": "Rival", "handle": "bob/rival", "description": "Rival of bob",
        "is_external": true, "tags": ["fast"], "is_contact": false, "online": false,
    });
    assert_eq!(*answer.data(), json!([card]));
    assert_eq!(answer.body["metadata"]["total_count"], json!(1));
    assert!(!api.get(&api.ann, "/peers").await.column("handle").contains(&"bob/rival"));
}
