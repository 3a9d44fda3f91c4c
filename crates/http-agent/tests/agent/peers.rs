//! Peers and the directory, as an agent sees them.

use serde_json::json;

use crate::harness::Api;

#[actix_web::test]
async fn an_agents_peers_are_its_owner_and_its_siblings() {
    let api = Api::new().await;
    let answer = api.get(&api.helper, "/peers").await;
    assert_eq!(answer.column("handle"), ["ann", "ann/scout"]);
    let expected = json!({
        "id": api.ann.id.to_string(), "type": "User", "name": "ann Example", "handle": "ann",
        "description": null, "is_external": null, "listed_in_directory": null, "is_global": false, "tags": [],
        "source": "registry", "is_contact": false, "online": false,
    });
    assert_eq!(answer.data()[0], expected);
    assert_eq!(api.get(&api.rival, "/peers").await.column("handle"), ["bob"]);
    assert_eq!(api.get(&api.helper, "/peers?type=Agent").await.column("handle"), ["ann/scout"]);
}

#[actix_web::test]
async fn those_in_a_room_are_left_out() {
    let api = Api::new().await;
    let chat = api.empty_room(api.helper.caller).await;
    let path = format!("/peers?not_in_chat={chat}&page=1&page_size=100");
    assert_eq!(api.get(&api.helper, &path).await.column("handle"), ["ann", "ann/scout"]);
    let body = json!({"participant_id": api.scout.id.to_string()});
    let added = api.post(&api.helper, &format!("/chats/{chat}/participants"), body).await;
    assert_eq!(added.status, 201);
    let answer = api.get(&api.helper, &path).await;
    assert_eq!(answer.column("handle"), ["ann"]);
    assert_eq!(
        answer.body["metadata"],
        json!({
            "has_more": false, "limit": 100, "next_cursor": null,
            "page": 1, "page_size": 100, "total_count": 1, "total_pages": 1,
        })
    );
    assert_eq!(api.get(&api.rival, &path).await.code(), (404, "not_found"));
    let refused = api.get(&api.helper, "/peers?online=true").await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/online"]));
    assert_eq!(*api.get(&api.helper, "/directory").await.data(), json!([]));
}
