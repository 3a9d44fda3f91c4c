//! Bodies that both interfaces know.

mod chat;
mod contact;
mod message;
mod participant;

pub use chat::{CreateChatBody, RenameChatBody};
pub use contact::{AddContactBody, RemoveContactBody, ResolveBody, RespondBody, SendRequestBody};
pub use message::SendMessageBody;
pub use participant::AddParticipantBody;
