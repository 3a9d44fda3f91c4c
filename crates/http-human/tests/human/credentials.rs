//! The guard of the generic paths, which takes more kinds of credential than the interfaces do.

use actix_web::middleware::from_fn;
use actix_web::test::{TestRequest, init_service, read_body};
use actix_web::{App, HttpResponse, web};
use domain::caller::Caller;
use http_wire::auth::{CallerAuth, any_caller};
use http_wire::request_scope::RequestScope;

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
        .app_data(web::Data::from(api.world.accounts.clone()))
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
