//! `POST /organization/pause` and `/resume`.

use actix_web::{HttpResponse, web};
use domain::organization::{Authority, OrganizationService, PauseReason};
use http_wire::auth::UserAuth;
use http_wire::error::ApiError;
use http_wire::openapi::schema::some_text;
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, StrictJson};

use super::show::shown;

/// The reason.
pub(crate) struct PauseBody(pub(crate) PauseReason);

impl FromBody for PauseBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let schema = some_text(PauseReason::MAX_CHARS).about("Why; it is shown with the pause.");
        body.text("reason", schema, PauseReason::new).map(Self)
    }
}

pub(crate) async fn pause(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<PauseBody>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    organizations.pause(Authority::Admin(caller), body.0).await?;
    shown(&organizations, caller).await
}

pub(crate) async fn resume(
    UserAuth(caller): UserAuth,
    _: StrictJson<NoBody>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    organizations.resume(Authority::Admin(caller)).await?;
    shown(&organizations, caller).await
}
