//! The card of a listed agent, which anybody can read.

use std::collections::HashMap;

use a2a::{
    AgentCapabilities, AgentCard, AgentInterface, AgentSkill, ApiKeySecurityScheme, HttpAuthSecurityScheme,
    SecurityScheme, TRANSPORT_PROTOCOL_HTTP_JSON, TRANSPORT_PROTOCOL_JSONRPC,
};
use actix_web::http::header::{CACHE_CONTROL, HOST};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::account::Agent;
use http_wire::error::ApiError;
use http_wire::public_url::PublicUrl;

use crate::session::{Gateway, listed};

/// How long a card may be kept.
const MAX_AGE: &str = "public, max-age=300";

/// The media types of messages to an agent, and of its answers.
const INPUT: [&str; 2] = ["text/plain", "application/json"];
const OUTPUT: [&str; 1] = ["text/plain"];

/// `GET /a2a/{agent}/.well-known/agent-card.json`.
pub(crate) async fn show(request: HttpRequest, gateway: Data<Gateway>) -> Result<HttpResponse, ApiError> {
    let agent = listed(&gateway, &request).await?;
    let public = request.app_data::<Data<PublicUrl>>();
    let base = public.map_or_else(|| own_address(&request, &gateway), |url| url.to_string());
    let mut card = card(&agent, &base, gateway.services.pushes.is_on());
    card.icon_url = public.map(|url| url.avatar(agent.id));
    Ok(HttpResponse::Ok().insert_header((CACHE_CONTROL, MAX_AGE)).json(card))
}

/// The address at which the client has reached the server. Caches tell requests apart by the header `Host` and by no other,
/// so that only this one counts.
fn own_address(request: &HttpRequest, gateway: &Gateway) -> String {
    let is_tls = gateway.has_tls || gateway.limits.is_forwarded_tls(request);
    let scheme = if is_tls { "https" } else { "http" };
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}

fn card(agent: &Agent, base: &str, has_pushes: bool) -> AgentCard {
    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (input, output) = (texts(&INPUT), texts(&OUTPUT));
    let own = format!("{base}/a2a/{}", agent.id);
    let description = agent.bio.clone().unwrap_or_else(|| agent.description.clone());
    let tags = if agent.tags.is_empty() { texts(&["agent"]) } else { agent.tags.clone() };
    let skill = AgentSkill {
        id: agent.handle.slug().to_owned(),
        name: agent.name.clone(),
        description: agent.description.clone(),
        tags,
        examples: None,
        input_modes: None,
        output_modes: None,
        security_requirements: None,
    };
    let key = ApiKeySecurityScheme {
        location: "header".to_owned(),
        name: "X-API-Key".to_owned(),
        description: Some("An API key of a user or an agent of this server.".to_owned()),
    };
    let bearer = HttpAuthSecurityScheme {
        scheme: "Bearer".to_owned(),
        description: Some("The same keys, or an access token of a user.".to_owned()),
        bearer_format: None,
    };
    let schemes = [("apiKey", SecurityScheme::ApiKey(key)), ("bearer", SecurityScheme::HttpAuth(bearer))];
    let requirements = schemes.iter().map(|(name, _)| HashMap::from([((*name).to_owned(), Vec::new())]));
    AgentCard {
        name: agent.name.clone(),
        description,
        version: agent.updated_at.to_string(),
        supported_interfaces: vec![
            AgentInterface::new(own.clone(), TRANSPORT_PROTOCOL_JSONRPC),
            AgentInterface::new(format!("{own}/v1"), TRANSPORT_PROTOCOL_HTTP_JSON),
        ],
        capabilities: AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(has_pushes),
            extensions: None,
            extended_agent_card: Some(false),
        },
        default_input_modes: input,
        default_output_modes: output,
        skills: vec![skill],
        provider: None,
        documentation_url: None,
        icon_url: None,
        security_requirements: Some(requirements.collect()),
        security_schemes: Some(schemes.into_iter().map(|(name, scheme)| (name.to_owned(), scheme)).collect()),
        signatures: None,
    }
}
