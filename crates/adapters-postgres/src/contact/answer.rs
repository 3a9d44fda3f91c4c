//! Storing the answer to a contact request.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::contact::request::{AnswerForbidden, Answering, Sides, decide_answer};
use domain::contact::{AnswerRefused, AnswerRequest, Answered, RequestAction, RequestStatus, WhichRequest};
use domain::id::{ContactRequestId, ParticipantId};
use futures_util::future::try_join;

use super::load::{connect_on, pending_between_on, people_on, person_with_on, settle_on};
use super::row::RequestRow;
use crate::error::Fault;
use crate::lock;
use crate::run::Db;
use crate::schema::contact_requests;

pub(super) async fn answer_on(
    db: &Db,
    command: &AnswerRequest,
) -> Result<Result<Answered, AnswerRefused>, Fault> {
    let Some(sides) = sides_on(db, command).await? else { return Ok(Err(AnswerRefused::NotFound)) };
    lock::parties_on(db, &sides).await?;
    let (request, people) =
        try_join(find_on(db, command, sides), people_on(db, sides.map(ParticipantId::uuid))).await?;
    let Some(request) = request else { return Ok(Err(AnswerRefused::NotFound)) };
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

    let approved = status == RequestStatus::Approved;
    let both_present =
        people.person(request.requester_id.0)?.present && people.person(request.recipient_id.0)?.present;
    if approved && !both_present {
        return Ok(Err(AnswerRefused::NotFound));
    }
    let responded_at = (status != RequestStatus::Expired).then_some(command.now);
    let request = settle_on(db, request, status, responded_at).await?;
    let contacts = if approved {
        connect_on(db, command.contacts, &request, &people, command.now).await?
    } else {
        Vec::new()
    };
    Ok(Ok(Answered { request: request.to_request(&people, command.expired_until)?, contacts }))
}

/// Requester and recipient of the request, which never change; whether it exists is decided after
/// both are locked.
async fn sides_on(mut db: &Db, command: &AnswerRequest) -> Result<Option<[ParticipantId; 2]>, Fault> {
    let handle = match &command.which {
        WhichRequest::With(handle) => handle,
        WhichRequest::Id(id) => {
            let found = contact_requests::table.find(id.uuid()).select(RequestRow::as_select());
            let Some(request) = found.first(&mut db).await.optional()? else { return Ok(None) };
            let Sides { requester, recipient, .. } = request.sides()?;
            return Ok(Some([requester, recipient]));
        }
    };
    let own = command.by.participant();
    let Some(other) = person_with_on(db, handle).await?.map(|person| person.profile.id) else {
        return Ok(None);
    };
    Ok(Some(match command.action {
        RequestAction::Approve | RequestAction::Reject => [other, own],
        RequestAction::Cancel => [own, other],
    }))
}

/// The request, with its row locked.
async fn find_on(
    db: &Db,
    command: &AnswerRequest,
    [requester, recipient]: [ParticipantId; 2],
) -> Result<Option<RequestRow>, Fault> {
    match command.which {
        WhichRequest::Id(id) => locked_on(db, id).await,
        WhichRequest::With(_) => {
            let pending = pending_between_on(db, requester, recipient).await?;
            Ok(pending.into_iter().find(|request| request.requester_id.0 == requester.uuid()))
        }
    }
}

async fn locked_on(mut db: &Db, id: ContactRequestId) -> Result<Option<RequestRow>, Fault> {
    let found = contact_requests::table
        .find(id.uuid())
        .select(RequestRow::as_select())
        .for_no_key_update()
        .first(&mut db)
        .await
        .optional()?;
    Ok(found)
}
