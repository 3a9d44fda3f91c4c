//! Logging in: humans with a password, and the sessions that it opens.
//!
//! Who logs in gets an *access token*, which lives minutes, and a *refresh token*, which gets the next pair and is
//! then worth nothing. All tokens that came of one log-in are one *session*, and end with it. A refresh token that comes a
//! second time was copied, so the session ends, whoever came first. An operator helps who has forgotten a password
//! with a *reset token*, which is good once. Where the operator allows it, people make their accounts themselves.
//!
//! Invariants: of a password only a slow hash is kept, of a token only a digest; an unknown name costs as much as a
//! wrong password; another password ends all sessions, and the access tokens with them.

mod change_password;
mod common;
mod confirm;
mod failures;
mod log_in;
mod name;
mod password;
mod port;
mod register;
mod reset_password;
mod service;
mod session;

pub use confirm::{CONFIRMED_FOR, ConfirmError};
pub use failures::FailedLogin;
pub use log_in::{LogIn, LogInError, LoggedIn};
pub use name::TypedName;
pub use password::{HasherBusy, Password, PasswordHash, PasswordHasher, Verdict};
pub use port::{
    EndSessions, LoginRecord, LoginRepository, NewReset, NewSession, RefreshRefused, RefreshSession,
    RefreshedSession, SessionHolder, SessionRecord, SetPassword, StoredPassword, WhichLogin, WhichSessions,
    set_at,
};
pub use register::{Register, RegisterUserError, Registration};
pub use reset_password::{IssueResetError, IssuedReset, RESET_LIFETIME, ResetPasswordError};
pub use service::{LoginPorts, LoginService, MAX_SESSIONS};
pub use session::{EndSessionError, RefreshError, SESSION_LIFETIME};
