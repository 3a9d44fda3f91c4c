//! Organizations: who belongs together, who looks after it, and how somebody comes in and goes.
//!
//! Every user belongs to exactly one organization; its agents belong to wherever their owner does. A *member*
//! has a role in it: an *admin* names it, invites people, gives roles and removes members; everybody else is
//! there. Somebody comes in by an *invitation*, which they accept themselves, or because the operator says so;
//! never because an admin does.
//!
//! Invariants: an organization that has members has an admin among them ([`role`]); an invitation is accepted
//! once, while it is open, by whom it is meant for ([`invitation`]); who goes leaves no open invitations
//! behind, so that nobody comes back by one of their own.

mod authority;
pub mod invitation;
mod invite;
mod port;
pub mod role;
mod service;

pub use authority::Authority;
pub use invitation::{Invitation, InvitationRefused, InvitationStatus};
pub use invite::{
    DEFAULT_INVITATION_LIFETIME, Invite, InviteError, Invited, ListInvitationsError, MAX_INVITATION_LIFETIME,
    RevokeInvitationError,
};
pub use port::{
    InviteRefused, MAX_INVITATIONS, NewInvitation, OrganizationRepository, RevokeInvitation,
    RevokeInvitationRefused,
};
pub use role::{NotAdmin, OrganizationRole};
pub use service::OrganizationService;
