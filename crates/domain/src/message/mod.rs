//! Messages: what participants say, and the records that agents keep of their work.
//!
//! Terms: a *text* is said to somebody and creates deliveries; an *event* (tool call, result,
//! thought, error, task, attention) is a record for humans and creates none. A *mention* names
//! the one who is to answer; a *reference* names somebody without waking them.
//!
//! Rules: [`mention`] finds out who is meant, [`content`] checks and rewrites texts, [`RoomState`] gives each its
//! place, [`change`] says who may edit and delete them, [`retention`] how long they are kept.
//!
//! Invariants: a message that was accepted is stored with all its deliveries or not at all; the
//! room's sequence orders everything, and the place of a deleted message stays empty; refused input leaves
//! no trace.

mod append;
pub mod change;
pub mod content;
mod delete;
mod edit;
pub mod filter;
mod history;
pub mod mention;
mod model;
mod port;
mod post_event;
pub mod retention;
mod send;
mod service;

pub use append::{Placed, RoomPlan, RoomState, Titling};
pub use change::{ChangeMessageError, ChangeRefused};
pub use content::{EventContent, EventMetadata, MessageContent};
pub use filter::{Anchor, HistoryFilter, Kinds};
pub use history::{ReadMessagesError, ReadSurroundingsError};
pub use mention::{Mention, MentionError, MentionKind, RequestedMention};
pub use model::{Message, MessageKind, Recipient, SentMessage};
pub use port::{
    AppendRefused, Appended, ChangedMessage, DeleteMessage, DeletedText, EditMessage, MessageRepository,
    NewMessage, PriorResult, Surroundings, SurroundingsRefused,
};
pub use post_event::{PostEvent, PostEventError};
pub use retention::{Ageing, EraseOld, ErasedOld, Retention};
pub use send::{SendMessage, SendMessageError};
pub use service::MessageService;
