//! `PATCH /agents/{agent_id}`.

use actix_web::{HttpResponse, web};
use domain::account::{
    AccountService, AgentBio, AgentChanges, AgentDescription, AgentName, AgentTag, ModelType,
};
use domain::delivery::{Claims, MaxAttempts};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::features::Features;
use http_wire::openapi::schema::{flag, line, some_text, text, word};
use http_wire::path::AgentPath;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson, known};
use http_wire::view::AgentView;

/// The changes; at least one is required.
pub(crate) struct UpdateAgentBody(AgentChanges);

impl FromBody for UpdateAgentBody {
    const WRAPPER: Option<&'static str> = Some("agent");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.describe_as_never_empty();
        let name = body.text_if_given("name", line(100), |text| AgentName::new(&text));
        let description =
            body.text_if_given("description", some_text(500), |text| AgentDescription::new(&text));
        let model_type = body.clearable_text("model_type", text().max(100), |text| ModelType::new(&text));
        let bio = body.clearable_text("bio", text().max(2_000), |text| AgentBio::new(&text));
        let tags = body.texts_if_given("tags", line(50), AgentTag::MAX_COUNT, AgentTag::new);
        let [listed_in_directory, registry_access, shared_with_organization, foreign_access, a2a] =
            ["listed_in_directory", "registry_access", "shared_with_organization", "foreign_access", "a2a"]
                .map(|name| body.optional_flag(name, flag()));
        let max_attempts = body.clearable_number("max_attempts", 1..=MaxAttempts::MAX, MaxAttempts::new);
        let claims = body.text_if_given("claims", word(Claims::WORDS), known(Claims::parse));
        let changes = AgentChanges {
            name: name?,
            description: description?,
            model_type: model_type?,
            bio: bio?,
            tags: tags?.map(each_once),
            listed_in_directory: listed_in_directory?,
            registry_access: registry_access?,
            shared_with_organization: shared_with_organization?,
            foreign_access: foreign_access?,
            max_attempts: max_attempts?,
            claims: claims?,
            a2a: a2a?,
        };
        if changes == AgentChanges::default() {
            return Err(body.fault("name", "must name at least one field to change"));
        }
        Ok(Self(changes))
    }
}

/// Removes duplicate tags; keeps the order of the first ones.
fn each_once(tags: Vec<AgentTag>) -> Vec<AgentTag> {
    let mut kept = Vec::with_capacity(tags.len());
    for tag in tags {
        if !kept.contains(&tag) {
            kept.push(tag);
        }
    }
    kept
}

pub(crate) async fn update_agent(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    StrictJson { body, .. }: StrictJson<UpdateAgentBody>,
    accounts: web::Data<AccountService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(AgentView::new(&accounts.update_agent(caller, path.agent, body.0).await?, **features)))
}
