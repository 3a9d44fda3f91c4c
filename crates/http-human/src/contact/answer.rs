//! `POST /contacts/requests/{request_id}/approve`, `/reject` and `/cancel`; the last also as DELETE.

use actix_web::{HttpResponse, web};
use domain::caller::UserCaller;
use domain::contact::{ContactService, RequestAction, WhichRequest};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ContactRequestPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{NoBody, StrictJson};
use http_wire::view::RequestStepView;

pub(crate) async fn approve(
    UserAuth(caller): UserAuth,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Approve).await
}

pub(crate) async fn reject(
    UserAuth(caller): UserAuth,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Reject).await
}

pub(crate) async fn cancel(
    UserAuth(caller): UserAuth,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Cancel).await
}

/// As DELETE, which has no body.
pub(crate) async fn withdraw(
    UserAuth(caller): UserAuth,
    path: ContactRequestPath,
    _: StrictQuery<NoQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Cancel).await
}

async fn answer(
    contacts: &ContactService,
    caller: UserCaller,
    which: WhichRequest,
    action: RequestAction,
) -> Result<HttpResponse, ApiError> {
    let request = contacts.answer(caller, which, action).await?;
    Ok(Data::ok(RequestStepView::new(&request)))
}
