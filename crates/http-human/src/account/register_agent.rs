//! `POST /agents/register`: registers an external agent, and shows its key once.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, AgentDescription, AgentName, RegisterAgent};
use domain::login::Password;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::features::Features;
use http_wire::idempotent::IdempotentJson;
use http_wire::openapi::schema::{line, some_text};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected};
use http_wire::view::RegisteredAgentView;

use crate::confirm::{Confirmation, current_password};

/// The agent, and the caller's password if a confirmation is required.
pub(crate) struct RegisterAgentBody {
    agent: RegisterAgent,
    current_password: Option<Password>,
}

impl FromBody for RegisterAgentBody {
    const WRAPPER: Option<&'static str> = Some("agent");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let name = body.text("name", line(100), |text| AgentName::new(&text));
        let description = body.text("description", some_text(500), |text| AgentDescription::new(&text));
        let current_password = current_password(body);
        let agent = RegisterAgent { name: name?, description: description? };
        Ok(Self { agent, current_password: current_password? })
    }
}

pub(crate) async fn register_agent(
    UserAuth(caller): UserAuth,
    confirmation: Confirmation,
    IdempotentJson { body, form, once }: IdempotentJson<RegisterAgentBody>,
    accounts: web::Data<AccountService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    let confirmed = confirmation.check(body.current_password, "/agent/current_password").await;
    confirmed.map_err(|error| form.explain(error))?;
    let registered = accounts.register_agent_once(caller, body.agent, once).await?;
    Ok(Data::created(RegisteredAgentView::new(&registered, **features)))
}
