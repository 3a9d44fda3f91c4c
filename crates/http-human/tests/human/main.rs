//! The human interface over real services and a store in memory.
#![expect(clippy::unwrap_used, reason = "a test may end at whatever it did not expect")]

mod access;
mod agent_records;
mod agents;
mod audit;
mod chats;
mod contacts;
mod credentials;
mod generic;
mod harness;
mod history;
mod keys;
mod limits;
mod memories;
mod message_changes;
mod messages;
mod once;
mod participants;
mod peers;
mod profile;
mod rooms;
