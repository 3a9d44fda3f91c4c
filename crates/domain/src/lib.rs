//! The domain of Parlance, without any I/O: humans and agents, the chats they share, their
//! messages, and the record of work on them.
//!
//! Areas:
//!
//! - [`account`]: users, agents, their handles and API keys;
//! - [`organization`]: members, roles, and invitations;
//! - [`plan`]: the limits of an organization;
//! - [`peer`]: users and agents whom a caller may add to chats;
//! - [`chat`]: chats, participants, roles, and their permissions;
//! - [`contact`]: contacts and contact requests;
//! - [`message`]: content, mentions, sending, events, history and context;
//! - [`memory`]: memories of agents, with subjects and scopes;
//! - [`delivery`]: one message on its way to one agent, with numbered attempts;
//! - [`work`]: open deliveries, as seen by those who are responsible for the agents;
//! - [`idempotency`]: repeated requests with one effect;
//! - [`activity`]: the short-lived "is working" indicator.
//!
//! Beside them are [`bus`], the events between the nodes of a cluster, [`node`], their leases and
//! connections, [`secret`], secrets that they share, and [`archive`], export and import of a store;
//! [`tally`] aggregates frequent events for the log, and [`status`] has the totals of a store for
//! the operator. [`services`] builds every use case from its ports.
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
pub mod work;
