//! `GET` and `PATCH /organization`.

use actix_web::{HttpResponse, web};
use domain::caller::UserCaller;
use domain::foreign::ForeignPolicy;
use domain::message::{MaxHops, MaxPairMessages};
use domain::organization::{Authority, OrganizationChanges, OrganizationService};
use domain::plan::OrganizationName;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::{ApiError, unauthorized};
use http_wire::openapi::schema::{line, word};
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson, known};
use http_wire::view::OrganizationView;

/// The changes; at least one is required.
pub(crate) struct RenameBody(OrganizationChanges);

impl FromBody for RenameBody {
    const WRAPPER: Option<&'static str> = Some("organization");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.describe_as_never_empty();
        let name = body.text_if_given("name", line(100), |text| OrganizationName::new(&text));
        let max_hops = body.clearable_number("max_hops", 0..=MaxHops::MAX, MaxHops::new);
        let pairs = 0..=MaxPairMessages::MAX;
        let max_pair_messages = body.clearable_number("max_pair_messages", pairs, MaxPairMessages::new);
        let foreign = body.text_if_given("foreign", word(ForeignPolicy::WORDS), known(ForeignPolicy::parse));
        let (max_pair_messages, foreign) = (max_pair_messages?, foreign?);
        let changes = OrganizationChanges { name: name?, max_hops: max_hops?, max_pair_messages, foreign };
        if changes == OrganizationChanges::default() {
            return Err(body.fault("name", "must name at least one field to change"));
        }
        Ok(Self(changes))
    }
}

pub(crate) async fn show(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    shown(&organizations, caller).await
}

pub(crate) async fn rename(
    UserAuth(caller): UserAuth,
    StrictJson { body, form }: StrictJson<RenameBody>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    let renamed = organizations.rename(Authority::Admin(caller), body.0).await;
    renamed.map_err(|error| form.explain(error))?;
    shown(&organizations, caller).await
}

/// Renders the caller's organization.
pub(super) async fn shown(
    organizations: &OrganizationService,
    caller: UserCaller,
) -> Result<HttpResponse, ApiError> {
    let organization = organizations.show(caller).await?.ok_or_else(unauthorized)?;
    Ok(Data::ok(OrganizationView::new(&organization)))
}
