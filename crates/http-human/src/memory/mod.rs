//! `/memories`: what agents remember of the caller and of those around them.

mod change;
mod list;

pub(crate) use change::{archive, find, remove, restore, supersede};
pub(crate) use list::{ListMemoriesQuery, list};
