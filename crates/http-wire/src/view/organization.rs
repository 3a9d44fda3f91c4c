//! Organizations, members and invitations.

use domain::id::{InvitationId, OrganizationId, UserId};
use domain::organization::{Invitation, Invited, Member, OrganizationOf};
use domain::plan::Plan;
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;
use crate::public_url::PublicUrl;

/// What an organization may use; null is no limit.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
struct PlanView<'a> {
    name: &'a str,
    /// Agents of all its members.
    agents: Option<u32>,
    /// Active chats that its members and their agents have made in it.
    chats: Option<u32>,
    /// Participants of one chat.
    participants: Option<u32>,
    /// Texts and events of one chat.
    messages: Option<u32>,
    /// Whether memories may be kept.
    memories: bool,
}

impl<'a> PlanView<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self {
            name: plan.name.as_str(),
            agents: plan.agents,
            chats: plan.chats,
            participants: plan.participants,
            messages: plan.messages,
            memories: plan.memories,
        }
    }
}

/// The caller's organization.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct OrganizationView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<OrganizationId>,
    name: &'a str,
    /// What the caller is there: `admin` or `member`.
    role: &'static str,
    /// How many members it has.
    members: u64,
    plan: PlanView<'a>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

impl<'a> OrganizationView<'a> {
    /// Shows `organization`.
    pub fn new(organization: &'a OrganizationOf) -> Self {
        Self {
            id: Shown(organization.id),
            name: &organization.name,
            role: organization.role.as_str(),
            members: organization.members,
            plan: PlanView::new(&organization.plan),
            inserted_at: Shown(organization.created_at),
        }
    }
}

/// Somebody in the caller's organization.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct MemberView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<UserId>,
    handle: &'a str,
    name: &'a str,
    /// `admin` or `member`.
    role: &'static str,
    /// When their account was made.
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

impl<'a> MemberView<'a> {
    /// Shows `member`.
    pub fn new(member: &'a Member) -> Self {
        Self {
            id: Shown(member.id),
            handle: member.handle.as_str(),
            name: &member.name,
            role: member.role.as_str(),
            inserted_at: Shown(member.created_at),
        }
    }
}

/// An invitation, without its token.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct InvitationView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<InvitationId>,
    /// What its guest becomes: `admin` or `member`.
    role: &'static str,
    /// Who alone may accept it; null for whoever has the token.
    email: Option<&'a str>,
    /// `open`, `accepted`, `revoked` or `expired`.
    status: &'static str,
    /// Who made it; null if whoever runs the server did.
    #[schema(value_type = Option<super::Id>)]
    created_by: Option<Shown<UserId>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// Until when it may be accepted.
    #[schema(value_type = super::Instant)]
    expires_at: Shown<Timestamp>,
    /// When it was accepted.
    #[schema(value_type = Option<super::Instant>)]
    accepted_at: Option<Shown<Timestamp>>,
    /// By whom.
    #[schema(value_type = Option<super::Id>)]
    accepted_by: Option<Shown<UserId>>,
    /// Since when it is good for nothing.
    #[schema(value_type = Option<super::Instant>)]
    revoked_at: Option<Shown<Timestamp>>,
}

impl<'a> InvitationView<'a> {
    /// Shows what `invitation` is at `now`.
    pub fn new(invitation: &'a Invitation, now: Timestamp) -> Self {
        Self {
            id: Shown(invitation.id),
            role: invitation.role.as_str(),
            email: invitation.email.as_deref(),
            status: invitation.status(now).as_str(),
            created_by: invitation.created_by.map(Shown),
            inserted_at: Shown(invitation.created_at),
            expires_at: Shown(invitation.expires_at),
            accepted_at: invitation.accepted.map(|(at, _)| Shown(at)),
            accepted_by: invitation.accepted.map(|(_, by)| Shown(by)),
            revoked_at: invitation.revoked_at.map(Shown),
        }
    }
}

/// A new invitation; its token is shown here and never again.
#[derive(Serialize, utoipa::ToSchema)]
pub struct InvitedView<'a> {
    invitation: InvitationView<'a>,
    /// What the guest accepts it with.
    token: &'a str,
    /// The page that tells the guest how, with the token behind `#`; null if no `public_url` is set.
    link: Option<String>,
}

impl<'a> InvitedView<'a> {
    /// Shows `invited`, the token included.
    pub fn new(invited: &'a Invited, at: Option<&PublicUrl>) -> Self {
        let invitation = InvitationView::new(&invited.invitation, invited.invitation.created_at);
        let token = invited.token.reveal();
        Self { invitation, token, link: at.map(|at| at.invitation(token)) }
    }
}
