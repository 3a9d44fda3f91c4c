//! The console below `/console/`: its files, and the session of a browser.
//!
//! The files are part of the program. They are built from `console/` and committed, so that nothing but Rust is needed
//! to build the server. The page is a client of the human interface like every other. What only a browser needs is
//! a session of its own: a cookie that scripts cannot read, and that nothing else accepts.

mod assets;
mod passkey;
mod policy;
mod provider;
mod session;

use actix_web::http::header::LOCATION;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use http_wire::limit::anonymous;

pub use session::CookieSecurity;

/// The path of the console.
pub const BASE: &str = "/console/";

/// Mounts the console, inside the request scope; needs what `http_wire::services::register` registers, and
/// [`CookieSecurity`] as `web::Data`.
pub fn configure(config: &mut ServiceConfig) {
    let door = web::resource("/console/session")
        .route(web::post().to(session::begin))
        .route(web::delete().to(session::end))
        .wrap(from_fn(session::own_pages_only));
    let token = web::resource("/console/session/token")
        .route(web::post().to(session::renew))
        .wrap(from_fn(session::own_pages_only));
    let challenge = web::resource("/console/session/passkey")
        .route(web::post().to(passkey::begin))
        .wrap(from_fn(session::own_pages_only));
    let at_provider = |path: &str| format!("/console/oidc/{{provider}}/{path}");
    config
        .service(web::resource("/console/oidc").route(web::get().to(provider::list)).wrap(from_fn(anonymous)))
        .service(web::resource(at_provider("log-in")).route(web::get().to(provider::begin)))
        .service(web::resource(at_provider("callback")).route(web::get().to(provider::finish)))
        .service(web::resource(at_provider("back-channel-logout")).route(web::post().to(provider::log_out)))
        .service(door)
        .service(token)
        .service(challenge)
        .service(web::resource("/console").route(web::get().to(to_base)).wrap(from_fn(anonymous)))
        .service(
            web::resource("/console/{path:.*}")
                .route(web::get().to(assets::find))
                .route(web::head().to(assets::find))
                .wrap(from_fn(anonymous)),
        );
}

async fn to_base() -> HttpResponse {
    HttpResponse::PermanentRedirect().insert_header((LOCATION, BASE)).finish()
}

/// The answer to a browser that asks for the root of the server; `None` for other clients.
pub fn redirect(request: &HttpRequest) -> Option<HttpResponse> {
    policy::wants_page(request).then(|| HttpResponse::SeeOther().insert_header((LOCATION, BASE)).finish())
}
