//! Entries about passwords, sessions and failed log-ins.

use std::net::IpAddr;

use super::{Actor, AuditEntry, AuditObject, AuditTenant};
use crate::audit::AuditAction;
use crate::id::{SessionId, UserId};
use crate::login::{
    FailedLogin, Identity, NewIdentity, NewReset, NewSession, PasswordHolder, ResetPurpose, SessionProof,
};
use crate::time::Timestamp;

impl AuditEntry {
    /// A password that its user has set, now or with a token of the operator.
    pub fn password_set(holder: &PasswordHolder) -> Self {
        let (user, tenant) = (holder.user.id, AuditTenant::Organization(holder.user.organization));
        Self::new(AuditAction::PasswordSet, user, user, tenant, holder.password_set_at)
    }

    /// A token of the operator with which a user may set a password or log in.
    pub fn password_reset_issued(new: &NewReset) -> Self {
        let tenant = AuditTenant::of_user(new.user);
        let action = match new.purpose {
            ResetPurpose::Password => AuditAction::PasswordResetIssued,
            ResetPurpose::LogIn => AuditAction::LoginCodeIssued,
        };
        Self::new(action, Actor::Operator, new.user, tenant, new.now)
    }

    /// An identity that was linked to a user.
    pub fn identity_linked(new: &NewIdentity) -> Self {
        let tenant = AuditTenant::of_user(new.user);
        Self::new(AuditAction::IdentityLinked, new.by, new.user, tenant, new.now)
            .with_detail(new.identity.issuer().to_owned())
    }

    /// An identity that the operator took from a user.
    pub fn identity_unlinked(user: UserId, identity: &Identity, now: Timestamp) -> Self {
        let tenant = AuditTenant::of_user(user);
        Self::new(AuditAction::IdentityUnlinked, Actor::Operator, user, tenant, now)
            .with_detail(identity.issuer().to_owned())
    }

    /// A session that a user opened by logging in.
    pub fn login_succeeded(new: &NewSession) -> Self {
        let NewSession { id, user, address, now, .. } = *new;
        let provider = match &new.proof {
            SessionProof::Identity(identity, _) => Some(format!("provider={}", identity.issuer())),
            SessionProof::Code(_) => Some("code".to_owned()),
            SessionProof::Password(_) | SessionProof::Key(_) => None,
        };
        let parts = address.map(detail_of).into_iter().chain(provider).collect::<Vec<_>>();
        let detail = (!parts.is_empty()).then(|| parts.join(" "));
        Self { detail, ..Self::of_session(AuditAction::LoginSucceeded, user, user, id, now) }
    }

    /// A refresh token that was presented a second time, by a client with a copy of it.
    pub fn token_reused(user: UserId, session: SessionId, now: Timestamp) -> Self {
        Self::of_session(AuditAction::TokenReused, Actor::Anonymous, user, session, now)
    }

    /// A session that its user ended, by logging out or from another one.
    pub fn session_ended(user: UserId, session: SessionId, now: Timestamp) -> Self {
        Self::of_session(AuditAction::SessionEnded, user, user, session, now)
    }

    /// A session that ended because its user logged out at the provider.
    pub fn session_ended_at_provider(user: UserId, session: SessionId, issuer: &str, now: Timestamp) -> Self {
        Self::of_session(AuditAction::SessionEnded, Actor::Server, user, session, now)
            .with_detail(format!("provider={issuer}"))
    }

    fn of_session(
        action: AuditAction,
        actor: impl Into<Actor>,
        user: UserId,
        session: SessionId,
        at: Timestamp,
    ) -> Self {
        Self::new(action, actor, user, AuditTenant::of_user(user), at).in_place(AuditObject::Session(session))
    }

    /// Wrong passwords for an account, or for unknown names, which are not stored.
    pub fn login_failed(failed: &FailedLogin, count: u64, now: Timestamp) -> Self {
        let FailedLogin { user, address, provider } = failed;
        let provider = provider.as_ref().map(|provider| format!("provider={provider}"));
        let (subject, tenant) = match user {
            Some(user) => (AuditObject::User(*user), AuditTenant::of_user(*user)),
            None => (AuditObject::Installation, AuditTenant::Installation),
        };
        let parts = address.map(detail_of).into_iter().chain(provider).chain([format!("count={count}")]);
        Self::new(AuditAction::LoginFailed, Actor::Anonymous, subject, tenant, now)
            .with_detail(parts.collect::<Vec<_>>().join(" "))
    }

    /// Wrong passwords for more accounts, or from more addresses, than there are entries for.
    pub fn logins_failed_elsewhere(count: u64, now: Timestamp) -> Self {
        Self::login_failed(&FailedLogin::of(None, None), count, now)
    }
}

fn detail_of(address: IpAddr) -> String {
    format!("address={address}")
}
