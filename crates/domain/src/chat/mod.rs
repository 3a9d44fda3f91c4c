//! Chats: conversations shared by users and agents (`room` in socket topics).
//!
//! Terms: a *participant* is a member of one chat, with a *role* (owner, admin, member) and a
//! membership *status*; the *roster* is all of one chat. A *peer* is a user or agent whom the
//! caller may add to a chat. An *observer* is a human who is not in a chat, but owns an agent that is.
//! All others do not learn that the chat exists.
//!
//! Rules: [`membership`] decides on adding and removing participants, [`standing`] on reading,
//! renaming, and deleting; [`title`] makes a title from the first message. The stores select the
//! new owner if one is deleted ([`delete_agent`](crate::account::AgentRepository::delete_agent)).
//!
//! Invariants: a chat always has an owner; a deleted chat is in no answer; messages and
//! participants of one chat are changed by its participants only, and read by them and its
//! observers. The user behind an agent that owns the chat, and the operator, may also delete it.

mod add_participant;
mod create;
mod delete;
mod listing;
mod mark_read;
pub mod membership;
mod model;
mod overview;
mod participant;
mod port;
mod read;
mod remove_participant;
mod rename;
mod service;
mod set_participant_role;
pub mod standing;
pub mod title;

pub use add_participant::{AddParticipantCommand, AddParticipantError};
pub use create::{CreateChat, CreateChatError};
pub use delete::DeleteChatError;
pub(crate) use delete::publish_deleted_chat;
pub use listing::{
    ChatAgent, ChatDetails, ChatListing, ChatParts, ChatSort, FoundChat, ListedChat, RosterHead,
    SEARCHED_SEQUENCES, SHOWN_PARTICIPANTS, WorkStatus,
};
pub use mark_read::{
    COUNTED_SEQUENCES, EXAMINED_SEQUENCES, Examined, MAX_MARKED, MarkRead, MarkReadError, MarkReadRefused,
    MarkedRead, MarkedRooms, ReadMark, ReadingChange, Unread,
};
pub use membership::{AddRefused, RemoveRefused, SetParticipantRoleRefused};
pub use model::{Chat, ChatKind, ChatStatus};
pub use overview::{ChatFilter, ChatOverview};
pub use participant::{
    MemberState, Named, Names, OwnMembership, Participant, ParticipantStatus, Role, Roster,
};
pub use port::{
    AddParticipant, AddedParticipant, ChangedParticipant, ChatChanges, ChatRepository, CreateRefused,
    DeleteChat, DeleteRefused, DeletedChat, NewChat, ParticipantRepository, RemoveParticipant,
    RemovedParticipant, RenameChat, RenameChatRefused, SetParticipantRole, ShownChat,
};
pub use read::ReadChatError;
pub use remove_participant::RemoveParticipantError;
pub use rename::RenameChatError;
pub use service::ChatService;
pub use set_participant_role::SetParticipantRoleError;
pub use standing::{Entrance, Membership, Standing, StopRefused};
pub use title::ChatTitle;
