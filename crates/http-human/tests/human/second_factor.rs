//! The second factor of the caller, and log-ins that need a code.

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::test::TestRequest;
use domain::account::UserHandle;
use domain::login::{Password, SessionKind, Step};
use domain::ports::Clock;
use http_wire::limit::{Quota, RateLimitConfig};
use serde_json::{Value, json};

use crate::harness::{Answer, Api, call};

const PATH: &str = "/second-factor";

/// Ann has a password.
async fn with_password() -> Api {
    let api = Api::new().await;
    let token = reset_token(&api).await;
    let password = Password::new("correct horse".to_owned()).unwrap();
    api.world.logins.reset_password(&token, password, SessionKind::Program).await.unwrap();
    api
}

async fn reset_token(api: &Api) -> String {
    api.world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap().token
}

/// Ann's code of the step that is `later` than now.
async fn code(api: &Api, later: i32) -> String {
    let secret = api.world.logins.second_factor(api.ann.caller).await.unwrap().unwrap().secret;
    let step = Step::at(api.world.clock.now()).number().checked_add_signed(later).unwrap();
    secret.code_at(Step::new(step)).to_string()
}

/// Turns Ann's second factor on; returns the recovery codes.
async fn turn_on(api: &Api) -> Vec<String> {
    let begun = api.post(&api.ann, PATH, json!({"current_password": "correct horse"})).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let confirmed = api.post(&api.ann, "/second-factor/confirm", json!({"code": code(api, 0).await})).await;
    assert_eq!(confirmed.status, 200, "{confirmed:?}");
    let codes = confirmed.data()["recovery_codes"].as_array().unwrap();
    codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

fn log_in_body(code: &Value) -> Value {
    let mut body = json!({"login": "ann", "password": "correct horse"});
    if !code.is_null() {
        body["code"] = code.clone();
    }
    body
}

async fn log_in(api: &Api, code: Value) -> Answer {
    api.send(TestRequest::post().uri("/api/v1/auth/login").set_json(log_in_body(&code))).await
}

#[actix_web::test]
async fn a_second_factor_is_set_up_in_two_steps_and_turned_off() {
    let api = with_password().await;
    let shown = async || api.get(&api.ann, PATH).await.data().clone();
    assert_eq!(shown().await, json!({"status": "off", "enabled_at": null, "recovery_codes_left": 0}));
    let begun = api.post(&api.ann, PATH, json!({"current_password": "correct horse"})).await;
    let secret = api.world.logins.second_factor(api.ann.caller).await.unwrap().unwrap().secret.base32();
    let url = format!(
        "otpauth://totp/Parlance:ann@chat.example?secret={secret}&issuer=Parlance&algorithm=SHA1&digits=6&period=30"
    );
    assert_eq!((begun.status, begun.data()), (201, &json!({"secret": secret, "otpauth_url": url})));
    assert_eq!(shown().await, json!({"status": "pending", "enabled_at": null, "recovery_codes_left": 0}));
    assert_eq!(log_in(&api, Value::Null).await.status, 200);

    let wrong = api.post(&api.ann, "/second-factor/confirm", json!({"code": code(&api, -2).await})).await;
    assert_eq!(wrong.refusal(), (422, "validation_error", vec!["/code"]));
    let codes = turn_on(&api).await;
    assert_eq!(codes.len(), 10);
    assert!(codes.iter().all(|code| code.len() == 19), "{codes:?}");
    assert_eq!(shown().await, json!({"status": "on", "enabled_at": api.now(), "recovery_codes_left": 10}));
    for (path, body) in [
        (PATH, json!({"current_password": "correct horse"})),
        ("/second-factor/confirm", json!({"code": "1"})),
    ] {
        assert_eq!(api.post(&api.ann, path, body).await.code(), (409, "conflict"));
    }

    let both = |code: &str| json!({"current_password": "correct horse", "code": code});
    let renewed = api.post(&api.ann, "/second-factor/recovery-codes", both(&code(&api, 1).await)).await;
    assert_eq!(renewed.status, 200, "{renewed:?}");
    let renewed = renewed.data()["recovery_codes"][0].as_str().unwrap().to_owned();
    let remove = async |body: Value| api.post(&api.ann, "/second-factor/remove", body).await;
    for (body, pointer) in [
        (json!({"current_password": "correct horse"}), "/code"),
        (both(&codes[0]), "/code"),
        (json!({"current_password": "battery staple", "code": renewed}), "/current_password"),
    ] {
        assert_eq!(remove(body).await.refusal(), (422, "validation_error", vec![pointer]));
    }
    assert_eq!(remove(both(&renewed)).await.status, 204);
    assert_eq!(shown().await["status"], "off");
    assert_eq!(remove(both(&renewed)).await.code(), (409, "conflict"));
    let renew = api.post(&api.ann, "/second-factor/recovery-codes", both(&renewed)).await;
    assert_eq!(renew.code(), (409, "conflict"));
}

/// The password is always needed, unlike for keys; a user without one has no second factor.
#[actix_web::test]
async fn a_second_factor_needs_the_password() {
    let api = with_password().await;
    for (account, body) in [
        (&api.ann, json!({})),
        (&api.ann, json!({"current_password": "battery staple"})),
        (&api.bob, json!({"current_password": "correct horse"})),
    ] {
        let refused = api.post(account, PATH, body).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec!["/current_password"]));
    }
    for path in ["/second-factor/confirm", "/second-factor/recovery-codes", "/second-factor/remove"] {
        let refused =
            api.post(&api.ann, path, json!({"current_password": "correct horse", "code": " "})).await;
        let (status, code, pointers) = refused.refusal();
        let expected =
            if path.ends_with("confirm") { (400, "bad_request") } else { (422, "validation_error") };
        assert_eq!((status, code), expected, "{path} {pointers:?}");
    }
    assert_eq!(api.call(&api.helper.key, Method::GET, PATH, &Value::Null).await.status, 403);
}

#[actix_web::test]
async fn a_log_in_asks_for_a_code_only_with_the_right_password() {
    let api = with_password().await;
    let codes = turn_on(&api).await;
    let refused = log_in(&api, Value::Null).await;
    assert_eq!(refused.code(), (401, "second_factor_required"));
    for wrong in ["000000", "", &code(&api, 0).await] {
        let expected =
            if wrong.is_empty() { (422, "validation_error") } else { (401, "invalid_second_factor") };
        assert_eq!(log_in(&api, json!(wrong)).await.code(), expected, "{wrong:?}");
    }
    for right in [json!(code(&api, 1).await), json!(codes[0])] {
        assert_eq!(log_in(&api, right.clone()).await.status, 200);
        assert_eq!(log_in(&api, right).await.code(), (401, "invalid_second_factor"));
    }
    let wrong = json!({"login": "ann", "password": "battery staple", "code": codes[1]});
    let with_code = api.send(TestRequest::post().uri("/api/v1/auth/login").set_json(wrong)).await;
    let unknown = json!({"login": "nobody", "password": "correct horse"});
    let unknown = api.send(TestRequest::post().uri("/api/v1/auth/login").set_json(unknown)).await;
    assert_eq!(with_code.code(), (401, "unauthorized"));
    assert_eq!(with_code.body["error"]["message"], unknown.body["error"]["message"]);
    assert_eq!(api.get(&api.ann, "/profile").await.status, 200, "a key needs no code");
}

/// With the code, the token of the operator still works.
#[actix_web::test]
async fn a_reset_asks_for_a_code_before_its_token_is_used() {
    let api = with_password().await;
    turn_on(&api).await;
    let app = api.app(RateLimitConfig { failures: Quota::new(1, 2), ..RateLimitConfig::off() }).await;
    let token = reset_token(&api).await;
    let reset = async |code: Value| {
        let mut body = json!({"reset_token": token, "new_password": "battery staple"});
        if !code.is_null() {
            body["code"] = code;
        }
        let request = TestRequest::post().uri("/api/v1/auth/reset").peer_addr(peer(1)).set_json(body);
        call(&app, request).await
    };
    for (code, expected) in [
        (Value::Null, "second_factor_required"),
        (json!("000000"), "invalid_second_factor"),
        (Value::Null, "second_factor_required"),
    ] {
        assert_eq!(reset(code).await.code(), (401, expected));
    }
    assert_eq!(reset(json!(code(&api, 1).await)).await.status, 200);
    assert_eq!(reset(json!(code(&api, 1).await)).await.code(), (401, "unauthorized"));
}

fn peer(host: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], 4711))
}

/// From one address, they count together, and a code that is missing does not count.
#[actix_web::test]
async fn wrong_codes_count_like_wrong_passwords() {
    let api = with_password().await;
    turn_on(&api).await;
    let app = api.app(RateLimitConfig { failures: Quota::new(1, 100), ..RateLimitConfig::off() }).await;
    let log_in = async |host: u8, body: Value| {
        call(&app, TestRequest::post().uri("/api/v1/auth/login").peer_addr(peer(host)).set_json(body)).await
    };
    let right = log_in_body(&json!(code(&api, 1).await));
    for body in [log_in_body(&json!("000000")), json!({"login": "ann", "password": "battery staple"})] {
        assert_eq!(log_in(1, body.clone()).await.status, 401);
        assert_eq!(log_in(1, log_in_body(&Value::Null)).await.code(), (401, "second_factor_required"));
        assert_eq!(log_in(1, body).await.status, 401);
    }
    assert_eq!(log_in(1, log_in_body(&json!("000000"))).await.code(), (401, "invalid_second_factor"));
    assert_eq!(log_in(1, right.clone()).await.code(), (429, "rate_limited"));
    assert_eq!(log_in(2, right).await.status, 200);
}

/// From whatever addresses, with a reset token, and without other limits: a code of six digits is soon guessed by many.
#[actix_web::test]
async fn an_account_has_few_guesses_at_codes() {
    let api = with_password().await;
    turn_on(&api).await;
    let app = api.app(RateLimitConfig::off()).await;
    let log_in = async |host: u8, code: Value| {
        let body = log_in_body(&code);
        call(&app, TestRequest::post().uri("/api/v1/auth/login").peer_addr(peer(host)).set_json(body)).await
    };
    let right = code(&api, 1).await;
    for host in 1..=8 {
        assert_eq!(log_in(host, Value::Null).await.code(), (401, "second_factor_required"));
        assert_eq!(log_in(host, json!("000000")).await.code(), (401, "invalid_second_factor"));
    }
    assert_eq!(log_in(9, json!(right)).await.status, 200, "which is paid back");
    let remove = json!({"current_password": "correct horse", "code": "000000"});
    let remove =
        TestRequest::post().uri("/api/v1/me/second-factor/remove").peer_addr(peer(1)).set_json(remove);
    let refused = call(&app, remove.insert_header(("x-api-key", api.ann.key.clone()))).await;
    assert_eq!(refused.code(), (422, "validation_error"));
    let token = reset_token(&api).await;
    let reset = async |host: u8| {
        let body = json!({"reset_token": token, "new_password": "battery staple", "code": "000000"});
        call(&app, TestRequest::post().uri("/api/v1/auth/reset").peer_addr(peer(host)).set_json(body)).await
    };
    assert_eq!(reset(10).await.code(), (401, "invalid_second_factor"), "the tenth guess");
    for refused in [reset(11).await, log_in(12, json!("000000")).await] {
        assert_eq!((refused.code(), refused.header("retry-after")), ((429, "rate_limited"), "300"));
        assert!(refused.body["error"]["message"].as_str().unwrap().ends_with("Try again in 5 minutes."));
    }
    assert_eq!(log_in(13, Value::Null).await.code(), (401, "second_factor_required"));
    api.world.clock.advance(Duration::from_secs(300));
    let right = code(&api, 0).await;
    assert_eq!(log_in(14, json!(right)).await.status, 200);
}
