//! `/console/session`: the log-in of a browser, and access tokens for its page.
//!
//! The cookie is a credential here and nowhere else. The page exchanges it for access tokens, which it keeps in memory.
//! Several tabs may do so at the same time, since the cookie stays the same.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{COOKIE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, HttpResponse, web};
use domain::account::AccountService;
use domain::caller::Caller;
use domain::login::{LogIn, LoggedIn, LoginService, Register, SESSION_LIFETIME, SessionKind};
use domain::operator::OperatorService;
use http_wire::auth::Credential;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::features::Features;
use http_wire::limit::{RateLimits, Source};
use http_wire::login::{self, LogInBody, RegisterBody, ResetPasswordBody, SHORT, short};
use http_wire::public_url::PublicUrl;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::ProfileView;
use serde::Serialize;

use crate::policy::is_own;

/// The name of the cookie.
const NAME: &str = "parlance_session";

/// The maximum length of its value.
const MAX_COOKIE_BYTES: usize = 128;

/// How browsers reach the server: the cookie of a request by TLS is sent by TLS only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CookieSecurity {
    /// Set if the server itself speaks TLS.
    pub has_tls: bool,
    /// The server's address from outside.
    pub public_url: Option<PublicUrl>,
}

impl CookieSecurity {
    /// Returns whether the request was made by TLS: to the server, to a trusted proxy, or to the public URL.
    fn is_by_tls(&self, request: &HttpRequest, limits: &RateLimits) -> bool {
        let is_public = |url: &PublicUrl| url.https_host() == Some(request.connection_info().host());
        self.has_tls || limits.is_forwarded_tls(request) || self.public_url.as_ref().is_some_and(is_public)
    }

    /// The cookie with this value, for so many seconds.
    fn cookie(
        &self,
        request: &HttpRequest,
        limits: &RateLimits,
        value: &str,
        seconds: u64,
    ) -> Result<HeaderValue, ApiError> {
        self.named(request, limits, (NAME, "/console/session", "Strict"), (value, seconds))
    }

    /// The cookie of a session that has begun.
    pub(crate) fn session(
        &self,
        request: &HttpRequest,
        limits: &RateLimits,
        open: &LoggedIn,
    ) -> Result<HeaderValue, ApiError> {
        self.cookie(request, limits, &open.refresh_token, SESSION_LIFETIME.as_secs())
    }

    /// A cookie with this name, path, and rule for other sites, and with this value, for so many seconds.
    pub(crate) fn named(
        &self,
        request: &HttpRequest,
        limits: &RateLimits,
        (name, path, same_site): (&str, &str, &str),
        (value, seconds): (&str, u64),
    ) -> Result<HeaderValue, ApiError> {
        let secure = if self.is_by_tls(request, limits) { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path={path}; HttpOnly; SameSite={same_site}; Max-Age={seconds}{secure}");
        HeaderValue::try_from(text).map_err(|_| ApiError::defect("a token that is no header"))
    }
}

/// One of the ways to log in.
pub(crate) enum BeginBody {
    Password(LogIn),
    Key(String),
    Reset(ResetPasswordBody),
    Code(String),
    Register(Register),
}

impl FromBody for BeginBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        if body.has("api_key") {
            return Ok(Self::Key(body.text("api_key", SHORT, short)?));
        }
        if body.has("login_code") {
            return Ok(Self::Code(body.text("login_code", SHORT, short)?));
        }
        if body.has("reset_token") {
            return ResetPasswordBody::from_body(body).map(Self::Reset);
        }
        if body.has("handle") {
            return RegisterBody::from_body(body).map(|RegisterBody(register)| Self::Register(register));
        }
        LogInBody::from_body(body).map(|LogInBody(log_in)| Self::Password(log_in))
    }
}

/// An access token for the page.
#[derive(Serialize)]
struct AccessView<'a> {
    access_token: &'a str,
    /// Seconds until it expires.
    expires_in: i64,
    user: ProfileView<'a>,
    /// Whether the user can open the pages of operators.
    is_operator: bool,
    has_boards: bool,
    has_files: bool,
    has_webhooks: bool,
    has_a2a: bool,
}

impl<'a> AccessView<'a> {
    fn new(request: &HttpRequest, open: &'a LoggedIn, features: Features) -> Self {
        let has_operator_interface = request.app_data::<web::Data<OperatorService>>().is_some();
        Self {
            access_token: &open.access.token,
            expires_in: open.access.claims.lifetime_seconds(),
            user: ProfileView::new(&open.access.user),
            is_operator: has_operator_interface && open.access.user.is_operator(),
            has_boards: features.boards,
            has_files: features.files,
            has_webhooks: features.webhooks,
            has_a2a: features.a2a,
        }
    }
}

/// Refuses requests from pages of other sites.
pub(crate) async fn own_pages_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    if !is_own(request.headers(), request.connection_info().host()) {
        let message =
            "Only the console itself can use its session. Other pages need an API key or an access token.";
        return Err(ApiError::new(ErrorCode::Forbidden, message).into());
    }
    next.call(request).await
}

/// Logs in, and sets the cookie.
pub(crate) async fn begin(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<BeginBody>,
    accounts: web::Data<AccountService>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
    security: web::Data<CookieSecurity>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    let kind = SessionKind::Browser;
    let open = match body {
        BeginBody::Password(command) => {
            login::log_in(&request, &logins, &limits, LogIn { kind, ..command }).await?
        }
        BeginBody::Key(key) => with_key(&request, &accounts, &logins, &limits, &key).await?,
        BeginBody::Code(code) => {
            let address = limits.source(&request).map(Source::address);
            let open = async { Ok(logins.log_in_with_code(&code, address).await?) };
            limits.try_out(&request, Credential::Key(&code), open).await?
        }
        BeginBody::Reset(body) => login::reset_password(&request, &logins, &limits, body, kind).await?,
        BeginBody::Register(command) => {
            login::register(&request, &logins, &limits, Register { kind, ..command }).await?
        }
    };
    let cookie = security.session(&request, &limits, &open)?;
    Ok(HttpResponse::Ok()
        .insert_header((SET_COOKIE, cookie))
        .json(AccessView::new(&request, &open, **features)))
}

async fn with_key(
    request: &HttpRequest,
    accounts: &AccountService,
    logins: &LoginService,
    limits: &RateLimits,
    key: &str,
) -> Result<LoggedIn, ApiError> {
    let authenticated = async { Ok(accounts.authenticate(key).await?) };
    let admitted = limits.try_out(request, Credential::Key(key), authenticated).await?;
    let (Caller::User(caller), Some(key)) = (admitted.caller, admitted.presented.key()) else {
        let message =
            "This is the API key of an agent. Log in with the API key of a user, or with a password.";
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    };
    let address = limits.source(request).map(Source::address);
    Ok(logins.log_in_with_key(caller, key, address).await?)
}

/// Answers with a new access token. The browser keeps the cookie for as long again as the session.
pub(crate) async fn renew(
    request: HttpRequest,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
    security: web::Data<CookieSecurity>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    limits.may_refresh(&request)?;
    let cookie = cookie(request.headers()).ok_or_else(logged_out)?;
    let resumed = async { Ok(logins.resume(cookie).await?) };
    let resumed = limits.try_out(&request, Credential::Key(cookie), resumed).await;
    let open = resumed.map_err(|error| match error.code() {
        ErrorCode::Unauthorized => logged_out(),
        _ => error,
    })?;
    let cookie = security.cookie(&request, &limits, cookie, SESSION_LIFETIME.as_secs())?;
    Ok(HttpResponse::Ok()
        .insert_header((SET_COOKIE, cookie))
        .json(AccessView::new(&request, &open, **features)))
}

fn logged_out() -> ApiError {
    ApiError::new(ErrorCode::Unauthorized, "You are not logged in. Log in again.")
}

/// Logs out, and removes the cookie and what the browser has stored. An unknown session is no error, but counts as a
/// failed attempt.
pub(crate) async fn end(
    request: HttpRequest,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
    security: web::Data<CookieSecurity>,
) -> Result<HttpResponse, ApiError> {
    if let Some(cookie) = cookie(request.headers()) {
        let ended = async { Ok(logins.log_out(cookie).await?) };
        match limits.try_out(&request, Credential::Key(cookie), ended).await {
            Err(error) if error.code() != ErrorCode::Unauthorized => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(HttpResponse::NoContent()
        .insert_header((SET_COOKIE, security.cookie(&request, &limits, "", 0)?))
        .insert_header((HeaderName::from_static("clear-site-data"), "\"storage\""))
        .finish())
}

/// The value of the cookie.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    cookie_named(headers, NAME, MAX_COOKIE_BYTES)
}

/// The value of the cookie with this name.
pub(crate) fn cookie_named<'h>(headers: &'h HeaderMap, name: &str, max_bytes: usize) -> Option<&'h str> {
    let pairs =
        headers.get_all(COOKIE).filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='));
    named.find(|value| !value.is_empty() && value.len() <= max_bytes)
}
