//! Entries about users, agents and their keys.

use super::{Actor, AuditEntry, AuditObject, AuditTenant};
use crate::account::{
    Agent, AgentChanges, AgentMarks, DeleteAgent, DeleteUser, KeyRecord, MarkAgent, NewAgent, NewKey,
    NewUser, SetDisabled, UpdateAgent, User,
};
use crate::audit::AuditAction;
use crate::control::SetAgentPaused;
use crate::delivery::{Claims, MaxAttempts};
use crate::id::{AgentId, ApiKeyId, OrganizationId, ParticipantId, UserId};
use crate::notification::{ChannelEnd, NotificationChannel};
use crate::push::{PushConfig, PushRemoval, RemovePushConfig, SetPushConfig};
use crate::time::Timestamp;
use crate::webhook::{ChangeWebhook, DisabledReason, Resend, WebhookStep};

impl AuditEntry {
    /// A user who was made, in the organization that `user` names. The detail is `operator` for an operator.
    pub fn user_created(new: &NewUser, user: &User) -> Self {
        let tenant = AuditTenant::Organization(user.organization);
        let entry = Self::new(AuditAction::UserCreated, new.by, user.id, tenant, user.created_at)
            .in_place(AuditObject::Organization(user.organization));
        if user.is_operator() { entry.with_detail("operator") } else { entry }
    }

    /// A user that the operator has deleted.
    pub fn user_deleted(command: &DeleteUser) -> Self {
        let tenant = AuditTenant::of_user(command.user);
        Self::new(AuditAction::UserDeleted, Actor::Operator, command.user, tenant, command.now)
    }

    /// A user or an agent that the operator has disabled, or enabled.
    pub fn account_disabled(command: &SetDisabled) -> Self {
        let action =
            if command.disabled { AuditAction::AccountDisabled } else { AuditAction::AccountEnabled };
        Self::new(action, command.by, command.who, AuditTenant::Of(command.who), command.now)
    }

    /// An access token that the operator has issued for a user.
    pub fn token_issued(user: UserId, expires_at: Timestamp, now: Timestamp) -> Self {
        Self::new(AuditAction::TokenIssued, Actor::Operator, user, AuditTenant::of_user(user), now)
            .with_detail(expires_at.to_string())
    }

    /// An agent that was registered.
    pub fn agent_registered(new: &NewAgent, organization: OrganizationId) -> Self {
        let (subject, tenant) = (AuditObject::Agent(new.id), AuditTenant::Organization(organization));
        Self::new(AuditAction::AgentRegistered, new.by, subject, tenant, new.now)
    }

    /// An agent that the operator has marked.
    pub fn agent_marked(command: &MarkAgent, agent: &Agent) -> Self {
        let AgentMarks {
            is_global,
            shared_with_organization,
            listed_in_directory,
            max_attempts,
            claims,
            a2a,
        } = command.marks;
        let marks = [
            ("global", is_global),
            ("shared", shared_with_organization),
            ("listed", listed_in_directory),
            ("a2a", a2a),
        ];
        let agent = ParticipantId::Agent(agent.id);
        Self::new(AuditAction::AgentMarked, Actor::Operator, agent, AuditTenant::Of(agent), command.now)
            .with_detail(
                marks
                    .into_iter()
                    .filter_map(flag)
                    .chain(max_attempts.map(limit))
                    .chain(claims.map(claims_set))
                    .collect::<Vec<_>>()
                    .join(" "),
            )
    }

    /// An agent that its owner has changed.
    pub fn agent_updated(command: &UpdateAgent) -> Self {
        // Names every field, so that a new one is recorded as well.
        let AgentChanges {
            name,
            description,
            model_type,
            bio,
            tags,
            listed_in_directory,
            registry_access,
            shared_with_organization,
            foreign_access,
            max_attempts,
            claims,
            a2a,
        } = &command.changes;
        let texts = [
            ("name", name.is_some()),
            ("description", description.is_some()),
            ("model", model_type.is_some()),
            ("bio", bio.is_some()),
            ("tags", tags.is_some()),
        ];
        let flags = [
            ("shared", *shared_with_organization),
            ("listed", *listed_in_directory),
            ("registry", *registry_access),
            ("foreign", *foreign_access),
            ("a2a", *a2a),
        ];
        let texts = texts.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name.to_owned());
        let changes = texts.chain(flags.into_iter().filter_map(flag));
        let changes = changes.chain(max_attempts.map(limit)).chain(claims.map(claims_set));
        let (subject, tenant) = (AuditObject::Agent(command.agent), AuditTenant::of_user(command.owner));
        Self::new(AuditAction::AgentUpdated, command.owner, subject, tenant, command.now)
            .with_detail(changes.collect::<Vec<_>>().join(" "))
    }

    /// An agent of `owner` that was paused, for a reason, or resumed.
    pub fn agent_paused(command: &SetAgentPaused, owner: UserId) -> Self {
        let (subject, tenant) = (AuditObject::Agent(command.agent), AuditTenant::of_user(owner));
        let entry = |action| Self::new(action, command.by, subject, tenant, command.now);
        match &command.reason {
            Some(reason) => entry(AuditAction::AgentPaused).with_detail(reason.as_str()),
            None => entry(AuditAction::AgentResumed),
        }
    }

    /// The webhook of an agent that was set, changed, or removed. The address may contain a secret of the receiver, so only
    /// its beginning is recorded.
    pub fn webhook_changed(command: &ChangeWebhook) -> Self {
        let (subject, tenant) = (AuditObject::Agent(command.agent), AuditTenant::of_user(command.owner));
        let (action, detail) = webhook_step(&command.step);
        Self { detail, ..Self::new(action, command.by, subject, tenant, command.now) }
    }

    /// A webhook that the server has disabled.
    pub fn webhook_disabled(agent: AgentId, reason: DisabledReason, now: Timestamp) -> Self {
        let (subject, tenant) = (AuditObject::Agent(agent), AuditTenant::Of(ParticipantId::Agent(agent)));
        let entry = Self::new(AuditAction::WebhookDisabled, Actor::Server, subject, tenant, now);
        entry.with_detail(reason.as_str())
    }

    /// A delivery to a webhook that is sent again, or sooner.
    pub fn webhook_resent(command: &Resend) -> Self {
        let (subject, tenant) = (AuditObject::Agent(command.agent), AuditTenant::of_user(command.owner));
        let entry = Self::new(AuditAction::WebhookResent, command.by, subject, tenant, command.now);
        entry.with_detail(command.delivery.to_string())
    }

    /// A configuration of push notifications that a caller has made or changed. Of the address, only the beginning is
    /// recorded, as of a webhook.
    pub fn push_set(command: &SetPushConfig) -> Self {
        let (subject, tenant) = (AuditObject::Agent(command.task.agent), AuditTenant::of_user(command.user));
        let by = Actor::Participant(command.caller);
        let entry = Self::new(AuditAction::PushSet, by, subject, tenant, command.now);
        entry.with_detail(command.target.url.origin())
    }

    /// One that its caller has removed.
    pub fn push_removed(command: &RemovePushConfig, user: UserId) -> Self {
        let (subject, tenant) = (AuditObject::Agent(command.task.agent), AuditTenant::of_user(user));
        Self::new(AuditAction::PushRemoved, command.by(), subject, tenant, command.now)
    }

    /// One that the server has removed.
    pub fn push_ended(config: &PushConfig, reason: PushRemoval, now: Timestamp) -> Self {
        let (subject, tenant) = (AuditObject::Agent(config.task.agent), AuditTenant::of_user(config.user));
        let entry = Self::new(AuditAction::PushRemoved, Actor::Server, subject, tenant, now);
        entry.with_detail(reason.as_str())
    }

    /// A notification channel that its user has made. Of the address, only the beginning is recorded, as of a webhook.
    pub fn notification_channel_created(channel: &NotificationChannel) -> Self {
        let kind = channel.target.kind().as_str();
        let detail = match channel.target.url() {
            Some(url) => format!("{kind} {}", url.origin()),
            None => kind.to_owned(),
        };
        let (action, at) = (AuditAction::NotificationChannelCreated, channel.created_at);
        Self::of_notification_channel(action, channel, Actor::from(channel.user), detail, at)
    }

    /// One that its user has changed.
    pub fn notification_channel_changed(channel: &NotificationChannel) -> Self {
        let (action, at) = (AuditAction::NotificationChannelChanged, channel.updated_at);
        let detail = channel.target.kind().as_str();
        Self::of_notification_channel(action, channel, Actor::from(channel.user), detail, at)
    }

    /// One that its user has removed.
    pub fn notification_channel_removed(channel: &NotificationChannel, now: Timestamp) -> Self {
        let (action, detail) = (AuditAction::NotificationChannelRemoved, channel.target.kind().as_str());
        Self::of_notification_channel(action, channel, Actor::from(channel.user), detail, now)
    }

    /// One that the server has switched off.
    pub fn notification_channel_disabled(
        channel: &NotificationChannel,
        reason: ChannelEnd,
        now: Timestamp,
    ) -> Self {
        let action = AuditAction::NotificationChannelDisabled;
        let detail = format!("{} {}", channel.target.kind().as_str(), reason.as_str());
        Self::of_notification_channel(action, channel, Actor::Server, detail, now)
    }

    fn of_notification_channel(
        action: AuditAction,
        channel: &NotificationChannel,
        by: Actor,
        detail: impl Into<String>,
        now: Timestamp,
    ) -> Self {
        let (subject, tenant) = (AuditObject::User(channel.user), AuditTenant::of_user(channel.user));
        Self::new(action, by, subject, tenant, now).with_detail(detail)
    }

    /// An agent that was deleted.
    pub fn agent_deleted(command: &DeleteAgent) -> Self {
        let (subject, tenant) = (AuditObject::Agent(command.agent), AuditTenant::of_user(command.owner));
        Self::new(AuditAction::AgentDeleted, command.by, subject, tenant, command.now)
    }

    /// A key that was made; its limits and its expiry are the detail.
    pub fn key_created(by: Actor, key: &NewKey, holder: ParticipantId, now: Timestamp) -> Self {
        let scope = (!key.scope.is_full()).then(|| key.scope.to_string());
        let expiry = key.expires_at.map(|until| format!("expires_at={until}"));
        let detail = [scope, expiry].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let detail = (!detail.is_empty()).then_some(detail);
        Self { detail, ..Self::of_key(AuditAction::KeyCreated, by, key.id, holder, now) }
    }

    /// A key that was revoked.
    pub fn key_revoked(by: Actor, key: &KeyRecord, now: Timestamp) -> Self {
        Self::of_key(AuditAction::KeyRevoked, by, key.id, key.holder, now)
    }

    fn of_key(action: AuditAction, by: Actor, key: ApiKeyId, holder: ParticipantId, at: Timestamp) -> Self {
        Self::new(action, by, AuditObject::Key(key), AuditTenant::Of(holder), at).in_place(holder)
    }
}

/// A limit of attempts that was set, or removed.
fn limit(max_attempts: Option<MaxAttempts>) -> String {
    let number = max_attempts.map_or_else(|| "none".to_owned(), |max| max.get().to_string());
    format!("max_attempts={number}")
}

/// The claims that were set.
fn claims_set(claims: Claims) -> String {
    format!("claims={}", claims.as_str())
}

/// A flag that was set or cleared.
fn flag((name, is_set): (&str, Option<bool>)) -> Option<String> {
    is_set.map(|is_set| format!("{name}={is_set}"))
}

/// The action and the detail of a change of a webhook.
pub(super) fn webhook_step(step: &WebhookStep) -> (AuditAction, Option<String>) {
    match step {
        WebhookStep::Set { url, .. } => (AuditAction::WebhookSet, Some(url.origin().to_owned())),
        WebhookStep::Rotate { revoke_previous, .. } => {
            let detail = revoke_previous.then(|| "revoke_previous=true".to_owned());
            (AuditAction::WebhookSecretRotated, detail)
        }
        WebhookStep::Enable => (AuditAction::WebhookEnabled, None),
        WebhookStep::Remove => (AuditAction::WebhookRemoved, None),
    }
}
