//! `/console/session/passkey`: logging in with a passkey.
//!
//! The page gets a challenge for the device, and sends the answer to where every log-in goes. The browser keeps what belongs to
//! it in a cookie that only this server can read, so any server can complete the log-in, and no other browser can.

use actix_web::http::header::{HeaderValue, SET_COOKIE};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::login::{CEREMONY_LIFETIME, LoggedIn, LoginService, PasskeyLogIn, PasskeyLogInError};
use http_wire::auth::Credential;
use http_wire::ceremony;
use http_wire::cursor::CursorSeal;
use http_wire::error::ApiError;
use http_wire::limit::{Proof, RateLimits, Source};
use serde::Serialize;
use serde_json::Value;

use crate::session::CookieSecurity;

/// The cookie of a log-in that is under way.
const NAME: &str = "parlance_passkey";

/// Where browsers send it: also to `/console/session`.
const PATH: &str = "/console/session";

/// The maximum length of its value.
const MAX_COOKIE_BYTES: usize = 1024;

/// What the cookie is sealed for.
const PURPOSE: &str = "log-in with a passkey";

#[derive(Serialize)]
struct ChallengeView {
    /// The options for `navigator.credentials.get`.
    options: Value,
}

/// Gives the page a challenge.
pub(crate) async fn begin(
    request: HttpRequest,
    logins: Data<LoginService>,
    limits: Data<RateLimits>,
    security: Data<CookieSecurity>,
    seal: Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    limits.may_refresh(&request)?;
    let (options, kept) = logins.begin_passkey_log_in()?;
    let sealed = ceremony::close(&seal, PURPOSE, &kept);
    let cookie = cookie(&request, &limits, &security, (&sealed, CEREMONY_LIFETIME.as_secs()))?;
    Ok(HttpResponse::Ok().insert_header((SET_COOKIE, cookie)).json(ChallengeView { options }))
}

fn cookie(
    request: &HttpRequest,
    limits: &RateLimits,
    security: &CookieSecurity,
    value: (&str, u64),
) -> Result<HeaderValue, ApiError> {
    security.named(request, limits, (NAME, PATH, "Strict"), value)
}

/// Removes the cookie.
pub(crate) fn gone(
    request: &HttpRequest,
    limits: &RateLimits,
    security: &CookieSecurity,
) -> Result<HeaderValue, ApiError> {
    cookie(request, limits, security, ("", 0))
}

/// Opens a session with the answer of a device. A refused one counts as a failed authentication of the address. There is no
/// limit for an account: nobody guesses a signature, and others could use up the owner's tries.
pub(crate) async fn log_in(
    request: &HttpRequest,
    logins: &LoginService,
    limits: &RateLimits,
    security: &CookieSecurity,
    seal: &CursorSeal,
    response: &str,
) -> Result<LoggedIn, ApiError> {
    let sealed = security.read(request, limits, NAME, MAX_COOKIE_BYTES);
    let kept = sealed.and_then(|sealed| ceremony::open(seal, PURPOSE, sealed));
    let address = limits.source(request).map(Source::address);
    let look = logins.log_in_with_passkey(PasskeyLogIn { kept, response, address });
    let proof = |outcome: &Result<_, PasskeyLogInError>| match outcome {
        Ok(_) => Proof::Good,
        Err(error) if error.is_refusal() => Proof::Bad,
        Err(_) => Proof::Undecided,
    };
    let outcome = limits.check(request, Credential::Key(response), look, proof).await?;
    Ok(outcome.inspect_err(note)?)
}

/// Logs why a passkey was refused.
fn note(error: &PasskeyLogInError) {
    match error {
        PasskeyLogInError::Copied { user, passkey } => {
            tracing::warn!(user.id = %user, passkey.id = %passkey, "passkey refused: its signature counter went back, so there may be a copy of its key");
        }
        error if error.is_refusal() => tracing::info!(error = %error, "log-in with a passkey refused"),
        _ => {}
    }
}
