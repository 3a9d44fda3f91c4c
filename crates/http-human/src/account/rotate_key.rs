//! `POST /agents/{agent_id}/rotate-key`: the only moment at which the new key is shown.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::AgentPath;
use http_wire::strict_json::{NoBody, StrictJson};
use http_wire::view::RegisteredAgentView;

pub(crate) async fn rotate_key(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    _: StrictJson<NoBody>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let rotated = accounts.rotate_key(caller.user, path.agent).await?;
    Ok(Data::ok(RegisteredAgentView::new(&rotated)))
}
