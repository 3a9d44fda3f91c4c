//! `POST /agents/{agent_id}/rotate-key`: replaces an agent's key, and shows the new one once.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use domain::login::Password;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::AgentPath;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::RegisteredAgentView;

use crate::confirm::{Confirmation, current_password};

/// The caller's password, if a confirmation is required; most clients send an empty body.
pub(crate) struct RotateKeyBody(Option<Password>);

impl FromBody for RotateKeyBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        current_password(body).map(Self)
    }
}

pub(crate) async fn rotate_key(
    UserAuth(caller): UserAuth,
    confirmation: Confirmation,
    path: AgentPath,
    StrictJson { body, .. }: StrictJson<RotateKeyBody>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    confirmation.check(body.0, "/current_password").await?;
    let rotated = accounts.rotate_key(caller.user, path.agent).await?;
    Ok(Data::ok(RegisteredAgentView::new(&rotated)))
}
