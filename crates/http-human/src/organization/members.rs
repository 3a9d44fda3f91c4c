//! `/organization/members` and `POST /organization/leave`.

use actix_web::{HttpResponse, web};
use domain::organization::{Authority, OrganizationRole, OrganizationService};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::openapi::schema::{Schema, word};
use http_wire::page::PageQuery;
use http_wire::path::MemberPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::MemberView;

use super::show::shown;
/// The new role.
pub(crate) struct SetRoleBody(OrganizationRole);

impl FromBody for SetRoleBody {
    const WRAPPER: Option<&'static str> = Some("member");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.text("role", ROLE, role).map(Self)
    }
}

pub(super) const ROLE: Schema = word(OrganizationRole::WORDS);

/// Parses a role.
pub(super) fn role(text: String) -> Result<OrganizationRole, &'static str> {
    OrganizationRole::parse(&text).ok_or("must be admin or member")
}

pub(crate) async fn list_members(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<PageQuery>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/organization/members").of(caller.organization.uuid());
    let window = query.window(scope)?;
    let page = organizations.list_members(caller.organization, window.request.clone()).await?;
    Ok(window.mark(List::ok(page.rows.iter().map(MemberView::new), window.metadata(&page))))
}

pub(crate) async fn set_role(
    UserAuth(caller): UserAuth,
    path: MemberPath,
    StrictJson { body, .. }: StrictJson<SetRoleBody>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    let member = organizations.set_role(Authority::Admin(caller), path.member, body.0).await?;
    Ok(Data::ok(MemberView::new(&member)))
}

pub(crate) async fn remove_member(
    UserAuth(caller): UserAuth,
    path: MemberPath,
    _: StrictQuery<NoQuery>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    organizations.remove(Authority::Admin(caller), path.member).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(crate) async fn leave(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    organizations.leave(caller).await?;
    shown(&organizations, caller).await
}
