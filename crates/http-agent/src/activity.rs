//! `POST /chats/{chat_id}/activity`: the "is working" indicator.

use actix_web::{HttpResponse, web};
use domain::activity::ActivityService;
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{either, flag, object, some_text, word};
use http_wire::path::ChatPath;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson, known};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The maximum length of a tool's name.
const MAX_NAME_CHARS: usize = 128;

/// The kinds of activity.
const KINDS: [&str; 4] = ["reasoning", "tool_call", "memory", "permission"];

/// The reported state. The kind of activity is validated, but not stored: nothing shows it.
pub(crate) struct ReportActivityBody {
    working: bool,
}

impl FromBody for ReportActivityBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let working = body.flag("working", flag());
        body.optional_object("activity", activity_schema, activity)?;
        Ok(Self { working: working? })
    }
}

/// The schema of the body that [`activity`] reads. One property of it depends on another.
fn activity_schema() -> Value {
    let plain = object([("kind", word(&["reasoning", "memory", "permission"]))]);
    let call = object([("kind", word(&["tool_call"])), ("name", some_text(MAX_NAME_CHARS))]);
    either(&[plain, call, json!({"type": "null"})])
}

/// Only a tool call has a name.
fn activity(detail: &mut ObjectReader<'_>) -> Result<(), Rejected> {
    let kind = detail.text("kind", word(&KINDS), known(|text| KINDS.into_iter().find(|kind| *kind == text)));
    let name = detail.any_text("name")?;
    let fault = match (kind?, name) {
        ("tool_call", None) => "can't be blank",
        ("tool_call", Some(name)) if name.trim().is_empty() => "can't be blank",
        ("tool_call", Some(name)) if name.chars().count() > MAX_NAME_CHARS => {
            "should be at most 128 character(s)"
        }
        ("tool_call", Some(_)) | (_, None) => return Ok(()),
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
    let working = activity.report(caller, path.chat, body.working).await?;
    Ok(Data::ok(ActivityView { working }))
}
