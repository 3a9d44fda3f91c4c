//! `/api-keys`: the caller's own API keys.

mod create;
mod list;
mod revoke;

pub(crate) use create::{CreateKeyBody, create};
pub(crate) use list::list;
pub(crate) use revoke::revoke;
