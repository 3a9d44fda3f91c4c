//! `POST /agents/register`: the only moment at which an agent's key is shown.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, AgentDescription, AgentName, RegisterAgent};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{line, object, some_text};
use http_wire::strict_json::{FromBody, ObjectReader, StrictJson, Told};
use http_wire::view::RegisteredAgentView;
use serde_json::Value;

/// An agent to be registered.
pub(crate) struct RegisterAgentBody(RegisterAgent);

impl FromBody for RegisterAgentBody {
    const WRAPPER: Option<&'static str> = Some("agent");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        let name = body.text("name", |text| AgentName::new(&text));
        let description = body.text("description", |text| AgentDescription::new(&text));
        Ok(Self(RegisterAgent { name: name?, description: description? }))
    }

    fn schema() -> Value {
        object(&["name", "description"], &[("name", line(100)), ("description", some_text(500))])
    }
}

pub(crate) async fn register_agent(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<RegisterAgentBody>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let registered = accounts.register_agent(caller, body.0).await?;
    Ok(Data::created(RegisteredAgentView::new(&registered)))
}
