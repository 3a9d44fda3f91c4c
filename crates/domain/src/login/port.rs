//! The store of passwords, sessions and reset tokens.

use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;

use super::password::PasswordHash;
use crate::account::{KeyDigest, User, UserHandle};
use crate::id::{SessionId, UserId};
use crate::organization::Invitation;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// Whose log-in is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichLogin {
    /// The user's with this handle.
    Handle(UserHandle),
    /// The user's with this address, in any case.
    Email(String),
    /// The user's with this id.
    User(UserId),
}

/// A user, and the password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginRecord {
    /// Who.
    pub user: User,
    /// The password; `None` of somebody who never set one.
    pub password: Option<StoredPassword>,
}

/// A password as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredPassword {
    /// Its hash.
    pub hash: PasswordHash,
    /// When it was set, by which one password is told from another: its hash may be made anew. See [`set_at`].
    pub set_at: Timestamp,
}

/// Whose a session is, as things stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionHolder {
    /// Who.
    pub user: User,
    /// When the password was set; see [`set_at`].
    pub password_set_at: Timestamp,
}

/// When a password counts as set: at `now`, but always after the one before it, so that by this time the tokens
/// that were made under one can be told from those under the other.
pub fn set_at(now: Timestamp, before: Option<Timestamp>) -> Timestamp {
    before.map_or(now, |before| now.max(before.plus(Duration::from_micros(1))))
}

/// A session to be begun.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSession {
    /// Identifier.
    pub id: SessionId,
    /// Whose.
    pub user: UserId,
    /// When the password was set that was right; the session begins only if it still is the user's.
    pub password_set_at: Timestamp,
    /// Digest of what all refresh tokens of the session begin with.
    pub family: KeyDigest,
    /// Digest of the first refresh token.
    pub token: KeyDigest,
    /// Until when that is good.
    pub expires_at: Timestamp,
    /// Where the user logged in from.
    pub address: Option<IpAddr>,
    /// When.
    pub now: Timestamp,
}

/// A refresh token to be exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefreshSession {
    /// Digest of what it begins with.
    pub family: KeyDigest,
    /// Digest of the whole.
    pub token: KeyDigest,
    /// Digest of the next one.
    pub next: KeyDigest,
    /// Until when that is good.
    pub expires_at: Timestamp,
    /// When.
    pub now: Timestamp,
}

/// A session whose refresh token was exchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefreshedSession {
    /// Which.
    pub id: SessionId,
    /// Whose.
    pub holder: SessionHolder,
}

/// Why a refresh token was not exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefreshRefused {
    /// No session begins like this, or it is over.
    Unknown,
    /// It is of this session, and was exchanged already: the session is over from now on.
    Reused(SessionId),
}

/// A session as its user sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionRecord {
    /// Identifier.
    pub id: SessionId,
    /// When the user logged in.
    pub created_at: Timestamp,
    /// When its refresh token was exchanged last; at first, when the user logged in.
    pub used_at: Timestamp,
    /// Until when it can go on.
    pub expires_at: Timestamp,
}

/// Which sessions are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhichSessions {
    /// The one whose refresh tokens begin like this.
    Family(KeyDigest),
    /// This one, if it is this user's.
    Own(UserId, SessionId),
    /// All of this user's but this one.
    Others(UserId, Option<SessionId>),
}

/// Sessions to be ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndSessions {
    /// Which.
    pub which: WhichSessions,
    /// When.
    pub now: Timestamp,
}

/// Another password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetPassword {
    /// Whose.
    pub user: UserId,
    /// Its hash.
    pub password: PasswordHash,
    /// When the password was set that this one is to follow; nothing happens if there is another meanwhile. `None`
    /// for whichever it is.
    pub replaces: Option<Timestamp>,
    /// When.
    pub now: Timestamp,
}

/// A reset token to be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewReset {
    /// Whose password may be set with it.
    pub user: UserId,
    /// Its digest.
    pub token: KeyDigest,
    /// Until when it is good.
    pub expires_at: Timestamp,
    /// When.
    pub now: Timestamp,
}

/// Passwords, sessions and reset tokens.
#[async_trait]
pub trait LoginRepository: Send + Sync {
    /// A user with the password; `None` if there is no such user.
    async fn find_login(&self, which: WhichLogin) -> Result<Option<LoginRecord>, StoreError>;

    /// Keeps another hash of the same password, if it still is the password.
    async fn rehash(&self, user: UserId, old: PasswordHash, new: PasswordHash) -> Result<(), StoreError>;

    /// Begins a session and gives whose it is; `None` if the password is another one meanwhile, or the user is
    /// disabled. Of more than
    /// [`super::MAX_SESSIONS`] those end that were not used for longest, which the log of changes tells.
    async fn begin_session(&self, new: NewSession) -> Result<Option<SessionHolder>, StoreError>;

    /// Exchanges a refresh token and gives whose it is; while its user is disabled it is as if there were none. A
    /// session that ends by that is announced.
    async fn refresh(
        &self,
        command: RefreshSession,
        on_commit: OnCommit<SessionId>,
    ) -> Result<Result<RefreshedSession, RefreshRefused>, StoreError>;

    /// The sessions of a user that can still go on, the last used first.
    async fn list_sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRecord>, StoreError>;

    /// Ends sessions, and the access tokens of them; which there were.
    async fn end_sessions(
        &self,
        command: EndSessions,
        on_commit: OnCommit<Vec<SessionId>>,
    ) -> Result<Vec<SessionId>, StoreError>;

    /// Sets a password, at the time that [`set_at`] gives, and ends all sessions, reset tokens and access tokens
    /// of the user; `None` if there is no such user, or another password than the one to be replaced.
    async fn set_password(
        &self,
        command: SetPassword,
        on_commit: OnCommit<SessionHolder>,
    ) -> Result<Option<SessionHolder>, StoreError>;

    /// Stores a reset token in the place of any other of the user's.
    async fn issue_reset(&self, new: NewReset) -> Result<(), StoreError>;

    /// Whose reset token this is, if it is good at `now`.
    async fn find_reset(&self, token: KeyDigest, now: Timestamp) -> Result<Option<UserId>, StoreError>;

    /// Like [`Self::set_password`], for a reset token that is good; it is used up by that. Whose it was.
    async fn reset_password(
        &self,
        token: KeyDigest,
        password: PasswordHash,
        now: Timestamp,
        on_commit: OnCommit<SessionHolder>,
    ) -> Result<Option<SessionHolder>, StoreError>;

    /// The invitation with this token, whatever has become of it.
    async fn find_invitation(&self, token: KeyDigest) -> Result<Option<Invitation>, StoreError>;

    /// Forgets up to `limit` sessions and reset tokens each that have expired; how many of both.
    async fn forget_logins(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError>;
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
