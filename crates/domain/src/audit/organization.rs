//! Entries about organizations, their members and their invitations.

use super::action::AuditAction;
use super::entry::{Actor, AuditEntry, AuditObject, AuditTenant};
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::organization::{
    Authority, DeleteOrganization, Depart, Enter, EnterBy, NewInvitation, NewOrganization, OrganizationRole,
    RenameOrganization, RevokeInvitation, SetRole,
};
use crate::time::Timestamp;

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

    /// An organization that has another name.
    pub fn organization_renamed(command: &RenameOrganization) -> Self {
        let organization = command.by.organization();
        let action = AuditAction::OrganizationRenamed;
        let entry = Self::of_organization(action, command.by.into(), organization, command.now);
        Self { detail: Some(command.name.as_str().to_owned()), ..entry }
    }

    fn of_organization(
        action: AuditAction,
        actor: Actor,
        organization: OrganizationId,
        at: Timestamp,
    ) -> Self {
        Self {
            at,
            actor,
            action,
            subject: AuditObject::Organization(organization),
            place: None,
            detail: None,
            tenant: AuditTenant::Organization(organization),
        }
    }

    /// A member who has another role.
    pub fn role_set(command: &SetRole) -> Self {
        let organization = command.by.organization();
        let action = AuditAction::RoleSet;
        let entry = Self::of_member(action, command.by.into(), command.member, organization, command.now);
        Self { detail: Some(command.role.as_str().to_owned()), ..entry }
    }

    /// A member who has left or was removed, for the previous organization.
    pub fn member_departed(command: &Depart) -> Self {
        let (action, actor) = match command.by {
            Some(by) if by.user() != Some(command.member) => (AuditAction::MemberRemoved, by.into()),
            _ => (AuditAction::MemberLeft, command.member.into()),
        };
        Self::of_member(action, actor, command.member, command.organization, command.now)
    }

    /// A user who has returned to an own organization, for that organization.
    pub fn member_returned(command: &Depart, own: OrganizationId) -> Self {
        let actor = command.by.map_or_else(|| command.member.into(), Actor::from);
        let action = AuditAction::MemberJoined;
        let entry = Self::of_member(action, actor, command.member, own, command.now);
        Self { detail: Some(OrganizationRole::Admin.as_str().to_owned()), ..entry }
    }

    /// A user who has entered an organization, for the previous and the new one.
    pub fn member_entered(
        command: &Enter,
        from: OrganizationId,
        to: OrganizationId,
        role: OrganizationRole,
    ) -> [Self; 2] {
        let (actor, gone) = match command.by {
            EnterBy::Invitation(_) => (command.user.into(), AuditAction::MemberLeft),
            EnterBy::Operator(..) => (Actor::Operator, AuditAction::MemberRemoved),
        };
        let came = Self::of_member(AuditAction::MemberJoined, actor, command.user, to, command.now);
        let went = Self::of_member(gone, actor, command.user, from, command.now);
        [went, Self { detail: Some(role.as_str().to_owned()), ..came }]
    }

    fn of_member(
        action: AuditAction,
        actor: Actor,
        member: UserId,
        organization: OrganizationId,
        at: Timestamp,
    ) -> Self {
        Self {
            subject: AuditObject::User(member),
            place: Some(AuditObject::Organization(organization)),
            ..Self::of_organization(action, actor, organization, at)
        }
    }

    /// An invitation that was made.
    pub fn invitation_created(new: &NewInvitation) -> Self {
        let entry = Self::of_invitation(AuditAction::InvitationCreated, new.by, new.id, new.now);
        Self { detail: Some(new.role.as_str().to_owned()), ..entry }
    }

    /// An invitation that was revoked.
    pub fn invitation_revoked(command: &RevokeInvitation) -> Self {
        Self::of_invitation(AuditAction::InvitationRevoked, command.by, command.id, command.now)
    }

    fn of_invitation(action: AuditAction, by: Authority, id: InvitationId, at: Timestamp) -> Self {
        let organization = by.organization();
        Self {
            subject: AuditObject::Invitation(id),
            place: Some(AuditObject::Organization(organization)),
            ..Self::of_organization(action, by.into(), organization, at)
        }
    }
}
