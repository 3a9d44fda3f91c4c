//! `/organization`: the caller's organization, its members, and its invitations.

mod accept;
mod budgets;
mod invitations;
mod members;
mod pause;
mod show;

pub(crate) use accept::{AcceptBody, accept};
pub(crate) use budgets::{SetBudgetsBody, set_budgets, show_budgets};
pub(crate) use invitations::{InviteBody, invite, list_invitations, revoke_invitation};
pub(crate) use members::{SetRoleBody, leave, list_members, remove_member, set_role};
pub(crate) use pause::{PauseBody, pause, resume};
pub(crate) use show::{RenameBody, rename, show};
