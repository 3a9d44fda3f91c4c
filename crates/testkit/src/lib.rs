//! What tests stand on: a clock that stands still, ids that count, keys that can be foreseen, a
//! publisher that remembers, and [`World`], every service on a store in memory.
//!
//! [`contract`] is what every store must keep, written once; [`document`] what every answer must be.
//! [`same`] plays the same sequences of operations on two stores.
//! [`postgres`] finds or starts the database server for tests of the production store.
#![expect(clippy::unwrap_used, reason = "this crate is for tests, where a panic is the failure")]

pub mod bus;
pub mod contract;
pub mod document;
mod fakes;
mod fixture;
pub mod nats;
pub mod nodes;
mod ports;
pub mod postgres;
pub mod same;
pub mod sql;
mod world;

pub use fakes::{
    FixedClock, FixedHasher, FixedMint, FixedPresence, PlainTokens, RecordingPublisher, SequentialIds,
};
pub use fixture::Fixture;
pub use ports::free_port;
pub use world::{NOON, Stores, TestAgent, TestUser, World};
