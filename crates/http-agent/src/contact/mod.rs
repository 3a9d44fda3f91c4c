//! `/contacts`: the agent's contacts and the requests that lead to them.
//!
//! Two forms are served: the published one (`add`, `remove`, `respond`, both directions in one
//! list) and that of the human interface.

mod list;
mod requests;
mod resolve;
mod respond;
mod send;

pub(crate) use list::list;
pub(crate) use requests::{Both, BothMetadata, ListBothQuery, both, received, sent};
pub(crate) use resolve::resolve;
pub(crate) use respond::respond;
pub(crate) use send::{add, send};
