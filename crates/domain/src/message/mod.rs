//! Messages: texts of participants, and the records that agents keep of their work.
//!
//! Terms: a *text* is addressed to participants and creates deliveries; an *event* (tool call,
//! result, thought, error, task, attention) is a record for humans and creates none. A *mention*
//! names a participant who is to answer; a *reference* names one without a delivery.
//!
//! Rules: [`mention`] resolves mentions, [`content`] checks and rewrites texts, [`ChatState`]
//! assigns sequences, [`MaxHops`] ends loops, [`amend`] decides on edits and deletions, [`retention`] limits the age of
//! messages, [`TraceParent`] continues traces.
//!
//! Invariants: an accepted message is stored with all its deliveries or not at all; the chat's
//! sequence orders everything, and the sequence of a deleted message is not used again; refused
//! input leaves no trace.

pub mod amend;
mod append;
mod cause;
pub mod content;
pub mod deadline;
mod delete;
mod edit;
mod erase_texts;
pub mod filter;
mod foreign;
mod guard;
mod history;
mod later;
pub mod mention;
mod model;
mod pair;
mod port;
mod post_event;
pub mod retention;
#[cfg(test)]
pub(crate) mod sample;
mod send;
mod service;
mod trace;

pub use amend::{ChangeMessageError, ChangeMessageRefused};
pub use append::{AppendDecision, ChatPlan, ChatState, Titling};
pub use cause::{Cause, EXAMINED_DELIVERIES, OpenAttempts, Place};
pub use content::{EventContent, EventMetadata, MessageContent};
pub use deadline::{
    CheckDeadline, CheckedDeadlines, DeadlineFault, DeadlineOutcome, DeadlineWalk, DueText, RespondWithin,
};
pub use erase_texts::{ERASED, EraseTexts, ErasedTexts, TextsErasure};
pub use filter::{Anchor, HistoryFilter, Kinds, counts_by_kind};
pub use guard::{
    CheckTree, DueHold, EndedHold, Guarded, MAX_TREE_MESSAGES, MaxHops, NoticeHold, NoticeOutcome, TreeHolds,
};
pub use history::{ReadMessagesError, ReadSurroundingsError};
pub use later::NewText;
pub use mention::{Mention, MentionError, MentionKind, RequestedMention, with_handles, with_names};
pub use model::{Message, MessageKind, Recipient, RecipientState, SentMessage};
pub use pair::{CheckPair, MaxPairMessages, PAIR_WINDOW, Pair, pair_since};
pub use port::{
    AnsweredItem, AppendRefused, Appended, ChangedMessage, DeleteMessage, DeletedText, EditMessage,
    MessageRepository, NewMessage, PriorResult, Surroundings, SurroundingsRefused,
};
pub use post_event::{PostEvent, PostEventError};
pub use retention::{Ageing, EraseOld, ErasedOld, Retention};
pub use send::{SendMessage, SendMessageError};
pub use service::MessageService;
pub use trace::{BeginTraces, MalformedTraceParent, SendHeaders, TraceParent};
