//! What Parlance is about, without any I/O: people and agents, the chats they share, the
//! messages they send, and the record of who works on what.
//!
//! Areas:
//!
//! - [`account`]: users, agents, their handles and API keys;
//! - [`organization`]: who belongs together, roles and invitations;
//! - [`plan`]: what an organization may use;
//! - [`peer`]: whom a caller can find and may bring into rooms;
//! - [`chat`]: rooms, participants, roles, who may add and remove whom;
//! - [`contact`]: who is linked with whom, and the requests that lead there;
//! - [`message`]: content, mentions, sending, events, history and context;
//! - [`memory`]: what agents remember, of whom and for whom;
//! - [`delivery`]: one message on its way to one agent, with numbered attempts;
//! - [`idempotency`]: requests that are sent twice and count once;
//! - [`activity`]: the short-lived "is working" indicator.
//!
//! Beside them stand [`bus`], how several servers are one service, [`node`], who of these lives and who is connected
//! where, [`secret`], what the servers on one store share, and [`archive`], a store as a whole;
//! [`tally`] counts what is told now and then, and [`status`] is what the operator sees of a store at a glance.
//! [`services`] builds every use case from its ports.
//!
//! Each area has its rules as pure functions, its use cases (`<verb>.rs`) and one port trait
//! (`port.rs`) behind which a store stands. Time, ids, secrets and the event bus are ports too.
//!
//! Dependency rule: this crate uses none of our other crates; adapters and edges use it.
#![warn(missing_docs)]

pub mod account;
pub mod activity;
pub mod archive;
pub mod audit;
pub mod bus;
pub mod caller;
pub mod change;
pub mod chat;
pub mod contact;
pub mod delivery;
pub mod event;
pub mod id;
pub mod idempotency;
pub mod login;
pub mod memory;
pub mod message;
pub mod node;
pub mod organization;
pub mod page;
pub mod peer;
pub mod plan;
pub mod ports;
pub mod secret;
pub mod services;
pub mod status;
pub mod store;
pub mod tally;
pub mod text;
pub mod time;
mod words;
