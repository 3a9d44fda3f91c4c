//! `POST /agents/{agent_id}/rotate-key`: the only moment at which the new key is shown.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use domain::login::Password;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::object;
use http_wire::path::AgentPath;
use http_wire::strict_json::{FromBody, ObjectReader, StrictJson, Told};
use http_wire::view::RegisteredAgentView;
use serde_json::Value;

use crate::confirm::{CURRENT_PASSWORD, Confirmation, current_password, current_password_schema};

/// The password of whoever replaces the key; most send an empty body.
pub(crate) struct RotateKeyBody(Option<Password>);

impl FromBody for RotateKeyBody {
    const WRAPPER: Option<&'static str> = None;

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        current_password(body).map(Self)
    }

    fn schema() -> Value {
        object(&[], &[(CURRENT_PASSWORD, current_password_schema())])
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
