//! Notes the requests of agents for their owners: the last call, and what failed.

use actix_web::dev::ServiceResponse;
use actix_web::{HttpRequest, web};
use domain::account::{AccountService, Door};
use domain::id::{AgentId, ParticipantId};

use crate::error::{ApiError, ErrorCode};
use crate::request_scope::Verbatim;

/// Notes an authenticated request that was refused before its handler.
pub(super) fn refusal(
    request: &HttpRequest,
    who: ParticipantId,
    door: Option<Door>,
    error: ApiError,
) -> ApiError {
    note(request, who, door, || error.code());
    error
}

/// Marks a response whose failure is noted already.
pub struct Noted;

/// Notes a response: as a failure, or as a call.
pub(super) fn response<B>(response: &ServiceResponse<B>, who: ParticipantId, door: Option<Door>) {
    let status = response.status();
    if response.response().extensions().contains::<Noted>() {
        return;
    }
    let known = response.response().error().and_then(|error| error.as_error::<ApiError>());
    let code = known.map_or_else(|| ErrorCode::of_status(status), ApiError::code);
    // A download past the end of a file is not a failure.
    let is_refused = !response.response().extensions().contains::<Verbatim>();
    let failed = is_refused && (status.is_client_error() || status.is_server_error());
    if failed && !is_expected(door, code) {
        note(response.request(), who, door, || code);
    } else if let (Some((accounts, agent)), Some(door)) = (noted_by(response.request(), who), door) {
        accounts.note_call(agent, door);
    }
}

/// Whether a refusal is part of normal operation: clients of MCP try methods that a server may not have.
fn is_expected(door: Option<Door>, code: ErrorCode) -> bool {
    code.is_expected() || (door == Some(Door::Mcp) && code == ErrorCode::MethodNotAllowed)
}

/// The service that notes, if the caller is an agent.
fn noted_by(request: &HttpRequest, who: ParticipantId) -> Option<(&AccountService, AgentId)> {
    let accounts = request.app_data::<web::Data<AccountService>>()?;
    Some((accounts.get_ref(), who.agent()?))
}

fn note(request: &HttpRequest, who: ParticipantId, door: Option<Door>, code: impl FnOnce() -> ErrorCode) {
    let (Some((accounts, agent)), Some(door)) = (noted_by(request, who), door) else { return };
    // The pattern of the path contains no ids.
    let detail = request.match_pattern().map(|path| format!("{} {path}", request.method()));
    accounts.note_failure(agent, door, code().as_str(), detail);
}
