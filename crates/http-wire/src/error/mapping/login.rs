//! Passwords and sessions.

use domain::login::{
    CodeError, CodeLogInError, ConfirmError, EndSessionError, HasherBusy, KeyLogInError, LogInError,
    MAX_PASSKEYS, PasskeyError, PasskeyLogInError, PasskeysOff, PasswordsOff, RefreshError,
    RegisterUserError, ResetPasswordError, SecondFactorError,
};

use crate::error::{ApiError, ErrorCode};
use crate::limit::SECONDS_PER_CODE;

/// The value of `Retry-After` if too many passwords are being checked, in seconds.
const RETRY_SECONDS: u32 = 1;

impl From<HasherBusy> for ApiError {
    fn from(_: HasherBusy) -> Self {
        Self::new(ErrorCode::RateLimited, "Too many log-ins at the same time. Try again in a second.")
            .with_retry_after(RETRY_SECONDS)
    }
}

impl From<PasswordsOff> for ApiError {
    fn from(_: PasswordsOff) -> Self {
        Self::new(
            ErrorCode::Forbidden,
            "This server has no log-in with passwords. Log in at the console with an identity provider, or ask the operator \
             for a log-in code.",
        )
    }
}

impl From<CodeLogInError> for ApiError {
    fn from(error: CodeLogInError) -> Self {
        match error {
            CodeLogInError::Unknown => wrong(
                "The log-in code is not valid: it is unknown, used, or expired. Ask the operator for another one.",
            ),
            CodeLogInError::Store(error) => error.into(),
        }
    }
}

impl From<CodeError> for ApiError {
    fn from(error: CodeError) -> Self {
        match error {
            CodeError::Required => Self::new(
                ErrorCode::SecondFactorRequired,
                "This account has a second factor. Send a code of your authenticator app, or a recovery code, as code.",
            ),
            CodeError::Wrong => Self::new(
                ErrorCode::InvalidSecondFactor,
                "The code is wrong or was used already. Send the next code of your authenticator app, or a recovery code.",
            ),
            CodeError::TooMany => Self::new(
                ErrorCode::RateLimited,
                format!(
                    "Too many codes for this account were wrong. Try again in {} minutes.",
                    SECONDS_PER_CODE / 60
                ),
            )
            .with_retry_after(SECONDS_PER_CODE),
        }
    }
}

impl From<SecondFactorError> for ApiError {
    fn from(error: SecondFactorError) -> Self {
        let code = |fault| Self::validation().with_detail("/code", fault);
        let conflict = |message: &str| Self::new(ErrorCode::Conflict, message);
        match error {
            SecondFactorError::AlreadyOn => {
                conflict("Your second factor is already on. Remove it before you set up another one.")
            }
            SecondFactorError::Off => conflict("You have no second factor. Set one up first."),
            SecondFactorError::NotPending => conflict(
                "No second factor is being set up. Begin again; if yours is on already, get new recovery codes.",
            ),
            SecondFactorError::Confirm(error) => Self::unconfirmed(error, "/current_password"),
            SecondFactorError::Code(CodeError::Required) => {
                code("is required because your second factor is on")
            }
            SecondFactorError::Code(CodeError::Wrong) => code("is wrong or was used already"),
            SecondFactorError::Code(CodeError::TooMany) => CodeError::TooMany.into(),
            SecondFactorError::Store(error) => error.into(),
        }
    }
}

impl From<PasskeysOff> for ApiError {
    fn from(off: PasskeysOff) -> Self {
        match off {
            PasskeysOff::NoAddress => Self::new(
                ErrorCode::Forbidden,
                "This server has no passkeys: browsers allow them only where public_url has a host name and https, or is \
                 http://localhost. Ask the operator to set it.",
            ),
            PasskeysOff::Passwords(off) => off.into(),
        }
    }
}

impl From<PasskeyError> for ApiError {
    fn from(error: PasskeyError) -> Self {
        let conflict = |message: &str| Self::new(ErrorCode::Conflict, message);
        match error {
            PasskeyError::Off(off) => off.into(),
            PasskeyError::NotBegun => conflict(
                "No passkey is being added: the challenge has expired, was used, or is that of another user. Begin again.",
            ),
            PasskeyError::Refused(_) => Self::validation()
                .with_detail("/credential", "is not the answer of a device to this challenge; begin again"),
            PasskeyError::Taken => conflict("This passkey was added already. List your passkeys to find it."),
            PasskeyError::TooMany => conflict(&format!(
                "You have {MAX_PASSKEYS} passkeys, which is the limit. Remove one before you add another."
            )),
            PasskeyError::NotFound => Self::new(
                ErrorCode::NotFound,
                "You have no passkey with this id. List your passkeys to find it.",
            ),
            PasskeyError::Proof(error) => error.into(),
            PasskeyError::Store(error) => error.into(),
        }
    }
}

impl From<PasskeyLogInError> for ApiError {
    fn from(error: PasskeyLogInError) -> Self {
        match error {
            PasskeyLogInError::Off(off) => off.into(),
            PasskeyLogInError::NotBegun => {
                wrong("The log-in took too long, or was begun in another browser. Try again.")
            }
            PasskeyLogInError::Unknown => {
                wrong("Nobody on this server has this passkey. Log in with your password, and add it again.")
            }
            PasskeyLogInError::Refused(_) | PasskeyLogInError::Copied { .. } | PasskeyLogInError::Ended => {
                wrong(
                    "The passkey was not accepted. Try again, or log in with your password and add another passkey.",
                )
            }
            PasskeyLogInError::Store(error) => error.into(),
        }
    }
}

impl From<LogInError> for ApiError {
    fn from(error: LogInError) -> Self {
        match error {
            LogInError::Wrong => wrong(
                "The name or the password is wrong. Correct them, or ask the operator for a reset token.",
            ),
            LogInError::Code(error) => error.into(),
            LogInError::PasswordsOff(off) => off.into(),
            LogInError::Busy(busy) => busy.into(),
            LogInError::Store(error) => error.into(),
        }
    }
}

impl From<KeyLogInError> for ApiError {
    fn from(error: KeyLogInError) -> Self {
        match error {
            KeyLogInError::Scoped => Self::new(
                ErrorCode::Forbidden,
                "This API key is limited to a scope. Log in with a password, or with a key without a scope.",
            ),
            KeyLogInError::Revoked => wrong("The API key is not valid. Log in with another one."),
            KeyLogInError::Store(error) => error.into(),
        }
    }
}

impl From<RefreshError> for ApiError {
    fn from(error: RefreshError) -> Self {
        match error {
            RefreshError::Unknown => wrong("The refresh token is not valid. Log in again."),
            RefreshError::Store(error) => error.into(),
        }
    }
}

impl From<EndSessionError> for ApiError {
    fn from(error: EndSessionError) -> Self {
        match error {
            EndSessionError::NotFound => Self::new(
                ErrorCode::NotFound,
                "You have no open session with this id. List your sessions to find it.",
            ),
            EndSessionError::Store(error) => error.into(),
        }
    }
}

impl ApiError {
    /// The reason why the password in `pointer` of a body did not confirm the caller.
    pub fn unconfirmed(error: ConfirmError, pointer: &str) -> Self {
        match error {
            ConfirmError::Missing => Self::validation()
                .with_detail(pointer, "is required because you logged in more than 10 minutes ago; without a password, log in again"),
            ConfirmError::Wrong => Self::validation().with_detail(pointer, "is wrong"),
            ConfirmError::PasswordsOff(off) => off.into(),
            ConfirmError::Busy(busy) => busy.into(),
            ConfirmError::Store(error) => error.into(),
        }
    }
}

impl From<RegisterUserError> for ApiError {
    fn from(error: RegisterUserError) -> Self {
        let taken = |name| Self::validation().with_detail(name, "has already been taken");
        match error {
            RegisterUserError::Closed => Self::new(
                ErrorCode::Forbidden,
                "Registration is closed. Ask the operator of the server for an account.",
            ),
            RegisterUserError::PasswordsOff(off) => off.into(),
            RegisterUserError::NotInvited => Self::new(
                ErrorCode::Forbidden,
                "Registration requires an invitation. Ask an admin of the organization for one, and send its \
                 token as invitation.",
            ),
            RegisterUserError::Invitation(refused) => Self::validation().with_detail("/invitation", refused),
            RegisterUserError::HandleTaken => taken("/handle"),
            RegisterUserError::EmailTaken => taken("/email"),
            RegisterUserError::NoSuchPlan => Self::defect("the plan of new organizations is not there"),
            RegisterUserError::Overtaken => wrong("The account was created. Log in."),
            RegisterUserError::Busy(busy) => busy.into(),
            RegisterUserError::Store(error) => error.into(),
        }
    }
}

impl From<ResetPasswordError> for ApiError {
    fn from(error: ResetPasswordError) -> Self {
        match error {
            ResetPasswordError::Unknown => wrong(
                "The reset token is not valid: it is unknown, used, or expired. Ask the operator for another one.",
            ),
            ResetPasswordError::Code(error) => error.into(),
            ResetPasswordError::PasswordsOff(off) => off.into(),
            ResetPasswordError::Busy(busy) => busy.into(),
            ResetPasswordError::Store(error) => error.into(),
        }
    }
}

fn wrong(message: &str) -> ApiError {
    ApiError::new(ErrorCode::Unauthorized, message)
}
