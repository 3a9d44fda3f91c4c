//! Organizations: who belongs together, who looks after it, and how somebody comes in and goes.
//!
//! Every user belongs to exactly one organization; its agents belong to wherever their owner does. A *member*
//! has a role in it: an *admin* names it, invites people, gives roles and removes members; everybody else is
//! there. Somebody comes in by an *invitation*, which they accept themselves, or because the operator says so;
//! never because an admin does.
//!
//! Somebody who goes, or is removed, falls back to the organization that was made for them, or to a fresh one if
//! others are in that by now; so everybody has a place. What moves with a user is what is the user's: the agents,
//! and the seats in rooms. Rooms count for good where they were made; memories stay where they were stored. The
//! agents must fit into the plan of the organization that one enters; nobody is held back by what they fall back
//! to. Tokens that were made before are good for nothing, and what was opened with them ends. An organization that
//! nobody belongs to any more stays, for its rooms, memories and audit log; only its open invitations end.
//!
//! Invariants: an organization that has members has an admin among them ([`role`]); an invitation is accepted
//! once, while it is open, by whom it is meant for ([`invitation`]); who goes leaves no open invitations
//! behind, so that nobody comes back by one of their own.

mod authority;
mod delete;
mod enter;
pub mod invitation;
mod invite;
mod leave;
mod members;
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
pub use port::{
    CreateOrganizationRefused, DeleteOrganization, DeleteOrganizationRefused, Depart, DepartRefused, Enter,
    EnterBy, EnterRefused, InviteRefused, MAX_INVITATIONS, Member, Moved, NewInvitation, NewOrganization,
    OrganizationOf, OrganizationRepository, RenameOrganization, RenameRefused, RevokeInvitation,
    RevokeInvitationRefused, SetRole, SetRoleRefused,
};
pub use role::{LastAdmin, NotAdmin, OrganizationRole, Others};
pub use service::OrganizationService;
