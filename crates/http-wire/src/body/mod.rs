//! Bodies that both interfaces share.

mod chat;
mod contact;
mod memory;
mod message;
mod participant;

pub use chat::{CreateChatBody, RenameChatBody};
pub use contact::{AddContactBody, RemoveContactBody, ResolveBody, RespondBody, SendRequestBody};
pub use memory::StoreMemoryBody;
pub use message::{EditMessageBody, SendMessageBody, in_reply_to};
pub use participant::AddParticipantBody;
