//! Support for the end-to-end tests: the program as an operator starts and stops it, a REST client, and
//! a channel client. Every wait is bounded.
#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "this crate is for tests, where a panic is the failure"
)]

pub mod cast;
mod fleet;
mod metrics;
mod mode;
pub mod passkey;
pub mod proof;
pub mod receiver;
mod rest;
pub mod secrets;
mod server;
mod socket;
pub mod soon;

pub use fleet::Fleet;
pub use metrics::{figure, p99};
pub use mode::{is_full, is_spread, on_postgres};
pub use rest::{Answer, Api, message, sha256};
pub use server::{PROGRAM, Server, isolated, program};
pub use socket::{Closed, Socket, reply};
pub use soon::{LEASE, at_once, soon};
pub use testkit::{elapse, free_port, pace, pace_thread, until, until_or};
