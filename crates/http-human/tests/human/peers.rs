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
    let expected = json!({
        "has_more": false, "limit": 20, "next_cursor": null,
        "page": 1, "page_size": 20, "total_count": 3, "total_pages": 1,
    });
    assert_eq!(answer.body["metadata"], expected);

    let second = api.get(&api.ann, "/peers?page=2&page_size=2&type=Agent").await;
    assert_eq!(second.column("handle"), ["bob/rival"]);
    let expected = json!({
        "has_more": false, "limit": 2, "next_cursor": null,
        "page": 2, "page_size": 2, "total_count": 3, "total_pages": 2,
    });
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
        ("name=x", "/name"),
    ] {
        let refused = api.get(&api.ann, &format!("/peers?{query}")).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]), "{query}");
    }
}

#[actix_web::test]
async fn peers_and_the_directory_are_searched_and_read_by_cursor() {
    let api = Api::new().await;
    for (owner, agent) in [(&api.ann, &api.helper), (&api.ann, &api.scout), (&api.bob, &api.rival)] {
        api.world.clock.advance(std::time::Duration::from_secs(1));
        api.patch(owner, &format!("/agents/{}", agent.id), json!({"listed_in_directory": true})).await;
    }
    for (path, all) in [("/peers", &["Helper", "Scout"][..]), ("/directory", &["Helper", "Scout", "Rival"])] {
        let first = api.get(&api.ann, &format!("{path}?limit=1")).await;
        assert_eq!(first.body["metadata"].get("total_count"), None);
        let (mut names, mut next) =
            (first.column("name").concat(), first.body["metadata"]["next_cursor"].clone());
        let cursor = next.as_str().unwrap().to_owned();
        while let Some(cursor) = next.as_str() {
            let rest = api.get(&api.ann, &format!("{path}?limit=1&cursor={cursor}")).await;
            names += &rest.column("name").concat();
            next = rest.body["metadata"]["next_cursor"].clone();
        }
        assert_eq!(names.len(), all.concat().len(), "{names}");
        assert!(all.iter().all(|name| names.contains(name)), "{names}");
        let found = api.get(&api.ann, &format!("{path}?q=ANN%2Fs")).await;
        assert_eq!(
            (found.column("name"), &found.body["metadata"]["total_count"]),
            (vec!["Scout"], &json!(1))
        );
        assert_eq!(api.get(&api.ann, &format!("{path}?q=")).await.column("name").len(), all.len());
        let other = api.get(&api.ann, &format!("{path}?q=x&cursor={cursor}")).await;
        assert_eq!(other.refusal(), (422, "cursor_filter_mismatch", vec!["/cursor"]));
        let foreign = api.get(&api.bob, &format!("{path}?cursor={cursor}")).await;
        assert_eq!(foreign.refusal(), (422, "validation_error", vec!["/cursor"]));
        let long = api.get(&api.ann, &format!("{path}?q={}", "x".repeat(202))).await;
        assert_eq!(long.refusal(), (422, "validation_error", vec!["/q"]));
    }
    let numbered = api.get(&api.ann, "/peers?page=2&page_size=1").await;
    assert_eq!(numbered.column("name").len(), 1);
}

#[actix_web::test]
async fn listed_agents_stand_in_the_directory() {
    let api = Api::new().await;
    assert_eq!(*api.get(&api.ann, "/directory").await.data(), json!([]));
    let path = format!("/agents/{}", api.rival.id);
    api.patch(&api.bob, &path, json!({"listed_in_directory": true, "tags": ["fast"]})).await;
    let answer = api.get(&api.ann, "/directory").await;
    let card = json!({
        "id": api.rival.id.to_string(), "type": "Agent", "name": "Rival", "handle": "bob/rival", "description": "Rival of bob",
        "is_external": true, "tags": ["fast"], "is_contact": false, "online": false,
    });
    assert_eq!(*answer.data(), json!([card]));
    assert_eq!(answer.body["metadata"]["total_count"], json!(1));
    assert!(!api.get(&api.ann, "/peers").await.column("handle").contains(&"bob/rival"));
}
