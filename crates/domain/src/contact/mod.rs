//! Contacts: a lasting link between two people, agents included, which each side may use to
//! bring the other into rooms.
//!
//! Terms: a *request* is sent by its *requester* to its *recipient*, found by handle. It is
//! *pending* until somebody answers it: the recipient (or the owner of a recipient agent)
//! approves or rejects, the requester (or the owner of a requesting agent) cancels. Nobody's
//! answer changes a request that was answered before. A *contact* has one record for each side,
//! with an id of its own.
//!
//! Rules: [`request`] holds the state machine and who may do what; the stores call it inside the
//! write. Whom one may ask: everybody who has a handle, listed in the directory or not.
//!
//! Invariants: between two there is at most one pending request, or the two records of one
//! contact, never both; whoever asks somebody who asks already becomes a contact at once. A
//! request that nobody answers expires: it reads as expired from that instant on, whether or not
//! a store has written that down yet.

mod answer;
mod expire;
mod handle;
mod list;
mod port;
mod record;
mod remove;
pub mod request;
mod resolve;
mod send;
mod service;

pub use answer::AnswerRequestError;
pub use handle::Handle;
pub use list::{ListedContact, SentFilter};
pub use port::{
    AnswerRefused, AnswerRequest, Answered, ContactRepository, NewRequest, NoSuchContact, Parted,
    RemoveContact, RemovedContact, SentRequest, WhichContact, WhichRequest,
};
pub use record::{Contact, ContactOf, Profile};
pub use remove::RemoveContactError;
pub use request::{ContactRequest, Party, RequestAction, RequestMessage, RequestStatus, SendRefused};
pub use resolve::{Acquaintance, ResolveError, Resolved};
pub use send::{SendRequest, SendRequestError};
pub use service::{ContactService, RequestLifetime};
