//! The socket's protocol on the running program, case by case. The numbers of the cases are those of
//! `docs/conformance.md`.

mod agents;
mod connect;
mod contacts;
mod control;
mod endings;
mod messages;
mod presence;
mod rooms;
mod transport;
