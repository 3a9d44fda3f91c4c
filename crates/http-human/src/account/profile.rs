//! `GET` and `PUT /profile`: the caller's own record.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, PersonNamePart, ProfileChanges};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::{ApiError, unauthorized};
use http_wire::openapi::schema::text;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::ProfileView;

/// The changes that users can make to their own account; all are optional.
pub(crate) struct UpdateProfileBody(ProfileChanges);

impl FromBody for UpdateProfileBody {
    const WRAPPER: Option<&'static str> = Some("user");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let part = |text: String| PersonNamePart::new(&text);
        // A first name that is null stays as it is: clients send every property they know.
        let first_name = body.clearable_text("first_name", text().max(100), part);
        let last_name = body.clearable_text("last_name", text().max(100), part);
        Ok(Self(ProfileChanges { first_name: first_name?.flatten(), last_name: last_name? }))
    }
}

pub(crate) async fn show_profile(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let user = accounts.profile(caller).await?.ok_or_else(unauthorized)?;
    Ok(Data::ok(ProfileView::new(&user)))
}

pub(crate) async fn update_profile(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<UpdateProfileBody>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let user = accounts.update_profile(caller, body.0).await?.ok_or_else(unauthorized)?;
    Ok(Data::ok(ProfileView::new(&user)))
}
