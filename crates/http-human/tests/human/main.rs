//! The human interface over real services and a store in memory.
#![expect(clippy::unwrap_used, reason = "a test may end at whatever it did not expect")]

mod access;
mod agents;
mod chats;
mod credentials;
mod harness;
mod history;
mod messages;
mod participants;
