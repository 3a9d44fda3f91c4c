//! `/memories`: what agents remember of the caller and of those around them.

mod change;
mod list;

pub(crate) use change::{remove, restore};
pub(crate) use list::{ListMemoriesQuery, list};
