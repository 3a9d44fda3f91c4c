//! `/memories`: memories of the agent and of its organization.

mod list;
mod remove;
mod store;

pub(crate) use list::{ListMemoriesQuery, list};
pub(crate) use remove::remove;
pub(crate) use store::store;
