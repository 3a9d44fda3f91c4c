//! `/contacts`: the caller's contacts and the requests that lead to them.

mod answer;
mod list;
mod remove;
mod requests;
mod resolve;
mod send;

pub(crate) use answer::{approve, cancel, reject, withdraw};
pub(crate) use list::{ListContactsQuery, list};
pub(crate) use remove::{remove, remove_named};
pub(crate) use requests::{ReceivedQuery, SentQuery, received, sent};
pub(crate) use resolve::resolve;
pub(crate) use send::send;
