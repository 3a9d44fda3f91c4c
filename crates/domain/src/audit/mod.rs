//! The audit log: who did what to accounts, organizations, keys, rooms and plans, and when.
//!
//! An entry is written in the same transaction as what it tells of, so there is none without the other. It
//! is never changed and never removed; the stores refuse both. It names things by their ids, and holds no message,
//! no secret and no address. Every entry belongs to an organization, whose admins may read it: that of the room, or
//! of whom it is about.

mod action;
mod entry;
mod organization;
mod port;
mod service;

pub use action::AuditAction;
pub use entry::{Actor, AuditEntry, AuditObject, AuditTenant};
pub use port::{AuditFilter, AuditRecord, AuditRepository, AuditScope, NamedObject};
pub use service::{AuditService, ListAuditError};
