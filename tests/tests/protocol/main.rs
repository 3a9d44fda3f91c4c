//! The socket's protocol, case by case, against the running program. The numbers are those of the
//! project's list of protocol cases, which `docs/conformance.md` holds.

mod agents;
mod connect;
mod contacts;
mod control;
mod endings;
mod messages;
mod presence;
mod rooms;
mod transport;
