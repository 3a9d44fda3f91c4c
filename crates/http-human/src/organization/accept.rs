//! `POST /invitations/accept`. An unknown token counts as a failed authentication of the client's
//! address.

use actix_web::{HttpRequest, HttpResponse, web};
use domain::organization::{AcceptError, EnterError, InvitationRefused, OrganizationService};
use domain::text::single_line;
use http_wire::auth::{Credential, UserAuth};
use http_wire::error::ApiError;
use http_wire::limit::{NotTried, Proof, RateLimits};
use http_wire::openapi::schema::line;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};

use super::show::shown;

/// The maximum length of a token.
const MAX_TOKEN_CHARS: usize = 200;

/// The token of the invitation.
pub(crate) struct AcceptBody(String);

impl FromBody for AcceptBody {
    const WRAPPER: Option<&'static str> = Some("invitation");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.text("token", line(MAX_TOKEN_CHARS), |text| single_line(&text, MAX_TOKEN_CHARS)).map(Self)
    }
}

pub(crate) async fn accept(
    UserAuth(caller): UserAuth,
    request: HttpRequest,
    StrictJson { body, form }: StrictJson<AcceptBody>,
    organizations: web::Data<OrganizationService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let proof = |accepted: &Result<_, AcceptError>| match accepted {
        Err(AcceptError::Invitation(InvitationRefused::Unknown)) => Proof::Bad,
        Err(AcceptError::Enter(EnterError::Store(_))) => Proof::Undecided,
        Err(
            AcceptError::Invitation(
                InvitationRefused::Expired
                | InvitationRefused::Revoked
                | InvitationRefused::Accepted
                | InvitationRefused::OtherAddress,
            )
            | AcceptError::Enter(
                EnterError::UserGone
                | EnterError::AlreadyThere
                | EnterError::LastAdmin(_)
                | EnterError::Limit(_),
            ),
        )
        | Ok(_) => Proof::Good,
    };
    let accepting = organizations.accept(caller, &body.0);
    let accepted = limits.check(&request, Credential::Invitation(&body.0), accepting, proof).await;
    let accepted = accepted.map_err(not_tried)?;
    accepted.map_err(|error| form.explain(error))?;
    shown(&organizations, caller).await
}

fn not_tried(not_tried: NotTried) -> ApiError {
    match not_tried {
        NotTried::KnownBad => AcceptError::from(InvitationRefused::Unknown).into(),
        shut_out @ NotTried::ShutOut(_) => shut_out.into(),
    }
}
