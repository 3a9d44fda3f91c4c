//! `POST /contacts/remove` and `DELETE /contacts/{contact_id}`.

use actix_web::{HttpResponse, web};
use domain::contact::{ContactService, WhichContact};
use http_wire::auth::AgentAuth;
use http_wire::body::RemoveContactBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ContactPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::StrictJson;
use http_wire::view::RemovedView;

pub(crate) async fn remove_named(
    AgentAuth(caller): AgentAuth,
    StrictJson { body, .. }: StrictJson<RemoveContactBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    contacts.remove(caller, body.into_command()?).await?;
    Ok(Data::ok(RemovedView::new()))
}

pub(crate) async fn remove(
    AgentAuth(caller): AgentAuth,
    path: ContactPath,
    _: StrictQuery<NoQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    contacts.remove(caller, WhichContact::Id(path.contact)).await?;
    Ok(Data::ok(RemovedView::new()))
}
