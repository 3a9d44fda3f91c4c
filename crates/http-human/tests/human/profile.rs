//! A human's own record.

use serde_json::json;

use crate::harness::Api;

#[actix_web::test]
async fn a_profile_is_read_and_changed() {
    let api = Api::new().await;
    let answer = api.get(&api.ann, "/profile").await;
    let now = api.now();
    let mut expected = json!({
        "id": api.ann.id.to_string(), "handle": "ann", "email": "ann@example.org", "first_name": "ann",
        "last_name": "Example", "role": "user", "listed_in_directory": false,
        "local_credential_required": false, "inserted_at": now, "updated_at": now,
    });
    assert_eq!((answer.status, answer.data()), (200, &expected));
    let answer =
        api.put(&api.ann, "/profile", json!({"user": {"first_name": " Anna ", "last_name": null}})).await;
    expected["first_name"] = json!("Anna");
    expected["last_name"] = json!("");
    assert_eq!((answer.status, answer.data()), (200, &expected));
    // Nothing said, nothing changed; a first name is never taken away.
    for body in [json!({}), json!({"user": {}}), json!({"first_name": null}), json!({"first_name": " "})] {
        assert_eq!(*api.put(&api.ann, "/profile", body).await.data(), expected);
    }
    assert_eq!(api.get(&api.bob, "/profile").await.data()["first_name"], json!("bob"));
}

#[actix_web::test]
async fn nobody_makes_themselves_more_than_they_are() {
    let api = Api::new().await;
    for (body, expected) in [
        (json!({"user": {"role": "admin"}}), (400, "bad_request", vec!["/user/role"])),
        (json!({"email": "x@y"}), (400, "bad_request", vec!["/email"])),
        (
            json!({"user": {"first_name": "x".repeat(101)}}),
            (422, "validation_error", vec!["/user/first_name"]),
        ),
        (json!({"user": {"last_name": "a\nb"}}), (422, "validation_error", vec!["/user/last_name"])),
        (json!({"first_name": 1}), (422, "validation_error", vec!["/first_name"])),
    ] {
        assert_eq!(api.put(&api.ann, "/profile", body).await.refusal(), expected);
    }
    assert_eq!(api.get(&api.ann, "/profile").await.data()["role"], json!("user"));
}
