//! The store of contacts and contact requests.

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
use diesel::sqlite::SqliteConnection;
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

use crate::SqliteStore;
pub(crate) use forget::forget_on;
use read::Chosen;

#[async_trait]
impl ContactRepository for SqliteStore {
    async fn send(
        &self,
        new: NewRequest,
        on_commit: OnCommit<SentRequest>,
    ) -> Result<Result<SentRequest, SendRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| send::send_on(connection, &new);
        self.change(work, |sent| on_commit.run(sent)).await
    }

    async fn answer(
        &self,
        command: AnswerRequest,
        on_commit: OnCommit<Answered>,
    ) -> Result<Result<Answered, AnswerRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| answer::answer_on(connection, &command);
        self.change(work, |answered| on_commit.run(answered)).await
    }

    async fn remove(
        &self,
        command: RemoveContact,
        on_commit: OnCommit<RemovedContact>,
    ) -> Result<Result<RemovedContact, NoSuchContact>, StoreError> {
        let work = move |connection: &mut SqliteConnection| remove::remove_on(connection, &command);
        self.change(work, |removed| on_commit.run(removed)).await
    }

    async fn expire(
        &self,
        expired_until: Timestamp,
        limit: u32,
        on_commit: OnCommit<Vec<ContactRequest>>,
    ) -> Result<Vec<ContactRequest>, StoreError> {
        self.alter_announced(
            move |connection| expire::expire_on(connection, expired_until, limit),
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
        self.read(move |connection| read::contacts_on(connection, owner, name.as_ref(), &page)).await
    }

    async fn list_received(
        &self,
        recipient: ParticipantId,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        let chosen = Chosen::ReceivedBy(recipient);
        self.read(move |connection| read::requests_on(connection, chosen, expired_until, page)).await
    }

    async fn list_received_by_all_of(
        &self,
        user: UserId,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        let chosen = Chosen::ReceivedByAllOf(user);
        self.read(move |connection| read::requests_on(connection, chosen, expired_until, page)).await
    }

    async fn list_sent(
        &self,
        requester: ParticipantId,
        filter: SentFilter,
        expired_until: Timestamp,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        let chosen = Chosen::SentBy(requester, filter);
        self.read(move |connection| read::requests_on(connection, chosen, expired_until, page)).await
    }

    async fn resolve(&self, viewer: Caller, handle: Handle) -> Result<Option<Resolved>, StoreError> {
        self.read(move |connection| read::resolve_on(connection, viewer, &handle)).await
    }

    async fn are_contacts(&self, one: ParticipantId, other: ParticipantId) -> Result<bool, StoreError> {
        self.read(move |connection| read::are_contacts_on(connection, one, other)).await
    }
}
