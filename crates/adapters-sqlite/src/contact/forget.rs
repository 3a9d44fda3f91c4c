//! Ending every contact and every pending request of a deleted account.

use diesel::prelude::*;
use diesel::sql_types::{Binary, Text};
use diesel::sqlite::SqliteConnection;
use domain::contact::{Parted, RequestStatus};
use domain::id::{ContactId, ParticipantId};
use domain::time::Timestamp;

use super::load::people_of_on;
use super::row::{RequestRow, is_pending};
use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::{contact_requests, contacts};

/// The records that others have of the account. SQLite returns them in any order.
const OTHER_SIDES: &str = "DELETE FROM contacts WHERE contact_id = ?1 \
     AND owner_id IN (SELECT contact_id FROM contacts WHERE owner_id = ?1) \
     RETURNING id, owner_kind, owner_id";

#[derive(QueryableByName)]
struct OtherSide {
    #[diesel(sql_type = Binary)]
    id: Id,
    #[diesel(sql_type = Text)]
    owner_kind: String,
    #[diesel(sql_type = Binary)]
    owner_id: Id,
}

pub(crate) fn forget_on(
    connection: &mut SqliteConnection,
    who: ParticipantId,
    now: Timestamp,
) -> Result<Parted, Fault> {
    let id = row::bytes(who.uuid());
    let mut others = diesel::sql_query(OTHER_SIDES).bind::<Binary, _>(&id).load::<OtherSide>(connection)?;
    diesel::delete(contacts::table.filter(contacts::owner_id.eq(&id))).execute(connection)?;
    others.sort_by_key(|side| side.id);
    let contacts = others
        .iter()
        .map(|side| {
            let owner = row::participant_id(&side.owner_kind, side.owner_id.0)?;
            Ok((owner, ContactId::new(side.id.0)))
        })
        .collect::<Result<Vec<_>, Fault>>()?;

    let pending = || contact_requests::table.filter(is_pending());
    let sent = || pending().filter(contact_requests::requester_id.eq(&id));
    // The status is tested again for the partial index of received requests.
    let is_pending_too = contact_requests::status.eq(RequestStatus::Pending.as_str());
    let received = || pending().filter(contact_requests::recipient_id.eq(&id)).filter(is_pending_too);
    let by_age =
        |one: &RequestRow, other: &RequestRow| (one.created_at, &one.id).cmp(&(other.created_at, &other.id));
    let mut requests = sent().select(RequestRow::as_select()).load(connection)?;
    requests.sort_by(by_age);
    let mut others = received().select(RequestRow::as_select()).load(connection)?;
    others.sort_by(by_age);
    requests.extend(others);
    let ended = (
        contact_requests::status.eq(RequestStatus::Cancelled.as_str()),
        contact_requests::responded_at.eq(now.micros()),
    );
    diesel::update(sent()).set(ended).execute(connection)?;
    diesel::update(received()).set(ended).execute(connection)?;
    for request in &mut requests {
        RequestStatus::Cancelled.as_str().clone_into(&mut request.status);
        request.responded_at = Some(At(now));
    }
    let people = people_of_on(connection, &requests)?;
    // All of them are settled, so none can be expired.
    let requests =
        requests.iter().map(|request| request.to_request(&people, now)).collect::<Result<Vec<_>, _>>()?;
    Ok(Parted { contacts, requests })
}
