//! Ending every contact and every pending request of a deleted account.

use diesel::prelude::*;
use diesel::sql_types::{Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::contact::{Parted, RequestStatus};
use domain::id::{ContactId, ParticipantId};
use domain::time::Timestamp;
use futures_util::future::try_join;
use uuid::Uuid;

use super::load::people_of_on;
use super::row::{RequestRow, is_pending};
use crate::error::Fault;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::contact_requests;
use crate::statement::statement;

/// Locks the records of an account, and those that others have of it: one of them may be deleted at
/// the same moment.
const LOCK_CONTACTS: &str = "SELECT id FROM contacts WHERE id = ANY(ARRAY(\
         SELECT id FROM contacts WHERE owner_id = ? UNION ALL \
         SELECT theirs.id FROM contacts AS own \
         JOIN contacts AS theirs ON theirs.owner_id = own.contact_id AND theirs.contact_id = own.owner_id \
         WHERE own.owner_id = ?)) ORDER BY id FOR UPDATE";

/// Deletes the records of an account, and those that others have of it; returns the latter.
const CONTACTS: &str = "WITH own AS (DELETE FROM contacts WHERE owner_id = ? RETURNING contact_id) \
     DELETE FROM contacts USING own WHERE contacts.owner_id = own.contact_id AND contacts.contact_id = ? \
     RETURNING contacts.id, contacts.owner_kind, contacts.owner_id";

/// The caller has locked the account, as does every other change of its contacts or requests.
pub(crate) async fn forget_on(db: &Db, who: ParticipantId, now: Timestamp) -> Result<Parted, Fault> {
    let (contacts, requests) = try_join(contacts_on(db, who), requests_on(db, who, now)).await?;
    let people = people_of_on(db, &requests).await?;
    // All of them are settled, so none can be expired.
    let requests =
        requests.iter().map(|request| request.to_request(&people, now)).collect::<Result<Vec<_>, _>>()?;
    Ok(Parted { contacts, requests })
}

async fn contacts_on(mut db: &Db, who: ParticipantId) -> Result<Vec<(ParticipantId, ContactId)>, Fault> {
    statement::<()>(LOCK_CONTACTS)
        .bind::<SqlUuid, _>(who.uuid())
        .bind::<SqlUuid, _>(who.uuid())
        .execute(&mut db)
        .await?;
    let mut others = statement::<(SqlUuid, Text, SqlUuid)>(CONTACTS)
        .bind::<SqlUuid, _>(who.uuid())
        .bind::<SqlUuid, _>(who.uuid())
        .load::<(Uuid, String, Uuid)>(&mut db)
        .await?;
    others.sort_unstable_by_key(|(id, ..)| *id);
    let side = |(id, kind, owner): (Uuid, String, Uuid)| {
        Ok((row::participant_id(&kind, owner)?, ContactId::new(id)))
    };
    others.into_iter().map(side).collect()
}

/// Cancels the requests that the account sent or received, and returns them: the sent ones first,
/// each oldest first.
async fn requests_on(mut db: &Db, who: ParticipantId, now: Timestamp) -> Result<Vec<RequestRow>, Fault> {
    let id = who.uuid();
    let concerned = contact_requests::requester_id.eq(id).or(contact_requests::recipient_id.eq(id));
    let mut requests = diesel::update(contact_requests::table)
        .filter(is_pending())
        .filter(concerned)
        .set((
            contact_requests::status.eq(RequestStatus::Cancelled.as_str()),
            contact_requests::responded_at.eq(At(now)),
        ))
        .returning(RequestRow::as_returning())
        .get_results(&mut db)
        .await?;
    requests.sort_by_key(|request| (request.requester_id.0 != id, request.created_at, request.id));
    Ok(requests)
}
