//! Marking unanswered requests as expired.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::contact::{ContactRequest, RequestStatus};
use domain::time::Timestamp;

use super::load::people_of_on;
use super::row::{RequestRow, is_pending};
use crate::error::Fault;
use crate::schema::contact_requests;

pub(super) fn expire_on(
    connection: &mut SqliteConnection,
    expired_until: Timestamp,
    limit: u32,
) -> Result<Vec<ContactRequest>, Fault> {
    let mut overdue = contact_requests::table
        .filter(is_pending())
        .filter(contact_requests::created_at.le(expired_until.micros()))
        .order(contact_requests::created_at)
        .limit(i64::from(limit))
        .select(RequestRow::as_select())
        .load::<RequestRow>(connection)?;
    if overdue.is_empty() {
        return Ok(Vec::new());
    }
    overdue.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
    let ids = overdue.iter().map(|request| &request.id);
    diesel::update(contact_requests::table.filter(contact_requests::id.eq_any(ids)))
        .set(contact_requests::status.eq(RequestStatus::Expired.as_str()))
        .execute(connection)?;
    let people = people_of_on(connection, &overdue)?;
    // An expired row that is still pending reads like its new state.
    overdue.iter().map(|request| request.to_request(&people, expired_until)).collect()
}
