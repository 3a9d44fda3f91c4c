//! `/memories`: what the agent and its organization remember.

mod change;
mod list;
mod store;

pub(crate) use change::{archive, find, remove, supersede};
pub(crate) use list::{ListMemoriesQuery, list};
pub(crate) use store::store;
