//! Deliveries: one text message on its way to one agent.
//!
//! A delivery is made for every agent that a text mentions, together with the message. The agent
//! opens an *attempt* and closes it as done or failed; what failed, and what a crashed agent left
//! open, is offered again. The rules stand in [`state`]. Before that it is *delivered* once a socket
//! of the agent took it.
//!
//! Invariant: only the newest attempt can be open. An agent that crashed never comes back to
//! close its own, so opening another must always be allowed.

mod advance;
pub mod again;
mod mark_delivered;
mod port;
mod push_again;
mod read;
mod service;
pub mod state;

pub use crate::page::Order;
pub use advance::{AdvanceError, StepResult};
pub use again::{AgainRule, Listening, PushAgain, StillNew};
pub use port::{
    AdvanceDelivery, AdvanceRefused, Advanced, DeliveryFilter, DeliveryKey, DeliveryRepository, DeliveryStep,
    Heard, NextMessage,
};
pub use push_again::Due;
pub use read::ReadDeliveriesError;
pub use service::DeliveryService;
pub use state::{
    Attempt, AttemptNumber, AttemptStatus, Delivery, DeliveryStatus, FailureText, NoActiveAttempt,
};

/// How many attempts of a delivery are shown, the newest ones; all are counted.
pub const SHOWN_ATTEMPTS: u32 = 50;

/// How many bytes of an attempt's error are shown with a message; the rest stays in the store.
pub const SHOWN_ERROR_BYTES: usize = 512;
