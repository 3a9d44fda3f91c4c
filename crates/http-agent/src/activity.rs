//! `POST` and `GET /chats/{chat_id}/activity`: the "is working" indicators.

use actix_web::{HttpResponse, web};
use domain::activity::{
    Activity, ActivityKind, ActivityService, MAX_SHOWN, ReportedWork, ShownActivity, ToolName,
};
use domain::id::{AgentId, ExecutionId};
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{either, flag, object, some_text, word};
use http_wire::path::ChatPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson, known};
use http_wire::view::Shown;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The reported state. What the agent is doing is checked, and ignored while it does not work.
pub(crate) struct ReportActivityBody {
    work: ReportedWork,
}

impl FromBody for ReportActivityBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let working = body.flag("working", flag());
        let doing = body.optional_object("activity", activity_schema, activity)?.unwrap_or_default();
        Ok(Self { work: ReportedWork(working?.then_some(doing)) })
    }
}

/// The schema of the body that [`activity`] reads. One property of it depends on another.
fn activity_schema() -> Value {
    let plain = object([("kind", word(&["reasoning", "memory", "permission"]))]);
    let call = object([("kind", word(&["tool_call"])), ("name", some_text(ToolName::MAX_CHARS))]);
    either(&[plain, call, json!({"type": "null"})])
}

/// Only a tool call has a name.
fn activity(detail: &mut ObjectReader<'_>) -> Result<Activity, Rejected> {
    let kind = detail.text("kind", word(ActivityKind::WORDS), known(ActivityKind::parse));
    let name = detail.any_text("name")?;
    let fault = match (kind?, name) {
        (ActivityKind::ToolCall, None) => "can't be blank",
        (ActivityKind::ToolCall, Some(name)) if name.trim().is_empty() => "can't be blank",
        (ActivityKind::ToolCall, Some(name)) if name.chars().count() > ToolName::MAX_CHARS => {
            "should be at most 128 character(s)"
        }
        (kind @ ActivityKind::ToolCall, Some(name)) => {
            return Ok(Activity { kind, tool: Some(ToolName::new(&name)) });
        }
        (kind, None) => return Ok(Activity { kind, tool: None }),
        (_, Some(_)) => "is only for the kind tool_call",
    };
    Err(detail.fault("name", fault))
}

/// The reported state. It differs from that in the request only while the agent is stopped in the chat: a client
/// that reports true and receives false concludes that it is stopped.
#[derive(Serialize, ToSchema)]
pub(crate) struct ActivityView {
    working: bool,
}

pub(crate) async fn report(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    StrictJson { body, .. }: StrictJson<ReportActivityBody>,
    activity: web::Data<ActivityService>,
) -> Result<HttpResponse, ApiError> {
    let working = activity.report(caller, path.chat, body.work).await?;
    Ok(Data::ok(ActivityView { working }))
}

/// The agents at work in a room, by id, at most 32. The caller is one of them while it works.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkingAgentsView<'a> {
    working_agents: Vec<WorkingAgentView<'a>>,
}

/// An agent at work.
#[derive(Serialize, ToSchema)]
struct WorkingAgentView<'a> {
    #[schema(value_type = http_wire::view::Id)]
    agent_id: Shown<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
    #[schema(value_type = http_wire::view::Id)]
    execution_id: Shown<ExecutionId>,
    /// Always true.
    working: bool,
    activity: DoingView<'a>,
}

/// What an agent is doing.
#[derive(Serialize, ToSchema)]
struct DoingView<'a> {
    /// `reasoning`, `tool_call`, `memory`, or `permission`.
    kind: &'static str,
    /// The name of the tool, for a tool call. Characters other than ASCII letters, digits, and `_-.:/` are shown as `_`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl<'a> WorkingAgentView<'a> {
    fn new(shown: &'a ShownActivity) -> Self {
        Self {
            agent_id: Shown(shown.who.agent),
            agent_name: shown.name.as_deref(),
            execution_id: Shown(shown.who.execution),
            working: true,
            activity: DoingView {
                kind: shown.doing.kind.as_str(),
                name: shown.doing.tool.as_ref().map(ToolName::as_str),
            },
        }
    }
}

pub(crate) async fn show(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    _: StrictQuery<NoQuery>,
    activity: web::Data<ActivityService>,
) -> Result<HttpResponse, ApiError> {
    let shown = activity.read(caller, path.chat).await?;
    let working_agents = shown.iter().take(MAX_SHOWN).map(WorkingAgentView::new).collect();
    Ok(Data::ok(WorkingAgentsView { working_agents }))
}
