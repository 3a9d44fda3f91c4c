//! `POST /contacts/requests`.

use actix_web::{HttpResponse, web};
use domain::contact::ContactService;
use http_wire::auth::UserAuth;
use http_wire::body::SendRequestBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::strict_json::StrictJson;
use http_wire::view::ContactRequestView;

pub(crate) async fn send(
    UserAuth(caller): UserAuth,
    StrictJson { body, form }: StrictJson<SendRequestBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let command = body.into_command().map_err(|error| form.explain(error))?;
    let request = contacts.send(caller, command).await.map_err(|error| form.explain(error))?;
    Ok(Data::created(ContactRequestView::new(&request)))
}
