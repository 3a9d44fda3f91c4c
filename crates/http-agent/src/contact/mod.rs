//! `/contacts`: the agent's contacts and the requests that lead to them.
//!
//! Two forms are served: the published one (`add`, `remove`, `respond`, both directions in one
//! list) and one that is the human interface's, path by path.

mod answer;
mod list;
mod remove;
mod requests;
mod resolve;
mod send;

pub(crate) use answer::{approve, cancel, reject, respond, withdraw};
pub(crate) use list::{ListContactsQuery, list};
pub(crate) use remove::{remove, remove_named};
pub(crate) use requests::{
    Both, BothMetadata, ListBothQuery, ReceivedQuery, SentQuery, both, received, sent,
};
pub(crate) use resolve::resolve;
pub(crate) use send::{add, send};
