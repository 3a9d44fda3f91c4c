//! Storing a request, or the contact that it completes.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::contact::request::{Relationship, decide_send};
use domain::contact::{Answered, NewRequest, RequestStatus, SendRefused, SentRequest};

use super::load::{connect_on, pending_on, people_on, person_with_on, settle_on};
use super::read::are_contacts_on;
use super::row::RequestRow;
use crate::account::find::is_gone_on;
use crate::error::Fault;
use crate::schema::contact_requests;

pub(super) fn send_on(
    connection: &mut SqliteConnection,
    new: &NewRequest,
) -> Result<Result<SentRequest, SendRefused>, Fault> {
    let own = new.by.participant();
    if is_gone_on(connection, own)? {
        return Ok(Err(SendRefused::RequesterGone));
    }
    let Some(other) = person_with_on(connection, &new.to)? else {
        return Ok(Err(SendRefused::Unknown));
    };
    let theirs = other.profile.id;
    let asked = pending_on(connection, own, theirs)?;
    let asked_back = pending_on(connection, theirs, own)?;
    let is_live = |request: &RequestRow| !request.is_over_age(new.expired_until);
    let relationship = Relationship {
        same: own == theirs,
        contacts: are_contacts_on(connection, own, theirs)?,
        asked: asked.as_ref().is_some_and(is_live),
        asked_back: asked_back.as_ref().is_some_and(is_live),
    };
    let decided = match decide_send(relationship) {
        Ok(decided) => decided,
        Err(refused) => return Ok(Err(refused)),
    };

    let people = people_on(connection, [own.uuid(), theirs.uuid()])?;
    let mut expired = Vec::new();
    let mut inverse = None;
    for (pending, goes_back) in [(asked, false), (asked_back, true)] {
        match pending {
            Some(request) if !is_live(&request) => {
                let request = settle_on(connection, request, RequestStatus::Expired, None)?;
                expired.push(request.to_request(&people, new.expired_until)?);
            }
            Some(request) if goes_back => inverse = Some(request),
            _ => {}
        }
    }
    let approval = match inverse {
        Some(inverse) => {
            let inverse = settle_on(connection, inverse, RequestStatus::Approved, Some(new.now))?;
            let contacts = connect_on(connection, new.contacts, &inverse, &people, new.now)?;
            Some(Answered { request: inverse.to_request(&people, new.expired_until)?, contacts })
        }
        None => None,
    };
    let request = RequestRow::of(new, &other, decided);
    diesel::insert_into(contact_requests::table).values(&request).execute(connection)?;
    let request = request.to_request(&people, new.expired_until)?;
    Ok(Ok(SentRequest { request, approval, expired }))
}
