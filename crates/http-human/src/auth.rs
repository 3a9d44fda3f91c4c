//! `/api/v1/auth`: registration, log-in with a password, refresh, log-out, and password changes.

use actix_web::{HttpRequest, HttpResponse, web};
use domain::caller::UserCaller;
use domain::login::{ConfirmError, LoginService, Password};
use http_wire::auth::{Credential, UserAuth};
use http_wire::envelope::Data;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::{LoginName, Proof, RateLimits};
use http_wire::login::{
    self, LogInBody, NEW_PASSWORD, RegisterBody, ResetPasswordBody, SHORT, TYPED_PASSWORD, short,
};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::SessionView;

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

pub(crate) async fn log_in(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<LogInBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(SessionView::new(&login::log_in(&request, &logins, &limits, body.0).await?)))
}

pub(crate) async fn register(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<RegisterBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::created(SessionView::new(&login::register(&request, &logins, &limits, body.0).await?)))
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
        Err(
            ConfirmError::Missing
            | ConfirmError::PasswordsOff(_)
            | ConfirmError::Busy(_)
            | ConfirmError::Store(_),
        ) => Proof::Undecided,
    };
    limits.check_password(request, LoginName::Known(caller.user), async |_| look.await, proof).await
}

pub(crate) async fn reset_password(
    request: HttpRequest,
    StrictJson { body, .. }: StrictJson<ResetPasswordBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let open = login::reset_password(&request, &logins, &limits, body.0).await?;
    Ok(Data::ok(SessionView::new(&open)))
}
