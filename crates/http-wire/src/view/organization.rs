//! Organizations, members and invitations.

use domain::id::{InvitationId, OrganizationId, UserId};
use domain::message::{MaxHops, MaxPairMessages};
use domain::organization::{Invitation, Invited, Member, OrganizationOf, Pause, QuotaUse};
use domain::plan::Plan;
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;
use crate::public_url::PublicUrl;

/// The quotas and features of an organization. Null means no limit.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PlanView<'a> {
    name: &'a str,
    /// Maximum number of agents of all members.
    agents: Option<u32>,
    /// Maximum number of active chats that members and their agents created.
    chats: Option<u32>,
    /// Maximum number of participants in a chat.
    participants: Option<u32>,
    /// Maximum number of texts and events in a chat.
    messages: Option<u32>,
    /// Maximum number of bytes of all messages and memories.
    bytes: Option<u64>,
    /// Whether memories are available.
    memories: bool,
}

impl<'a> PlanView<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self {
            name: plan.name.as_str(),
            agents: plan.agents,
            chats: plan.chats,
            participants: plan.participants,
            messages: plan.messages,
            bytes: plan.bytes,
            memories: plan.memories,
        }
    }
}

/// A pause of an organization: every agent in its rooms is stopped.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PauseView<'a> {
    #[schema(value_type = super::Instant)]
    since: Shown<Timestamp>,
    reason: &'a str,
}

impl<'a> PauseView<'a> {
    pub(super) fn new(pause: &'a Pause) -> Self {
        Self { since: Shown(pause.since), reason: &pause.reason }
    }
}

/// What an organization has used of its plan.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
struct QuotaUseView {
    /// Number of agents.
    agents: u64,
    /// Number of active chats.
    chats: u64,
    /// Bytes of all messages and memories, as counted last.
    bytes: u64,
}

/// The caller's organization.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct OrganizationView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<OrganizationId>,
    name: &'a str,
    /// Role of the caller: `admin` or `member`.
    role: &'static str,
    /// Number of members.
    members: u64,
    plan: PlanView<'a>,
    /// What the organization has used of its plan; only for admins, otherwise null.
    used: Option<QuotaUseView>,
    /// Null unless the organization is paused.
    pause: Option<PauseView<'a>>,
    /// The number of messages that may follow from one another in its rooms before the next one of an agent is held;
    /// 0 for no limit. Null for that of the server.
    max_hops: Option<u32>,
    /// The number of texts without a known cause that two agents may send each other in its rooms within ten minutes
    /// before the next ones are held; 0 for no limit. Null for that of the server.
    max_pair_messages: Option<u32>,
    /// What holds for messages that follow from those of other organizations: `allow`, `label`, or `hold`.
    foreign: &'static str,
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
            used: organization.used.map(|QuotaUse { agents, chats, bytes }| QuotaUseView {
                agents,
                chats,
                bytes,
            }),
            pause: organization.pause.as_ref().map(PauseView::new),
            max_hops: organization.max_hops.map(MaxHops::get),
            max_pair_messages: organization.max_pair_messages.map(MaxPairMessages::get),
            foreign: organization.foreign.as_str(),
            inserted_at: Shown(organization.created_at),
        }
    }
}

/// A member of the caller's organization.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct MemberView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<UserId>,
    handle: &'a str,
    name: &'a str,
    /// `admin` or `member`.
    role: &'static str,
    /// When the user joined the organization.
    #[schema(value_type = super::Instant)]
    joined_at: Shown<Timestamp>,
    /// When the account was created.
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
            joined_at: Shown(member.joined_at),
            inserted_at: Shown(member.created_at),
        }
    }
}

/// An invitation, without its token.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct InvitationView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<InvitationId>,
    /// Role of the invited user: `admin` or `member`.
    role: &'static str,
    /// Email address of the only user who can accept the invitation. If null, anyone who has the token can.
    email: Option<&'a str>,
    /// `open`, `accepted`, `revoked`, or `expired`.
    status: &'static str,
    /// User who created the invitation. Null for the operator of the server.
    #[schema(value_type = Option<super::Id>)]
    created_by: Option<Shown<UserId>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// When the invitation expires.
    #[schema(value_type = super::Instant)]
    expires_at: Shown<Timestamp>,
    /// When the invitation was accepted. Null if it was not.
    #[schema(value_type = Option<super::Instant>)]
    accepted_at: Option<Shown<Timestamp>>,
    /// User who accepted the invitation. Null if nobody did.
    #[schema(value_type = Option<super::Id>)]
    accepted_by: Option<Shown<UserId>>,
    /// When the invitation was revoked. Null if it was not.
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

/// A new invitation. The token is shown only in this response.
#[derive(Serialize, utoipa::ToSchema)]
pub struct InvitedView<'a> {
    invitation: InvitationView<'a>,
    /// Token for accepting the invitation.
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
