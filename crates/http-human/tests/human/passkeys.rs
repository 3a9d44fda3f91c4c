//! The passkeys of the caller.

use domain::account::UserHandle;
use domain::login::{Password, SessionKind};
use serde_json::{Value, json};
use testkit::FakeCeremonies;

use crate::harness::{Answer, Api};

/// Ann has a password.
async fn with_password() -> Api {
    let api = Api::new().await;
    let token = api.world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap().token;
    let password = Password::new("correct horse".to_owned()).unwrap();
    api.world.logins.reset_password(&token, password, SessionKind::Program).await.unwrap();
    api
}

async fn challenge(api: &Api) -> Value {
    let begun = api.post(&api.ann, "/passkeys/challenge", json!({"current_password": "correct horse"})).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    begun.data().clone()
}

fn body(begun: &Value, name: &str, key: &str) -> Value {
    let answer = FakeCeremonies::answer(&begun["options"], key, 0);
    let credential = serde_json::from_str::<Value>(&answer).unwrap();
    json!({"name": name, "ceremony": begun["ceremony"], "credential": credential})
}

async fn add(api: &Api, name: &str, key: &str) -> Answer {
    let begun = challenge(api).await;
    api.post(&api.ann, "/passkeys", body(&begun, name, key)).await
}

#[actix_web::test]
async fn passkeys_are_added_renamed_and_removed() {
    let api = with_password().await;
    let added = add(&api, "Laptop", "one").await;
    let id = added.data()["id"].clone();
    let mut shown = json!({
        "id": id, "name": "Laptop", "is_synced": true, "inserted_at": api.now(), "last_used_at": null,
    });
    assert_eq!((added.status, added.data()), (201, &shown));
    assert_eq!(api.get(&api.ann, "/passkeys").await.data(), &json!([shown]));
    assert_eq!(api.get(&api.bob, "/passkeys").await.data(), &json!([]));

    let path = format!("/passkeys/{}", id.as_str().unwrap());
    let renamed = api.patch(&api.ann, &path, json!({"name": " Old laptop "})).await;
    shown["name"] = "Old laptop".into();
    assert_eq!((renamed.status, renamed.data()), (200, &shown));
    assert_eq!(api.patch(&api.bob, &path, json!({"name": "Mine"})).await.code(), (404, "not_found"));
    let blank = api.patch(&api.ann, &path, json!({"name": " "})).await;
    assert_eq!(blank.refusal(), (422, "validation_error", vec!["/name"]));

    let remove = format!("{path}/remove");
    let wrong = api.post(&api.ann, &remove, json!({"current_password": "battery staple"})).await;
    assert_eq!(wrong.refusal(), (422, "validation_error", vec!["/current_password"]));
    for (status, code) in [(204, None), (404, Some("not_found"))] {
        let removed = api.post(&api.ann, &remove, json!({"current_password": "correct horse"})).await;
        assert_eq!(removed.status, status);
        assert_eq!(code, (status == 404).then(|| removed.code().1));
    }
}

/// A challenge is for one passkey of the user who asked for it.
#[actix_web::test]
async fn an_answer_fits_its_challenge() {
    let api = with_password().await;
    let begun = challenge(&api).await;
    let good = body(&begun, "Laptop", "one");
    let with = |member: &str, value: Value| {
        let mut changed = good.clone();
        changed[member] = value;
        changed
    };
    for (bad, pointer) in [
        (with("credential", json!({})), "/credential"),
        (with("credential", body(&challenge(&api).await, "", "one")["credential"].clone()), "/credential"),
        (with("name", "".into()), "/name"),
        (with("name", "n".repeat(101).into()), "/name"),
        (with("ceremony", "c".repeat(1025).into()), "/ceremony"),
    ] {
        let refused = api.post(&api.ann, "/passkeys", bad).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]));
    }
    let forged = with("ceremony", "forged".into());
    for (account, bad) in [(&api.ann, forged), (&api.bob, good.clone())] {
        assert_eq!(api.post(account, "/passkeys", bad).await.code(), (409, "conflict"));
    }
    assert_eq!(api.post(&api.ann, "/passkeys", good.clone()).await.status, 201);
    assert_eq!(api.post(&api.ann, "/passkeys", good).await.code(), (409, "conflict"), "it was used");
    assert_eq!(add(&api, "Laptop", "one").await.code(), (409, "conflict"), "the key is known");
    for number in 1..20 {
        assert_eq!(add(&api, "Laptop", &number.to_string()).await.status, 201);
    }
    let beyond =
        api.post(&api.ann, "/passkeys/challenge", json!({"current_password": "correct horse"})).await;
    assert_eq!(beyond.code(), (409, "conflict"));
}

#[actix_web::test]
async fn passkeys_need_the_password() {
    let api = with_password().await;
    for (account, body) in [
        (&api.ann, json!({})),
        (&api.ann, json!({"current_password": "battery staple"})),
        (&api.bob, json!({"current_password": "correct horse"})),
    ] {
        let refused = api.post(account, "/passkeys/challenge", body).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec!["/current_password"]));
    }
}
