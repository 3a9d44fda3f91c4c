//! Organizations: members, their roles, and how they enter and leave.
//!
//! Every user belongs to exactly one organization; agents belong to that of their owner. A *member*
//! has a role in it: an *admin* renames it, invites users, assigns roles, and removes members; all
//! others are plain members. A user enters by an *invitation*, which the user accepts, or through
//! the operator; an admin alone cannot move a user.
//!
//! A user who leaves or is removed returns to the organization that was created for the user, or to
//! a new one if others are in that by now; so every user belongs to one. The user's agents and
//! memberships of chats move along. Chats count permanently for the organization in which they were
//! created; memories stay where they were stored. The agents must fit into the plan of the
//! organization that a user enters; a return is never refused. Earlier tokens become invalid, and
//! what they opened ends. An organization without members stays, for its chats, memories, and audit
//! log; only its open invitations end.
//!
//! An organization can be *paused*: every agent in every one of its chats counts as stopped ([`crate::control`]),
//! whichever organization the agent belongs to.
//!
//! Invariants: an organization with members has an admin among them ([`role`]); an invitation is
//! accepted once, while it is open, by the address it was made for ([`invitation`]); a user who
//! leaves has no open invitations left, and cannot return by an own one.

mod authority;
mod delete;
mod enter;
pub mod invitation;
mod invite;
mod leave;
mod members;
mod pause;
mod port;
pub mod role;
mod service;

pub use authority::Authority;
pub use delete::{DeleteOrganizationError, OrganizationDeletion, deleted_name};
pub use enter::{AcceptError, EnterError};
pub use invitation::{Invitation, InvitationRefused, InvitationStatus};
pub use invite::{
    DEFAULT_INVITATION_LIFETIME, Invite, InviteError, Invited, ListInvitationsError, MAX_INVITATION_LIFETIME,
    RevokeInvitationError,
};
pub use leave::LeaveError;
pub use members::{CreateOrganizationError, RenameError, SetRoleError};
pub use pause::{Pause, PauseError, PauseReason};
pub use port::{
    CreateOrganizationRefused, DeleteOrganization, DeleteOrganizationRefused, Depart, DepartRefused, Enter,
    EnterBy, EnterRefused, InvitationRepository, InviteRefused, MAX_INVITATIONS, Member, MemberRepository,
    Moved, NewInvitation, NewOrganization, OrganizationChanges, OrganizationOf, OrganizationRepository,
    QuotaUse, RenameOrganization, RenameOrganizationRefused, RevokeInvitation, RevokeInvitationRefused,
    SetPaused, SetRole, SetRoleRefused,
};
pub use role::{LastAdmin, NotAdmin, OrganizationRole, Others};
pub use service::OrganizationService;
