//! The store of contacts and contact requests.

use async_trait::async_trait;

use super::handle::Handle;
use super::list::SentFilter;
use super::record::{Contact, ContactOf};
use super::request::{ContactRequest, RequestAction, RequestMessage, RequestStatus, SendRefused};
use super::resolve::Resolved;
use crate::caller::Caller;
use crate::id::{ContactId, ContactRequestId, ParticipantId, RecordId, UserId};
use crate::page::{Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::text::NamePart;
use crate::time::Timestamp;

/// A request to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewRequest {
    /// Identifier.
    pub id: ContactRequestId,
    /// The requester.
    pub by: Caller,
    /// The recipient.
    pub to: Handle,
    /// The message of the request.
    pub message: Option<RequestMessage>,
    /// Ids for the two records, in case they become contacts at once.
    pub contacts: [ContactId; 2],
    /// The current time.
    pub now: Timestamp,
    /// Pending requests sent at or before this instant are expired.
    pub expired_until: Timestamp,
}

/// A request was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentRequest {
    /// The request as stored: pending, or approved at once.
    pub request: ContactRequest,
    /// The inverse request, if one was pending and is now approved.
    pub approval: Option<Answered>,
    /// Requests between the two that had expired.
    pub expired: Vec<ContactRequest>,
}

/// A selection of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichRequest {
    /// This one.
    Id(ContactRequestId),
    /// The pending one between the caller and the account with the handle: the received one for an
    /// answer, or the sent one for a cancellation.
    With(Handle),
}

/// An answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnswerRequest {
    /// The caller.
    pub by: Caller,
    /// The request.
    pub which: WhichRequest,
    /// The action.
    pub action: RequestAction,
    /// Ids for the two records, in case they become contacts.
    pub contacts: [ContactId; 2],
    /// The current time.
    pub now: Timestamp,
    /// Pending requests sent at or before this instant are expired.
    pub expired_until: Timestamp,
}

/// A settled request: answered, or expired because it was too old.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The request in its new state.
    pub request: ContactRequest,
    /// Each side's record, if the two are contacts now.
    pub contacts: Vec<ContactOf>,
}

/// The reason why a request was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerRefused {
    /// The request does not exist, does not concern the caller, or its other side was deleted.
    NotFound,
    /// Only the other side may do this.
    OtherSide,
    /// It was answered before, or has expired.
    Settled(RequestStatus),
}

/// A selection of a contact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichContact {
    /// The caller's record with this id, or else the contact with the user or agent of this id.
    Id(RecordId),
    /// The one with the account that has the handle.
    With(Handle),
}

/// A contact to be removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoveContact {
    /// The caller.
    pub by: ParticipantId,
    /// The contact.
    pub which: WhichContact,
}

/// A contact was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemovedContact {
    /// Each side, with the id of its record.
    pub sides: Vec<(ParticipantId, ContactId)>,
}

/// The contacts and requests that ended with an account.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parted {
    /// The other sides of the contacts, with the ids of their records, in the order of the ids.
    pub contacts: Vec<(ParticipantId, ContactId)>,
    /// The requests that were pending, now cancelled: those of the deleted account first, each kind
    /// oldest first.
    pub requests: Vec<ContactRequest>,
}

/// The caller has no such contact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSuchContact;

/// Contacts and contact requests.
///
/// Lists are newest first, by (`created_at`, id). A request reads as expired if it is pending and
/// was sent at or before `expired_until`.
#[async_trait]
pub trait ContactRepository: Send + Sync {
    /// Stores a request as [`super::request::decide_send`] decides, unless its requester is a
    /// deleted agent. Two concurrent requests in opposite directions make a contact and leave
    /// nothing pending; of the same request sent twice at the same time one is refused. Pending
    /// requests between the two that are too old are marked as expired.
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

    /// Marks pending requests as expired, at most `limit` of them, oldest first.
    async fn expire(
        &self,
        expired_until: Timestamp,
        limit: u32,
        on_commit: OnCommit<Vec<ContactRequest>>,
    ) -> Result<Vec<ContactRequest>, StoreError>;

    /// The contacts of `owner` with `name` in their name or handle, newest first.
    async fn list_contacts(
        &self,
        owner: ParticipantId,
        name: Option<NamePart>,
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

    /// The account with the handle, and its relation to `viewer`.
    async fn resolve(&self, viewer: Caller, handle: Handle) -> Result<Option<Resolved>, StoreError>;

    /// Returns whether the two are contacts.
    async fn are_contacts(&self, one: ParticipantId, other: ParticipantId) -> Result<bool, StoreError>;
}
