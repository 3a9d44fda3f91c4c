//! Marking unanswered requests as expired.

use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::contact::ContactRequest;
use domain::time::Timestamp;

use super::load::people_of_on;
use super::row::RequestRow;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;

/// A request that is being answered is skipped; so is one that another process expires.
const EXPIRE: &str = "WITH overdue AS (SELECT id FROM contact_requests \
         WHERE status = 'pending' AND created_at <= ? ORDER BY created_at LIMIT ? \
         FOR NO KEY UPDATE SKIP LOCKED) \
     UPDATE contact_requests AS request SET status = 'expired' FROM overdue WHERE request.id = overdue.id \
     RETURNING request.id, request.requester_id, request.requester_kind, request.requester_user_id, \
     request.recipient_id, request.recipient_kind, request.recipient_user_id, request.message, \
     request.status, request.created_at, request.responded_at";

type SqlRequest = (
    SqlUuid,
    SqlUuid,
    Text,
    SqlUuid,
    SqlUuid,
    Text,
    SqlUuid,
    Nullable<Text>,
    Text,
    Timestamptz,
    Nullable<Timestamptz>,
);

pub(super) async fn expire_on(
    mut db: &Db,
    expired_until: Timestamp,
    limit: u32,
) -> Result<Vec<ContactRequest>, Fault> {
    let mut overdue = statement::<SqlRequest>(EXPIRE)
        .bind::<Timestamptz, _>(At(expired_until))
        .bind::<BigInt, _>(i64::from(limit))
        .load::<RequestRow>(&mut db)
        .await?;
    overdue.sort_by_key(|request| (request.created_at, request.id));
    let people = people_of_on(db, &overdue).await?;
    overdue.iter().map(|request| request.to_request(&people, expired_until)).collect()
}
