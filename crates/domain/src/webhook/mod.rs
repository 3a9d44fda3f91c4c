//! Webhooks: an agent that holds no socket is woken by a request to a URL that its owner has set.
//!
//! The delivery of a message to an agent is what is due; nothing else is written when a message is sent. A *sender*, one on
//! each server, looks for messages that wait for agents with a webhook, and sends each as a request. A
//! [`WebhookDelivery`] is the record of these requests: it exists from the first one on, shows what came of them, and holds the
//! lease that lets only one sender, among all servers, work on it.
//!
//! Invariants: in each room, an agent has at most one delivery that has not ended. It is for the oldest open message that no
//! receiver has accepted, which is also what the agent gets when it asks for its next message. Messages are sent in order, so
//! new ones follow the latest one that was sent; only a message that was offered again can be earlier.
//!
//! A delivery is repeated until it succeeds, or until the message no longer waits. A server that dies leaves a lease, which
//! expires. A response with a status of 2xx marks the message as *delivered*, which changes nothing if the agent has begun to
//! work on it; the delivery then ends when the agent is done.
//!
//! An organization can have a webhook as well, which receives the entries of its audit log ([`OrganizationWebhook`]).

mod events;
mod manage;
mod mint;
mod model;
mod port;
mod schedule;
mod send;
mod service;
mod set;
mod settle;

pub use events::{
    ChangeOrganizationWebhook, DueEvent, ENTRIES_AT_ONCE, EventDelivery, EventEntry, EventFilter,
    EventsRefused, OrganizationWebhook, OrganizationWebhookError, OrganizationWebhookRepository, ResendEvent,
    TakeEvent, TakenEvent, UnknownEvent,
};
pub use manage::{ResendError, WebhookError};
pub use mint::{WebhookMint, WebhookUrlFault};
pub use model::{
    Disabled, DisabledReason, Ended, FailingWebhook, PreviousSecret, Webhook, WebhookDelivery,
    WebhookOutcome, WebhookSecret, WebhookUrl,
};
pub use port::{
    Applied, Backlog, ChangeWebhook, ChangedWebhook, DueDelivery, Lease, ROOMS_OF_AGENT, Resend,
    ResendRefused, RoomSearch, SettleDelivery, TakeDelivery, Taken, WebhookOwner, WebhookRefused,
    WebhookRepository, WebhookRoom, WebhookStep, offered_again_at,
};
pub use schedule::{HALTED_PAUSE, LEASE, OVERDUE_AFTER};
pub use service::{KEPT_FOR, WebhookPorts, WebhookService};
pub use set::{Wakes, WebhookEvents, WebhookSet};
pub use settle::{DISABLED_AFTER, Notice, Reply, Resumption, Settled, WARNED_AFTER};
