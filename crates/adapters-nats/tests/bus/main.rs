//! The bus on a real NATS server.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod bad_input;
mod carrying;
mod failures;
mod links;
mod nodes;
