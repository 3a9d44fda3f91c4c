//! Entries about organizations, their plans, members and invitations.

use super::account::webhook_step;
use super::chat::hops;
use super::{Actor, AuditEntry, AuditObject, AuditTenant};
use crate::audit::AuditAction;
use crate::budget::{Amount, Budget, SetBudgets};
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::organization::{
    Authority, DeleteOrganization, Depart, Enter, EnterBy, NewInvitation, NewOrganization,
    OrganizationChanges, OrganizationRole, RenameOrganization, RevokeInvitation, SetPaused, SetRole,
};
use crate::plan::PlanName;
use crate::time::Timestamp;
use crate::webhook::{ChangeOrganizationWebhook, DisabledReason, ResendEvent};

/// The maximum number of characters of the events of a webhook that are recorded.
const EVENTS_CHARS: usize = 300;

/// Who does what a rule on the claims of an identity provider says, if one does, and which provider.
fn by_claims(issuer: Option<&str>, otherwise: Actor) -> (Actor, Option<String>) {
    issuer.map_or((otherwise, None), |issuer| (Actor::Server, Some(format!("provider={issuer}"))))
}

impl From<Authority> for Actor {
    fn from(by: Authority) -> Self {
        by.user().map_or(Self::Operator, Self::from)
    }
}

impl AuditEntry {
    /// An organization that the operator has made.
    pub fn organization_created(new: &NewOrganization) -> Self {
        Self::of_organization(AuditAction::OrganizationCreated, Actor::Operator, new.id, new.now)
    }

    /// An organization that the operator has deleted. The entry must be written before the name goes.
    pub fn organization_deleted(command: &DeleteOrganization) -> Self {
        let action = AuditAction::OrganizationDeleted;
        Self::of_organization(action, Actor::Operator, command.organization, command.now)
    }

    /// An organization that has another name, limit, or policy, which is the detail: an entry for each.
    pub fn organization_renamed(command: &RenameOrganization) -> Vec<Self> {
        let RenameOrganization { by, changes, now } = command;
        let OrganizationChanges { name, max_hops, max_pair_messages, foreign } = changes;
        let name = name.as_ref().map(|name| (AuditAction::OrganizationRenamed, name.as_str().to_owned()));
        let max_hops = max_hops.map(|max| (AuditAction::OrganizationMaxHopsSet, hops(max)));
        let pairs = max_pair_messages.map(|max| {
            let detail = max.map_or_else(|| "none".to_owned(), |max| max.get().to_string());
            (AuditAction::OrganizationMaxPairMessagesSet, detail)
        });
        let foreign = foreign.map(|policy| (AuditAction::OrganizationForeignSet, policy.as_str().to_owned()));
        let entry = |(action, detail): (AuditAction, String)| {
            Self::of_organization(action, *by, by.organization(), *now).with_detail(&detail)
        };
        name.into_iter().chain(max_hops).chain(pairs).chain(foreign).map(entry).collect()
    }

    /// An organization whose budgets were set, an entry for each.
    pub fn budgets_set(command: &SetBudgets) -> Vec<Self> {
        let SetBudgets { by, changes, now } = command;
        let entry = |(budget, amount): &(Budget, Option<Amount>)| {
            let amount = amount.map_or_else(|| "none".to_owned(), |amount| amount.get().to_string());
            let action = AuditAction::OrganizationBudgetSet;
            let detail = format!("{} {amount}", budget.as_str());
            Self::of_organization(action, *by, by.organization(), *now).with_detail(&detail)
        };
        changes.iter().map(entry).collect()
    }

    /// An organization that was paused, for a reason, or resumed.
    pub fn organization_paused(command: &SetPaused) -> Self {
        let organization = command.by.organization();
        let entry = |action| Self::of_organization(action, command.by, organization, command.now);
        match &command.reason {
            Some(reason) => entry(AuditAction::OrganizationPaused).with_detail(reason.as_str()),
            None => entry(AuditAction::OrganizationResumed),
        }
    }

    /// A plan that an organization was given.
    pub fn plan_set(organization: OrganizationId, plan: &PlanName, by: Actor, now: Timestamp) -> Self {
        Self::of_organization(AuditAction::PlanSet, by, organization, now).with_detail(plan.as_str())
    }

    /// The webhook of an organization that was set, changed, or removed. Of the address, only the beginning is recorded, as of
    /// that of an agent's webhook; the events follow if they were given.
    pub fn organization_webhook_changed(command: &ChangeOrganizationWebhook) -> Self {
        let (action, detail) = webhook_step(&command.step);
        let detail = detail.map(|detail| match &command.events {
            Some(events) => format!("{detail} events={}", events.to_text(EVENTS_CHARS)),
            None => detail,
        });
        let by = command.by;
        Self { detail, ..Self::of_organization(action, by, by.organization(), command.now) }
    }

    /// The webhook of an organization that the server has disabled.
    pub fn organization_webhook_disabled(
        organization: OrganizationId,
        reason: DisabledReason,
        now: Timestamp,
    ) -> Self {
        let entry = Self::of_organization(AuditAction::WebhookDisabled, Actor::Server, organization, now);
        entry.with_detail(reason.as_str())
    }

    /// A delivery to the webhook of an organization that is sent again, or sooner.
    pub fn organization_webhook_resent(command: &ResendEvent) -> Self {
        let by = command.by;
        Self::of_organization(AuditAction::WebhookResent, by, by.organization(), command.now)
            .with_detail(command.delivery.to_string())
    }

    fn of_organization(
        action: AuditAction,
        actor: impl Into<Actor>,
        organization: OrganizationId,
        at: Timestamp,
    ) -> Self {
        let subject = AuditObject::Organization(organization);
        Self::new(action, actor, subject, AuditTenant::Organization(organization), at)
    }

    /// A member who has another role.
    pub fn role_set(command: &SetRole) -> Self {
        let organization = command.by.organization();
        let (actor, rule) = by_claims(command.issuer.as_deref(), command.by.into());
        Self::of_member(AuditAction::RoleSet, actor, command.member, organization, command.now).with_detail(
            [command.role.as_str().to_owned()].into_iter().chain(rule).collect::<Vec<_>>().join(" "),
        )
    }

    /// A member who has left or was removed, for the previous organization.
    pub fn member_departed(command: &Depart) -> Self {
        let (action, actor) = match command.by {
            Some(by) if by.user() != Some(command.member) => (AuditAction::MemberRemoved, Actor::from(by)),
            _ => (AuditAction::MemberLeft, command.member.into()),
        };
        Self::of_member(action, actor, command.member, command.organization, command.now)
    }

    /// A user who has returned to an own organization, for that organization.
    pub fn member_returned(command: &Depart, own: OrganizationId) -> Self {
        let actor = command.by.map_or_else(|| command.member.into(), Actor::from);
        Self::of_member(AuditAction::MemberJoined, actor, command.member, own, command.now)
            .with_detail(OrganizationRole::Admin.as_str())
    }

    /// A user who has entered an organization, for the previous and the new one.
    pub fn member_entered(
        command: &Enter,
        from: OrganizationId,
        to: OrganizationId,
        role: OrganizationRole,
    ) -> [Self; 2] {
        let (actor, exit) = match command.by {
            EnterBy::Invitation(_) => (command.user.into(), AuditAction::MemberLeft),
            EnterBy::Operator(..) => (Actor::Operator, AuditAction::MemberRemoved),
        };
        let (actor, reason) = by_claims(command.issuer.as_deref(), actor);
        let joined = Self::of_member(AuditAction::MemberJoined, actor, command.user, to, command.now);
        let left = Self::of_member(exit, actor, command.user, from, command.now);
        let role = role.as_str();
        match reason {
            Some(reason) => [left.with_detail(&reason), joined.with_detail(format!("{role} {reason}"))],
            None => [left, joined.with_detail(role)],
        }
    }

    fn of_member(
        action: AuditAction,
        actor: impl Into<Actor>,
        member: UserId,
        organization: OrganizationId,
        at: Timestamp,
    ) -> Self {
        Self::new(action, actor, member, AuditTenant::Organization(organization), at)
            .in_place(AuditObject::Organization(organization))
    }

    /// An invitation that was made.
    pub fn invitation_created(new: &NewInvitation) -> Self {
        Self::of_invitation(AuditAction::InvitationCreated, new.by, new.id, new.now)
            .with_detail(new.role.as_str())
    }

    /// An invitation that was revoked.
    pub fn invitation_revoked(command: &RevokeInvitation) -> Self {
        Self::of_invitation(AuditAction::InvitationRevoked, command.by, command.id, command.now)
    }

    fn of_invitation(action: AuditAction, by: Authority, id: InvitationId, at: Timestamp) -> Self {
        let (subject, organization) = (AuditObject::Invitation(id), by.organization());
        Self::new(action, by, subject, AuditTenant::Organization(organization), at)
            .in_place(AuditObject::Organization(organization))
    }
}
