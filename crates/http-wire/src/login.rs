//! Logging in, and the bodies of its requests: for programs (`/api/v1/auth`), and for the console in a browser.

use actix_web::HttpRequest;
use domain::account::{UserHandle, parse_email, parse_person_name};
use domain::id::UserId;
use domain::login::{
    CodeError, Guess, LogIn, LogInError, LoggedIn, LoginService, Password, Register, ResetPassword,
    SessionKind, TypedCode, TypedName,
};

use crate::auth::Credential;
use crate::error::ApiError;
use crate::limit::{LoginName, Proof, RateLimits, Source};
use crate::openapi::schema::{Schema, line, some_text, text};
use crate::strict_json::{FromBody, ObjectReader, Rejected};

/// The maximum length of a name or a token.
const MAX_TEXT_BYTES: usize = 512;

/// A log-in with a handle or an email address.
pub struct LogInBody(pub LogIn);

impl FromBody for LogInBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let name = body.text("login", SHORT, |text| short(text).map(|text| TypedName::new(&text)));
        let password = body.text("password", TYPED_PASSWORD, Password::typed);
        let code = body.text_if_given("code", CODE.about(CODE_FOR), typed_code);
        let (name, password, code) = (name?, password?, code?);
        Ok(Self(LogIn { name, password, code, kind: SessionKind::Program, address: None }))
    }
}

/// A password reset with a token.
pub struct ResetPasswordBody(pub ResetPassword);

impl FromBody for ResetPasswordBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let token = body.text("reset_token", SHORT, short);
        let new = body.text("new_password", NEW_PASSWORD, Password::new);
        let code = body.text_if_given("code", CODE.about(CODE_FOR), typed_code);
        let (token, new, code) = (token?, new?, code?);
        Ok(Self(ResetPassword { token, new, code, kind: SessionKind::Program }))
    }
}

/// A registration.
pub struct RegisterBody(pub Register);

impl FromBody for RegisterBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let handle = body.text("handle", HANDLE, |text| UserHandle::of_new_user(&text));
        let email = body.text("email", EMAIL.min(3), |text| parse_email(&text));
        let name = body.text("name", line(100), |text| parse_person_name(&text));
        let password = body.text("password", NEW_PASSWORD, Password::new);
        let invitation = body.text_if_given("invitation", SHORT, short)?;
        let (handle, email, name, password) = (handle?, email?, name?, password?);
        Ok(Self(Register { handle, email, name, password, invitation, kind: SessionKind::Program }))
    }
}

const HANDLE: Schema = text().min(3).max(31).pattern("^@?[A-Za-z0-9][A-Za-z0-9.-]{1,28}[A-Za-z0-9]$");

/// An email address.
pub const EMAIL: Schema = text().format("email").max(254);

/// A password that is compared with the stored one.
pub const TYPED_PASSWORD: Schema = text().format("password").max(Password::MAX_CHARS);

/// A password that is set.
pub const NEW_PASSWORD: Schema = TYPED_PASSWORD.min(Password::MIN_CHARS).pattern("\\S");

/// A code of a second factor.
pub const CODE: Schema = some_text(MAX_TEXT_BYTES);

/// What a code is for, in the documentation.
const CODE_FOR: &str =
    "Required if the account has a second factor: six digits of the authenticator app, or a recovery code.";

/// A code of a second factor: not blank, and at most 512 bytes long.
pub fn typed_code(text: String) -> Result<TypedCode, String> {
    short(text).map(|text| TypedCode::new(&text))
}

/// The schema of [`short`].
pub const SHORT: Schema = some_text(MAX_TEXT_BYTES);

/// A name or a token: not blank, and at most 512 bytes long.
pub fn short(text: String) -> Result<String, String> {
    match text.len() {
        _ if text.trim().is_empty() => Err("can't be blank".to_owned()),
        0..=MAX_TEXT_BYTES => Ok(text),
        _ => Err(format!("should be at most {MAX_TEXT_BYTES} byte(s)")),
    }
}

/// Logs a user in. Refuses a caller with too many failed attempts before it hashes the password.
pub async fn log_in(
    request: &HttpRequest,
    logins: &LoginService,
    limits: &RateLimits,
    command: LogIn,
) -> Result<LoggedIn, ApiError> {
    let name = command.name.clone();
    let command = LogIn { address: limits.source(request).map(Source::address), ..command };
    let look =
        async |may_try: &mut dyn FnMut(UserId, Guess) -> bool| logins.log_in_if(command, may_try).await;
    let proof = |outcome: &Result<_, LogInError>| match outcome {
        Ok(_) => Proof::Good,
        Err(LogInError::Wrong | LogInError::Code(CodeError::Wrong)) => Proof::Bad,
        Err(LogInError::Code(CodeError::Required | CodeError::TooMany)) => Proof::Incomplete,
        Err(LogInError::PasswordsOff(_) | LogInError::Busy(_) | LogInError::Store(_)) => Proof::Undecided,
    };
    Ok(limits.check_password(request, LoginName::Typed(&name), look, proof).await??)
}

/// Creates an account. Checks the rate limit before anything else.
pub async fn register(
    request: &HttpRequest,
    logins: &LoginService,
    limits: &RateLimits,
    command: Register,
) -> Result<LoggedIn, ApiError> {
    limits.check_registration_rate(request)?;
    Ok(logins.register(command).await?)
}

/// Sets a password with a reset token. Only an invalid token counts as a guess at tokens.
pub async fn reset_password(
    request: &HttpRequest,
    logins: &LoginService,
    limits: &RateLimits,
    command: ResetPassword,
) -> Result<LoggedIn, ApiError> {
    let token = command.token.clone();
    let reset = async { Ok(logins.reset_password_if(command, |user| limits.may_try_code(user)).await?) };
    limits.try_out(request, Credential::Key(&token), reset).await
}
