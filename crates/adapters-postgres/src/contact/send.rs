//! Storing a request, or the contact that it completes.

use diesel_async::RunQueryDsl;
use domain::contact::request::{Relationship, decide_send};
use domain::contact::{Answered, NewRequest, RequestStatus, SendRefused, SentRequest};
use domain::id::ParticipantId;
use futures_util::future::{try_join, try_join3};

use super::load::{connect_on, pending_between_on, people_on, person_with_on, settle_on};
use super::read::are_contacts_on;
use super::row::{Person, RequestRow};
use crate::account::find::is_gone_on;
use crate::error::Fault;
use crate::lock;
use crate::run::Db;
use crate::schema::contact_requests;

pub(super) async fn send_on(
    mut db: &Db,
    new: &NewRequest,
) -> Result<Result<SentRequest, SendRefused>, Fault> {
    let own = new.by.participant();
    let (gone, other) = try_join(is_gone_on(db, own), person_with_on(db, &new.to)).await?;
    if gone {
        return Ok(Err(SendRefused::RequesterGone));
    }
    let Some(Person { profile, .. }) = other else { return Ok(Err(SendRefused::Unknown)) };
    let theirs = profile.id;
    lock::parties_on(db, &[own, theirs]).await?;
    let (people, pending, contacts) = try_join3(
        people_on(db, [own.uuid(), theirs.uuid()]),
        pending_between_on(db, own, theirs),
        are_contacts_on(db, own, theirs),
    )
    .await?;
    if !people.person(own.uuid())?.present {
        return Ok(Err(SendRefused::RequesterGone));
    }
    let other = people.person(theirs.uuid())?;
    if !other.present || other.profile.handle != new.to.as_str() {
        return Ok(Err(SendRefused::Unknown));
    }
    let is_live = |request: &RequestRow| !request.is_over_age(new.expired_until);
    let asks = |who: ParticipantId| {
        pending.iter().any(|request| request.requester_id.0 == who.uuid() && is_live(request))
    };
    let relationship =
        Relationship { same: own == theirs, contacts, asked: asks(own), asked_back: asks(theirs) };
    let decided = match decide_send(relationship) {
        Ok(decided) => decided,
        Err(refused) => return Ok(Err(refused)),
    };

    let mut expired = Vec::new();
    let mut approval = None;
    for request in pending {
        if !is_live(&request) {
            let request = settle_on(db, request, RequestStatus::Expired, None).await?;
            expired.push(request.to_request(&people, new.expired_until)?);
        } else if request.requester_id.0 == theirs.uuid() {
            let inverse = settle_on(db, request, RequestStatus::Approved, Some(new.now)).await?;
            let contacts = connect_on(db, new.contacts, &inverse, &people, new.now).await?;
            let request = inverse.to_request(&people, new.expired_until)?;
            approval = Some(Answered { request, contacts });
        }
    }
    let request = RequestRow::of(new, other, decided);
    diesel::insert_into(contact_requests::table).values(&request).execute(&mut db).await?;
    let request = request.to_request(&people, new.expired_until)?;
    Ok(Ok(SentRequest { request, approval, expired }))
}
