//! Removing contacts, and answering contact requests.

use actix_web::{HttpResponse, web};
use domain::caller::Caller;
use domain::contact::{ContactService, RequestAction, WhichContact, WhichRequest};

use crate::auth::CallerExtractor;
use crate::body::RemoveContactBody;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::path::{ContactPath, ContactRequestPath};
use crate::query::{NoQuery, StrictQuery};
use crate::strict_json::{NoBody, StrictJson};
use crate::view::{RemovedView, RequestStepView};

/// `POST /contacts/remove`.
pub async fn remove_named<C: CallerExtractor>(
    caller: C,
    StrictJson { body, .. }: StrictJson<RemoveContactBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    contacts.remove(caller, body.into_command()?).await?;
    Ok(Data::ok(RemovedView::new()))
}

/// `DELETE /contacts/{contact_id}`.
pub async fn remove<C: CallerExtractor>(
    caller: C,
    path: ContactPath,
    _: StrictQuery<NoQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    contacts.remove(caller, WhichContact::Id(path.contact)).await?;
    Ok(Data::ok(RemovedView::new()))
}

/// `POST /contacts/requests/{request_id}/approve`.
pub async fn approve<C: CallerExtractor>(
    caller: C,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Approve).await
}

/// `POST /contacts/requests/{request_id}/reject`.
pub async fn reject<C: CallerExtractor>(
    caller: C,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Reject).await
}

/// `POST /contacts/requests/{request_id}/cancel`.
pub async fn cancel<C: CallerExtractor>(
    caller: C,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Cancel).await
}

/// `DELETE /contacts/requests/{request_id}`: cancels a request without a body.
pub async fn withdraw<C: CallerExtractor>(
    caller: C,
    path: ContactRequestPath,
    _: StrictQuery<NoQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Cancel).await
}

/// Takes `action` on a contact request, and answers with its new status.
pub async fn answer(
    contacts: &ContactService,
    caller: impl Into<Caller>,
    which: WhichRequest,
    action: RequestAction,
) -> Result<HttpResponse, ApiError> {
    let request = contacts.answer(caller, which, action).await?;
    Ok(Data::ok(RequestStepView::new(&request)))
}
