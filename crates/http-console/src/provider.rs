//! `/console/oidc`: logging in at an identity provider, and what the provider tells of logouts.
//!
//! A log-in leaves the console for the provider, and comes back with a code. What belongs to it, such as the state, is kept by
//! the browser in a cookie that only this server can read, so any server can complete it. The cookie is sent when
//! the provider sends the browser back (`SameSite=Lax`), and removed then. Whatever goes wrong ends at the log-in of the
//! console, which says what it was; the log has the reason.

use std::net::IpAddr;

use actix_web::http::header::{HeaderValue, LOCATION, SET_COOKIE};
use actix_web::web::{Data, Form, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use domain::login::{
    KeptLogIn, LOG_IN_LIFETIME, LoginService, NotAdmitted, PendingLogIn, ProviderFault, ProviderLogIn,
    ProviderLogInError, ReturnPath,
};
use domain::time::Timestamp;
use http_wire::auth::Credential;
use http_wire::cursor::CursorSeal;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::{NotTried, Proof, RateLimits, Source};
use measure::{ProviderResult, provider_login, provider_logout};
use serde::{Deserialize, Serialize};

use crate::session::CookieSecurity;

/// The cookie of a log-in that is under way.
const NAME: &str = "parlance_log_in";

/// Where browsers send it.
const PATH: &str = "/console/oidc";

/// The maximum length of its value.
const MAX_COOKIE_BYTES: usize = 4096;

/// The maximum length of a state or a code.
const MAX_PART_BYTES: usize = 8192;

#[derive(Serialize)]
struct ProviderView<'a> {
    name: &'a str,
    label: &'a str,
}

#[derive(Serialize)]
struct ProvidersView<'a> {
    providers: Vec<ProviderView<'a>>,
    /// Whether users can log in with passwords.
    has_passwords: bool,
    /// Whether users can log in with passkeys.
    has_passkeys: bool,
}

/// The ways to log in, for the page.
pub(crate) async fn list(logins: Data<LoginService>) -> HttpResponse {
    let all = logins.providers().iter();
    let all = all.map(|provider| ProviderView { name: provider.name.as_str(), label: &provider.label });
    let has_passwords = logins.has_passwords();
    let has_passkeys = logins.has_passkeys();
    HttpResponse::Ok().json(ProvidersView { providers: all.collect(), has_passwords, has_passkeys })
}

/// What the log-in of the console says of a log-in that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Problem {
    Expired,
    Refused,
    Denied,
    Unavailable,
    NoAccount,
    NotAllowed,
    Email,
    EmailTaken,
    Disabled,
    Limited,
}

impl Problem {
    /// The word in the address, which the page knows.
    const fn word(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Refused => "refused",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::NoAccount => "no-account",
            Self::NotAllowed => "not-allowed",
            Self::Email => "email",
            Self::EmailTaken => "email-taken",
            Self::Disabled => "disabled",
            Self::Limited => "limited",
        }
    }
}

impl From<&ProviderLogInError> for Problem {
    fn from(error: &ProviderLogInError) -> Self {
        match error {
            ProviderLogInError::NotBegun | ProviderLogInError::Expired => Self::Expired,
            ProviderLogInError::Provider(ProviderFault::Refused(_)) => Self::Refused,
            ProviderLogInError::NotAdmitted(NotAdmitted::NoRule | NotAdmitted::NoOrganization) => {
                Self::NotAllowed
            }
            ProviderLogInError::NotAdmitted(NotAdmitted::NoAccount) => Self::NoAccount,
            ProviderLogInError::NotAdmitted(NotAdmitted::NoEmail | NotAdmitted::EmailUnverified) => {
                Self::Email
            }
            ProviderLogInError::NotAdmitted(NotAdmitted::EmailTaken) => Self::EmailTaken,
            ProviderLogInError::Disabled => Self::Disabled,
            ProviderLogInError::NoSuchProvider
            | ProviderLogInError::Provider(ProviderFault::Unavailable(_))
            | ProviderLogInError::NoSuchPlan
            | ProviderLogInError::Store(_) => Self::Unavailable,
        }
    }
}

/// Sends the browser to the log-in of the console.
fn failed(problem: Problem) -> HttpResponse {
    let to = format!("/console/login?problem={}", problem.word());
    HttpResponse::SeeOther().insert_header((LOCATION, to)).finish()
}

/// Logs and counts a failure, and says what the browser shows.
fn note(provider: &str, error: &ProviderLogInError) -> Problem {
    let is_refusal = error.is_refusal();
    provider_login(if is_refusal { ProviderResult::Refused } else { ProviderResult::Unavailable });
    if matches!(error, ProviderLogInError::NoSuchProvider) {
        tracing::info!("log-in at an unknown identity provider");
    } else if matches!(error, ProviderLogInError::NotBegun | ProviderLogInError::Expired) {
        tracing::info!(provider, error = %error, "unsolicited answer in the name of an identity provider");
    } else if is_refusal {
        tracing::warn!(provider, error = %error, "log-in at identity provider refused");
    } else {
        tracing::error!(provider, error = %error, "log-in at identity provider failed");
    }
    error.into()
}

fn address_of(limits: &RateLimits, request: &HttpRequest) -> Option<IpAddr> {
    limits.source(request).map(Source::address)
}

#[derive(Deserialize)]
pub(crate) struct BeginQuery {
    return_to: Option<String>,
}

/// Sends the browser to the provider.
pub(crate) async fn begin(
    request: HttpRequest,
    provider: Path<String>,
    logins: Data<LoginService>,
    limits: Data<RateLimits>,
    security: Data<CookieSecurity>,
    seal: Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    if limits.may_refresh(&request).is_err() {
        return Ok(failed(Problem::Limited));
    }
    let query = Query::<BeginQuery>::from_query(request.query_string()).ok();
    let return_to = query.and_then(|query| ReturnPath::new(query.return_to.as_deref()?)).unwrap_or_default();
    let (url, kept) = match logins.begin_at_provider(&provider, return_to).await {
        Ok(begun) => begun,
        Err(error) => return Ok(failed(note(&provider, &error))),
    };
    let sealed = seal.close_text(&purpose(&provider), &written(&kept));
    let cookie =
        security.named(&request, &limits, (NAME, PATH, "Lax"), (&sealed, LOG_IN_LIFETIME.as_secs()))?;
    Ok(HttpResponse::SeeOther().insert_header((LOCATION, url)).insert_header((SET_COOKIE, cookie)).finish())
}

#[derive(Deserialize)]
pub(crate) struct AnswerQuery {
    #[serde(default)]
    state: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    error: String,
}

/// Completes a log-in, and sends the browser back to where it began.
pub(crate) async fn finish(
    request: HttpRequest,
    provider: Path<String>,
    logins: Data<LoginService>,
    limits: Data<RateLimits>,
    security: Data<CookieSecurity>,
    seal: Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    let answer = complete(&request, &provider, &logins, (&limits, &security), &seal).await;
    let mut response = match answer {
        Ok((to, open)) => {
            provider_login(ProviderResult::Succeeded);
            let cookie = security.session(&request, &limits, &open)?;
            // The page then knows that it is worth asking for a token.
            let to = format!("/console{}#in", to.as_str());
            HttpResponse::SeeOther()
                .insert_header((LOCATION, to))
                .append_header((SET_COOKIE, cookie))
                .finish()
        }
        Err(problem) => failed(problem),
    };
    response.headers_mut().append(SET_COOKIE, gone(&security, &request, &limits)?);
    Ok(response)
}

/// Removes the cookie of a log-in that is under way.
pub(crate) fn gone(
    security: &CookieSecurity,
    request: &HttpRequest,
    limits: &RateLimits,
) -> Result<HeaderValue, ApiError> {
    security.named(request, limits, (NAME, PATH, "Lax"), ("", 0))
}

async fn complete(
    request: &HttpRequest,
    provider: &str,
    logins: &LoginService,
    (limits, security): (&RateLimits, &CookieSecurity),
    seal: &CursorSeal,
) -> Result<(ReturnPath, domain::login::LoggedIn), Problem> {
    let query = Query::<AnswerQuery>::from_query(request.query_string()).map_err(|_| Problem::Refused)?;
    let AnswerQuery { state, code, error } = query.into_inner();
    if state.len().max(code.len()) > MAX_PART_BYTES {
        return Err(Problem::Refused);
    }
    let kept = security
        .read(request, limits, NAME, MAX_COOKIE_BYTES)
        .and_then(|sealed| read(&seal.open_text(&purpose(provider), sealed)?));
    let is_begun = kept.as_ref().is_some_and(|kept| kept.pending.state == state);
    if !error.is_empty() && is_begun {
        provider_login(ProviderResult::Refused);
        let error = error.chars().filter(|c| !c.is_control()).take(100).collect::<String>();
        tracing::warn!(provider, error, "identity provider answered with an error");
        return Err(if error == "access_denied" { Problem::Denied } else { Problem::Refused });
    }
    let return_to = kept.as_ref().map(|kept| kept.return_to.clone()).unwrap_or_default();
    let address = address_of(limits, request);
    let command = ProviderLogIn { provider, kept, state: &state, code: &code, address };
    let proof = |outcome: &Result<_, ProviderLogInError>| match outcome {
        Ok(_) => Proof::Good,
        Err(error) if error.is_guess() => Proof::Bad,
        Err(_) => Proof::Undecided,
    };
    let look = logins.log_in_at_provider(command);
    match limits.check(request, Credential::Key(&state), look, proof).await {
        Ok(Ok(logged_in)) => {
            if let Some(reason) = logged_in.not_placed {
                let user = logged_in.open.access.user.id;
                tracing::warn!(provider, user.id = %user, reason, "user not given the organization and role of the claims");
            }
            Ok((return_to, logged_in.open))
        }
        Ok(Err(error)) => Err(note(provider, &error)),
        Err(NotTried::KnownBad) => Err(Problem::Expired),
        Err(NotTried::ShutOut(_)) => Err(Problem::Limited),
    }
}

/// What the cookie of a provider is sealed for.
fn purpose(provider: &str) -> String {
    format!("log-in at provider {provider}")
}

/// What a browser keeps, a line for each part. No part has a line break.
fn written(kept: &KeptLogIn) -> String {
    let KeptLogIn { pending, return_to, expires_at } = kept;
    let expires_at = expires_at.micros().to_string();
    [&expires_at, return_to.as_str(), &pending.state, &pending.nonce, &pending.verifier].join("\n")
}

fn read(text: &str) -> Option<KeptLogIn> {
    let parts = text.split('\n').collect::<Vec<_>>();
    let [expires_at, return_to, state, nonce, verifier] = parts[..] else { return None };
    let [state, nonce, verifier] = [state, nonce, verifier].map(str::to_owned);
    Some(KeptLogIn {
        pending: PendingLogIn { state, nonce, verifier },
        return_to: ReturnPath::new(return_to)?,
        expires_at: Timestamp::from_micros(expires_at.parse().ok()?),
    })
}

#[derive(Deserialize)]
pub(crate) struct LogOutForm {
    logout_token: String,
}

/// Ends the sessions of a person who has logged out at the provider.
pub(crate) async fn log_out(
    request: HttpRequest,
    provider: Path<String>,
    form: Form<LogOutForm>,
    logins: Data<LoginService>,
    limits: Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let look = logins.end_at_provider(&provider, &form.logout_token);
    // A token is no secret that somebody could guess, and others may use the provider's address too.
    let proof = |outcome: &Result<_, ProviderLogInError>| match outcome {
        Ok(_) => Proof::Good,
        Err(_) => Proof::Undecided,
    };
    let refused = |error: &ProviderLogInError| {
        provider_logout(if error.is_refusal() {
            ProviderResult::Refused
        } else {
            ProviderResult::Unavailable
        });
        tracing::warn!(provider = %provider, error = %error, "logout at identity provider refused");
    };
    match limits.check(&request, Credential::Key(&form.logout_token), look, proof).await? {
        Ok(ended) => {
            provider_logout(ProviderResult::Succeeded);
            tracing::info!(provider = %provider, sessions = ended, "logout at identity provider");
            Ok(HttpResponse::Ok().finish())
        }
        Err(ProviderLogInError::NoSuchProvider) => {
            Err(ApiError::new(ErrorCode::NotFound, "There is no such identity provider."))
        }
        Err(error) if error.is_refusal() => {
            refused(&error);
            Err(ApiError::new(
                ErrorCode::BadRequest,
                "The logout token is not valid. The log of the server says why.",
            ))
        }
        Err(ProviderLogInError::Store(error)) => Err(error.into()),
        Err(error) => {
            refused(&error);
            Err(ApiError::new(
                ErrorCode::ServiceUnavailable,
                "The logout token cannot be checked now. Try again later.",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_keeps_is_read_as_it_was() {
        let [state, nonce, verifier] = ["s", "n", "v"].map(str::to_owned);
        let kept = KeptLogIn {
            pending: PendingLogIn { state, nonce, verifier },
            return_to: ReturnPath::new("/rooms/1?at=2").unwrap(),
            expires_at: Timestamp::from_micros(7),
        };
        assert!(read(&written(&kept)) == Some(kept));
        for bad in ["", "7\n/\ns\nn", "x\n/\ns\nn\nv", "7\n//evil\ns\nn\nv", "7\n/\ns\nn\nv\nw"] {
            assert!(read(bad).is_none(), "{bad}");
        }
    }
}
