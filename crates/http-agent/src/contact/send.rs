//! `POST /contacts/add`, and `POST /contacts/requests` in the human interface's form.

use actix_web::{HttpResponse, web};
use domain::contact::ContactService;
use http_wire::auth::AgentAuth;
use http_wire::body::{AddContactBody, SendRequestBody};
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::strict_json::StrictJson;
use http_wire::view::{ContactRequestView, RequestStepView};

pub(crate) async fn add(
    AgentAuth(caller): AgentAuth,
    StrictJson { body, .. }: StrictJson<AddContactBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = contacts.send(caller, body.into_command()?).await?;
    Ok(Data::created(RequestStepView::new(&request)))
}

pub(crate) async fn send(
    AgentAuth(caller): AgentAuth,
    StrictJson { body, form }: StrictJson<SendRequestBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let command = body.into_agent_command().map_err(|error| form.explain(error))?;
    let request = contacts.send(caller, command).await.map_err(|error| form.explain(error))?;
    Ok(Data::created(ContactRequestView::new(&request)))
}
