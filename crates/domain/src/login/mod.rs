//! Logging in: passwords of humans, and the sessions that they open.
//!
//! A log-in returns an *access token*, which lives minutes, and a *refresh token*, which is
//! exchanged for the next pair and is invalid afterwards. All tokens of one log-in form one
//! *session*, and end with it. A refresh token that is used a second time was copied, so the
//! session ends, in either order. The console in a browser has one token for the whole session
//! instead, in a cookie. Where the operator has configured identity providers, people log in there
//! (`federated`). For a forgotten password an operator issues a *reset token*,
//! which can be used once. If the operator allows it, users register themselves. A user may turn on a
//! second factor for the password (`second_factor`), and may log in with devices that hold keys instead (`passkey`).
//!
//! Invariants: of a password only a slow hash is stored, of a token only a digest; an unknown name
//! costs as much as a wrong password; another password ends all sessions, and the access tokens
//! with them.

mod change_password;
mod code;
mod common;
mod confirm;
mod failures;
mod federated;
mod federation;
mod identity;
mod log_in;
mod name;
mod passkey;
mod password;
mod port;
mod register;
mod reset_password;
mod return_path;
mod second_factor;
mod service;
mod session;

pub use code::{CodeLogInError, LOGIN_CODE_LIFETIME};
pub use confirm::{CONFIRMED_FOR, ConfirmError};
pub use failures::{FailedLogin, Refused};
pub use federated::{LoggedInByProvider, ProviderLogIn, ProviderLogInError};
pub use federation::{
    BegunLogIn, EndedAtProvider, Federation, IdentityProvider, KeptLogIn, LOG_IN_LIFETIME, PasswordsOff,
    PendingLogIn, Provider, ProviderFault, ProviderName,
};
pub use identity::{
    ClaimRule, Claims, FirstLogIn, Identity, IdentityRecord, NotAdmitted, ProvidedEmail, ProvidedIdentity,
    ProviderPolicy,
};
pub use log_in::{Guess, KeyLogInError, LogIn, LogInError, LoggedIn};
pub use name::TypedName;
pub use passkey::{
    AddPasskey, AddPasskeyOutcome, BegunCeremony, CEREMONY_LIFETIME, CeremonyFault, KeptCeremony,
    MAX_PASSKEYS, NewPasskey, Passkey, PasskeyCeremonies, PasskeyCredential, PasskeyError, PasskeyLogIn,
    PasskeyLogInError, PasskeyName, PasskeyRepository, PasskeyUse, PasskeysOff, RemovePasskeyOutcome,
    RemovePasskeys, UsedChallenge,
};
pub use password::{HasherBusy, Password, PasswordCheck, PasswordHash, PasswordHasher};
pub use port::{
    EndSessions, IdentityRepository, LOGOUT_SKEW, LinkOutcome, LoginRecord, LoginRepository, NewIdentity,
    NewReset, NewSession, PasswordHolder, RefreshRefused, RefreshSession, RefreshedSession, ResetPurpose,
    ResumeSession, SessionHolder, SessionKind, SessionProof, SessionRecord, SessionRepository, SetPassword,
    StoredPassword, UseReset, WhichLogin, WhichSessions, set_at,
};
pub use register::{Register, RegisterUserError, Registration};
pub use reset_password::{IssueResetError, IssuedReset, RESET_LIFETIME, ResetPassword, ResetPasswordError};
pub use return_path::ReturnPath;
pub use second_factor::{
    Admission, ChangeSecondFactor, CodeError, FactorChange, FactorUnchanged, NewSecondFactor, RECOVERY_CODES,
    RecoveryCode, RemoveFactorError, SecondFactor, SecondFactorError, SecondFactorRepository, SecondProof,
    Step, TotpCode, TotpSecret, TypedCode,
};
pub use service::{LoginPorts, LoginService, MAX_SESSIONS};
pub use session::{EndSessionError, RECORDED_EVERY, RefreshError, SESSION_LIFETIME};
