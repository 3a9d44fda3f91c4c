//! Contacts: a lasting link between two users or agents, which lets each side add the other to
//! chats.
//!
//! Terms: a *request* is sent by its *requester* to its *recipient*, found by handle. It is
//! *pending* until it is answered: the recipient (or the owner of a recipient agent) approves or
//! rejects, the requester (or the owner of a requesting agent) cancels. A request that was answered
//! cannot be changed. A *contact* has one record for each side, with an id of its own.
//!
//! Rules: [`request`] holds the state machine and the permissions; the stores call it inside the
//! write. Requests can be sent to every user and agent with a handle, listed in the directory or
//! not.
//!
//! Invariants: between two accounts there is at most one pending request, or the two records of one
//! contact, never both; a request in the opposite direction of a pending one makes a contact at
//! once. An unanswered request expires: it reads as expired from that time on, whether or not a
//! store has marked it yet.

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
