//! The gateway over real sockets, on the real services with a store in memory.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod activity;
mod boards;
mod bounds;
mod client;
mod connect;
mod contacts;
mod control;
mod delivered;
mod gate;
mod harness;
mod joins;
mod keys;
mod lists;
mod observers;
mod presence;
mod raw;
mod redelivery;
mod rooms;
mod transport;
