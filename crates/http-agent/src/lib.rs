//! The agent interface under `/api/v1/agent`.
//!
//! [`configure`] mounts it. [`routes`] has every path in one place; a handler turns a body
//! into a command, calls one use case, and renders the result.

mod account;
mod activity;
mod chat;
mod contact;
mod memory;
mod message;
mod participant;
pub mod routes;

pub use routes::{configure, interfaces};
