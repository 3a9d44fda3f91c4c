//! The store of passwords, sessions, reset tokens, identities at providers, second factors, and passkeys.

pub(crate) mod identity;
pub(crate) mod passkey;
pub(crate) mod password;
pub(crate) mod second_factor;
pub(crate) mod session;

use async_trait::async_trait;
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
use futures_util::FutureExt;

use crate::PostgresStore;
use crate::organization::invitation;

#[async_trait]
impl LoginRepository for PostgresStore {
    async fn find_login(&self, which: WhichLogin) -> Result<Option<LoginRecord>, StoreError> {
        self.query(which, |db, which| password::find_on(db, which).boxed()).await
    }

    async fn rehash(&self, user: UserId, old: PasswordHash, new: PasswordHash) -> Result<(), StoreError> {
        let given = (user, old, new);
        self.alter(given, |db, (user, old, new)| password::rehash_on(db, *user, old, new).boxed()).await
    }

    async fn set_password(
        &self,
        command: SetPassword,
        on_commit: OnCommit<PasswordHolder>,
    ) -> Result<Option<PasswordHolder>, StoreError> {
        let announce = |holder: &PasswordHolder| on_commit.run(holder);
        let set = self.change(command, |db, command| password::set_on(db, command).boxed(), announce);
        Ok(set.await?.ok())
    }

    async fn issue_reset(&self, new: NewReset) -> Result<(), StoreError> {
        self.alter(new, |db, new| password::issue_reset_on(db, new).boxed()).await
    }

    async fn find_reset(
        &self,
        token: KeyDigest,
        purpose: ResetPurpose,
        now: Timestamp,
    ) -> Result<Option<UserId>, StoreError> {
        let given = (token, purpose, now);
        self.query(given, |db, (token, purpose, now)| {
            password::find_reset_on(db, *token, *purpose, *now).boxed()
        })
        .await
    }

    async fn reset_password(
        &self,
        command: UseReset,
        on_commit: OnCommit<PasswordHolder>,
    ) -> Result<Option<PasswordHolder>, StoreError> {
        let announce = |holder: &PasswordHolder| on_commit.run(holder);
        let reset = self.change(command, |db, command| password::reset_on(db, command).boxed(), announce);
        Ok(reset.await?.ok())
    }

    async fn find_invitation(&self, token: KeyDigest) -> Result<Option<Invitation>, StoreError> {
        self.query(token, |db, token| invitation::find_on(db, *token).boxed()).await
    }
}

#[async_trait]
impl IdentityRepository for PostgresStore {
    async fn find_identity(&self, identity: Identity) -> Result<Option<User>, StoreError> {
        self.query(identity, |db, identity| identity::find_on(db, identity).boxed()).await
    }

    async fn list_identities(&self, user: UserId) -> Result<Vec<IdentityRecord>, StoreError> {
        self.query(user, |db, user| identity::list_on(db, *user).boxed()).await
    }

    async fn link_identity(&self, new: NewIdentity) -> Result<LinkOutcome, StoreError> {
        self.alter(new, |db, new| identity::link_on(db, new).boxed()).await
    }

    async fn unlink_identity(
        &self,
        user: UserId,
        issuer: String,
        now: Timestamp,
    ) -> Result<Option<Identity>, StoreError> {
        let given = (user, issuer, now);
        self.alter(given, |db, (user, issuer, now)| identity::unlink_on(db, *user, issuer, *now).boxed())
            .await
    }
}

#[async_trait]
impl SecondFactorRepository for PostgresStore {
    async fn find_second_factor(&self, user: UserId) -> Result<Option<SecondFactor>, StoreError> {
        self.query(user, |db, user| second_factor::find_on(db, *user).boxed()).await
    }

    async fn change_second_factor(&self, command: ChangeSecondFactor) -> Result<bool, StoreError> {
        self.alter(command, |db, command| second_factor::change_on(db, command).boxed()).await
    }
}

#[async_trait]
impl PasskeyRepository for PostgresStore {
    async fn list_passkeys(&self, user: UserId) -> Result<Vec<Passkey>, StoreError> {
        self.query(user, |db, user| passkey::list_on(db, *user).boxed()).await
    }

    async fn find_passkey(&self, credential: Vec<u8>) -> Result<Option<Passkey>, StoreError> {
        self.query(credential, |db, credential| passkey::find_on(db, credential).boxed()).await
    }

    async fn use_second_proof(
        &self,
        user: UserId,
        proof: SecondProof,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.alter((user, proof, now), |db, (user, proof, now)| {
            passkey::use_second_proof_on(db, *user, proof, *now).boxed()
        })
        .await
    }

    async fn add_passkey(&self, new: NewPasskey) -> Result<AddPasskeyOutcome, StoreError> {
        self.alter(new, |db, new| passkey::add_on(db, new).boxed()).await
    }

    async fn rename_passkey(
        &self,
        user: UserId,
        passkey: PasskeyId,
        name: PasskeyName,
    ) -> Result<Option<Passkey>, StoreError> {
        self.alter((user, passkey, name), |db, (user, passkey, name)| {
            passkey::rename_on(db, *user, *passkey, name).boxed()
        })
        .await
    }

    async fn remove_passkeys(&self, command: RemovePasskeys) -> Result<RemovePasskeyOutcome, StoreError> {
        self.alter(command, |db, command| passkey::remove_on(db, command).boxed()).await
    }
}

#[async_trait]
impl SessionRepository for PostgresStore {
    async fn begin_session(&self, new: NewSession) -> Result<Option<SessionHolder>, StoreError> {
        self.alter(new, |db, new| session::begin_on(db, new).boxed()).await
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
        self.alter_announced(command, |db, command| session::refresh_on(db, command).boxed(), announce).await
    }

    async fn resume(&self, command: ResumeSession) -> Result<Option<RefreshedSession>, StoreError> {
        self.alter(command, |db, command| session::resume_on(db, command).boxed()).await
    }

    async fn list_sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRecord>, StoreError> {
        self.query((user, now), |db, (user, now)| session::list_on(db, *user, *now).boxed()).await
    }

    async fn end_sessions(
        &self,
        command: EndSessions,
        on_commit: OnCommit<Vec<SessionId>>,
    ) -> Result<Vec<SessionId>, StoreError> {
        let announce = |ended: &Vec<SessionId>| on_commit.run(ended);
        self.alter_announced(command, |db, command| session::end_on(db, command).boxed(), announce).await
    }

    async fn forget_logins(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError> {
        let given = (now, limit);
        self.alter(given, |db, (now, limit)| session::forget_on(db, *now, *limit).boxed()).await
    }
}
