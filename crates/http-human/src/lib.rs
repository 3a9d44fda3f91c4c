//! The human interface under `/api/v1/me`, the operator interface, and the generic paths.
//!
//! [`configure`] mounts them, and [`configure_operator`] that of operators. [`routes`] has every path in one place; a
//! handler turns a body into a command, calls one use case, and renders the result.

mod account;
mod answer_link;
mod api_key;
mod attention;
mod audit;
mod auth;
mod bulk_deletion;
mod chat;
mod confirm;
mod contact;
mod control;
mod generic;
mod instant;
mod memory;
mod message;
mod notification;
mod operator;
mod organization;
mod participant;
mod passkey;
pub mod routes;
mod second_factor;
mod session;
mod usage;
mod webhook;
mod work;

pub use answer_link::configure_links;
pub use operator::RecentAnswers;
pub use routes::{configure, configure_operator, interfaces};
