//! Reads and writes requests, contacts, and both sides of them.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::contact::{ContactOf, Handle, RequestStatus};
use domain::id::{ContactId, ParticipantId};
use domain::time::Timestamp;
use uuid::Uuid;

use super::row::{
    AgentColumns, People, Person, RequestRow, UserColumns, contacts_of, is_pending, records_of,
};
use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::{agents, contact_requests, contacts, users};

/// The pending request from one to the other, expired or not.
pub(super) fn pending_on(
    connection: &mut SqliteConnection,
    requester: ParticipantId,
    recipient: ParticipantId,
) -> Result<Option<RequestRow>, Fault> {
    let found = contact_requests::table
        .filter(contact_requests::requester_id.eq(row::bytes(requester.uuid())))
        .filter(contact_requests::recipient_id.eq(row::bytes(recipient.uuid())))
        .filter(is_pending())
        .select(RequestRow::as_select())
        .get_result(connection)
        .optional()?;
    Ok(found)
}

/// Stores a new status; returns the row after the update.
pub(super) fn settle_on(
    connection: &mut SqliteConnection,
    request: RequestRow,
    status: RequestStatus,
    responded_at: Option<Timestamp>,
) -> Result<RequestRow, Fault> {
    let status = status.as_str().to_owned();
    let responded_at = responded_at.map(At);
    diesel::update(contact_requests::table.find(request.id))
        .set((contact_requests::status.eq(&status), contact_requests::responded_at.eq(responded_at)))
        .execute(connection)?;
    Ok(RequestRow { status, responded_at, ..request })
}

/// The user or agent that has the handle now.
pub(super) fn person_with_on(
    connection: &mut SqliteConnection,
    handle: &Handle,
) -> Result<Option<Person>, Fault> {
    if handle.is_agents() {
        let found = agents::table
            .filter(agents::handle.eq(handle.as_str()))
            .filter(agents::deleted_at.is_null())
            .select(AgentColumns::as_select())
            .get_result(connection)
            .optional()?;
        return found.map(AgentColumns::into_person).transpose();
    }
    let found = users::table
        .filter(users::handle.eq(handle.as_str()))
        .filter(users::deleted_at.is_null())
        .select(UserColumns::as_select())
        .get_result(connection)
        .optional()?;
    Ok(found.map(UserColumns::into_person))
}

/// The maximum number of ids per query; SQLite has a limit of its own.
const MAX_IDS: usize = 1_000;

/// Looks up all users and agents of a page at once, deleted agents included.
pub(super) fn people_on(
    connection: &mut SqliteConnection,
    ids: impl IntoIterator<Item = Uuid>,
) -> Result<People, Fault> {
    let mut ids = ids.into_iter().map(Id).collect::<Vec<_>>();
    ids.sort_unstable();
    ids.dedup();
    let (mut found_users, mut found_agents) = (Vec::new(), Vec::new());
    for ids in ids.chunks(MAX_IDS) {
        let found = users::table.filter(users::id.eq_any(ids)).select(UserColumns::as_select());
        found_users.extend(found.load(connection)?);
        let found = agents::table.filter(agents::id.eq_any(ids)).select(AgentColumns::as_select());
        found_agents.extend(found.load(connection)?);
    }
    People::of(found_users, found_agents)
}

/// Both sides of some requests.
pub(super) fn people_of_on(
    connection: &mut SqliteConnection,
    requests: &[RequestRow],
) -> Result<People, Fault> {
    people_on(connection, requests.iter().flat_map(RequestRow::ids))
}

/// Makes the two sides of `request` contacts; `people` contains both.
pub(super) fn connect_on(
    connection: &mut SqliteConnection,
    ids: [ContactId; 2],
    request: &RequestRow,
    people: &People,
    now: Timestamp,
) -> Result<Vec<ContactOf>, Fault> {
    let records = records_of(ids, request, now)?;
    for record in &records {
        diesel::insert_into(contacts::table).values(record).execute(connection)?;
    }
    contacts_of(request, &records, people)
}
