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
use domain::login::{LogIn, LoggedIn, LoginService, Register, ResetPassword, SessionKind};
use domain::operator::OperatorService;
use http_wire::auth::Credential;
use http_wire::cursor::CursorSeal;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::features::Features;
use http_wire::limit::{RateLimits, Source};
use http_wire::login::{self, LogInBody, RegisterBody, ResetPasswordBody, SHORT, short};
use http_wire::public_url::PublicUrl;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::ProfileView;
use serde::Serialize;
use serde_json::Value;

use crate::passkey;
use crate::policy::is_own;
use crate::provider;

/// The prefix of the names of cookies that are set over TLS. Browsers accept such a cookie only from this host, so no other host
/// of the domain can log somebody in as somebody else.
const HOST: &str = "__Host-";

/// The name of the cookie, after [`HOST`].
const NAME: &str = "parlance_session";

/// The maximum length of its value.
const MAX_COOKIE_BYTES: usize = 128;

/// How browsers reach the server: the cookie of a request over TLS is sent over TLS only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CookieSecurity {
    /// Set if the server itself speaks TLS.
    pub has_tls: bool,
    /// The server's address from outside.
    pub public_url: Option<PublicUrl>,
}

impl CookieSecurity {
    /// Returns whether the request was made over TLS: to the server, to a trusted proxy, or to the public URL.
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

    /// The value of the cookie with this name that came with a request.
    pub(crate) fn read<'r>(
        &self,
        request: &'r HttpRequest,
        limits: &RateLimits,
        name: &str,
        max_bytes: usize,
    ) -> Option<&'r str> {
        let prefix = if self.is_by_tls(request, limits) { HOST } else { "" };
        cookie_named(request.headers(), (prefix, name), max_bytes)
    }

    /// The value of the cookie of a session.
    fn own<'r>(&self, request: &'r HttpRequest, limits: &RateLimits) -> Option<&'r str> {
        self.read(request, limits, NAME, MAX_COOKIE_BYTES)
    }

    /// The cookie of an open session, which lives as long as the session.
    pub(crate) fn session(
        &self,
        request: &HttpRequest,
        limits: &RateLimits,
        open: &LoggedIn,
    ) -> Result<HeaderValue, ApiError> {
        self.cookie(request, limits, &open.refresh_token, open.refresh_lifetime.as_secs())
    }

    /// A cookie with this name, path, and rule for other sites, and with this value, for this number of seconds. Over TLS,
    /// its path is `/`, which browsers require for [`HOST`].
    pub(crate) fn named(
        &self,
        request: &HttpRequest,
        limits: &RateLimits,
        (name, path, same_site): (&str, &str, &str),
        (value, seconds): (&str, u64),
    ) -> Result<HeaderValue, ApiError> {
        let rest = format!("HttpOnly; SameSite={same_site}; Max-Age={seconds}");
        let text = if self.is_by_tls(request, limits) {
            format!("{HOST}{name}={value}; Path=/; {rest}; Secure")
        } else {
            format!("{name}={value}; Path={path}; {rest}")
        };
        HeaderValue::try_from(text).map_err(|_| ApiError::defect("a token that is no header"))
    }
}

/// One of the ways to log in.
pub(crate) enum BeginBody {
    Password(LogIn),
    Key(String),
    Reset(ResetPassword),
    Code(String),
    /// The answer of a device.
    Passkey(String),
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
        if body.has("passkey") {
            let answer = |members| Ok::<_, &str>(Value::Object(members).to_string());
            return Ok(Self::Passkey(body.free_object("passkey", answer)?));
        }
        if body.has("reset_token") {
            return ResetPasswordBody::from_body(body).map(|ResetPasswordBody(reset)| Self::Reset(reset));
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
    has_docs: bool,
    has_passkeys: bool,
}

impl<'a> AccessView<'a> {
    fn new(request: &HttpRequest, open: &'a LoggedIn, features: Features, logins: &LoginService) -> Self {
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
            has_docs: features.docs,
            has_passkeys: logins.has_passkeys(),
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
#[expect(
    clippy::too_many_arguments,
    reason = "each is what the framework finds for one of the ways to log in"
)]
pub(crate) async fn begin(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<BeginBody>,
    accounts: web::Data<AccountService>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
    security: web::Data<CookieSecurity>,
    features: web::Data<Features>,
    seal: web::Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    let kind = SessionKind::Browser;
    let is_passkey = matches!(body, BeginBody::Passkey(_));
    let open = match body {
        BeginBody::Password(command) => {
            login::log_in(&request, &logins, &limits, LogIn { kind, ..command }).await?
        }
        BeginBody::Key(key) => with_key(&request, &accounts, &logins, &limits, &key).await?,
        BeginBody::Passkey(response) => {
            passkey::log_in(&request, &logins, &limits, &security, &seal, &response).await?
        }
        BeginBody::Code(code) => {
            let address = limits.source(&request).map(Source::address);
            let open = async { Ok(logins.log_in_with_code(&code, address).await?) };
            limits.try_out(&request, Credential::Key(&code), open).await?
        }
        BeginBody::Reset(command) => {
            login::reset_password(&request, &logins, &limits, ResetPassword { kind, ..command }).await?
        }
        BeginBody::Register(command) => {
            login::register(&request, &logins, &limits, Register { kind, ..command }).await?
        }
    };
    let mut answer = HttpResponse::Ok();
    answer.append_header((SET_COOKIE, security.session(&request, &limits, &open)?));
    if is_passkey {
        answer.append_header((SET_COOKIE, passkey::gone(&request, &limits, &security)?));
    }
    Ok(answer.json(AccessView::new(&request, &open, **features, &logins)))
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

/// Answers with a new access token. The browser keeps the cookie as long as the session.
pub(crate) async fn renew(
    request: HttpRequest,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
    security: web::Data<CookieSecurity>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    limits.may_refresh(&request)?;
    let cookie = security.own(&request, &limits).ok_or_else(logged_out)?;
    let resumed = async { Ok(logins.resume(cookie).await?) };
    let resumed = limits.try_out(&request, Credential::Key(cookie), resumed).await;
    let open = resumed.map_err(|error| match error.code() {
        ErrorCode::Unauthorized => logged_out(),
        _ => error,
    })?;
    let cookie = security.session(&request, &limits, &open)?;
    Ok(HttpResponse::Ok()
        .insert_header((SET_COOKIE, cookie))
        .json(AccessView::new(&request, &open, **features, &logins)))
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
    if let Some(cookie) = security.own(&request, &limits) {
        let ended = async { Ok(logins.log_out(cookie).await?) };
        match limits.try_out(&request, Credential::Key(cookie), ended).await {
            Err(error) if error.code() != ErrorCode::Unauthorized => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(HttpResponse::NoContent()
        .append_header((SET_COOKIE, security.cookie(&request, &limits, "", 0)?))
        // A log-in that is under way in another tab must not log in again.
        .append_header((SET_COOKIE, provider::gone(&security, &request, &limits)?))
        .insert_header((HeaderName::from_static("clear-site-data"), "\"storage\""))
        .finish())
}

/// The value of the cookie with this name, which has two parts.
fn cookie_named<'h>(headers: &'h HeaderMap, name: (&str, &str), max_bytes: usize) -> Option<&'h str> {
    let pairs =
        headers.get_all(COOKIE).filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(';'));
    let mut named =
        pairs.filter_map(|pair| pair.trim().strip_prefix(name.0)?.strip_prefix(name.1)?.strip_prefix('='));
    named.find(|value| !value.is_empty() && value.len() <= max_bytes)
}
