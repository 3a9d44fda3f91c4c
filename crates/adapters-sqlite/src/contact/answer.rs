//! Storing the answer to a contact request.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::contact::request::{AnswerForbidden, Answering, decide_answer};
use domain::contact::{AnswerRefused, AnswerRequest, Answered, RequestAction, RequestStatus, WhichRequest};

use super::load::{connect_on, pending_on, people_of_on, person_with_on, settle_on};
use super::row::RequestRow;
use crate::error::Fault;
use crate::row;
use crate::schema::contact_requests;

pub(super) fn answer_on(
    connection: &mut SqliteConnection,
    command: &AnswerRequest,
) -> Result<Result<Answered, AnswerRefused>, Fault> {
    let Some(request) = find_on(connection, command)? else { return Ok(Err(AnswerRefused::NotFound)) };
    let over_age = request.is_over_age(command.expired_until);
    let stored = request.stored_status()?;
    let decided = decide_answer(command.by, request.sides()?, command.action, stored, over_age);
    let status = match decided {
        Ok(Answering::Settle(status)) => status,
        Ok(Answering::Expire) => RequestStatus::Expired,
        Err(AnswerForbidden::NotFound) => return Ok(Err(AnswerRefused::NotFound)),
        Err(AnswerForbidden::OtherSide) => return Ok(Err(AnswerRefused::OtherSide)),
        Err(AnswerForbidden::Settled(status)) => return Ok(Err(AnswerRefused::Settled(status))),
    };

    let people = people_of_on(connection, std::slice::from_ref(&request))?;
    let approved = status == RequestStatus::Approved;
    let both_present =
        people.person(request.requester_id.0)?.present && people.person(request.recipient_id.0)?.present;
    if approved && !both_present {
        return Ok(Err(AnswerRefused::NotFound));
    }
    let responded_at = (status != RequestStatus::Expired).then_some(command.now);
    let request = settle_on(connection, request, status, responded_at)?;
    let contacts = if approved {
        connect_on(connection, command.contacts, &request, &people, command.now)?
    } else {
        Vec::new()
    };
    Ok(Ok(Answered { request: request.to_request(&people, command.expired_until)?, contacts }))
}

fn find_on(connection: &mut SqliteConnection, command: &AnswerRequest) -> Result<Option<RequestRow>, Fault> {
    let handle = match &command.which {
        WhichRequest::With(handle) => handle,
        WhichRequest::Id(id) => {
            let found = contact_requests::table.find(row::bytes(id.uuid())).select(RequestRow::as_select());
            return Ok(found.get_result(connection).optional()?);
        }
    };
    let own = command.by.participant();
    let Some(other) = person_with_on(connection, handle)?.map(|person| person.profile.id) else {
        return Ok(None);
    };
    match command.action {
        RequestAction::Approve | RequestAction::Reject => pending_on(connection, other, own),
        RequestAction::Cancel => pending_on(connection, own, other),
    }
}
