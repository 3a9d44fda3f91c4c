//! `/contacts`: the caller's contacts and the requests that lead to them.

mod list;
mod requests;
mod resolve;
mod send;

pub(crate) use list::{ListContactsQuery, list};
pub(crate) use requests::{received, sent};
pub(crate) use resolve::resolve;
pub(crate) use send::send;
