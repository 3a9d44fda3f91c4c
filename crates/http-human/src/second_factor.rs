//! `/second-factor`: the codes that the caller needs besides the password to log in.

use actix_web::{HttpRequest, HttpResponse, web};
use domain::caller::UserCaller;
use domain::id::UserId;
use domain::login::{CodeError, ConfirmError, Guess, LoginService, Password, SecondFactorError, TypedCode};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::limit::{LoginName, Proof, RateLimits};
use http_wire::login::{CODE, TYPED_PASSWORD, typed_code};
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::{NewSecondFactorView, RecoveryCodesView, SecondFactorView};

/// The caller's password.
pub(crate) struct BeginBody(Password);

impl FromBody for BeginBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        Ok(Self(body.text("current_password", TYPED_PASSWORD, Password::typed)?))
    }
}

/// A code of the second factor that is pending.
pub(crate) struct ConfirmBody(TypedCode);

impl FromBody for ConfirmBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let about = "The six digits that the authenticator app shows.";
        Ok(Self(body.text("code", CODE.about(about), typed_code)?))
    }
}

/// The caller's password and a code.
pub(crate) struct RenewBody {
    current: Password,
    code: TypedCode,
}

impl FromBody for RenewBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let current = body.text("current_password", TYPED_PASSWORD, Password::typed);
        let about = "Six digits of the authenticator app, or a recovery code.";
        let code = body.text("code", CODE.about(about), typed_code);
        Ok(Self { current: current?, code: code? })
    }
}

/// The caller's password, and a code if the second factor is on.
pub(crate) struct ProofBody {
    pub(crate) current: Password,
    pub(crate) code: Option<TypedCode>,
}

impl FromBody for ProofBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let current = body.text("current_password", TYPED_PASSWORD, Password::typed);
        let about =
            "Required if the second factor is on: six digits of the authenticator app, or a recovery code.";
        let code = body.text_if_given("code", CODE.about(about), typed_code);
        Ok(Self { current: current?, code: code? })
    }
}

pub(crate) async fn show(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    logins: web::Data<LoginService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(SecondFactorView::new(logins.second_factor(caller).await?.as_ref())))
}

pub(crate) async fn begin(
    request: HttpRequest,
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<BeginBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let begun = async |_: &mut dyn FnMut(UserId) -> bool| logins.begin_second_factor(caller, body.0).await;
    let begun = check(&request, &limits, caller, begun, proof_of).await?;
    Ok(Data::created(NewSecondFactorView::new(&begun)))
}

pub(crate) async fn confirm(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<ConfirmBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let codes = logins.confirm_second_factor(caller, &body.0, |user| limits.may_try_code(user)).await?;
    Ok(Data::ok(RecoveryCodesView::new(&codes)))
}

pub(crate) async fn renew_recovery_codes(
    request: HttpRequest,
    UserAuth(caller): UserAuth,
    StrictJson { body: RenewBody { current, code }, .. }: StrictJson<RenewBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let renewed = async |may_try: &mut dyn FnMut(UserId) -> bool| {
        logins.renew_recovery_codes(caller, current, &code, may_try).await
    };
    Ok(Data::ok(RecoveryCodesView::new(&check(&request, &limits, caller, renewed, proof_of).await?)))
}

pub(crate) async fn remove(
    request: HttpRequest,
    UserAuth(caller): UserAuth,
    StrictJson { body: ProofBody { current, code }, .. }: StrictJson<ProofBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let removed = async |may_try: &mut dyn FnMut(UserId) -> bool| {
        logins.remove_second_factor(caller, current, code.as_ref(), may_try).await
    };
    check(&request, &limits, caller, removed, proof_of).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Checks the caller's password, and the code, which counts like a log-in. `proof` is what a refusal says of them.
pub(crate) async fn check<T, E>(
    request: &HttpRequest,
    limits: &RateLimits,
    caller: UserCaller,
    look: impl AsyncFnOnce(&mut dyn FnMut(UserId) -> bool) -> Result<T, E>,
    proof: impl FnOnce(&E) -> Proof,
) -> Result<T, ApiError>
where
    ApiError: From<E>,
{
    let look = async |may_try: &mut dyn FnMut(UserId, Guess) -> bool| {
        look(&mut |user| may_try(user, Guess::Code)).await
    };
    let proof = |outcome: &Result<T, E>| outcome.as_ref().map_or_else(proof, |_| Proof::Good);
    Ok(limits.check_password(request, LoginName::Known(caller.user), look, proof).await??)
}

/// What a refusal says of the password and the code.
pub(crate) const fn proof_of(error: &SecondFactorError) -> Proof {
    match error {
        SecondFactorError::Confirm(ConfirmError::Wrong) | SecondFactorError::Code(CodeError::Wrong) => {
            Proof::Bad
        }
        SecondFactorError::Code(CodeError::Required | CodeError::TooMany) => Proof::Incomplete,
        _ => Proof::Undecided,
    }
}
