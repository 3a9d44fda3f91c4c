//! Reads and writes requests, contacts, and both sides of them.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::contact::{ContactOf, Handle, RequestStatus};
use domain::id::{ContactId, ParticipantId};
use domain::time::Timestamp;
use futures_util::future::try_join;
use uuid::Uuid;

use super::row::{
    AgentColumns, People, Person, RequestRow, UserColumns, contacts_of, is_pending, records_of,
};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{agents, contact_requests, contacts, users};

/// The pending requests between two accounts in either direction, expired or not. The rows are
/// locked, since requests expire without a lock on the accounts.
pub(super) async fn pending_between_on(
    mut db: &Db,
    one: ParticipantId,
    other: ParticipantId,
) -> Result<Vec<RequestRow>, Fault> {
    let directed = |from: ParticipantId, to: ParticipantId| {
        contact_requests::requester_id.eq(from.uuid()).and(contact_requests::recipient_id.eq(to.uuid()))
    };
    let found = contact_requests::table
        .filter(is_pending())
        .filter(directed(one, other).or(directed(other, one)))
        .order(contact_requests::id)
        .select(RequestRow::as_select())
        .for_no_key_update()
        .load(&mut db)
        .await?;
    Ok(found)
}

/// Stores a new status; returns the row after the update.
pub(super) async fn settle_on(
    mut db: &Db,
    request: RequestRow,
    status: RequestStatus,
    responded_at: Option<Timestamp>,
) -> Result<RequestRow, Fault> {
    let status = status.as_str().to_owned();
    let responded_at = responded_at.map(At);
    diesel::update(contact_requests::table.find(request.id))
        .set((contact_requests::status.eq(&status), contact_requests::responded_at.eq(responded_at)))
        .execute(&mut db)
        .await?;
    Ok(RequestRow { status, responded_at, ..request })
}

/// The user or agent that has the handle now.
pub(super) async fn person_with_on(mut db: &Db, handle: &Handle) -> Result<Option<Person>, Fault> {
    if handle.is_agents() {
        let found = agents::table
            .filter(agents::handle.eq(handle.as_str()))
            .filter(agents::deleted_at.is_null())
            .select(AgentColumns::as_select())
            .first(&mut db)
            .await
            .optional()?;
        return found.map(AgentColumns::into_person).transpose();
    }
    let found = users::table
        .filter(users::handle.eq(handle.as_str()))
        .filter(users::deleted_at.is_null())
        .select(UserColumns::as_select())
        .first(&mut db)
        .await
        .optional()?;
    Ok(found.map(UserColumns::into_person))
}

/// Looks up all users and agents of a page at once, deleted agents included.
pub(super) async fn people_on(mut db: &Db, ids: impl IntoIterator<Item = Uuid>) -> Result<People, Fault> {
    let mut ids = ids.into_iter().collect::<Vec<_>>();
    if ids.is_empty() {
        return People::of(Vec::new(), Vec::new());
    }
    ids.sort_unstable();
    ids.dedup();
    let mut also = db;
    let named_users = users::table.filter(users::id.eq_any(&ids)).select(UserColumns::as_select());
    let named_agents = agents::table.filter(agents::id.eq_any(&ids)).select(AgentColumns::as_select());
    let (found_users, found_agents) =
        try_join(named_users.load(&mut db), named_agents.load(&mut also)).await?;
    People::of(found_users, found_agents)
}

/// Both sides of some requests.
pub(super) async fn people_of_on(db: &Db, requests: &[RequestRow]) -> Result<People, Fault> {
    people_on(db, requests.iter().flat_map(RequestRow::ids)).await
}

/// Makes the two sides of `request` contacts; `people` contains both.
pub(super) async fn connect_on(
    mut db: &Db,
    ids: [ContactId; 2],
    request: &RequestRow,
    people: &People,
    now: Timestamp,
) -> Result<Vec<ContactOf>, Fault> {
    let records = records_of(ids, request, now)?;
    diesel::insert_into(contacts::table).values(&records).execute(&mut db).await?;
    contacts_of(request, &records, people)
}
