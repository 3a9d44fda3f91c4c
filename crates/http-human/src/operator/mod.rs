//! `/api/v1/operator`: accounts, organizations, work, and the condition of the server, for operators. Nothing here
//! shows contents of rooms.

mod accounts;
mod organizations;
mod recent;
mod server;

use domain::account::Operator;
use http_wire::cursor::CursorScope;

pub(crate) use accounts::{
    ListAccountsQuery, disable_agent, disable_user, enable_agent, enable_user, list_agents, list_users,
    list_work, revoke_key,
};
pub(crate) use organizations::{AssignPlanBody, assign_plan, list_organizations, list_plans};
pub use recent::RecentAnswers;
pub(crate) use server::{
    ConnectionsMetadata, list_connections, list_disconnects, show_overview, show_throughput,
};

/// The scope of the cursors of a list.
fn cursors(list: &str, operator: Operator) -> CursorScope {
    CursorScope::list(&format!("operator/{list}")).of(operator.user().uuid())
}
