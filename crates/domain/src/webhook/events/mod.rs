//! Webhooks of organizations: a URL receives the entries of the organization's audit log.
//!
//! The log is what is due. It is read in the order of its seals, which are numbered after the commit: a reader that has reached
//! a number has missed nothing before it. A webhook holds the number that it has reached, and entries that it does not receive
//! are passed over. An [`EventDelivery`] is the record of the requests for one entry, with the id of the entry.
//!
//! Invariants: an organization has at most one delivery that has not ended, so the order of the log is kept. A new webhook
//! receives the entries that are sealed after its creation.

mod filter;
mod manage;
mod model;
mod port;
mod send;

pub use filter::{EventFilter, UnknownEvent};
pub use manage::OrganizationWebhookError;
pub use model::{EventDelivery, EventEntry, OrganizationWebhook};
pub use port::{
    ChangeOrganizationWebhook, DueEvent, ENTRIES_AT_ONCE, EventsRefused, OrganizationWebhookRepository,
    ResendEvent, TakeEvent, TakenEvent,
};
