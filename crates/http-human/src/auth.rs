//! `/api/v1/auth`: registration, log-in with a password, refresh, log-out, and password changes.

use actix_web::{HttpRequest, HttpResponse, web};
use domain::account::{UserHandle, parse_email, parse_person_name};
use domain::caller::UserCaller;
use domain::id::UserId;
use domain::login::{ConfirmError, LogIn, LogInError, LoginService, Password, Register, TypedName};
use http_wire::auth::{Credential, UserAuth};
use http_wire::envelope::Data;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::{LoginName, Proof, RateLimits, Source};
use http_wire::openapi::schema::{Schema, line, some_text, text};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::SessionView;

/// The maximum length of a name or a token.
const MAX_TEXT_BYTES: usize = 512;

/// A log-in with a handle or an email address.
pub(crate) struct LogInBody(LogIn);

impl FromBody for LogInBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let name = body.text("login", SHORT, |text| short(text).map(|text| TypedName::new(&text)));
        let password = body.text("password", TYPED_PASSWORD, Password::typed);
        Ok(Self(LogIn { name: name?, password: password?, address: None }))
    }
}

/// A refresh token.
pub(crate) struct RefreshBody(String);

impl FromBody for RefreshBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        Ok(Self(body.text("refresh_token", SHORT, short)?))
    }
}

/// A change of the caller's password.
pub(crate) struct ChangePasswordBody {
    current: Password,
    new: Password,
}

impl FromBody for ChangePasswordBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let current = body.text("current_password", TYPED_PASSWORD, Password::typed);
        let new = body.text("new_password", NEW_PASSWORD, Password::new);
        Ok(Self { current: current?, new: new? })
    }
}

/// A password reset with a token.
pub(crate) struct ResetPasswordBody {
    token: String,
    new: Password,
}

impl FromBody for ResetPasswordBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let token = body.text("reset_token", SHORT, short);
        let new = body.text("new_password", NEW_PASSWORD, Password::new);
        Ok(Self { token: token?, new: new? })
    }
}

/// A registration.
pub(crate) struct RegisterBody(Register);

impl FromBody for RegisterBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let handle = body.text("handle", HANDLE, |text| UserHandle::new(&text));
        let email = body.text("email", EMAIL.min(3), |text| parse_email(&text));
        let name = body.text("name", line(100), |text| parse_person_name(&text));
        let password = body.text("password", NEW_PASSWORD, Password::new);
        let invitation = body.text_if_given("invitation", SHORT, short)?;
        Ok(Self(Register { handle: handle?, email: email?, name: name?, password: password?, invitation }))
    }
}

const HANDLE: Schema = text().min(3).max(40).pattern("^@?[A-Za-z0-9][A-Za-z0-9.-]{1,37}[A-Za-z0-9]$");

pub(crate) const EMAIL: Schema = text().format("email").max(254);

/// A password that is compared with the stored one.
pub(crate) const TYPED_PASSWORD: Schema = text().format("password").max(Password::MAX_CHARS);

const NEW_PASSWORD: Schema = TYPED_PASSWORD.min(Password::MIN_CHARS).pattern("\\S");

/// The schema of [`short`].
const SHORT: Schema = some_text(MAX_TEXT_BYTES);

fn short(text: String) -> Result<String, String> {
    match text.len() {
        _ if text.trim().is_empty() => Err("can't be blank".to_owned()),
        0..=MAX_TEXT_BYTES => Ok(text),
        _ => Err(format!("should be at most {MAX_TEXT_BYTES} byte(s)")),
    }
}

/// Refuses a caller with too many failed attempts before it hashes the password.
pub(crate) async fn log_in(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<LogInBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let name = body.0.name.clone();
    let command = LogIn { address: limits.source(&request).map(Source::address), ..body.0 };
    let look = async |may_try: &mut dyn FnMut(UserId) -> bool| logins.log_in_if(command, may_try).await;
    let proof = |outcome: &Result<_, LogInError>| match outcome {
        Ok(_) => Proof::Good,
        Err(LogInError::Wrong) => Proof::Bad,
        Err(LogInError::Busy(_) | LogInError::Store(_)) => Proof::Undecided,
    };
    let open = limits.check_password(&request, LoginName::Typed(&name), look, proof).await??;
    Ok(Data::ok(SessionView::new(&open)))
}

/// Checks the rate limit before anything else.
pub(crate) async fn register(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<RegisterBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    limits.check_registration_rate(&request)?;
    Ok(Data::created(SessionView::new(&logins.register(body.0).await?)))
}

pub(crate) async fn refresh(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<RefreshBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    limits.may_refresh(&request)?;
    let refreshed = async { Ok(logins.refresh(&body.0).await?) };
    Ok(Data::ok(SessionView::new(&limits.try_out(&request, Credential::Key(&body.0), refreshed).await?)))
}

/// The response does not reveal if a session was ended, but an unknown token counts as a failed attempt.
pub(crate) async fn log_out(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<RefreshBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let ended = async { Ok(logins.log_out(&body.0).await?) };
    match limits.try_out(&request, Credential::Key(&body.0), ended).await {
        Err(error) if error.code() != ErrorCode::Unauthorized => Err(error),
        Ok(()) | Err(_) => Ok(HttpResponse::NoContent().finish()),
    }
}

pub(crate) async fn change_password(
    request: HttpRequest,
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<ChangePasswordBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let changing = logins.change_password(caller, body.current, body.new);
    let open = check_password(&request, &limits, caller, changing).await?;
    let open = open.map_err(|error| ApiError::unconfirmed(error, "/current_password"))?;
    Ok(Data::ok(SessionView::new(&open)))
}

/// Checks the caller's password, which counts like a log-in: a stolen token must not help to guess the
/// password.
pub(crate) async fn check_password<T>(
    request: &HttpRequest,
    limits: &RateLimits,
    caller: UserCaller,
    look: impl Future<Output = Result<T, ConfirmError>>,
) -> Result<Result<T, ConfirmError>, ApiError> {
    let proof = |outcome: &Result<T, ConfirmError>| match outcome {
        Ok(_) => Proof::Good,
        Err(ConfirmError::Wrong) => Proof::Bad,
        Err(ConfirmError::Missing | ConfirmError::Busy(_) | ConfirmError::Store(_)) => Proof::Undecided,
    };
    limits.check_password(request, LoginName::Known(caller.user), async |_| look.await, proof).await
}

pub(crate) async fn reset_password(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<ResetPasswordBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let ResetPasswordBody { token, new } = body;
    let reset = async { Ok(logins.reset_password(&token, new).await?) };
    Ok(Data::ok(SessionView::new(&limits.try_out(&request, Credential::Key(&token), reset).await?)))
}
