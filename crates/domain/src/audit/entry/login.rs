//! Entries about passwords, sessions and failed log-ins.

use std::net::IpAddr;

use super::{Actor, AuditEntry, AuditObject, AuditTenant};
use crate::audit::AuditAction;
use crate::id::{SessionId, UserId};
use crate::login::{
    ChangeSecondFactor, FactorChange, FailedLogin, Identity, NewIdentity, NewReset, NewSession, Passkey,
    PasswordHolder, Refused, RemovePasskeys, ResetPurpose, SecondFactor, SecondProof, SessionProof,
};
use crate::time::Timestamp;

impl AuditEntry {
    /// A password that its user has set, now or with a token of the operator, or that the operator has replaced.
    pub fn password_set(holder: &PasswordHolder, by: Actor) -> Self {
        let (user, tenant) = (holder.user.id, AuditTenant::Organization(holder.user.organization));
        Self::new(AuditAction::PasswordSet, by, user, tenant, holder.password_set_at)
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

    /// A change of a second factor, unless it is pending before and after it.
    pub fn second_factor_changed(
        command: &ChangeSecondFactor,
        before: Option<&SecondFactor>,
    ) -> Option<Self> {
        let ChangeSecondFactor { user, change, by, now } = command;
        let action = match change {
            FactorChange::Begin(_) => return None,
            FactorChange::Enable { .. } => AuditAction::SecondFactorEnabled,
            FactorChange::RenewRecoveryCodes { .. } => AuditAction::RecoveryCodesRenewed,
            FactorChange::Remove(_) => before?.enabled_at.map(|_| AuditAction::SecondFactorRemoved)?,
        };
        Some(Self::new(action, *by, *user, AuditTenant::of_user(*user), *now))
    }

    /// The use of a code for a log-in, a new password, or a change of passkeys; only recovery codes are recorded.
    pub fn code_used(user: UserId, proof: &SecondProof, left: &SecondFactor, now: Timestamp) -> Option<Self> {
        let tenant = AuditTenant::of_user(user);
        matches!(proof, SecondProof::RecoveryCode(_)).then(|| {
            let left = format!("left={}", left.recovery_codes.len());
            Self::new(AuditAction::RecoveryCodeUsed, user, user, tenant, now).with_detail(left)
        })
    }

    /// A passkey that its user has added.
    pub fn passkey_added(passkey: &Passkey) -> Self {
        let (user, at) = (passkey.user, passkey.created_at);
        Self::new(AuditAction::PasskeyAdded, user, user, AuditTenant::of_user(user), at)
            .with_detail(passkey.name.as_str().to_owned())
    }

    /// A passkey that was removed.
    pub fn passkey_removed(command: &RemovePasskeys, passkey: &Passkey) -> Self {
        let RemovePasskeys { user, by, now, .. } = *command;
        Self::new(AuditAction::PasskeyRemoved, by, user, AuditTenant::of_user(user), now)
            .with_detail(passkey.name.as_str().to_owned())
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
        let proof = match &new.proof {
            SessionProof::Identity(identity, _) => Some(format!("provider={}", identity.issuer())),
            SessionProof::Code(_) => Some("code".to_owned()),
            SessionProof::Passkey(_) => Some("passkey".to_owned()),
            SessionProof::Password(_, SecondProof::Totp(..)) => Some("second_factor".to_owned()),
            SessionProof::Password(_, SecondProof::RecoveryCode(_)) => Some("recovery_code".to_owned()),
            SessionProof::Password(_, SecondProof::None | SecondProof::Exempt) | SessionProof::Key(_) => None,
        };
        let parts = address.map(detail_of).into_iter().chain(proof).collect::<Vec<_>>();
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

    /// Wrong passwords or codes for an account, or wrong passwords for unknown names, which are not stored; or refused
    /// passkeys.
    pub fn login_failed(failed: &FailedLogin, count: u64, now: Timestamp) -> Self {
        let FailedLogin { user, address, refused } = failed;
        let refused = match refused {
            Refused::Password => None,
            Refused::Code => Some("second_factor".to_owned()),
            Refused::Passkey => Some("passkey".to_owned()),
            Refused::Provider(name) => Some(format!("provider={name}")),
        };
        let (subject, tenant) = match user {
            Some(user) => (AuditObject::User(*user), AuditTenant::of_user(*user)),
            None => (AuditObject::Installation, AuditTenant::Installation),
        };
        let parts = address.map(detail_of).into_iter().chain(refused);
        let parts = parts.chain([format!("count={count}")]);
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
