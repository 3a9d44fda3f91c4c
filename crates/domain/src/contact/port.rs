//! The store of contacts and contact requests.

use async_trait::async_trait;
use uuid::Uuid;

use super::handle::Handle;
use super::list::SentFilter;
use super::record::{Contact, ContactOf};
use super::request::{ContactRequest, RequestAction, RequestMessage, RequestStatus, SendRefused};
use super::resolve::Resolved;
use crate::caller::Caller;
use crate::id::{ContactId, ContactRequestId, ParticipantId, UserId};
use crate::page::{Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A request to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewRequest {
    /// Identifier.
    pub id: ContactRequestId,
    /// Who asks.
    pub by: Caller,
    /// Who is asked.
    pub to: Handle,
    /// What is said with it.
    pub message: Option<RequestMessage>,
    /// Ids for the two records, should they become contacts at once.
    pub contacts: [ContactId; 2],
    /// When.
    pub now: Timestamp,
    /// Pending requests sent at or before this instant are expired.
    pub expired_until: Timestamp,
}

/// A request was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentRequest {
    /// The request as stored: pending, or approved at once.
    pub request: ContactRequest,
    /// What became of the inverse request, if one was pending.
    pub approval: Option<Answered>,
    /// Requests between the two that turned out to be over age.
    pub expired: Vec<ContactRequest>,
}

/// Which request is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichRequest {
    /// This one.
    Id(ContactRequestId),
    /// The pending one between the caller and whoever has the handle: the one that the other
    /// sent, for an answer, or the one that the caller sent, for taking it back.
    With(Handle),
}

/// An answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnswerRequest {
    /// Who answers.
    pub by: Caller,
    /// Which.
    pub which: WhichRequest,
    /// What is to be done.
    pub action: RequestAction,
    /// Ids for the two records, should they become contacts.
    pub contacts: [ContactId; 2],
    /// When.
    pub now: Timestamp,
    /// Pending requests sent at or before this instant are expired.
    pub expired_until: Timestamp,
}

/// A request that was settled: as somebody wished, or as expired, because it was over age.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The request as it stands now.
    pub request: ContactRequest,
    /// Each side's record, if the two are contacts now.
    pub contacts: Vec<ContactOf>,
}

/// Why a request was left as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerRefused {
    /// No such request, none of the caller's, or one with somebody who is gone.
    NotFound,
    /// This is for the other side to do.
    OtherSide,
    /// It was answered before, or expired.
    Settled(RequestStatus),
}

/// Which contact is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichContact {
    /// The caller's record of this id, or else the one with the user or agent of this id.
    Id(Uuid),
    /// The one with whoever has the handle.
    With(Handle),
}

/// A contact to be removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoveContact {
    /// Who removes it.
    pub by: ParticipantId,
    /// Which.
    pub which: WhichContact,
}

/// A contact was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemovedContact {
    /// Each side, and the id of its record.
    pub sides: Vec<(ParticipantId, ContactId)>,
}

/// What ended because one of those concerned is gone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parted {
    /// Those whose contact ended, and the id of their record; in the order of the ids.
    pub contacts: Vec<(ParticipantId, ContactId)>,
    /// The requests that were pending, cancelled now: those of the one who is gone first, each kind oldest first.
    pub requests: Vec<ContactRequest>,
}

/// The caller has no such contact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSuchContact;

/// Contacts and contact requests.
///
/// Lists are newest first, by (`created_at`, id). A request reads as expired when it is pending
/// and was sent at or before `expired_until`.
#[async_trait]
pub trait ContactRepository: Send + Sync {
    /// Stores a request as [`super::request::decide_send`] decides, unless it is that of an agent
    /// which was deleted. Two who ask each other at
    /// the same moment are contacts afterwards and nothing is pending; of the same request sent
    /// twice at the same moment one is refused. Pending requests between the two that are over
    /// age are written down as expired.
    async fn send(
        &self,
        new: NewRequest,
        on_commit: OnCommit<SentRequest>,
    ) -> Result<Result<SentRequest, SendRefused>, StoreError>;

    /// Answers a request as [`super::request::decide_answer`] decides.
    async fn answer(
        &self,
        command: AnswerRequest,
        on_commit: OnCommit<Answered>,
    ) -> Result<Result<Answered, AnswerRefused>, StoreError>;

    /// Removes a contact for both sides.
    async fn remove(
        &self,
        command: RemoveContact,
        on_commit: OnCommit<RemovedContact>,
    ) -> Result<Result<RemovedContact, NoSuchContact>, StoreError>;

    /// Writes down that pending requests are expired, at most `limit` of them, oldest first.
    async fn expire(
        &self,
        expired_until: Timestamp,
        limit: u32,
        on_commit: OnCommit<Vec<ContactRequest>>,
    ) -> Result<Vec<ContactRequest>, StoreError>;

    /// The contacts of `owner`.
    async fn list_contacts(
        &self,
        owner: ParticipantId,
        page: PageRequest,
    ) -> Result<Page<Contact>, StoreError>;

    /// The pending requests to `recipient`.
    async fn list_received(
        &self,
        recipient: ParticipantId,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError>;

    /// The pending requests to `user` and to the user's agents.
    async fn list_received_by_all_of(
        &self,
        user: UserId,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError>;

    /// The requests that `requester` sent.
    async fn list_sent(
        &self,
        requester: ParticipantId,
        filter: SentFilter,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError>;

    /// Who has the handle, and how `viewer` stands to them.
    async fn resolve(&self, viewer: Caller, handle: Handle) -> Result<Option<Resolved>, StoreError>;

    /// Whether the two are contacts.
    async fn are_contacts(&self, one: ParticipantId, other: ParticipantId) -> Result<bool, StoreError>;
}
