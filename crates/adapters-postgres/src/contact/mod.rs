//! The store of contacts and contact requests.
//!
//! A change of the relation of two accounts locks both of them, so no other change of it runs
//! meanwhile. Only the expiry of requests works without these locks, row by row.

mod answer;
mod expire;
mod forget;
mod load;
mod read;
mod remove;
#[path = "../../../sql-rows/contact.rs"]
mod row;
mod send;

use async_trait::async_trait;
use domain::caller::Caller;
use domain::contact::{
    AnswerRefused, AnswerRequest, Answered, Contact, ContactRepository, ContactRequest, Handle, NewRequest,
    NoSuchContact, RemoveContact, RemovedContact, Resolved, SendRefused, SentFilter, SentRequest,
};
use domain::id::{ParticipantId, UserId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use domain::text::NamePart;
use domain::time::Timestamp;
use futures_util::FutureExt;

use crate::PostgresStore;
pub(crate) use forget::forget_on;
use read::Chosen;

#[async_trait]
impl ContactRepository for PostgresStore {
    async fn send(
        &self,
        new: NewRequest,
        on_commit: OnCommit<SentRequest>,
    ) -> Result<Result<SentRequest, SendRefused>, StoreError> {
        self.change(new, |db, new| send::send_on(db, new).boxed(), |sent| on_commit.run(sent)).await
    }

    async fn answer(
        &self,
        command: AnswerRequest,
        on_commit: OnCommit<Answered>,
    ) -> Result<Result<Answered, AnswerRefused>, StoreError> {
        let announce = |answered: &Answered| on_commit.run(answered);
        self.change(command, |db, command| answer::answer_on(db, command).boxed(), announce).await
    }

    async fn remove(
        &self,
        command: RemoveContact,
        on_commit: OnCommit<RemovedContact>,
    ) -> Result<Result<RemovedContact, NoSuchContact>, StoreError> {
        let announce = |removed: &RemovedContact| on_commit.run(removed);
        self.change(command, |db, command| remove::remove_on(db, command).boxed(), announce).await
    }

    async fn expire(
        &self,
        expired_until: Timestamp,
        limit: u32,
        on_commit: OnCommit<Vec<ContactRequest>>,
    ) -> Result<Vec<ContactRequest>, StoreError> {
        self.alter_announced(
            (expired_until, limit),
            |db, (until, limit)| expire::expire_on(db, *until, *limit).boxed(),
            |expired| on_commit.run(expired),
        )
        .await
    }

    async fn list_contacts(
        &self,
        owner: ParticipantId,
        name: Option<NamePart>,
        page: PageRequest,
    ) -> Result<Page<Contact>, StoreError> {
        self.read((owner, name, page), |db, (owner, name, page)| {
            read::contacts_on(db, *owner, name.as_ref(), page).boxed()
        })
        .await
    }

    async fn list_received(
        &self,
        recipient: ParticipantId,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        self.requests(Chosen::ReceivedBy(recipient), expired_until, page).await
    }

    async fn list_received_by_all_of(
        &self,
        user: UserId,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        self.requests(Chosen::ReceivedByAllOf(user), expired_until, page).await
    }

    async fn list_sent(
        &self,
        requester: ParticipantId,
        filter: SentFilter,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        self.requests(Chosen::SentBy(requester, filter), expired_until, page).await
    }

    async fn resolve(&self, viewer: Caller, handle: Handle) -> Result<Option<Resolved>, StoreError> {
        self.read((viewer, handle), |db, (viewer, handle)| read::resolve_on(db, *viewer, handle).boxed())
            .await
    }

    async fn are_contacts(&self, one: ParticipantId, other: ParticipantId) -> Result<bool, StoreError> {
        self.query((one, other), |db, (one, other)| read::are_contacts_on(db, *one, *other).boxed()).await
    }
}

impl PostgresStore {
    async fn requests(
        &self,
        chosen: Chosen,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        let given = (chosen, expired_until, page);
        self.read(given, |db, (chosen, until, page)| read::requests_on(db, *chosen, *until, page).boxed())
            .await
    }
}
