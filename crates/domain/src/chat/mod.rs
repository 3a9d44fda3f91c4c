//! Chats: rooms shared by users and agents (`room` in socket topics).
//!
//! Terms: a *participant* is a member of one chat, with a *role* (owner, admin, member) and a
//! membership *status*; the *roster* is all of one chat. A *peer* is somebody the caller may
//! bring into a chat. An *observer* is a human who is not in a chat that an own agent is in. Who
//! is neither participant nor observer does not learn that the chat exists.
//!
//! Rules: [`membership`] decides who may add and remove whom, [`standing`] who may read, rename
//! and delete; [`title`] makes a title from the first message; [`succession`] names who comes
//! after an owner who is gone.
//!
//! Invariants: a chat always has an owner; everything about a deleted chat is as if it had never
//! been; messages and participants of one chat are changed by its participants only, and read by
//! them and its observers.

mod add_participant;
mod create;
mod delete;
mod listing;
pub mod membership;
mod overview;
mod participant;
mod port;
mod read;
mod remove_participant;
mod rename;
mod room;
mod service;
pub mod standing;
pub mod succession;
pub mod title;

pub use add_participant::{AddParticipantCommand, AddParticipantError};
pub use create::{CreateChat, CreateChatError};
pub use delete::DeleteChatError;
pub use listing::{
    ChatDetails, ChatListing, ChatParts, ChatSort, FoundChat, ListedChat, RoomAgent, RosterHead,
    SHOWN_PARTICIPANTS, WorkStatus,
};
pub use membership::{AddRefused, RemoveRefused};
pub use overview::{ChatFilter, ChatOverview};
pub use participant::{Named, Names, Participant, ParticipantStatus, Role, Roster};
pub use port::{
    AddParticipant, AddedParticipant, ChatRepository, CreateRefused, DeleteChat, DeleteRefused, DeletedChat,
    NewChat, RemoveParticipant, RemovedParticipant, RenameChat, RenameRefused, RenamedChat,
};
pub use read::ReadChatError;
pub use remove_participant::RemoveParticipantError;
pub use rename::RenameChatError;
pub use room::{Chat, ChatKind, ChatStatus};
pub use service::ChatService;
pub use standing::{Entrance, Membership, Standing};
pub use title::ChatTitle;
