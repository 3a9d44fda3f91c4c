//! `POST /agents`: creates an agent that the service runs.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, AgentDescription, AgentName, CreatePlatformAgent, ModelType};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::features::Features;
use http_wire::openapi::schema::{line, text};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::AgentView;

/// The body, also of the generic path.
pub(crate) struct CreateAgentBody(pub(crate) CreatePlatformAgent);

impl FromBody for CreateAgentBody {
    const WRAPPER: Option<&'static str> = Some("agent");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let name = body.text("name", line(100), |text| AgentName::new(&text));
        let description =
            body.clearable_text("description", text().max(500), |text| AgentDescription::new(&text));
        let model_type = body.clearable_text("model_type", text().max(100), |text| ModelType::new(&text));
        let (description, model_type) = (description?.flatten(), model_type?.flatten());
        Ok(Self(CreatePlatformAgent { name: name?, description, model_type }))
    }
}

pub(crate) async fn create_agent(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<CreateAgentBody>,
    accounts: web::Data<AccountService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    let agent = accounts.create_platform_agent(caller, body.0).await?;
    Ok(Data::created(AgentView::new(&agent, **features)))
}
