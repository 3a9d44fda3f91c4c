//! The A2A server at `/a2a` (version 1.0 of the protocol, JSON-RPC and HTTP+JSON), over the same use cases as the REST
//! interfaces.
//!
//! An agent that its owner has listed (`a2a`) has a card, and takes tasks from callers with a key of this server. A *context*
//! is a room. A *task* is a text of the caller to the agent with all that follows from it in the room; its state follows from
//! the delivery of the caller's newest text in it. Only configurations of push notifications are stored for A2A alone.
//!
//! [`configure`] mounts it. `rpc` and `rest` read the requests of the two bindings and write their answers, `operation` runs
//! them; `session` holds the caller of one request, `task` derives a task from messages, `read` gets these from the store,
//! `follow` waits for their changes, and `stream` sends them as they happen. `push` keeps where callers want to be notified, and
//! [`Notifier`], one task of a server, sends the notifications.

mod cancel;
mod card;
mod failure;
mod follow;
mod list;
mod notify;
mod operation;
mod push;
mod read;
mod rest;
mod routes;
mod rpc;
mod send;
mod session;
mod slots;
mod stream;
mod task;

pub use notify::Notifier;
pub use routes::{Settings, configure};
