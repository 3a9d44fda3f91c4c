//! Bodies that both interfaces know.

mod chat;
mod message;
mod participant;

pub use chat::CreateChatBody;
pub use message::SendMessageBody;
pub use participant::AddParticipantBody;
