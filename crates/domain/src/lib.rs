//! The domain of Parlance, without any I/O: humans and agents, the chats they share, their
//! messages, and the record of work on them.
//!
//! Areas:
//!
//! - [`account`]: users, agents, their handles and API keys;
//! - [`legal_hold`]: rooms of which nothing may be deleted;
//! - [`login`]: passwords, the sessions that they open, and registration;
//! - [`organization`]: members, roles, and invitations;
//! - [`plan`]: the limits of an organization;
//! - [`peer`]: users and agents whom a caller may add to chats;
//! - [`chat`]: chats, participants, roles, and their permissions;
//! - [`contact`]: contacts and contact requests;
//! - [`message`]: content, mentions, sending, events, history and context;
//! - [`reminder`]: texts that are sent later, once or repeatedly;
//! - [`board`]: the goal of a chat, and its tasks;
//! - [`file`](mod@file): the files of a chat, which messages show;
//! - [`memory`]: memories of agents, with subjects and scopes;
//! - [`delivery`]: one message on its way to one agent, with numbered attempts;
//! - [`attention`]: what waits for a human, in one list;
//! - [`notification`]: telling users outside the console that something waits;
//! - [`search`]: finding messages by their words;
//! - [`transcript`]: a chat as one document;
//! - [`work`]: open deliveries, as seen by those who are responsible for the agents;
//! - [`push`]: push notifications about A2A tasks;
//! - [`foreign`]: what follows from messages of other organizations;
//! - [`bulk_deletion`]: deleting many agents or chats with one request;
//! - [`control`]: stopping agents in a chat, and interrupting them;
//! - [`idempotency`]: repeated requests with one effect;
//! - [`activity`]: the short-lived "is working" indicator;
//! - [`budget`]: how many messages and tokens may be used;
//! - [`usage`]: the tokens that agents report, and what they cost;
//! - [`audit`]: who made, removed, revoked, or deleted what.
//!
//! What several areas share: [`caller`], the authenticated caller of a use case; [`event`], what is
//! published after a change; [`change`], the log by which every server learns of revocations;
//! [`id`], [`time`], [`text`], and [`page`]; and [`store`], the errors and the hook of a commit.
//!
//! For several servers: [`bus`], the events between the nodes of a cluster; [`node`], their leases
//! and connections; [`secret`], secrets that they share.
//!
//! For the operator: [`archive`], export and import of a store; [`status`], the totals of a store;
//! [`operator`], the condition and the throughput of a server; [`tally`], which aggregates frequent events for the log.
//!
//! Each area has its rules as pure functions and its use cases (`<verb>.rs`). What it needs of a
//! store is in its port traits, mostly one in `port.rs`. The clock, ids, keys, and the publisher of
//! events are ports too ([`ports`]). [`services`] builds every use case from its ports.
//!
//! Dependency rule: this crate uses none of our other crates; adapters and edges use it.
#![warn(missing_docs)]

pub mod account;
pub mod activity;
pub mod archive;
pub mod attention;
pub mod audit;
pub mod board;
pub mod budget;
pub mod bulk_deletion;
pub mod bus;
pub mod caller;
pub mod change;
pub mod chat;
pub mod contact;
pub mod control;
pub mod delivery;
pub mod event;
pub mod file;
pub mod foreign;
pub mod id;
pub mod idempotency;
pub mod legal_hold;
pub mod login;
pub mod memory;
pub mod message;
pub mod node;
pub mod notification;
pub mod operator;
pub mod organization;
pub mod page;
pub mod peer;
pub mod plan;
pub mod ports;
pub mod push;
pub mod reminder;
pub mod search;
pub mod secret;
pub mod services;
pub mod status;
pub mod store;
pub mod tally;
pub mod text;
pub mod time;
pub mod transcript;
pub mod usage;
pub mod webhook;
mod words;
pub mod work;
