//! Reading contacts, requests, and accounts by handle.

use diesel::dsl::{count_star, exists, select};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::caller::Caller;
use domain::contact::{Acquaintance, Contact, ContactRequest, Handle, RequestStatus, Resolved, SentFilter};
use domain::id::{ParticipantId, UserId};
use domain::page::{Page, PageRequest, Position};
use domain::text::NamePart;
use domain::time::Timestamp;
use futures_util::future::try_join;

use super::load::{people_of_on, people_on, person_with_on};
use super::row::{ContactRow, RequestRow, page_of_contacts};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{contact_requests, contacts};

/// Returns whether the two are contacts: each side has its record, so one is enough.
pub(super) async fn are_contacts_on(
    mut db: &Db,
    one: ParticipantId,
    other: ParticipantId,
) -> Result<bool, Fault> {
    let record = contacts::table
        .filter(contacts::owner_id.eq(one.uuid()))
        .filter(contacts::contact_id.eq(other.uuid()));
    Ok(select(exists(record)).get_result(&mut db).await?)
}

pub(super) async fn resolve_on(db: &Db, viewer: Caller, handle: &Handle) -> Result<Option<Resolved>, Fault> {
    let Some(person) = person_with_on(db, handle).await? else { return Ok(None) };
    let who = person.profile.id;
    let is_contact = are_contacts_on(db, viewer.participant(), who).await?;
    let acquaintance = Acquaintance::between(viewer, who, person.user, is_contact);
    Ok(Some(Resolved { profile: person.profile, acquaintance }))
}

/// No index supports the search for a part of a name; the contacts are then examined one by one.
pub(super) async fn contacts_on(
    db: &Db,
    owner: ParticipantId,
    name: Option<&NamePart>,
    page: &PageRequest,
) -> Result<Page<Contact>, Fault> {
    let total = count_contacts_on(db, owner, page.count && name.is_none());
    let (total, rows) = try_join(total, records_on(db, owner, name.is_some(), page)).await?;
    let people = people_on(db, rows.iter().map(|row| row.contact_id.0)).await?;
    let rows = rows.iter().map(|row| row.to_contact(&people)).collect::<Result<Vec<_>, _>>()?;
    Ok(page_of_contacts(rows, name, page, total))
}

async fn count_contacts_on(mut db: &Db, owner: ParticipantId, wanted: bool) -> Result<Option<u64>, Fault> {
    if !wanted {
        return Ok(None);
    }
    let own = contacts::table.filter(contacts::owner_id.eq(owner.uuid()));
    let total = own.select(count_star()).first::<i64>(&mut db).await?;
    Ok(Some(total.cast_unsigned()))
}

/// The records of a page and one more, or all behind its position.
async fn records_on(
    mut db: &Db,
    owner: ParticipantId,
    all: bool,
    page: &PageRequest,
) -> Result<Vec<ContactRow>, Fault> {
    let mut rows = contacts::table
        .filter(contacts::owner_id.eq(owner.uuid()))
        .select(ContactRow::as_select())
        .into_boxed();
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let key = At(Timestamp::from_micros(key));
        // The first condition is redundant; it lets the index scan start at the right row.
        rows = rows.filter(contacts::created_at.le(key));
        let older = contacts::created_at.lt(key);
        rows = rows.filter(older.or(contacts::created_at.eq(key).and(contacts::id.lt(id.uuid()))));
    }
    if !all {
        rows = rows.limit(i64::from(page.slice.limit()) + 1).offset(page.slice.offset());
    }
    let rows = rows.order((contacts::created_at.desc(), contacts::id.desc())).load(&mut db).await?;
    Ok(rows)
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

type Requests = contact_requests::BoxedQuery<'static, Pg>;

fn chosen_requests(chosen: Chosen, expired_until: Timestamp) -> Requests {
    let limit = At(expired_until);
    let pending = |requests: Requests| {
        requests
            .filter(contact_requests::status.eq(RequestStatus::Pending.as_str()))
            .filter(contact_requests::created_at.gt(limit))
    };
    let all = contact_requests::table.into_boxed();
    match chosen {
        Chosen::ReceivedBy(recipient) => {
            pending(all.filter(contact_requests::recipient_id.eq(recipient.uuid())))
        }
        Chosen::ReceivedByAllOf(user) => {
            pending(all.filter(contact_requests::recipient_user_id.eq(user.uuid())))
        }
        Chosen::SentBy(requester, filter) => {
            let sent = all.filter(contact_requests::requester_id.eq(requester.uuid()));
            match filter {
                SentFilter::All => sent,
                // Some are marked as expired, some are not yet.
                SentFilter::Only(RequestStatus::Expired) => {
                    let late = contact_requests::status
                        .eq(RequestStatus::Pending.as_str())
                        .and(contact_requests::created_at.le(limit));
                    sent.filter(contact_requests::status.eq(RequestStatus::Expired.as_str()).or(late))
                }
                SentFilter::Only(RequestStatus::Pending) => pending(sent),
                SentFilter::Only(status) => sent.filter(contact_requests::status.eq(status.as_str())),
            }
        }
    }
}

pub(super) async fn requests_on(
    db: &Db,
    chosen: Chosen,
    expired_until: Timestamp,
    page: &PageRequest,
) -> Result<Page<ContactRequest>, Fault> {
    let counted = count_requests_on(db, chosen, expired_until, page.count);
    let (total, rows) = try_join(counted, rows_on(db, chosen, expired_until, page)).await?;
    let people = people_of_on(db, &rows).await?;
    let rows =
        rows.iter().map(|row| row.to_request(&people, expired_until)).collect::<Result<Vec<_>, _>>()?;
    Ok(Page::from_overfetch(rows, page, total, |request| {
        Position::at(request.created_at.micros(), request.id)
    }))
}

async fn count_requests_on(
    mut db: &Db,
    chosen: Chosen,
    expired_until: Timestamp,
    wanted: bool,
) -> Result<Option<u64>, Fault> {
    if !wanted {
        return Ok(None);
    }
    let all = chosen_requests(chosen, expired_until);
    let total = all.select(count_star()).first::<i64>(&mut db).await?;
    Ok(Some(total.cast_unsigned()))
}

/// The requests of a page and one more.
async fn rows_on(
    mut db: &Db,
    chosen: Chosen,
    expired_until: Timestamp,
    page: &PageRequest,
) -> Result<Vec<RequestRow>, Fault> {
    let mut rows = chosen_requests(chosen, expired_until);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let key = At(Timestamp::from_micros(key));
        // Redundant, as for contacts.
        rows = rows.filter(contact_requests::created_at.le(key));
        let same_time = contact_requests::created_at.eq(key).and(contact_requests::id.lt(id.uuid()));
        rows = rows.filter(contact_requests::created_at.lt(key).or(same_time));
    }
    let rows = rows
        .order((contact_requests::created_at.desc(), contact_requests::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(RequestRow::as_select())
        .load(&mut db)
        .await?;
    Ok(rows)
}
