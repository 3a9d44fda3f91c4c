//! The store of passwords, sessions, reset tokens, and identities at providers.

use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;

use super::federation::EndedAtProvider;
use super::identity::{Identity, IdentityRecord};
use super::passkey::{PasskeyRepository, PasskeyUse};
use super::password::PasswordHash;
use super::second_factor::{SecondFactorRepository, SecondProof};
use crate::account::{KeyDigest, NewUser, User, UserHandle};
use crate::audit::Actor;
use crate::id::{ApiKeyId, SessionId, UserId};
use crate::organization::Invitation;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A selection of an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichLogin {
    /// The user with this handle.
    Handle(UserHandle),
    /// The user with this address, in any case.
    Email(String),
    /// The user with this id.
    User(UserId),
}

/// A user with the password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginRecord {
    /// The user.
    pub user: User,
    /// The password; `None` if none was ever set.
    pub password: Option<StoredPassword>,
}

/// A password as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredPassword {
    /// Its hash.
    pub hash: PasswordHash,
    /// The time at which it was set, which identifies the password: its hash may be replaced. See
    /// [`set_at`].
    pub set_at: Timestamp,
}

/// A user who has a password, in the current state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PasswordHolder {
    /// The user.
    pub user: User,
    /// The time at which the password was set; see [`set_at`].
    pub password_set_at: Timestamp,
}

/// The user of a session, in the current state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionHolder {
    /// The user.
    pub user: User,
    /// The time at which the password was set; `None` without one.
    pub password_set_at: Option<Timestamp>,
}

/// The proof with which a session opens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionProof {
    /// The password that was set at this time, if it is still the user's, and what is proved besides, if that is still
    /// enough. A code is used up.
    Password(Timestamp, SecondProof),
    /// This API key of the user, if it is still valid. The session ends with the key.
    Key(ApiKeyId),
    /// This identity of the user, if it is still linked, with the provider's session. Continuing the session does not
    /// prolong it.
    Identity(Identity, Option<String>),
    /// The log-in code of the user with this digest, if it is still valid. It is used up.
    Code(KeyDigest),
    /// This passkey of the user, if it is still stored and the answer is newer than the last one. The challenge is used up.
    /// The session ends with the passkey.
    Passkey(PasskeyUse),
}

/// The client of a session, which decides how it continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionKind {
    /// A program: each refresh token is exchanged for the next one.
    Program,
    /// The console in a browser, of which several tabs may continue the session at the same time: the token stays the
    /// same, and no script can read it.
    Browser,
}

/// The time at which a password counts as set: `now`, but always after the previous one, so that
/// the time distinguishes tokens issued under either.
pub fn set_at(now: Timestamp, before: Option<Timestamp>) -> Timestamp {
    before.map_or(now, |before| now.max(before.plus(Duration::from_micros(1))))
}

/// A session to be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSession {
    /// Identifier.
    pub id: SessionId,
    /// The user.
    pub user: UserId,
    /// What the user has proved.
    pub proof: SessionProof,
    /// The client.
    pub kind: SessionKind,
    /// The digest of the common beginning of all refresh tokens of the session.
    pub family: KeyDigest,
    /// The digest of the first refresh token.
    pub token: KeyDigest,
    /// The expiry of that token.
    pub expires_at: Timestamp,
    /// The address of the client.
    pub address: Option<IpAddr>,
    /// The current time.
    pub now: Timestamp,
}

/// A refresh token to be exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefreshSession {
    /// The digest of its beginning.
    pub family: KeyDigest,
    /// The digest of the complete token.
    pub token: KeyDigest,
    /// The digest of the next one.
    pub next: KeyDigest,
    /// The expiry of the next one.
    pub expires_at: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

/// A browser's session to be continued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResumeSession {
    /// The digest of its token.
    pub family: KeyDigest,
    /// The new expiry, unless its key expires earlier, or a provider's log-in has opened it.
    pub expires_at: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

/// A session that was continued.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefreshedSession {
    /// The id.
    pub id: SessionId,
    /// When it ends unless it is used again, or in any case.
    pub expires_at: Timestamp,
    /// The holder.
    pub holder: SessionHolder,
}

/// The reason why a refresh token was not exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefreshRefused {
    /// No session has this beginning, or it has ended.
    Unknown,
    /// It belongs to this session, and was already exchanged: the session has ended now.
    Reused(SessionId),
}

/// A session as its user sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionRecord {
    /// Identifier.
    pub id: SessionId,
    /// The time of the log-in.
    pub created_at: Timestamp,
    /// The time of the last exchange; at first, that of the log-in.
    pub used_at: Timestamp,
    /// The time until which it can be continued.
    pub expires_at: Timestamp,
}

/// A selection of sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichSessions {
    /// The one whose refresh tokens have this beginning.
    Family(KeyDigest),
    /// This one, if it belongs to this user.
    Own(UserId, SessionId),
    /// All of this user except this one.
    Others(UserId, Option<SessionId>),
    /// Those that a provider says have ended: of its session if it names one, else of the person. Sessions that began more
    /// than [`LOGOUT_SKEW`] later are others.
    AtProvider(EndedAtProvider),
}

/// By how much the clock of a provider may be behind.
pub const LOGOUT_SKEW: Duration = Duration::from_secs(60);

/// Sessions to be ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndSessions {
    /// The sessions.
    pub which: WhichSessions,
    /// The current time.
    pub now: Timestamp,
}

/// A new password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetPassword {
    /// The user.
    pub user: UserId,
    /// Its hash.
    pub password: PasswordHash,
    /// The time of the password that this one replaces; nothing happens if that has changed. `None`
    /// for any.
    pub replaces: Option<Timestamp>,
    /// Who sets it.
    pub by: Actor,
    /// The current time.
    pub now: Timestamp,
}

/// A password to be set with a reset token, which is used up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UseReset {
    /// The token.
    pub token: KeyDigest,
    /// The hash of the new password.
    pub password: PasswordHash,
    /// What the user has proved besides. A code is used up.
    pub proof: SecondProof,
    /// The current time.
    pub now: Timestamp,
}

/// What a token of the operator is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResetPurpose {
    /// Setting a password.
    Password,
    /// Logging in once.
    LogIn,
}

/// A reset token or a log-in code to be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewReset {
    /// The user whose password it can set, or who logs in.
    pub user: UserId,
    /// Its digest.
    pub token: KeyDigest,
    /// What it is for.
    pub purpose: ResetPurpose,
    /// The expiry.
    pub expires_at: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

/// An identity to be linked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewIdentity {
    /// The identity.
    pub identity: Identity,
    /// The account.
    pub user: UserId,
    /// Who links them.
    pub by: Actor,
    /// The current time.
    pub now: Timestamp,
}

impl NewIdentity {
    /// That of a user who is created with one.
    pub fn of(new: &NewUser) -> Option<Self> {
        let (identity, user) = (new.identity.clone()?, &new.user);
        Some(Self { identity, user: user.id, by: new.by, now: user.created_at })
    }
}

/// The result of linking an identity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkOutcome {
    /// It is linked.
    Linked,
    /// It is linked to another account, or the account to another identity of the same provider.
    Taken,
    /// There is no such user.
    UserGone,
}

/// The store of identities at providers.
#[async_trait]
pub trait IdentityRepository: Send + Sync {
    /// The user of an identity, who may be disabled.
    async fn find_identity(&self, identity: Identity) -> Result<Option<User>, StoreError>;

    /// The identities of a user, by issuer.
    async fn list_identities(&self, user: UserId) -> Result<Vec<IdentityRecord>, StoreError>;

    /// Links an identity to a user.
    async fn link_identity(&self, new: NewIdentity) -> Result<LinkOutcome, StoreError>;

    /// Removes the identity of a user at a provider, and ends the sessions that it has opened, with entries in the change
    /// log. `None` if there is none.
    async fn unlink_identity(
        &self,
        user: UserId,
        issuer: String,
        now: Timestamp,
    ) -> Result<Option<Identity>, StoreError>;
}

/// The store of sessions and their refresh tokens.
#[async_trait]
pub trait SessionRepository: Send + Sync {
    /// Opens a session and returns its user; `None` if what the user has proved is no longer valid, or the user is
    /// disabled. Beyond [`super::MAX_SESSIONS`], the sessions that were unused for longest end,
    /// with entries in the change log.
    async fn begin_session(&self, new: NewSession) -> Result<Option<SessionHolder>, StoreError>;

    /// Exchanges a refresh token and returns its user; a disabled user counts as having none. If
    /// this ends the session, that is announced.
    async fn refresh(
        &self,
        command: RefreshSession,
        on_commit: OnCommit<SessionId>,
    ) -> Result<Result<RefreshedSession, RefreshRefused>, StoreError>;

    /// Continues the session of a browser, and returns its user and expiry; `None` if there is none, or if the user is
    /// disabled. The use is recorded at most once a minute.
    async fn resume(&self, command: ResumeSession) -> Result<Option<RefreshedSession>, StoreError>;

    /// The sessions of a user that can be continued, the last used first.
    async fn list_sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRecord>, StoreError>;

    /// Ends sessions, and their access tokens; returns those that existed.
    async fn end_sessions(
        &self,
        command: EndSessions,
        on_commit: OnCommit<Vec<SessionId>>,
    ) -> Result<Vec<SessionId>, StoreError>;

    /// Deletes up to `limit` expired sessions, reset tokens, and used challenges each; returns the number of all.
    async fn forget_logins(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError>;
}

/// Passwords, sessions, reset tokens, identities, second factors, and passkeys.
#[async_trait]
pub trait LoginRepository:
    SessionRepository + IdentityRepository + SecondFactorRepository + PasskeyRepository
{
    /// A user with the password; `None` if there is no such user.
    async fn find_login(&self, which: WhichLogin) -> Result<Option<LoginRecord>, StoreError>;

    /// Stores another hash of the same password, if that is still the password.
    async fn rehash(&self, user: UserId, old: PasswordHash, new: PasswordHash) -> Result<(), StoreError>;

    /// Sets a password, at the time of [`set_at`], and ends all sessions, reset tokens, and access
    /// tokens of the user; `None` if there is no such user, or the password to be replaced has
    /// changed.
    async fn set_password(
        &self,
        command: SetPassword,
        on_commit: OnCommit<PasswordHolder>,
    ) -> Result<Option<PasswordHolder>, StoreError>;

    /// Stores a reset token in place of any other of the user.
    async fn issue_reset(&self, new: NewReset) -> Result<(), StoreError>;

    /// The user of this token, if it is valid for this at `now`.
    async fn find_reset(
        &self,
        token: KeyDigest,
        purpose: ResetPurpose,
        now: Timestamp,
    ) -> Result<Option<UserId>, StoreError>;

    /// Like [`Self::set_password`], for a valid reset token, which is used up. Returns its user; `None` if the token is not
    /// valid, or what the user has proved is no longer enough.
    async fn reset_password(
        &self,
        command: UseReset,
        on_commit: OnCommit<PasswordHolder>,
    ) -> Result<Option<PasswordHolder>, StoreError>;

    /// The invitation with this token, in any state.
    async fn find_invitation(&self, token: KeyDigest) -> Result<Option<Invitation>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_passwords_of_a_user_are_set_at_the_same_time() {
        let at = Timestamp::from_micros;
        for (now, before, set) in
            [(5, None, 5), (5, Some(4), 5), (5, Some(5), 6), (5, Some(9), 10), (-5, Some(-5), -4)]
        {
            assert_eq!(set_at(at(now), before.map(at)), at(set), "{now} {before:?}");
        }
    }
}
