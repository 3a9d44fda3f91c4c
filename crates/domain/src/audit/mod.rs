//! The audit log: actions on accounts, organizations, keys, chats, and plans.
//!
//! An entry is written in the same transaction as the change that it records, so neither exists
//! without the other; failed log-ins, which change nothing, are counted and written once a minute.
//! An entry is never changed and never removed; the stores refuse both, and a chain of digests
//! ([`ChainDigest`]) reveals tampering. It names objects by their ids and by the names that they
//! had at that time, and holds no message and no secret. An entry belongs to an organization, whose
//! admins may read it: that of the chat, or of its subject. Entries of the installation are for the
//! operator only.

mod action;
mod chain;
mod entry;
mod port;
mod service;
mod verify;

pub use action::AuditAction;
pub use chain::{ChainDigest, ChainLink, SealedEntry, StoredEntry, StoredObject};
pub use entry::{Actor, AuditEntry, AuditObject, AuditTenant};
pub use port::{
    AuditFilter, AuditLead, AuditRecord, AuditRepository, AuditScope, NamedObject, RecordedActor,
};
pub use service::{AuditService, ListAuditError};
pub use verify::{AuditState, ChainFault, ChainReport};
