//! The store of messages.

use async_trait::async_trait;

use super::change::ChangeRefused;
use super::content::MessageContent;
use super::filter::{Anchor, HistoryFilter, Kinds};
use super::mention::Mention;
use super::model::{Message, MessageKind};
use super::retention::{EraseOld, ErasedOld};
use crate::chat::{ChatTitle, RenamedChat};
use crate::id::{AgentId, ChatId, MessageId, ParticipantId, UserId};
use crate::idempotency::IdempotencyClaim;
use crate::page::{Page, PageRequest};
use crate::plan::LimitReached;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;
use serde_json::{Map, Value};

/// A message or event to be stored.
#[derive(Clone, PartialEq, Debug)]
pub struct NewMessage {
    /// Identifier.
    pub id: MessageId,
    /// The room.
    pub chat: ChatId,
    /// Who sends it.
    pub sender: ParticipantId,
    /// The sender's name.
    pub sender_name: String,
    /// The sender's handle, without `@`. It is not stored, as it never changes: reads take it from the sender's record.
    pub sender_handle: String,
    /// Text, or which kind of event.
    pub kind: MessageKind,
    /// The text as it is stored.
    pub content: String,
    /// Whom it names; every agent among them with kind `mention` gets a delivery.
    pub mentions: Vec<Mention>,
    /// Free-form data of an event.
    pub metadata: Option<Map<String, Value>>,
    /// The title that the room may get by it, see [`RoomState::awaits_title`](super::RoomState::awaits_title).
    pub title_if_untitled: Option<ChatTitle>,
    /// Set when the request is to count once.
    pub claim: Option<IdempotencyClaim>,
    /// When.
    pub now: Timestamp,
}

/// A stored message.
#[derive(Clone, PartialEq, Debug)]
pub struct Appended {
    /// The message with its new deliveries.
    pub message: Message,
    /// The room, if it got its title by it.
    pub titled: Option<RenamedChat>,
}

/// A text was edited or deleted.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedMessage {
    /// An edited one as it is now, a deleted one as it was.
    pub message: Message,
    /// The room, if it had its title from the text, and another one now.
    pub retitled: Option<RenamedChat>,
}

/// Why a message was not stored.
#[derive(Clone, PartialEq, Debug)]
pub enum AppendRefused {
    /// The room has as many messages as the plan of its organization allows.
    Limit(LimitReached),
    /// The sender is not in the room, or there is no such room.
    NotParticipant,
    /// Somebody named is no longer in the room: the first such mention, counted from 0.
    MentionLeft {
        /// Which one.
        index: usize,
    },
    /// The request repeats the one that made this message.
    Repeated(Box<Message>),
    /// The request repeats one whose text was deleted since.
    RepeatedDeleted(DeletedText),
    /// The request's key was given to one that says something else.
    KeyReused,
}

/// What is remembered of requests under a key.
#[derive(Clone, PartialEq, Debug)]
pub enum PriorResult {
    /// Nothing.
    Nothing,
    /// The same request made this message.
    Message(Box<Message>),
    /// The same request made a text that was deleted since.
    Deleted(DeletedText),
    /// It was one that says something else.
    AnotherRequest,
}

/// What is left of a deleted text: what the answer to the request that made it was taken from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedText {
    /// Its id, which no other message gets.
    pub id: MessageId,
    /// Whom it named.
    pub mentions: Vec<Mention>,
}

/// A text to be edited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditMessage {
    /// The room.
    pub chat: ChatId,
    /// Which text.
    pub message: MessageId,
    /// Who edits it.
    pub by: UserId,
    /// What it is to say.
    pub content: MessageContent,
    /// When.
    pub now: Timestamp,
}

/// A text to be deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeleteMessage {
    /// The room.
    pub chat: ChatId,
    /// Which text.
    pub message: MessageId,
    /// Who deletes it.
    pub by: UserId,
    /// When.
    pub now: Timestamp,
}

/// What a reader who named an anchor gets.
#[derive(Clone, PartialEq, Debug)]
pub struct Surroundings {
    /// The messages, in the order that the anchor asks for.
    pub rows: Vec<Message>,
    /// Whether older ones would follow.
    pub has_older: bool,
    /// Whether newer ones would follow.
    pub has_newer: bool,
}

/// Why there is nothing around an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SurroundingsRefused {
    /// The viewer may not see the room, or there is no such room.
    ChatNotFound,
    /// The anchor is no message of this room.
    MessageNotFound,
}

/// Messages and events.
///
/// In every list the key of a position is the `sequence`, and messages come with their
/// deliveries and the handle of their sender, also of a deleted one. A page is bounded in bytes, see
/// [`crate::page::fitting`].
#[async_trait]
pub trait MessageRepository: Send + Sync {
    /// Stores a message at the next place of the room's sequence, its deliveries and the room's
    /// new activity time, or none of them.
    ///
    /// Its time is `new.now`, or a microsecond after the room's newest message where that would
    /// not be later: times follow the sequence.
    ///
    /// Membership of the sender and of everybody named is looked at again inside the write, so
    /// somebody removed a moment ago cannot slip one last message in. A sending agent's
    /// membership becomes active.
    ///
    /// Before all that a claim is judged by what is remembered ([`crate::idempotency`]); with the
    /// message it is remembered what the claim's request made.
    async fn append(
        &self,
        new: NewMessage,
        on_commit: OnCommit<Appended>,
    ) -> Result<Result<Appended, AppendRefused>, StoreError>;

    /// Stores a text as [`Message::edited`] makes it, if `by` is in the room and
    /// [`Message::decide_change`] allows it. A title that the room has from the text is made again; nothing else
    /// changes, the room's times neither.
    async fn edit(
        &self,
        command: EditMessage,
        on_commit: OnCommit<ChangedMessage>,
    ) -> Result<Result<ChangedMessage, ChangeRefused>, StoreError>;

    /// Takes a text away with its deliveries and their attempts, under the same conditions, and gives
    /// it as it was. A title that the room has from it goes with it. No read finds it afterwards, and no plan counts it; its place in the room stays
    /// empty, and the room's times stay. What its sender was answered stays known, see [`DeletedText`].
    async fn delete(
        &self,
        command: DeleteMessage,
        on_commit: OnCommit<ChangedMessage>,
    ) -> Result<Result<ChangedMessage, ChangeRefused>, StoreError>;

    /// Looks at the next messages in the order of their ids, in all rooms, and erases those of them that are
    /// meant, with their deliveries and attempts, and the titles that rooms have from them; no plan counts them any more.
    /// The rooms' times stay.
    async fn erase_old(&self, step: EraseOld) -> Result<ErasedOld, StoreError>;

    /// What is remembered at `now` of requests under the claim's key.
    async fn find_earlier(&self, claim: IdempotencyClaim, now: Timestamp) -> Result<PriorResult, StoreError>;

    /// All messages and events of the room, newest first; `None` if `viewer` may not
    /// [read](crate::chat::Standing::may_read) it. A position made with `since` keeps to it.
    async fn history(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        filter: HistoryFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError>;

    /// At most `limit` messages and events of the room next to an anchor. The anchor itself is
    /// shown, whatever the filter says, when it is asked what lies around it.
    async fn surroundings(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        anchor: Anchor,
        kinds: Kinds,
        limit: u32,
    ) -> Result<Result<Surroundings, SurroundingsRefused>, StoreError>;

    /// What `agent` may know of the room, oldest first: everything it sent, and the texts with
    /// a mention (not a reference) of it. `None` if it is no participant.
    async fn context(
        &self,
        agent: AgentId,
        chat: ChatId,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError>;
}
