//! `POST /contacts/resolve`: finds the user or agent with a handle.

use actix_web::{HttpResponse, web};
use domain::contact::ContactService;
use http_wire::auth::UserAuth;
use http_wire::body::ResolveBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::strict_json::StrictJson;
use http_wire::view::ResolvedView;

pub(crate) async fn resolve(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<ResolveBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let resolved = contacts.resolve(caller, body.into_handle()?).await?;
    Ok(Data::ok(ResolvedView::for_user(&resolved)))
}
