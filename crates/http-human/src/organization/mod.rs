//! `/organization`: the caller's organization, its members, its invitations, and its webhook.

mod accept;
mod budgets;
mod invitations;
mod members;
mod pause;
mod show;
mod webhook;

pub(crate) use accept::{AcceptBody, accept};
pub(crate) use budgets::{SetBudgetsBody, set_budgets, show_budgets};
pub(crate) use invitations::{InviteBody, invite, list_invitations, revoke_invitation};
pub(crate) use members::{SetRoleBody, leave, list_members, remove_member, set_role};
pub(crate) use pause::{PauseBody, pause, resume};
pub(crate) use show::{RenameBody, rename, show};
pub(crate) use webhook::{
    OrganizationWebhookBody, enable_webhook, find_webhook, list_event_deliveries, remove_webhook,
    resend_event, rotate_webhook_secret, set_webhook,
};
