//! The agent interface over real services and a store in memory.
#![expect(clippy::unwrap_used, reason = "a test may end at whatever it did not expect")]

mod access;
mod chats;
mod contacts;
mod context;
mod deliveries;
mod events;
mod harness;
mod identity;
mod memories;
mod messages;
mod once;
mod participants;
mod peers;
