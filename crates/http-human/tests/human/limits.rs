//! Rate limits, and responses to failed authentications.

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::App;
use actix_web::test::{TestRequest, init_service};
use actix_web::web::Data;
use domain::plan::{AssignPlan, Plan, PlanName, WhichOrganization};
use domain::secret::Secret;
use futures_util::future::join_all;
use http_wire::cursor::CursorSeal;
use http_wire::limit::{Quota, RateLimitConfig};
use http_wire::request_scope::RequestScope;
use serde_json::json;

use crate::harness::{Api, call};

fn ask(key: &str) -> TestRequest {
    ask_from(1, key)
}

/// From the host of this number.
fn ask_from(host: u8, key: &str) -> TestRequest {
    let peer = SocketAddr::from(([192, 0, 2, host], 4711));
    TestRequest::get().uri("/api/v1/me/chats").peer_addr(peer).insert_header(("x-api-key", key))
}

#[actix_web::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let api = Api::new().await;
    let config = RateLimitConfig { general: Quota::new(1, 2), ..RateLimitConfig::off() };
    let app = api.app(config).await;
    for remaining in ["1", "0"] {
        let answer = call(&app, ask(&api.ann.key)).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, "2"));
        assert_eq!(answer.header("x-ratelimit-remaining"), remaining);
    }
    let refused = call(&app, ask(&api.ann.key)).await;
    assert_eq!(refused.code(), (429, "rate_limited"));
    assert!(refused.body["error"]["request_id"].as_str().is_some_and(|id| !id.is_empty()));
    let now = testkit::NOON / 1_000_000;
    for (name, value) in [
        ("retry-after", "1".to_owned()),
        ("x-ratelimit-limit", "2".to_owned()),
        ("x-ratelimit-remaining", "0".to_owned()),
        ("x-ratelimit-reset", (now + 2).to_string()),
    ] {
        assert_eq!(refused.header(name), value, "{name}");
    }
    // A token of the same user is counted with the user's key; others are not touched.
    let token = format!("Bearer {}", api.world.token(&api.ann).await);
    let by_token = TestRequest::get().uri("/api/v1/me/chats").insert_header(("authorization", token));
    assert_eq!(call(&app, by_token).await.status, 429);
    assert_eq!(call(&app, ask(&api.bob.key)).await.status, 200);
    api.world.clock.advance(Duration::from_secs(1));
    assert_eq!(call(&app, ask(&api.ann.key)).await.status, 200);
    assert_eq!(call(&app, ask(&api.ann.key)).await.status, 429);
}

/// Requests that are refused for another reason count as well, and have the headers of the rate.
#[actix_web::test]
async fn refused_requests_are_counted() {
    let api = Api::new().await;
    let config = RateLimitConfig { general: Quota::new(1, 3), ..RateLimitConfig::off() };
    let app = api.app(config).await;
    let nowhere = |path: &str| {
        TestRequest::get().uri(&format!("/api/v1/me{path}")).insert_header(("x-api-key", api.ann.key.clone()))
    };
    let answer = call(&app, nowhere("/chats/none")).await;
    assert_eq!((answer.code(), answer.header("x-ratelimit-remaining")), ((404, "not_found"), "2"));
    let answer = call(&app, nowhere("/nowhere")).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (404, "1"));
    let agent = call(&app, ask(&api.helper.key)).await;
    assert_eq!((agent.code(), agent.header("x-ratelimit-remaining")), ((403, "forbidden"), "2"));
    assert_eq!(call(&app, nowhere("/chats")).await.status, 200);
    assert_eq!(call(&app, nowhere("/chats")).await.status, 429);
}

/// Callers whose plan excludes the interface are counted, get the headers of the rate, and are limited in the
/// end.
#[actix_web::test]
async fn refusals_of_the_plan_are_counted() {
    let api = Api::new().await;
    let mute = PlanName::new("mute").unwrap();
    let plan = Plan { name: mute.clone(), human_interface: false, memories: false, ..Plan::enterprise() };
    api.world.plans.configure(vec![plan]).await.unwrap();
    let organization = WhichOrganization::Named("bob".to_owned());
    api.world.plans.assign(AssignPlan { organization, plan: mute }).await.unwrap().unwrap();
    let config = RateLimitConfig { general: Quota::new(1, 3), ..RateLimitConfig::off() };
    let app = api.app(config).await;
    for (path, status, code, remaining) in [
        ("memories", 403, "forbidden", "2"),
        ("chats", 403, "plan_required", "1"),
        ("memories", 403, "forbidden", "0"),
        ("memories", 429, "rate_limited", "0"),
        ("chats", 429, "rate_limited", "0"),
    ] {
        let request = TestRequest::get().uri(&format!("/api/v1/me/{path}"));
        let answer = call(&app, request.insert_header(("x-api-key", api.bob.key.clone()))).await;
        assert_eq!((answer.code(), answer.header("x-ratelimit-remaining")), ((status, code), remaining));
    }
}

#[actix_web::test]
async fn registration_is_counted_apart() {
    let api = Api::new().await;
    let config = RateLimitConfig { invitations: Quota::new(1, 1), ..RateLimitConfig::off() };
    let app = api.app(config).await;
    // Another spelling of the same path is the same path.
    for (number, (path, status)) in
        [("register", 201), ("register", 429), ("%72egister", 429)].iter().enumerate()
    {
        let body = json!({"name": format!("New {number}"), "description": "a new one"});
        let request = TestRequest::post().uri(&format!("/api/v1/me/agents/{path}"));
        let request = request.insert_header(("x-api-key", api.ann.key.clone())).set_json(body);
        assert_eq!(call(&app, request).await.status, *status, "{path}");
    }
    let answer = call(&app, ask(&api.ann.key)).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, ""), "no limit, no header");
}

/// Failed attempts shut out unknown credentials of their address without a check. Credentials that were
/// valid there before still work, also those that were valid a moment ago on another address.
#[actix_web::test]
async fn guessing_keys_is_slowed_and_valid_clients_are_not() {
    let api = Api::new().await;
    let config = RateLimitConfig { failures: Quota::new(1, 5), ..RateLimitConfig::off() };
    let app = api.app(config).await;
    assert_eq!(call(&app, ask(&api.ann.key)).await.status, 200);
    assert_eq!(call(&app, ask_from(2, &api.bob.key)).await.status, 200);
    for number in 0..5 {
        assert_eq!(call(&app, ask(&format!("thnv_u_{number}_x"))).await.code(), (401, "unauthorized"));
    }
    let shut = call(&app, ask("thnv_u_more")).await;
    assert_eq!(shut.code(), (429, "rate_limited"));
    assert_eq!(shut.header("retry-after"), "1");
    assert_eq!(call(&app, ask(&api.ann.key)).await.status, 200);
    assert_eq!(call(&app, ask(&api.bob.key)).await.status, 200);
    assert_eq!(call(&app, ask_from(3, "thnv_u_third")).await.code(), (401, "unauthorized"));
    // The store is not asked for those who are shut out: it has no answer any more.
    (api.world.stores.close)();
    assert_eq!(call(&app, ask("thnv_u_more")).await.status, 429);
    assert_eq!(call(&app, ask_from(3, "thnv_u_more")).await.status, 503);
    api.world.clock.advance(Duration::from_secs(1));
    assert_eq!(
        call(&app, ask("thnv_u_other")).await.status,
        503,
        "a defect of the server is not a failed attempt"
    );
}

/// Of concurrent guesses, only as many are checked as the quota has left; of concurrent good keys, all are
/// let in.
#[actix_web::test]
async fn concurrent_guesses_are_checked_within_the_quota() {
    let api = Api::new().await;
    let config = RateLimitConfig { failures: Quota::new(1, 3), ..RateLimitConfig::off() };
    let app = api.app(config).await;
    let mut keys = Vec::new();
    for number in 0..12 {
        keys.push(api.world.user(&format!("user-{number}")).await.key);
    }
    let answers = join_all(keys.iter().map(|key| call(&app, ask(key)))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    let answers = join_all((0..12).map(|number| call(&app, ask(&format!("guess-{number}"))))).await;
    let with = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((with(401), with(429)), (3, 9));
}

/// Tokens are guessed as keys are; what is no credential at all costs nothing and is not counted.
#[actix_web::test]
async fn bad_tokens_count_and_missing_credentials_do_not() {
    let api = Api::new().await;
    let config = RateLimitConfig { failures: Quota::new(1, 2), ..RateLimitConfig::off() };
    let app = api.app(config).await;
    let peer = SocketAddr::from(([192, 0, 2, 1], 4711));
    let with = |authorization: String| {
        let request = TestRequest::get().uri("/api/v1/me/chats").peer_addr(peer);
        request.insert_header(("authorization", authorization))
    };
    for _ in 0..9 {
        assert_eq!(call(&app, with("Basic dTpw".to_owned())).await.status, 401);
    }
    for (token, status) in [("a", 401), ("a", 401), ("a", 401), ("b", 401), ("c", 429), ("a", 401)] {
        let answer = call(&app, with(format!("Bearer {token}.b.c"))).await;
        assert_eq!(answer.status, status, "a token that is repeated is no guess");
    }
}

/// An invalid token may still be a valid key: clients that sent their key behind `Bearer` are accepted
/// as soon as they are corrected. The reverse holds too.
#[actix_web::test]
async fn a_key_that_was_no_token_is_still_a_key() {
    let api = Api::new().await;
    let config = RateLimitConfig { failures: Quota::new(1, 5), ..RateLimitConfig::off() };
    let app = api.app(config).await;
    let peer = SocketAddr::from(([192, 0, 2, 1], 4711));
    let bearer = |token: &str| {
        let request = TestRequest::get().uri("/api/v1/me/chats").peer_addr(peer);
        request.insert_header(("authorization", format!("Bearer {token}")))
    };
    assert_eq!(call(&app, bearer(&api.ann.key)).await.status, 401);
    assert_eq!(call(&app, ask(&api.ann.key)).await.status, 200);
    assert_eq!(call(&app, bearer(&api.ann.key)).await.status, 401);
    assert_eq!(call(&app, ask(&api.ann.key)).await.status, 200);
    let token = api.world.token(&api.bob).await;
    assert_eq!(call(&app, ask(&token)).await.status, 401);
    assert_eq!(call(&app, bearer(&token)).await.status, 200);
}

/// An application without the limits is a defect: it answers no request, rather than leave failed
/// attempts uncounted.
#[actix_web::test]
async fn without_limits_nothing_is_answered() {
    let api = Api::new().await;
    let app = App::new()
        .wrap(RequestScope)
        .app_data(Data::new(CursorSeal::new(Secret([7; 32]))))
        .app_data(Data::from(api.world.accounts.clone()))
        .app_data(Data::from(api.world.tokens.clone()))
        .app_data(Data::from(api.world.logins.clone()))
        .app_data(Data::from(api.world.chats.clone()))
        .configure(http_human::configure);
    let app = init_service(app).await;
    let log_in = TestRequest::post().uri("/api/v1/auth/login");
    let log_in = log_in.set_json(json!({"login": "ann", "password": "a wrong password"}));
    for request in [ask(&api.ann.key), ask("thnv_u_more"), log_in] {
        assert_eq!(call(&app, request).await.code(), (500, "internal_error"));
    }
}
