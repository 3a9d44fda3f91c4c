//! The store of messages.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::amend::ChangeMessageRefused;
use super::cause::Cause;
use super::content::MessageContent;
use super::deadline::{CheckDeadline, DeadlineOutcome, DueText};
use super::erase_texts::{EraseTexts, ErasedTexts};
use super::filter::{Anchor, HistoryFilter, Kinds};
use super::guard::{CheckTree, DueHold, MaxHops, NoticeHold, NoticeOutcome};
use super::mention::Mention;
use super::model::{Message, MessageKind};
use super::pair::CheckPair;
use super::retention::{EraseOld, ErasedOld};
use super::trace::TraceParent;
use crate::budget::ExceededBudgets;
use crate::chat::{Named, Participant, ShownChat};
use crate::foreign::{ForeignPolicy, Origin};
use crate::id::{AgentId, ChatId, FileId, MessageId, OrganizationId, ParticipantId, Sequence, UserId};
use crate::idempotency::KeyedRequest;
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
    /// The chat.
    pub chat: ChatId,
    /// The sender.
    pub sender: ParticipantId,
    /// The sender's name.
    pub sender_name: String,
    /// The sender's handle, without `@`. It is not stored, since it never changes: reads take it
    /// from the sender's record.
    pub sender_handle: String,
    /// Text, or the kind of event.
    pub kind: MessageKind,
    /// The text as it is stored.
    pub content: String,
    /// The mentioned participants; every agent with the kind `mention` gets a delivery.
    pub mentions: Vec<Mention>,
    /// Free-form data of an event.
    pub metadata: Option<Map<String, Value>>,
    /// What it follows from, if that is given. The store adds what the sender's attempts tell
    /// ([`counts_attempts`](Self::counts_attempts)).
    pub cause: Cause,
    /// Its place in a trace. If its cause is that of the sender's attempts, the store decides on it
    /// ([`TraceParent::of_new`]).
    pub traceparent: Option<TraceParent>,
    /// Set if a given cause is foreign to the chat. The store adds what the sender's attempts tell.
    pub follows_foreign: bool,
    /// The organization of the sender, by which a message without a known cause is foreign to the chat or not; `None`
    /// for one that always has a cause.
    pub organization: Option<OrganizationId>,
    /// The deadline of a text; `None` for that of the chat ([`ChatState::respond_within`](super::ChatState)),
    /// if it has one.
    pub respond_by: Option<Timestamp>,
    /// The files that a text shows, each once, at most [`MAX_ATTACHED`](crate::file::MAX_ATTACHED).
    pub attachments: Vec<FileId>,
    /// The number of hops above which the server holds the deliveries of an agent's text, unless the organization or
    /// the chat has another limit.
    pub max_hops: MaxHops,
    /// The budgets that hold deliveries, if there are any.
    pub exceeded: Option<Arc<ExceededBudgets>>,
    /// The attention item that a text of a human answers.
    pub answers: Option<AnsweredItem>,
    /// Set for an event of the server in the name of the sender: it is stored although the sender is stopped,
    /// or the chat is full.
    pub is_notice: bool,
    /// Set for the text of a reminder: it follows from what its sender worked on when it was scheduled, not from what its
    /// sender works on when it is sent.
    pub is_reminder: bool,
    /// Set for a request with an idempotency key.
    pub keyed: Option<KeyedRequest>,
    /// The current time.
    pub now: Timestamp,
}

/// The attention item that a text answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnsweredItem {
    /// Its message.
    pub item: MessageId,
    /// Set if the answer is a reply in the room: it is stored even if the item has ended.
    pub is_reply: bool,
    /// Set if a command answers it, which announces nothing: the change log tells the servers of the text.
    pub is_of_command: bool,
}

impl NewMessage {
    /// A message that mentions nobody and follows from nothing, without an idempotency key, and without a hop limit.
    pub fn new(
        id: MessageId,
        chat: ChatId,
        sender: Named,
        kind: MessageKind,
        content: String,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            chat,
            sender: sender.id,
            sender_name: sender.name,
            sender_handle: sender.handle,
            kind,
            content,
            mentions: Vec::new(),
            metadata: None,
            cause: Cause::None,
            traceparent: None,
            follows_foreign: false,
            organization: None,
            respond_by: None,
            attachments: Vec::new(),
            max_hops: MaxHops::OFF,
            exceeded: None,
            answers: None,
            is_notice: false,
            is_reminder: false,
            keyed: None,
            now,
        }
    }

    /// The event `id` that the server posts about `message` in the name of a participant.
    pub(crate) fn notice(
        id: MessageId,
        message: &Message,
        sender: &Participant,
        content: String,
        metadata: &Value,
        now: Timestamp,
    ) -> Self {
        Self {
            metadata: metadata.as_object().cloned(),
            cause: Cause::Known(message.place_below()),
            traceparent: TraceParent::of_new(None, message.traceparent, id),
            follows_foreign: message.origin.is_foreign(),
            is_notice: true,
            ..Self::new(id, message.chat_id, sender.named(), MessageKind::Attention, content, now)
        }
    }

    /// The message under its sequence and time. Its origin, files, and deliveries are not those of `self`: the caller sets
    /// them.
    pub fn into_message(self, sequence: Sequence, at: Timestamp) -> Message {
        Message {
            id: self.id,
            chat_id: self.chat,
            sequence,
            kind: self.kind,
            content: self.content,
            sender: self.sender,
            sender_name: self.sender_name,
            sender_handle: Some(self.sender_handle),
            mentions: self.mentions,
            metadata: self.metadata,
            cause: self.cause,
            traceparent: self.traceparent,
            origin: Origin::Own,
            created_at: at,
            updated_at: at,
            respond_by: self.respond_by,
            attachments: Vec::new(),
            deliveries: Vec::new(),
        }
    }

    /// The attention item that must not have ended.
    pub fn must_answer(&self) -> Option<MessageId> {
        self.answers.filter(|answered| !answered.is_reply).map(|answered| answered.item)
    }

    /// Returns whether the cause depends on the sender's attempts ([`Cause::or_observed`]): for agents, unless an event
    /// names its cause. Nobody is asked by an event, so it hides no loop; and the server's own event about a text has
    /// nothing to do with what the text's sender works on, nor has the text of a reminder.
    pub fn counts_attempts(&self) -> bool {
        let may_count = self.cause.is_none() || self.kind == MessageKind::Text;
        self.sender.agent().is_some() && may_count && !self.is_reminder
    }

    /// Returns whether it is foreign to a chat of the organization, as far as is known without its sender's attempts.
    pub fn is_foreign_to(&self, organization: Option<OrganizationId>) -> bool {
        match self.cause {
            Cause::Known(_) => self.follows_foreign,
            Cause::None | Cause::Ambiguous { .. } => {
                self.follows_foreign
                    || self.organization.zip(organization).is_some_and(|(own, other)| own != other)
            }
        }
    }
}

/// A stored message.
#[derive(Clone, PartialEq, Debug)]
pub struct Appended {
    /// The message with its new deliveries.
    pub message: Message,
    /// The addressed agents that are neither stopped nor paused, by agent id: the message is pushed to them. None if
    /// it is held.
    pub recipients: Vec<AgentId>,
    /// The addressed agents that are stopped in the chat, by agent id.
    pub stopped: Vec<AgentId>,
    /// The addressed agents that are paused, by agent id.
    pub paused: Vec<AgentId>,
    /// Set if the organization of the chat is paused.
    pub is_paused: bool,
    /// The policy of the organization of the chat.
    pub foreign: ForeignPolicy,
    /// The number of hops above which its deliveries are held; `None` if [no limit](Self::guarded) holds them.
    pub hop_limit: Option<u32>,
    /// The budgets that hold deliveries, if there are any.
    pub exceeded: Option<Arc<ExceededBudgets>>,
    /// Set if its cause depends on the attempts of its sender ([`NewMessage::counts_attempts`]).
    pub counts_attempts: bool,
    /// The chat, if it got its title from the message.
    pub titled: Option<ShownChat>,
}

/// A text was edited or deleted.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedMessage {
    /// The new state of an edited text, or the last state of a deleted one.
    pub message: Message,
    /// The chat, if its title derived from the text and has changed.
    pub retitled: Option<ShownChat>,
}

/// The reason why a message was not stored.
#[derive(Clone, PartialEq, Debug)]
pub enum AppendRefused {
    /// The chat has as many messages as the plan of its organization allows.
    Limit(LimitReached),
    /// The sender is not in the chat, or it does not exist.
    NotParticipant,
    /// The sender is an agent that is stopped in the chat.
    Stopped,
    /// A mentioned participant has left the chat: the first such mention, counted from 0.
    MentionLeft {
        /// The index of the mention.
        index: usize,
    },
    /// This attachment, the first such one, is not a live file of the chat.
    UnknownAttachment(FileId),
    /// The request repeats the one that created this message.
    Repeated(Box<Message>),
    /// The request repeats one whose text was deleted since.
    RepeatedDeleted(DeletedText),
    /// The idempotency key was used for a different request.
    KeyReused,
    /// The [answered](NewMessage::answers) attention item has ended, or is gone.
    Answered,
}

/// The recorded request with the same key.
#[derive(Clone, PartialEq, Debug)]
pub enum PriorResult {
    /// There is none.
    Nothing,
    /// The same request created this message.
    Message(Box<Message>),
    /// The same request created a text that was deleted since.
    Deleted(DeletedText),
    /// A different request.
    AnotherRequest,
}

/// The rest of a deleted text: the data of the answer to the request that created it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedText {
    /// Its id, which no other message gets.
    pub id: MessageId,
    /// The mentioned participants.
    pub mentions: Vec<Mention>,
}

/// A text to be edited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditMessage {
    /// The chat.
    pub chat: ChatId,
    /// The text.
    pub message: MessageId,
    /// The editor.
    pub by: UserId,
    /// The new content.
    pub content: MessageContent,
    /// The current time.
    pub now: Timestamp,
}

/// A text to be deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeleteMessage {
    /// The chat.
    pub chat: ChatId,
    /// The text.
    pub message: MessageId,
    /// The caller.
    pub by: UserId,
    /// The time after which files that no message shows any more expire.
    pub unattached: Duration,
    /// The current time.
    pub now: Timestamp,
}

/// The messages around an anchor.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Surroundings {
    /// The messages, in the order that the anchor implies.
    pub rows: Vec<Message>,
    /// Set if there are older ones.
    pub has_older: bool,
    /// Set if there are newer ones.
    pub has_newer: bool,
}

/// The reason why there is nothing around an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SurroundingsRefused {
    /// The viewer may not see the chat, or there is no such chat.
    ChatNotFound,
    /// The anchor is not a message of this chat.
    MessageNotFound,
}

/// Messages and events.
///
/// In every list the key of a position is the `sequence`, and messages include their deliveries and
/// the handle of their sender, even a deleted one. A page is bounded in bytes, see
/// [`crate::page::fitting`].
#[async_trait]
pub trait MessageRepository: Send + Sync {
    /// Stores a message with the next sequence of its chat, its deliveries, and the chat's new
    /// activity time, or none of them.
    ///
    /// Its time is `new.now`, or a microsecond after the chat's newest message if that is not
    /// earlier: times follow the sequence.
    ///
    /// Membership of the sender and of all mentioned participants is checked again inside the
    /// write, so a participant removed a moment ago cannot send one last message, nor an agent that was stopped. A
    /// sending agent's membership becomes active.
    ///
    /// The deliveries of a [guarded](Appended::guarded) message are held as
    /// [`TreeHolds::decide`](super::TreeHolds::decide) decides, and then those of every message as
    /// [`hold_foreign`](Appended::hold_foreign) and last [`hold_over_budget`](Appended::hold_over_budget) do. The first one that is held for its hops since the last
    /// release makes the hold [due](Self::due_holds) to be noticed.
    ///
    /// The message makes an attention item, or ends some, as [`AttentionEffect::of`](crate::attention::AttentionEffect)
    /// decides. An item that is made ends those of its chat that have expired, and an earlier approval request of the same
    /// agent with the same token. What a human answers is recorded in the audit log.
    ///
    /// The attached files are locked, and do not expire as long as a message shows them.
    ///
    /// Before all that, a keyed request is compared with the idempotency records ([`crate::idempotency`]);
    /// with the message, the result of the request is recorded.
    async fn append(
        &self,
        new: NewMessage,
        on_commit: OnCommit<Appended>,
    ) -> Result<Result<Appended, AppendRefused>, StoreError>;

    /// Stores a text as [`Message::edited`] makes it, if `by` is in the chat and
    /// [`Message::decide_change`] allows it. A title that derives from the text is updated; nothing
    /// else changes, not even the chat's times.
    async fn edit(
        &self,
        command: EditMessage,
        on_commit: OnCommit<ChangedMessage>,
    ) -> Result<Result<ChangedMessage, ChangeMessageRefused>, StoreError>;

    /// Deletes a text with its deliveries and their attempts, under the same conditions, and
    /// returns it. A title that derives from it is removed. Of its files, those that no other message shows expire
    /// [`unattached`](DeleteMessage::unattached) later. No read finds the text afterwards, and
    /// no plan counts it; its sequence is not used again, and the chat's times do not change. The
    /// answer to its sender stays recorded, see [`DeletedText`].
    async fn delete(
        &self,
        command: DeleteMessage,
        on_commit: OnCommit<ChangedMessage>,
    ) -> Result<Result<ChangedMessage, ChangeMessageRefused>, StoreError>;

    /// The texts whose deadline is `now` or earlier and that were not checked, by deadline and id: those after
    /// a place in this order, at most `limit`.
    async fn due_texts(
        &self,
        now: Timestamp,
        after: Option<(Timestamp, MessageId)>,
        limit: u32,
    ) -> Result<Vec<DueText>, StoreError>;

    /// Checks a text after its deadline: stores the event that [`CheckDeadline::event`] returns, if it returns
    /// one, and marks the text as checked. A text that any server has checked is not checked again. A text of a
    /// deleted chat is only marked. `on_commit` is run for every outcome.
    async fn check_deadline(
        &self,
        command: CheckDeadline,
        on_commit: OnCommit<DeadlineOutcome>,
    ) -> Result<DeadlineOutcome, StoreError>;

    /// Counts the messages that follow from a root. If there are more than [`CheckTree::bound`], the tree is full until
    /// something that is held of it is released, which allows it `limit` messages more, and the hold is due to be
    /// noticed.
    async fn check_tree(&self, command: CheckTree) -> Result<(), StoreError>;

    /// Counts the texts of a pair without a known cause, of those after [`CheckPair::since`].
    /// If there are more than the limit, or than a release has allowed, the pair is held from now on, and the hold is
    /// due to be noticed; unless it is held already.
    async fn check_pair(&self, command: CheckPair) -> Result<(), StoreError>;

    /// What is held, or nearly so, and the humans of the chats were not told of yet, oldest first: at most `limit`
    /// holds, and as many [budgets](crate::budget::BudgetLevel).
    async fn due_holds(&self, limit: u32) -> Result<Vec<DueHold>, StoreError>;

    /// Stores the event that [`NoticeHold::event`] returns, if it returns one, and marks the hold as noticed. What any
    /// server has noticed is not noticed again. `on_commit` is run for every outcome.
    async fn notice_hold(
        &self,
        command: NoticeHold,
        on_commit: OnCommit<NoticeOutcome>,
    ) -> Result<NoticeOutcome, StoreError>;

    /// Reads the next messages in the order of their ids, in all chats, and erases those that
    /// match, with their deliveries and attempts, and the titles that derive from them; no plan
    /// counts them any more. The chats' times do not change. Files that no message shows any more expire as those of a deleted
    /// text do. What is under a [legal hold](crate::legal_hold) is passed over.
    async fn erase_old(&self, step: EraseOld) -> Result<ErasedOld, StoreError>;

    /// Reads the next messages of a room in which the user is or was, and [erases](Message::erased) the texts of the user
    /// among them. Their files expire at once.
    async fn erase_texts(&self, step: EraseTexts) -> Result<ErasedTexts, StoreError>;

    /// The result of an earlier request under the request's key.
    async fn find_prior_result(&self, keyed: KeyedRequest) -> Result<PriorResult, StoreError>;

    /// All messages and events of the chat, newest first; `None` if `viewer` may not
    /// [read](crate::chat::Standing::may_read) it. A position that was made with `since` includes
    /// it.
    async fn history(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        filter: HistoryFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError>;

    /// As [`Self::history`], for the operator: access is not checked. `None` if the chat was deleted.
    async fn history_unchecked(
        &self,
        chat: ChatId,
        filter: HistoryFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError>;

    /// At most `limit` messages and events of the chat next to an anchor. For messages around it,
    /// the anchor itself is included whatever the filter says.
    async fn surroundings(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        anchor: Anchor,
        kinds: Kinds,
        limit: u32,
    ) -> Result<Result<Surroundings, SurroundingsRefused>, StoreError>;

    /// A message of the chat without its deliveries, if `viewer` may see it: a human who may
    /// [read](crate::chat::Standing::may_read) the chat, or an agent in it by whom the message [is
    /// readable](Message::is_readable_by).
    async fn find_readable(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Option<Message>, StoreError>;

    /// The context of `agent` in the chat, oldest first: everything it sent, and the texts with a
    /// mention (not a reference) of it. `None` if it is no participant.
    async fn context(
        &self,
        agent: AgentId,
        chat: ChatId,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError>;
}
