//! Failures of tools, in words that tell a model what to do next.

use http_wire::error::render::note;
use http_wire::error::{ApiError, ErrorCode};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// The result of a tool that has failed; it is logged and counted as on REST.
pub(crate) fn result(error: &ApiError) -> CallToolResult {
    note(error);
    CallToolResult::error(vec![ContentBlock::text(text(error))])
}

/// What went wrong, where, and what to do next.
pub(crate) fn text(error: &ApiError) -> String {
    let has_no_attempt = error.details().iter().any(|(pointer, _)| pointer.ends_with("processing_attempt"));
    let next = if has_no_attempt { Some(NO_ATTEMPT) } else { next_step(error.code()) };
    let next = next.map(|next| format!("\n{next}")).unwrap_or_default();
    format!("{} ({}){}{next}", error.message(), error.code().as_str(), faults(error))
}

/// The error of a body that is no message of the protocol: a client reads it, not a model with a tool to call.
pub(crate) fn parse_error(error: &ApiError) -> ErrorData {
    ErrorData::parse_error(format!("{}{}", error.message(), faults(error)), None)
}

/// A line for each fault, with its place.
fn faults(error: &ApiError) -> String {
    let faults = error.details().iter().map(|(pointer, fault)| {
        let fault = match fault {
            Value::Array(faults) => {
                faults.iter().map(|fault| fault.as_str().unwrap_or_default()).collect::<Vec<_>>().join("; ")
            }
            Value::String(fault) => fault.clone(),
            other => other.to_string(),
        };
        format!("\n- {}: {fault}", argument(pointer))
    });
    faults.collect()
}

/// What to do if a message was finished already, or not taken.
const NO_ATTEMPT: &str = "You have no open attempt at this message. Call inbox_next to take the next one.";

/// The arguments that have other names than the members of bodies on REST.
const RENAMED: [(&str, &str); 9] = [
    ("Idempotency-Key", "idempotency_key"),
    ("/message/mentions", "to"),
    ("/message/content", "text"),
    ("/message/in_reply_to", "message"),
    ("/message/deliver_at", "deliver_at"),
    ("/message/every", "every"),
    ("/memory/content", "text"),
    ("/memory/subject_id", "about"),
    ("/participant/participant_id", "who"),
];

/// The argument at a pointer.
fn argument(pointer: &str) -> String {
    let renamed = RENAMED.iter().find_map(|(from, to)| Some(format!("{to}{}", pointer.strip_prefix(from)?)));
    renamed.unwrap_or_else(|| pointer.trim_start_matches('/').to_owned())
}

/// What to do after a failure, as far as its message does not say it.
fn next_step(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::ValidationError | ErrorCode::BadRequest | ErrorCode::InvalidParams => {
            "Correct these arguments, and call the tool again."
        }
        ErrorCode::NotFound => {
            "Check the ids: use those that rooms, read_room, inbox_next, or work have shown, and nothing else."
        }
        ErrorCode::MentionsRequired
        | ErrorCode::HandleNotFound
        | ErrorCode::MentionedParticipantNotInRoom
        | ErrorCode::MentionMissingIdentifier => {
            "Address participants of the room: read_room lists their handles, and invite adds others."
        }
        ErrorCode::Conflict => {
            "Look at the current state, for example with read_room or work, before you try again."
        }
        ErrorCode::RateLimited | ErrorCode::ServiceUnavailable => {
            "Wait a few seconds, and call the tool again."
        }
        ErrorCode::InternalError => "Do not repeat the call. Tell the user that the server has failed.",
        ErrorCode::Forbidden | ErrorCode::LimitReached | ErrorCode::PlanRequired => {
            "Do not repeat the call. Tell the user what is not permitted."
        }
        _ => return None,
    })
}
