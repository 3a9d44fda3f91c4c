//! Creating, changing, and deleting agents.

use serde_json::json;

use crate::harness::Api;

#[actix_web::test]
async fn a_platform_agent_has_no_key() {
    let api = Api::new().await;
    for body in [
        json!({"agent": {"name": "Inside", "model_type": "large", "description": "Waits."}}),
        json!({"name": "Bare"}),
        json!({"name": "Nulls", "model_type": null, "description": null}),
    ] {
        let answer = api.post(&api.ann, "/agents", body.clone()).await;
        assert_eq!(answer.status, 201, "{body}");
        let wanted = body.get("agent").unwrap_or(&body);
        let agent = answer.data();
        assert_eq!((&agent["name"], &agent["is_external"]), (&wanted["name"], &json!(false)));
        assert_eq!(agent["model_type"], wanted["model_type"]);
        assert!(!answer.body.to_string().contains("thnv_"), "{answer:?}");
        let path = format!("/agents/{}", agent["id"].as_str().unwrap());
        assert_eq!(api.get(&api.ann, &path).await.data(), agent);
        assert_eq!(api.get(&api.bob, &path).await.code(), (404, "not_found"));
    }
    for (body, expected) in [
        (json!({"agent": {}}), (422, "validation_error", vec!["/agent/name"])),
        (json!({"name": "x", "model_type": "y".repeat(101)}), (422, "validation_error", vec!["/model_type"])),
        (json!({"name": "Helper"}), (422, "validation_error", vec!["name"])),
        (json!({"name": "x", "prompt": "y"}), (400, "bad_request", vec!["/prompt"])),
    ] {
        assert_eq!(api.post(&api.ann, "/agents", body).await.refusal(), expected);
    }
}

#[actix_web::test]
async fn an_agent_is_changed_by_its_owner() {
    let api = Api::new().await;
    let path = format!("/agents/{}", api.helper.id);
    let before = api.get(&api.ann, &path).await.data().clone();
    let body = json!({"agent": {
        "name": "Aide", "bio": "Helps.\nA lot.", "max_attempts": 3, "claims": "exclusive", "a2a": true, "tags": ["a", "b", "a"], "listed_in_directory": true,
        "registry_access": false, "shared_with_organization": true, "foreign_access": true, "model_type": "m",
    }});
    let answer = api.patch(&api.ann, &path, body).await;
    assert_eq!(answer.status, 200);
    let mut expected = before.clone();
    for (name, value) in [
        ("name", json!("Aide")),
        ("bio", json!("Helps.\nA lot.")),
        ("max_attempts", json!(3)),
        ("claims", json!("exclusive")),
        ("a2a", json!(true)),
        ("tags", json!(["a", "b"])),
        ("listed_in_directory", json!(true)),
        ("registry_access", json!(false)),
        ("shared_with_organization", json!(true)),
        ("foreign_access", json!(true)),
        ("model_type", json!("m")),
    ] {
        expected[name] = value;
    }
    assert_eq!(*answer.data(), expected);
    assert_eq!(*api.get(&api.ann, &path).await.data(), expected);
    let cleared = api
        .patch(&api.ann, &path, json!({"bio": null, "tags": [], "model_type": " ", "max_attempts": null}))
        .await;
    assert_eq!((&cleared.data()["bio"], &cleared.data()["tags"]), (&json!(null), &json!([])));
    assert_eq!(cleared.data()["max_attempts"], json!(null));
    assert_eq!(cleared.data()["model_type"], json!(null));

    let twenty_one = (0..21).map(|number| number.to_string()).collect::<Vec<_>>();
    for (body, expected) in [
        (json!({}), (422, "validation_error", vec!["/name"])),
        (json!({"name": null}), (422, "validation_error", vec!["/name"])),
        (json!({"name": "Scout"}), (422, "validation_error", vec!["name"])),
        (json!({"description": ""}), (422, "validation_error", vec!["/description"])),
        (json!({"tags": twenty_one}), (422, "validation_error", vec!["/tags"])),
        (json!({"tags": ["a\nb"]}), (422, "validation_error", vec!["/tags"])),
        (json!({"tags": [1]}), (422, "validation_error", vec!["/tags"])),
        (json!({"bio": "x".repeat(2001)}), (422, "validation_error", vec!["/bio"])),
        (json!({"claims": "mine"}), (422, "validation_error", vec!["/claims"])),
        (json!({"claims": null}), (422, "validation_error", vec!["/claims"])),
        (json!({"max_attempts": 0}), (422, "validation_error", vec!["/max_attempts"])),
        (json!({"max_attempts": 1001}), (422, "validation_error", vec!["/max_attempts"])),
        (json!({"max_attempts": 1.5}), (422, "validation_error", vec!["/max_attempts"])),
        (json!({"max_attempts": "3"}), (422, "validation_error", vec!["/max_attempts"])),
        (json!({"listed_in_directory": "yes"}), (422, "validation_error", vec!["/listed_in_directory"])),
        (json!({"a2a": null}), (422, "validation_error", vec!["/a2a"])),
        (json!({"agent": {"is_global": true}}), (400, "bad_request", vec!["/agent/is_global"])),
        (json!({"handle": "x"}), (400, "bad_request", vec!["/handle"])),
    ] {
        assert_eq!(api.patch(&api.ann, &path, body.clone()).await.refusal(), expected, "{body}");
    }
    let stranger = api.patch(&api.bob, &path, json!({"bio": "x"})).await;
    assert_eq!(stranger.code(), (404, "not_found"));
}

#[actix_web::test]
async fn an_agent_that_worked_goes_by_force_only() {
    let api = Api::new().await;
    let chat = api.room().await;
    api.mention(api.ann.caller, chat, &api.helper, "work").await;
    let path = format!("/agents/{}", api.helper.id);
    assert_eq!(api.delete(&api.bob, &format!("{path}?force=true")).await.code(), (404, "not_found"));
    for query in ["", "?force=false"] {
        let refused = api.delete(&api.ann, &format!("{path}{query}")).await;
        assert_eq!(refused.refusal(), (422, "execution_history_exists", vec!["/force"]), "{query}");
    }
    let odd = api.delete(&api.ann, &format!("{path}?force=yes")).await;
    assert_eq!(odd.refusal(), (422, "validation_error", vec!["/force"]));
    assert!(api.world.accounts.authenticate(&api.helper.key).await.is_ok());

    let gone = api.delete(&api.ann, &format!("{path}?force=true")).await;
    let expected = json!({
        "id": api.helper.id.to_string(), "name": "Helper", "description": "Helper of ann", "executions_deleted": 1,
    });
    assert_eq!((gone.status, gone.data()), (200, &expected));
    assert!(api.world.accounts.authenticate(&api.helper.key).await.is_err());
    assert_eq!(api.delete(&api.ann, &format!("{path}?force=true")).await.code(), (404, "not_found"));
    assert_eq!(api.get(&api.ann, &path).await.code(), (404, "not_found"));
    let roster = api.get(&api.ann, &format!("/chats/{chat}/participants")).await;
    assert_eq!(roster.column("name"), ["ann Example", "Scout"]);
    // One that did nothing needs no force.
    let scout = api.delete(&api.ann, &format!("/agents/{}", api.scout.id)).await;
    assert_eq!((scout.status, &scout.data()["executions_deleted"]), (200, &json!(0)));
}
