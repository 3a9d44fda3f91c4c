//! Handlers that the human and the agent interface share, generic over the extractor of the caller.
//!
//! A route names the extractor: `participant::add::<AgentAuth>`. A handler whose logic or answer differs
//! between the interfaces is in the crate of its interface.

pub mod board;
pub mod contact;
pub mod file;
pub mod memory;
pub mod message;
pub mod participant;
pub mod peer;
pub mod reminder;
pub mod search;
