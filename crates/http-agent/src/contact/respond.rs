//! `POST /contacts/requests/respond`.

use actix_web::{HttpResponse, web};
use domain::contact::ContactService;
use http_wire::auth::AgentAuth;
use http_wire::body::RespondBody;
use http_wire::error::ApiError;
use http_wire::handlers::contact::answer;
use http_wire::strict_json::StrictJson;

pub(crate) async fn respond(
    caller: AgentAuth,
    StrictJson { body, .. }: StrictJson<RespondBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let (which, action) = body.into_command()?;
    answer(&contacts, caller, which, action).await
}
