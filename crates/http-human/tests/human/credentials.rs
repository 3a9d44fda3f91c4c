//! Tokens, and the credentials of the generic paths, which accept more kinds than the interfaces do.

use std::time::Duration;

use actix_web::middleware::from_fn;
use actix_web::test::{TestRequest, init_service, read_body};
use actix_web::{App, HttpResponse, web};
use domain::account::TokenClaims;
use domain::caller::Caller;
use domain::id::UserId;
use domain::ports::{Clock, TokenMint};
use http_wire::auth::{CallerAuth, any_caller};
use http_wire::limit::RateLimitConfig;
use http_wire::request_scope::RequestScope;
use testkit::PlainTokens;

use crate::harness::Api;

async fn whoami(CallerAuth(caller): CallerAuth) -> HttpResponse {
    let kind = match caller {
        Caller::User(_) => "user",
        Caller::Agent(_) => "agent",
    };
    HttpResponse::Ok().body(format!("{kind} {}", caller.participant()))
}

/// Status and body of a request with these headers; of a refusal its code.
async fn ask(api: &Api, headers: &[(&'static str, &str)]) -> (u16, String) {
    let app = App::new()
        .wrap(RequestScope)
        .configure(|config| api.register(config, RateLimitConfig::off()))
        .service(web::scope("/v1").wrap(from_fn(any_caller)).route("/whoami", web::get().to(whoami)));
    let app = init_service(app).await;
    let mut request = TestRequest::get().uri("/v1/whoami");
    for (name, value) in headers {
        request = request.append_header((*name, *value));
    }
    let called = actix_web::dev::Service::call(&app, request.to_request()).await;
    let answer = match called {
        Ok(response) => (response.status().as_u16(), read_body(response).await),
        Err(error) => {
            let response = error.error_response();
            let status = response.status().as_u16();
            (status, actix_web::body::to_bytes(response.into_body()).await.unwrap())
        }
    };
    (answer.0, String::from_utf8(answer.1.to_vec()).unwrap())
}

#[actix_web::test]
async fn generic_paths_take_a_bare_key_of_either_kind() {
    let api = Api::new().await;
    let user = (200, format!("user {}", api.ann.id));
    let agent = (200, format!("agent {}", api.helper.id));
    assert_eq!(ask(&api, &[("authorization", &api.ann.key)]).await, user);
    assert_eq!(ask(&api, &[("authorization", &api.helper.key)]).await, agent);
    assert_eq!(ask(&api, &[("x-api-key", &api.ann.key)]).await, user);
    let token = format!("Bearer {}", api.world.token(&api.ann).await);
    assert_eq!(ask(&api, &[("authorization", &token)]).await, user);
    // A key in its own header counts, whatever else is sent along.
    let both = [("authorization", api.ann.key.as_str()), ("x-api-key", api.helper.key.as_str())];
    assert_eq!(ask(&api, &both).await, agent);
}

#[actix_web::test]
async fn generic_paths_refuse_what_is_no_credential() {
    let api = Api::new().await;
    let bearer = format!("Bearer {}", api.ann.key);
    let basic = format!("Basic {}", api.ann.key);
    for headers in [
        &[][..],
        &[("authorization", "thnv_u_unknown")],
        &[("authorization", bearer.as_str())],
        &[("authorization", basic.as_str())],
        &[("authorization", "")],
        &[("x-api-key", ""), ("authorization", api.ann.key.as_str())],
        &[("x-api-key", "thnv_u_unknown"), ("authorization", api.ann.key.as_str())],
    ] {
        let (status, body) = ask(&api, headers).await;
        assert_eq!(status, 401, "{headers:?}");
        assert!(body.contains("\"unauthorized\"") && body.contains("\"request_id\""), "{body}");
    }
}

/// Status and code of `GET /me/chats` with this `Authorization`.
async fn chats_with(api: &Api, authorization: &str) -> (u16, String) {
    let request = TestRequest::get().uri("/api/v1/me/chats").insert_header(("authorization", authorization));
    let answer = api.send(request).await;
    let (status, code) = answer.code();
    (status, code.to_owned())
}

#[actix_web::test]
async fn a_token_is_good_for_its_quarter_of_an_hour() {
    let api = Api::new().await;
    let bearer = format!("Bearer {}", api.world.token(&api.ann).await);
    assert_eq!(chats_with(&api, &bearer).await.0, 200);
    assert_eq!(chats_with(&api, &bearer.replace("Bearer", "bearer")).await.0, 200);
    // Half a minute more is granted to clocks that differ.
    api.world.clock.advance(Duration::from_secs(15 * 60 + 29));
    assert_eq!(chats_with(&api, &bearer).await.0, 200);
    api.world.clock.advance(Duration::from_secs(1));
    assert_eq!(chats_with(&api, &bearer).await, (401, "unauthorized".to_owned()));
}

#[actix_web::test]
async fn a_token_sees_what_its_user_sees_and_no_more() {
    let api = Api::new().await;
    let chat = api.room().await;
    for (user, status) in [(&api.ann, 200), (&api.bob, 404)] {
        let token = format!("Bearer {}", api.world.token(user).await);
        let request = TestRequest::get().uri(&format!("/api/v1/me/chats/{chat}"));
        let answer = api.send(request.insert_header(("authorization", token))).await;
        assert_eq!(answer.status, status);
    }
}

#[actix_web::test]
async fn tokens_of_nobody_and_of_another_organization_are_refused() {
    let api = Api::new().await;
    let now = api.world.clock.now();
    let claims = TokenClaims {
        password_set_at: None,
        session: None,
        user: api.ann.id,
        organization: api.ann.caller.organization,
        issued_at: now,
        expires_at: now.plus(Duration::from_secs(60)),
    };
    let refused = (401, "unauthorized".to_owned());
    let bearer = |claims: TokenClaims| format!("Bearer {}", PlainTokens.sign(&claims));
    assert_eq!(chats_with(&api, &bearer(claims)).await.0, 200);
    let stranger = UserId::new(api.helper.id.uuid());
    assert_eq!(chats_with(&api, &bearer(TokenClaims { user: stranger, ..claims })).await, refused);
    let elsewhere = api.bob.caller.organization;
    assert_eq!(chats_with(&api, &bearer(TokenClaims { organization: elsewhere, ..claims })).await, refused);
    let eternal = now.plus(Duration::from_secs(3600));
    assert_eq!(chats_with(&api, &bearer(TokenClaims { expires_at: eternal, ..claims })).await, refused);
    for odd in ["Bearer", "Bearer ", "Bearer a b", "Bearer plain", "Basic dTpw", "Token x", ""] {
        assert_eq!(chats_with(&api, odd).await, refused, "{odd}");
    }
}
