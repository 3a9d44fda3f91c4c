//! Reading contacts, requests, and accounts by handle.

use diesel::dsl::{count_star, exists, select, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::caller::Caller;
use domain::contact::{Acquaintance, Contact, ContactRequest, Handle, RequestStatus, Resolved, SentFilter};
use domain::id::{ParticipantId, UserId};
use domain::page::{Page, PageRequest, Position};
use domain::text::NamePart;
use domain::time::Timestamp;

use super::load::{people_of_on, people_on, person_with_on};
use super::row::{ContactRow, RequestRow, page_of_contacts};
use crate::error::Fault;
use crate::row;
use crate::schema::{contact_requests, contacts};

/// Returns whether the two are contacts: each side has its record, so one is enough.
pub(super) fn are_contacts_on(
    connection: &mut SqliteConnection,
    one: ParticipantId,
    other: ParticipantId,
) -> Result<bool, Fault> {
    let record = contacts::table
        .filter(contacts::owner_id.eq(row::bytes(one.uuid())))
        .filter(contacts::contact_id.eq(row::bytes(other.uuid())));
    Ok(select(exists(record)).get_result(connection)?)
}

pub(super) fn resolve_on(
    connection: &mut SqliteConnection,
    viewer: Caller,
    handle: &Handle,
) -> Result<Option<Resolved>, Fault> {
    let Some(person) = person_with_on(connection, handle)? else { return Ok(None) };
    let who = person.profile.id;
    let is_contact = are_contacts_on(connection, viewer.participant(), who)?;
    let acquaintance = Acquaintance::between(viewer, who, person.user, is_contact);
    Ok(Some(Resolved { profile: person.profile, acquaintance }))
}

/// No index supports the search for a part of a name; the contacts are then examined one by one.
pub(super) fn contacts_on(
    connection: &mut SqliteConnection,
    owner: ParticipantId,
    name: Option<&NamePart>,
    page: &PageRequest,
) -> Result<Page<Contact>, Fault> {
    let own = contacts::table.filter(contacts::owner_id.eq(row::bytes(owner.uuid())));
    let total = if page.count && name.is_none() {
        Some(own.clone().select(count_star()).get_result::<i64>(connection)?)
    } else {
        None
    };
    let mut rows = own.select(ContactRow::as_select()).into_boxed();
    if let Some(Position { key, id, .. }) = page.slice.after() {
        // The first condition is redundant; it lets the index scan start at the right row.
        rows = rows.filter(contacts::created_at.le(key));
        let older = contacts::created_at.lt(key);
        rows =
            rows.filter(older.or(contacts::created_at.eq(key).and(contacts::id.lt(row::bytes(id.uuid())))));
    }
    if name.is_none() {
        rows = rows.limit(i64::from(page.slice.limit()) + 1).offset(page.slice.offset());
    }
    let rows = rows.order((contacts::created_at.desc(), contacts::id.desc())).load(connection)?;
    let people = people_on(connection, rows.iter().map(|row| row.contact_id.0))?;
    let rows = rows.iter().map(|row| row.to_contact(&people)).collect::<Result<Vec<_>, _>>()?;
    Ok(page_of_contacts(rows, name, page, total.map(i64::cast_unsigned)))
}

/// The selection of requests.
#[derive(Clone, Copy)]
pub(super) enum Chosen {
    /// The pending ones sent to one user or agent.
    ReceivedBy(ParticipantId),
    /// The pending ones sent to a user and the user's agents.
    ReceivedByAllOf(UserId),
    /// Those of one requester.
    SentBy(ParticipantId, SentFilter),
}

type Requests = contact_requests::BoxedQuery<'static, Sqlite>;

fn chosen_requests(chosen: Chosen, expired_until: Timestamp) -> Requests {
    let limit = expired_until.micros();
    let pending = |requests: Requests| {
        requests
            .filter(contact_requests::status.eq(RequestStatus::Pending.as_str()))
            .filter(contact_requests::created_at.gt(limit))
    };
    let all = contact_requests::table.into_boxed();
    match chosen {
        Chosen::ReceivedBy(recipient) => {
            pending(all.filter(contact_requests::recipient_id.eq(row::bytes(recipient.uuid()))))
        }
        Chosen::ReceivedByAllOf(user) => {
            pending(all.filter(contact_requests::recipient_user_id.eq(row::bytes(user.uuid()))))
        }
        Chosen::SentBy(requester, filter) => {
            let sent = all.filter(contact_requests::requester_id.eq(row::bytes(requester.uuid())));
            match filter {
                SentFilter::All => sent,
                // Some are marked as expired, some are not yet. The plus signs keep SQLite from
                // searching for either alone and sorting both together, and below from scanning the
                // times of all sent requests.
                SentFilter::Only(RequestStatus::Expired) => sent.filter(
                    sql::<Bool>("(+status = 'expired' OR (+status = 'pending' AND +created_at <= ")
                        .bind::<BigInt, _>(limit)
                        .sql("))"),
                ),
                SentFilter::Only(RequestStatus::Pending) => sent
                    .filter(contact_requests::status.eq(RequestStatus::Pending.as_str()))
                    .filter(sql::<Bool>("+created_at > ").bind::<BigInt, _>(limit)),
                SentFilter::Only(status) => sent.filter(contact_requests::status.eq(status.as_str())),
            }
        }
    }
}

pub(super) fn requests_on(
    connection: &mut SqliteConnection,
    chosen: Chosen,
    expired_until: Timestamp,
    page: PageRequest,
) -> Result<Page<ContactRequest>, Fault> {
    let total = if page.count {
        let all = chosen_requests(chosen, expired_until);
        Some(all.select(count_star()).get_result::<i64>(connection)?)
    } else {
        None
    };
    let mut rows = chosen_requests(chosen, expired_until);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        // Redundant, as for contacts.
        rows = rows.filter(contact_requests::created_at.le(key));
        let same_time =
            contact_requests::created_at.eq(key).and(contact_requests::id.lt(row::bytes(id.uuid())));
        rows = rows.filter(contact_requests::created_at.lt(key).or(same_time));
    }
    let rows = rows
        .order((contact_requests::created_at.desc(), contact_requests::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(RequestRow::as_select())
        .load(connection)?;
    let people = people_of_on(connection, &rows)?;
    let rows =
        rows.iter().map(|row| row.to_request(&people, expired_until)).collect::<Result<Vec<_>, _>>()?;
    Ok(Page::from_overfetch(rows, &page, total.map(i64::cast_unsigned), |request| {
        Position::at(request.created_at.micros(), request.id)
    }))
}
