//! The store of work.

use async_trait::async_trait;

use super::SHOWN_TEXT_CHARS;
use super::change::{ChangeWork, ChangeWorkRefused, ChangedItem};
use super::flag::{FlagBounds, WorkFlag};
use super::summary::WorkCounts;
use super::totals::{AgentWork, WorkTotals};
use crate::account::LastDisconnect;
use crate::delivery::{Delivery, DeliveryStatus};
use crate::id::{AgentId, ChatId, MessageId, ParticipantId, Sequence, UserId};
use crate::message::{Mention, with_handles};
use crate::organization::{Authority, NotAdmin};
use crate::page::{Page, PageRequest, Position};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The agents whose work is requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkScope {
    /// All, for the operator.
    Everything,
    /// Those of one user.
    OwnedBy(UserId),
    /// Those of the members of an organization.
    Of(Authority),
    /// The deliveries of messages that this user or agent has sent: a sender can take them out of the queue. Finds single
    /// items only; lists are empty.
    SentBy(ParticipantId),
}

impl WorkScope {
    /// The user who reads, and may see texts; the operator reads no texts.
    pub const fn reader(self) -> Option<UserId> {
        match self {
            Self::Everything | Self::SentBy(ParticipantId::Agent(_)) => None,
            Self::OwnedBy(user) | Self::SentBy(ParticipantId::User(user)) => Some(user),
            Self::Of(by) => by.user(),
        }
    }

    /// Returns whether a change can end a hold of the chat, which senders cannot; see [`ChangeWork::ends_hold`].
    pub const fn may_end_holds(self) -> bool {
        !matches!(self, Self::SentBy(_))
    }

    /// Returns whether numbers of items by error can be shown: admins may not read the errors in all chats.
    pub const fn reveals_errors(self) -> bool {
        match self {
            Self::Everything | Self::OwnedBy(_) => true,
            Self::Of(_) | Self::SentBy(_) => false,
        }
    }
}

/// The condition of a flag, at the time of the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagCondition {
    /// Not begun, and written at this time or before.
    Unanswered(Timestamp),
    /// Begun at this time or before, and open since.
    Stuck(Timestamp),
    /// At least this many attempts in a row have failed.
    Failing(u32),
    /// Not offered any more.
    Dead,
    /// Held by a limit.
    Held,
}

impl FlagCondition {
    /// The flag.
    pub const fn flag(self) -> WorkFlag {
        match self {
            Self::Unanswered(_) => WorkFlag::Unanswered,
            Self::Stuck(_) => WorkFlag::Stuck,
            Self::Failing(_) => WorkFlag::Failing,
            Self::Dead => WorkFlag::Dead,
            Self::Held => WorkFlag::Held,
        }
    }

    /// The state of all items with the flag, if it is one of those that are not open.
    const fn ended(self) -> Option<DeliveryStatus> {
        match self {
            Self::Dead => Some(DeliveryStatus::Dead),
            Self::Held => Some(DeliveryStatus::Held),
            Self::Unanswered(_) | Self::Stuck(_) | Self::Failing(_) => None,
        }
    }
}

/// The requested items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkSearch {
    /// Whose work.
    pub scope: WorkScope,
    /// Only that of this agent.
    pub agent: Option<AgentId>,
    /// Only that in this chat.
    pub chat: Option<ChatId>,
    /// Only that of messages of the tree that this message began.
    pub root: Option<MessageId>,
    /// Only items in this state.
    pub state: Option<DeliveryStatus>,
    /// Only items with this flag.
    pub flag: Option<FlagCondition>,
    /// Only messages that were written at this time or before.
    pub written_by: Option<Timestamp>,
    /// Only items with this many attempts or more.
    pub min_attempts: u32,
    /// Only items whose last error contains this text, regardless of the case of ASCII letters.
    pub error: Option<String>,
}

/// A part of all deliveries that are not processed; they have no delivery in common, and each has an index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WorkPart {
    /// Those without an attempt that counts. All of them are addressed.
    Waiting,
    /// Those with an attempt that is open or has failed.
    Begun,
    /// Those that are not offered any more, or held.
    Dead,
}

impl WorkSearch {
    /// The parts in which there can be such items. Dead and held ones are only listed if they are asked for.
    pub fn parts(&self) -> Vec<WorkPart> {
        let ended = self.state.filter(|state| matches!(state, DeliveryStatus::Dead | DeliveryStatus::Held));
        if let Some(ended) = ended.or(self.flag.and_then(FlagCondition::ended)) {
            let others = self.state.is_some_and(|state| state != ended)
                || self.flag.is_some_and(|flag| flag.ended() != Some(ended));
            return if others { Vec::new() } else { vec![WorkPart::Dead] };
        }
        let begun = self.min_attempts > 0
            || self.error.is_some()
            || matches!(self.state, Some(DeliveryStatus::Processing | DeliveryStatus::Failed))
            || matches!(self.flag, Some(FlagCondition::Stuck(_) | FlagCondition::Failing(_)));
        let waiting = matches!(self.state, Some(DeliveryStatus::New | DeliveryStatus::Delivered))
            || matches!(self.flag, Some(FlagCondition::Unanswered(_)));
        match (waiting, begun, self.state) {
            (true, true, _) | (_, _, Some(DeliveryStatus::Processed)) => Vec::new(),
            (true, false, _) => vec![WorkPart::Waiting],
            (false, true, _) => vec![WorkPart::Begun],
            (false, false, _) => vec![WorkPart::Waiting, WorkPart::Begun],
        }
    }

    /// The time at which a message must have been written, or before.
    pub fn written_by(&self) -> Timestamp {
        let unanswered = self.flag.and_then(|flag| match flag {
            FlagCondition::Unanswered(by) => Some(by),
            FlagCondition::Stuck(_)
            | FlagCondition::Failing(_)
            | FlagCondition::Dead
            | FlagCondition::Held => None,
        });
        self.written_by.into_iter().chain(unanswered).min().unwrap_or(Timestamp::from_micros(i64::MAX))
    }

    /// Returns whether dead items are found that another message replaces: they need nobody's attention, so
    /// only those who ask for the state see them.
    pub fn includes_replaced(&self) -> bool {
        self.flag != Some(FlagCondition::Dead)
    }

    /// Returns whether items are requested that are held.
    pub fn is_of_held(&self) -> bool {
        self.state == Some(DeliveryStatus::Held) || self.flag == Some(FlagCondition::Held)
    }

    /// The time at which an item must have been offered as if it were new, if it was, or before.
    pub const fn offered_by(&self) -> Option<Timestamp> {
        match self.flag {
            Some(FlagCondition::Unanswered(by)) => Some(by),
            _ => None,
        }
    }

    /// The time at which an attempt must have begun and be open since, if that is requested.
    pub const fn open_since(&self) -> Option<Timestamp> {
        match self.flag {
            Some(FlagCondition::Stuck(by)) => Some(by),
            _ => None,
        }
    }

    /// The number of attempts in a row that must have failed.
    pub const fn failures(&self) -> u32 {
        match self.flag {
            Some(FlagCondition::Failing(number)) => number,
            _ => 0,
        }
    }
}

/// The key of an item among all: by time, then by agent, chat, and sequence. A chat's times follow
/// its sequence, so the items of one agent in one chat are in the order of the sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WorkKey {
    /// The time of the message.
    pub written_at: Timestamp,
    /// The agent.
    pub agent: AgentId,
    /// The chat.
    pub chat: ChatId,
    /// The message's sequence there.
    pub sequence: Sequence,
}

impl WorkKey {
    /// Before all items.
    pub fn start() -> Self {
        let written_at = Timestamp::from_micros(i64::MIN);
        Self { written_at, agent: AgentId::NIL, chat: ChatId::NIL, sequence: Sequence::default() }
    }

    /// The key as a position in a list.
    pub fn position(self) -> Position {
        let Self { written_at, agent, chat, sequence } = self;
        Position { key: written_at.micros(), text: format!("{chat}{}", sequence.get()), id: agent.into() }
    }

    /// Reads [`Self::position`] back.
    pub fn at(position: &Position) -> Option<Self> {
        let (chat, sequence) = position.text.split_at_checked(36)?;
        Some(Self {
            written_at: Timestamp::from_micros(position.key),
            agent: AgentId::new(position.id.uuid()),
            chat: ChatId::parse(chat)?,
            sequence: Sequence::new(sequence.parse().ok()?),
        })
    }
}

/// The agent of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkAgent {
    /// Identifier.
    pub id: AgentId,
    /// Its handle.
    pub handle: String,
    /// Its name.
    pub name: String,
    /// Set if it runs at its owner's.
    pub is_external: bool,
    /// The end of its last socket.
    pub disconnect: Option<LastDisconnect>,
    /// Set if it is stopped in the chat.
    pub is_stopped: bool,
    /// Set if the agent or the organization of the chat is paused.
    pub is_paused: bool,
}

/// A message on its way to an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkItem {
    /// The agent.
    pub agent: WorkAgent,
    /// The chat.
    pub chat: ChatId,
    /// Its title. `None` if it has none, or if the reader neither may read the chat nor belongs to its
    /// organization as an admin.
    pub title: Option<String>,
    /// The message.
    pub message: MessageId,
    /// Its sequence in the chat.
    pub sequence: Sequence,
    /// The sender.
    pub sender: ParticipantId,
    /// The sender's name; shown by [`Self::shown_sender_name`].
    pub sender_name: String,
    /// The time at which the message was written.
    pub written_at: Timestamp,
    /// Its deadline, if it has one.
    pub respond_by: Option<Timestamp>,
    /// The first [`SHOWN_TEXT_CHARS`](super::SHOWN_TEXT_CHARS) characters of the text; `None` if the
    /// reader may not read the chat.
    pub text: Option<String>,
    /// The participants that the text mentions; none if the reader may not read the chat.
    pub mentions: Vec<Mention>,
    /// What became of it, in the shown form.
    pub delivery: Delivery,
}

impl WorkItem {
    /// Returns whether the reader may read the chat, and with it what may quote the message: the errors of
    /// attempts.
    pub const fn is_readable(&self) -> bool {
        self.text.is_some()
    }

    /// The sender's name, for a reader who may read the chat.
    pub fn shown_sender_name(&self) -> Option<&str> {
        self.is_readable().then_some(self.sender_name.as_str())
    }

    /// The beginning of the text, with `@handle` for markers. One that is cut off at the end is left out.
    pub fn text_with_handles(&self) -> Option<String> {
        let text = self.text.as_deref()?;
        let is_cut = text.chars().count() >= SHOWN_TEXT_CHARS as usize;
        let marker = text.rfind("@[[").filter(|at| is_cut && text.len() - at < Mention::MARKER_BYTES);
        let end = marker.unwrap_or(text.len());
        Some(with_handles(&text[..end], &self.mentions))
    }

    /// Why the item was taken out of the queue or held, for a reader who may read the chat.
    pub fn shown_dead_reason(&self) -> Option<&str> {
        self.delivery.dead().filter(|_| self.is_readable()).map(|dead| dead.reason.as_str())
    }

    /// Its key in a list.
    pub const fn key(&self) -> WorkKey {
        WorkKey {
            written_at: self.written_at,
            agent: self.agent.id,
            chat: self.chat,
            sequence: self.sequence,
        }
    }
}

/// A requested item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FindWork {
    /// Whose work.
    pub scope: WorkScope,
    /// The message.
    pub message: MessageId,
    /// The agent.
    pub agent: AgentId,
}

/// Work.
#[async_trait]
pub trait WorkRepository: Send + Sync {
    /// Open items, by [`WorkKey`]; pages are by cursor only and not counted. Refused without the
    /// [`Authority`] of the scope.
    ///
    /// Of each agent in each chat, the oldest [`EXAMINED_PER_QUEUE`](super::EXAMINED_PER_QUEUE) of each
    /// [`WorkPart`] are examined. The cost grows with the number of agents, of their chats with
    /// open deliveries, and of the open deliveries that are examined, but not with the processed ones.
    async fn list_work(
        &self,
        search: WorkSearch,
        page: PageRequest,
    ) -> Result<Result<Page<WorkItem>, NotAdmin>, StoreError>;

    /// Counts items by agent, state, and error, as far as the scope [reveals](WorkScope::reveals_errors) errors.
    /// Refused without the [`Authority`] of the scope.
    ///
    /// Of each [`WorkPart`], at most [`SUMMARIZED_PER_PART`](super::SUMMARIZED_PER_PART) deliveries are examined,
    /// and of each agent in each chat as many as by [`Self::list_work`]. The filters apply to these.
    async fn summarize_work(
        &self,
        search: WorkSearch,
        flags: FlagBounds,
    ) -> Result<Result<WorkCounts, NotAdmin>, StoreError>;

    /// One item in any state; `None` if there is none in the scope. Refused without the
    /// [`Authority`] of the scope.
    async fn find_work(&self, wanted: FindWork) -> Result<Result<Option<WorkItem>, NotAdmin>, StoreError>;

    /// The totals of all items that are open, dead, or held. The cost grows with their number, but not with the
    /// processed ones.
    async fn count_work(&self, flags: FlagBounds) -> Result<WorkTotals, StoreError>;

    /// The work of each of these agents, in this order. The cost grows with the number of agents, of their
    /// chats, and of their open and dead deliveries, but not with the processed ones.
    async fn work_of_agents(
        &self,
        agents: Vec<AgentId>,
        flags: FlagBounds,
    ) -> Result<Vec<AgentWork>, StoreError>;

    /// The first `limit` agents after this one, by id, that have at least one item with a flag. The cost is that of
    /// [`Self::count_work`].
    async fn flagged_agents(
        &self,
        after: Option<AgentId>,
        limit: u32,
        flags: FlagBounds,
    ) -> Result<Vec<AgentId>, StoreError>;

    /// Changes one item as [`ChangeWork::decide`] decides, on the locked record, with an audit entry and the
    /// entry of the change log ([`ChangeWork::logged`]). A message that replaces it is stored as
    /// [`MessageRepository::append`](crate::message::MessageRepository::append) stores it. All of this
    /// happens, or nothing.
    ///
    /// A change of a held delivery [ends](ChangeWork::ends_hold) the hold that is recorded for its tree, pair, or chat:
    /// a release allows as many hops, or messages, again.
    async fn change_work(
        &self,
        command: ChangeWork,
        on_commit: OnCommit<ChangedItem>,
    ) -> Result<Result<ChangedItem, ChangeWorkRefused>, StoreError>;
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn search() -> WorkSearch {
        WorkSearch {
            scope: WorkScope::Everything,
            agent: None,
            chat: None,
            root: None,
            state: None,
            flag: None,
            written_by: None,
            min_attempts: 0,
            error: None,
        }
    }

    #[test]
    fn only_parts_that_can_hold_an_item_are_searched() {
        use WorkPart::{Begun, Dead, Waiting};
        let (flag, state) =
            (Timestamp::from_micros(7), |state| WorkSearch { state: Some(state), ..search() });
        for (search, expected) in [
            (search(), &[Waiting, Begun][..]),
            (state(DeliveryStatus::New), &[Waiting]),
            (state(DeliveryStatus::Delivered), &[Waiting]),
            (state(DeliveryStatus::Processing), &[Begun]),
            (state(DeliveryStatus::Failed), &[Begun]),
            (state(DeliveryStatus::Processed), &[]),
            (WorkSearch { flag: Some(FlagCondition::Unanswered(flag)), ..search() }, &[Waiting]),
            (WorkSearch { flag: Some(FlagCondition::Stuck(flag)), ..search() }, &[Begun]),
            (WorkSearch { flag: Some(FlagCondition::Failing(3)), ..search() }, &[Begun]),
            (state(DeliveryStatus::Dead), &[Dead]),
            (state(DeliveryStatus::Held), &[Dead]),
            (WorkSearch { flag: Some(FlagCondition::Held), ..search() }, &[Dead]),
            (WorkSearch { flag: Some(FlagCondition::Held), ..state(DeliveryStatus::Held) }, &[Dead]),
            (WorkSearch { flag: Some(FlagCondition::Held), ..state(DeliveryStatus::Dead) }, &[]),
            (WorkSearch { flag: Some(FlagCondition::Dead), ..state(DeliveryStatus::New) }, &[]),
            (WorkSearch { min_attempts: 1, ..search() }, &[Begun]),
            (WorkSearch { error: Some("x".to_owned()), ..search() }, &[Begun]),
            (WorkSearch { min_attempts: 1, ..state(DeliveryStatus::New) }, &[]),
            (WorkSearch { flag: Some(FlagCondition::Stuck(flag)), ..state(DeliveryStatus::New) }, &[]),
        ] {
            assert_eq!(search.parts(), expected, "{search:?}");
        }
    }

    #[test]
    fn the_earlier_of_two_times_counts() {
        let at = Timestamp::from_micros;
        let written_by = |given, flag| WorkSearch { written_by: given, flag, ..search() }.written_by();
        assert!(written_by(None, None) > at(1 << 57));
        assert_eq!(written_by(Some(at(5)), None), at(5));
        assert_eq!(written_by(Some(at(5)), Some(FlagCondition::Unanswered(at(3)))), at(3));
        assert_eq!(written_by(Some(at(3)), Some(FlagCondition::Unanswered(at(5)))), at(3));
        assert_eq!(written_by(Some(at(5)), Some(FlagCondition::Stuck(at(3)))), at(5));
    }

    #[test]
    fn a_key_is_read_back_from_its_position() {
        let key = WorkKey {
            written_at: Timestamp::from_micros(9),
            agent: AgentId::new(Uuid::from_u128(1)),
            chat: ChatId::new(Uuid::from_u128(2)),
            sequence: Sequence::new(30),
        };
        assert_eq!(WorkKey::at(&key.position()), Some(key));
        assert_eq!(WorkKey::at(&Position::at(9, crate::id::RecordId::NIL)), None);
    }
}
