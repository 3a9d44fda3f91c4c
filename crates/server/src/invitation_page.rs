//! The page behind an invitation's link (`GET /invitation`), if `public_url` is set: how to accept
//! it.
//!
//! The token follows `#` in the link, so it reaches neither the server nor a log. The page runs no
//! script and loads nothing, so nothing in the browser reads the token either; the guest copies it.

use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, ContentType, HeaderValue};
use actix_web::middleware::from_fn;
use actix_web::web::{self, Bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::login::Registration;
use http_wire::limit::anonymous;
use http_wire::public_url::{INVITATION, PublicUrl};
use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::failure::Failure;

const PAGE: &str = include_str!("invitation_page.html");
const REGISTER: &str = include_str!("invitation_page_register.html");

/// Printed if registration is closed.
const CLOSED: &str =
    "<p>If you have no account, ask whoever invited you: this server does not let people register.</p>\n";

/// The page as it is served.
#[derive(Clone)]
pub(crate) struct InvitationPage {
    body: Bytes,
    policy: HeaderValue,
}

impl InvitationPage {
    /// The page of this server, if it has a public URL.
    pub(crate) fn of(config: &Config) -> Result<Option<Self>, Failure> {
        config.public_url.as_ref().map(|url| Self::new(url, config.registration)).transpose()
    }

    fn new(url: &PublicUrl, registration: Registration) -> Result<Self, Failure> {
        let register = if registration == Registration::Closed { CLOSED } else { REGISTER };
        // An address of these characters is plain text in HTML.
        let body = PAGE.replace("{register}", register).replace("{url}", &url.to_string());
        let style = body.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>"));
        let digest = STANDARD.encode(Sha256::digest(style.map_or("", |(style, _)| style)));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        );
        let policy = HeaderValue::try_from(policy);
        let policy = policy.map_err(|cause| Failure::new("cannot make the page of invitations", cause))?;
        Ok(Self { body: Bytes::from(body), policy })
    }

    /// Mounts the page.
    pub(crate) fn configure(self, config: &mut web::ServiceConfig) {
        let page = web::get().to(move || std::future::ready(self.answer()));
        config.service(web::resource(INVITATION).route(page).wrap(from_fn(anonymous)));
    }

    /// With the headers of every response: no referrer, no caching, no frames.
    fn answer(&self) -> HttpResponse {
        HttpResponse::Ok()
            .insert_header((CONTENT_SECURITY_POLICY, self.policy.clone()))
            .content_type(ContentType::html())
            .body(self.body.clone())
    }
}
