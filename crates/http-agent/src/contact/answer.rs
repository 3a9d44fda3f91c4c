//! `POST /contacts/requests/respond`, and one path for each answer in the human interface's form.

use actix_web::{HttpResponse, web};
use domain::caller::AgentCaller;
use domain::contact::{ContactService, RequestAction, WhichRequest};
use http_wire::auth::AgentAuth;
use http_wire::body::RespondBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ContactRequestPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{NoBody, StrictJson};
use http_wire::view::RequestStepView;

pub(crate) async fn respond(
    AgentAuth(caller): AgentAuth,
    StrictJson { body, .. }: StrictJson<RespondBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let (which, action) = body.into_command()?;
    answer(&contacts, caller, which, action).await
}

pub(crate) async fn approve(
    AgentAuth(caller): AgentAuth,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Approve).await
}

pub(crate) async fn reject(
    AgentAuth(caller): AgentAuth,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Reject).await
}

pub(crate) async fn cancel(
    AgentAuth(caller): AgentAuth,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Cancel).await
}

/// As DELETE, which has no body.
pub(crate) async fn withdraw(
    AgentAuth(caller): AgentAuth,
    path: ContactRequestPath,
    _: StrictQuery<NoQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Cancel).await
}

async fn answer(
    contacts: &ContactService,
    caller: AgentCaller,
    which: WhichRequest,
    action: RequestAction,
) -> Result<HttpResponse, ApiError> {
    let request = contacts.answer(caller, which, action).await?;
    Ok(Data::ok(RequestStepView::new(&request)))
}
