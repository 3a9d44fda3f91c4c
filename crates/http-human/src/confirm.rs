//! Asks for the caller's password again before a credential is created that outlives the session, or an operator changes
//! what others have.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use domain::account::PresentedSession;
use domain::caller::UserCaller;
use domain::login::{LoginService, Password};
use http_wire::auth::{SessionAuth, UserAuth};
use http_wire::error::ApiError;
use http_wire::limit::RateLimits;
use http_wire::login::TYPED_PASSWORD;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected};

use crate::auth::check_password;

/// The property `current_password` of a body.
pub(crate) fn current_password(body: &mut ObjectReader<'_>) -> Result<Option<Password>, Rejected> {
    let schema =
        TYPED_PASSWORD.about("Required with an access token whose session began more than 10 minutes ago.");
    body.optional_text("current_password", schema, Password::typed)
}

/// A body with nothing but the caller's password, if a confirmation is required; most clients send an empty body.
pub(crate) struct ConfirmBody(Option<Password>);

impl FromBody for ConfirmBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        current_password(body).map(Self)
    }
}

/// The password confirmation of a request; behind [`http_wire::auth::users_only`].
pub(crate) struct Confirmation {
    request: HttpRequest,
    caller: UserCaller,
    session: Option<PresentedSession>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
}

impl FromRequest for Confirmation {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let mut read = || {
            let UserAuth(caller) = UserAuth::from_request(request, payload).into_inner()?;
            let SessionAuth(session) = SessionAuth::from_request(request, payload).into_inner()?;
            let logins = request.app_data::<web::Data<LoginService>>().cloned();
            let logins = logins.ok_or_else(|| ApiError::defect("the log-in service is not registered"))?;
            let limits = RateLimits::of(request)?.clone();
            Ok(Self { request: request.clone(), caller, session, logins, limits })
        };
        ready(read())
    }
}

impl Confirmation {
    /// See [`check`](Self::check).
    pub(crate) async fn check_body(&self, ConfirmBody(current): ConfirmBody) -> Result<(), ApiError> {
        self.check(current, "/current_password").await
    }

    /// Refuses the request unless [`LoginService::confirm`] accepts it. `pointer` locates the password in the
    /// body.
    pub(crate) async fn check(&self, current: Option<Password>, pointer: &str) -> Result<(), ApiError> {
        let is_given = current.is_some();
        let confirming = self.logins.confirm(self.caller, self.session, current);
        // Only a given password can be a failed attempt.
        let confirmed = if is_given {
            check_password(&self.request, &self.limits, self.caller, confirming).await?
        } else {
            confirming.await
        };
        confirmed.map_err(|error| ApiError::unconfirmed(error, pointer))
    }
}
