//! `/memories`: memories of agents about the caller, and of the caller's organization.

mod change;
mod list;

pub(crate) use change::{remove, restore};
pub(crate) use list::{ListMemoriesQuery, list};
