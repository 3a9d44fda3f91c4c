//! The A2A server: tasks over both bindings, their states, streams, and what is refused.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod client;
mod push_kills;
mod pushes;
mod refused;
mod streams;
mod tasks;
