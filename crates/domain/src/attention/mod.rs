//! The attention inbox: everything in a user's rooms that waits for a human, in one list.
//!
//! An *item* is made in the transaction that stores its message: an event of the kind `attention` of an agent or of the
//! server, or a text with which a published adapter asks for an [approval]. It is *open* until somebody answers or
//! dismisses it, its asker resolves it, or its time passes. An expired item can still be answered, but its asker may
//! have gone on with its default. Everybody in the room sees the same items; the first answer counts.
//!
//! The list of open items also has the flagged work of the user's agents, the pending contact requests to the user, and the
//! webhooks of the user's agents that fail or were disabled. None of these is stored as an item: each is listed as long as
//! its own record says that it waits.
//!
//! Invariant: an answer and the end of its item are one transaction ([`NewMessage::answers`](crate::message::NewMessage)),
//! so an item is never shown as answered if its asker has not received the answer.

mod answer;
pub mod approval;
mod effect;
mod item;
mod line;
mod list;
mod port;
mod service;

pub use answer::{AnswerAttentionError, AttentionAnswer, DismissAttentionError};
pub use approval::{Adapter, Decision};
pub use effect::{AttentionEffect, ClosedItem, NewItem, WhichItem, ended_tokens, hold_token};
pub use item::{
    AnsweredBy, Asker, AttentionId, AttentionItem, AttentionKind, AttentionOutcome, AttentionState,
    SHOWN_APPROVAL_CHARS, SHOWN_CHARS,
};
pub use line::{AttentionLine, Place, WorkLine};
pub use list::AttentionFilter;
pub use port::{AttentionRepository, AttentionSearch, DismissAttention, DismissRefused};
pub use service::AttentionService;
