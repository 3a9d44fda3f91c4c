//! The store of passwords, sessions, reset tokens, identities at providers, second factors, and passkeys.

pub(crate) mod identity;
pub(crate) mod passkey;
pub(crate) mod password;
pub(crate) mod second_factor;
pub(crate) mod session;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::account::{KeyDigest, User};
use domain::id::{PasskeyId, SessionId, UserId};
use domain::login::{
    AddPasskeyOutcome, ChangeSecondFactor, EndSessions, Identity, IdentityRecord, IdentityRepository,
    LinkOutcome, LoginRecord, LoginRepository, NewIdentity, NewPasskey, NewReset, NewSession, Passkey,
    PasskeyName, PasskeyRepository, PasswordHash, PasswordHolder, RefreshRefused, RefreshSession,
    RefreshedSession, RemovePasskeyOutcome, RemovePasskeys, ResetPurpose, ResumeSession, SecondFactor,
    SecondFactorRepository, SecondProof, SessionHolder, SessionRecord, SessionRepository, SetPassword,
    UseReset, WhichLogin,
};
use domain::organization::Invitation;
use domain::store::{OnCommit, StoreError};
use domain::time::Timestamp;

use crate::SqliteStore;
use crate::organization::invitation;

/// There is no password to change.
struct Nothing;

#[async_trait]
impl LoginRepository for SqliteStore {
    async fn find_login(&self, which: WhichLogin) -> Result<Option<LoginRecord>, StoreError> {
        self.read(move |connection| password::find_on(connection, &which)).await
    }

    async fn rehash(&self, user: UserId, old: PasswordHash, new: PasswordHash) -> Result<(), StoreError> {
        self.alter(move |connection| password::rehash_on(connection, user, &old, &new)).await
    }

    async fn set_password(
        &self,
        command: SetPassword,
        on_commit: OnCommit<PasswordHolder>,
    ) -> Result<Option<PasswordHolder>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            Ok(password::set_on(connection, &command)?.ok_or(Nothing))
        };
        Ok(self.change(work, |holder| on_commit.run(holder)).await?.ok())
    }

    async fn issue_reset(&self, new: NewReset) -> Result<(), StoreError> {
        self.alter(move |connection| password::issue_reset_on(connection, &new)).await
    }

    async fn find_reset(
        &self,
        token: KeyDigest,
        purpose: ResetPurpose,
        now: Timestamp,
    ) -> Result<Option<UserId>, StoreError> {
        self.read(move |connection| password::find_reset_on(connection, token, purpose, now)).await
    }

    async fn reset_password(
        &self,
        command: UseReset,
        on_commit: OnCommit<PasswordHolder>,
    ) -> Result<Option<PasswordHolder>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            Ok(password::reset_on(connection, command)?.ok_or(Nothing))
        };
        Ok(self.change(work, |holder| on_commit.run(holder)).await?.ok())
    }

    async fn find_invitation(&self, token: KeyDigest) -> Result<Option<Invitation>, StoreError> {
        self.read(move |connection| invitation::find_on(connection, token)).await
    }
}

#[async_trait]
impl IdentityRepository for SqliteStore {
    async fn find_identity(&self, identity: Identity) -> Result<Option<User>, StoreError> {
        self.read(move |connection| identity::find_on(connection, &identity)).await
    }

    async fn list_identities(&self, user: UserId) -> Result<Vec<IdentityRecord>, StoreError> {
        self.read(move |connection| identity::list_on(connection, user)).await
    }

    async fn link_identity(&self, new: NewIdentity) -> Result<LinkOutcome, StoreError> {
        self.alter(move |connection| identity::link_on(connection, &new)).await
    }

    async fn unlink_identity(
        &self,
        user: UserId,
        issuer: String,
        now: Timestamp,
    ) -> Result<Option<Identity>, StoreError> {
        self.alter(move |connection| identity::unlink_on(connection, user, &issuer, now)).await
    }
}

#[async_trait]
impl SecondFactorRepository for SqliteStore {
    async fn find_second_factor(&self, user: UserId) -> Result<Option<SecondFactor>, StoreError> {
        self.read(move |connection| second_factor::find_on(connection, user)).await
    }

    async fn change_second_factor(&self, command: ChangeSecondFactor) -> Result<bool, StoreError> {
        self.alter(move |connection| second_factor::change_on(connection, &command)).await
    }
}

#[async_trait]
impl PasskeyRepository for SqliteStore {
    async fn list_passkeys(&self, user: UserId) -> Result<Vec<Passkey>, StoreError> {
        self.read(move |connection| passkey::list_on(connection, user)).await
    }

    async fn find_passkey(&self, credential: Vec<u8>) -> Result<Option<Passkey>, StoreError> {
        self.read(move |connection| passkey::find_on(connection, &credential)).await
    }

    async fn use_second_proof(
        &self,
        user: UserId,
        proof: SecondProof,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.alter(move |connection| second_factor::admit_on(connection, user, &proof, now)).await
    }

    async fn add_passkey(&self, new: NewPasskey) -> Result<AddPasskeyOutcome, StoreError> {
        self.alter(move |connection| passkey::add_on(connection, &new)).await
    }

    async fn rename_passkey(
        &self,
        user: UserId,
        passkey: PasskeyId,
        name: PasskeyName,
    ) -> Result<Option<Passkey>, StoreError> {
        self.alter(move |connection| passkey::rename_on(connection, user, passkey, &name)).await
    }

    async fn remove_passkeys(&self, command: RemovePasskeys) -> Result<RemovePasskeyOutcome, StoreError> {
        self.alter(move |connection| passkey::remove_on(connection, &command)).await
    }
}

#[async_trait]
impl SessionRepository for SqliteStore {
    async fn begin_session(&self, new: NewSession) -> Result<Option<SessionHolder>, StoreError> {
        self.alter(move |connection| session::begin_on(connection, &new)).await
    }

    async fn refresh(
        &self,
        command: RefreshSession,
        on_commit: OnCommit<SessionId>,
    ) -> Result<Result<RefreshedSession, RefreshRefused>, StoreError> {
        // The reuse of a token is stored too.
        let announce = |refreshed: &Result<RefreshedSession, RefreshRefused>| {
            if let Err(RefreshRefused::Reused(session)) = refreshed {
                on_commit.run(session);
            }
        };
        self.alter_announced(move |connection| session::refresh_on(connection, &command), announce).await
    }

    async fn resume(&self, command: ResumeSession) -> Result<Option<RefreshedSession>, StoreError> {
        self.alter(move |connection| session::resume_on(connection, &command)).await
    }

    async fn list_sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRecord>, StoreError> {
        self.read(move |connection| session::list_on(connection, user, now)).await
    }

    async fn end_sessions(
        &self,
        command: EndSessions,
        on_commit: OnCommit<Vec<SessionId>>,
    ) -> Result<Vec<SessionId>, StoreError> {
        self.alter_announced(
            move |connection| session::end_on(connection, &command),
            |ended| on_commit.run(ended),
        )
        .await
    }

    async fn forget_logins(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.alter(move |connection| session::forget_on(connection, now, limit)).await
    }
}
