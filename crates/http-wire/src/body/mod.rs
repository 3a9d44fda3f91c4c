//! Bodies that both interfaces share.

mod board;
mod chat;
mod contact;
mod memory;
mod message;
mod participant;

pub(crate) use board::NOT_A_TASK;
pub use board::{ChangeTaskBody, CreateTaskBody, SetGoalBody};
pub use chat::{CreateChatBody, RenameChatBody};
pub use contact::{AddContactBody, RemoveContactBody, ResolveBody, RespondBody, SendRequestBody};
pub use memory::StoreMemoryBody;
pub use message::{EditMessageBody, MAX_MENTIONS, SendMessageBody, in_reply_to, time};
pub use participant::AddParticipantBody;
