//! `/organization/invitations`.

use actix_web::{HttpRequest, HttpResponse, web};
use domain::account::parse_email;
use domain::organization::{Authority, Invite, OrganizationRole, OrganizationService};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::login::EMAIL;
use http_wire::page::PageQuery;
use http_wire::path::InvitationPath;
use http_wire::public_url::PublicUrl;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::{InvitationView, InvitedView};

use super::members::{ROLE, role};
use crate::instant::expires_at;

/// The invitation.
pub(crate) struct InviteBody(Invite);

impl FromBody for InviteBody {
    const WRAPPER: Option<&'static str> = Some("invitation");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let schema = ROLE.about("Role of the invited user; member by default.");
        let role = body.text_if_given("role", schema, role);
        // An empty address is refused: it must not make an invitation for anyone who has the token.
        let schema = EMAIL.about(
            "Email address of the only user who can accept it. If null, anyone who has the token can.",
        );
        let email = body.optional_text("email", schema, |text| parse_email(&text));
        let expires_at = expires_at(
            body,
            "When the invitation expires, at most 90 days from now. If null, a week from now.",
        );
        Ok(Self(Invite {
            role: role?.unwrap_or(OrganizationRole::Member),
            email: email?,
            expires_at: expires_at?,
        }))
    }
}

pub(crate) async fn list_invitations(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<PageQuery>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/organization/invitations").of(caller.organization.uuid());
    let window = query.window(scope)?;
    let page = organizations.list_invitations(Authority::Admin(caller), window.request.clone()).await?;
    let now = organizations.now();
    let rows = page.rows.iter().map(|invitation| InvitationView::new(invitation, now));
    Ok(window.mark(List::ok(rows, window.metadata(&page))))
}

pub(crate) async fn invite(
    UserAuth(caller): UserAuth,
    StrictJson { body, form }: StrictJson<InviteBody>,
    organizations: web::Data<OrganizationService>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let invited = organizations.invite(Authority::Admin(caller), body.0).await;
    let invited = invited.map_err(|error| form.explain(error))?;
    let at = request.app_data::<web::Data<PublicUrl>>().map(web::Data::get_ref);
    Ok(Data::created(InvitedView::new(&invited, at)))
}

pub(crate) async fn revoke_invitation(
    UserAuth(caller): UserAuth,
    path: InvitationPath,
    _: StrictQuery<NoQuery>,
    organizations: web::Data<OrganizationService>,
) -> Result<HttpResponse, ApiError> {
    let revoked = organizations.revoke_invitation(Authority::Admin(caller), path.invitation).await?;
    Ok(Data::ok(InvitationView::new(&revoked, organizations.now())))
}
