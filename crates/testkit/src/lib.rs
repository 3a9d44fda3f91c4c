//! Support for tests: a fixed clock, sequential ids, predictable keys, a publisher that records events, and
//! [`World`], every service on a store in memory.
//!
//! [`contract`] is the contract of every store, written once. [`document`] checks responses against the API
//! document. [`parity`] runs the same sequences of operations on two stores.
//! [`postgres`] finds or starts the database server for tests of the production store.
#![expect(clippy::unwrap_used, reason = "this crate is for tests, where a panic is the failure")]

pub mod bus;
pub mod contract;
mod devices;
pub mod document;
mod fakes;
mod fixture;
pub mod nats;
pub mod nodes;
pub mod notification_walk;
pub mod parity;
pub mod postgres;
pub mod push_walk;
pub mod sql;
mod tcp_ports;
mod waits;
pub mod webhook_walk;
mod world;

pub use devices::{FakeCeremonies, SoftwareDevice};
pub use fakes::{
    FixedClock, FixedHasher, FixedMint, FixedPresence, FixedWebhookMint, PlainTokens, RecordingPublisher,
    SequentialIds,
};
pub use fixture::Fixture;
pub use tcp_ports::free_port;
pub use waits::{elapse, pace, pace_thread, until, until_or};
pub use world::{NOON, Stores, TestAgent, TestUser, World};
