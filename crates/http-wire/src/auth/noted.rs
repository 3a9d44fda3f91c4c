//! Notes the failed requests of agents, which their owners see.

use actix_web::dev::ServiceResponse;
use actix_web::{HttpRequest, web};
use domain::account::{AccountService, Door};
use domain::id::ParticipantId;

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

/// Notes a response if it is a failure. Those of other protocols are noted where they are written.
pub(super) fn response<B>(response: &ServiceResponse<B>, who: ParticipantId, door: Option<Door>) {
    let status = response.status();
    let failed = status.is_client_error() || status.is_server_error();
    if !failed || response.response().extensions().contains::<Verbatim>() {
        return;
    }
    let known = response.response().error().and_then(|error| error.as_error::<ApiError>());
    let code = || known.map_or_else(|| ErrorCode::of_status(status), ApiError::code);
    note(response.request(), who, door, code);
}

fn note(request: &HttpRequest, who: ParticipantId, door: Option<Door>, code: impl FnOnce() -> ErrorCode) {
    let accounts = request.app_data::<web::Data<AccountService>>();
    let (Some(accounts), Some(door), ParticipantId::Agent(agent)) = (accounts, door, who) else { return };
    // The pattern of the path contains no ids.
    let detail = request.match_pattern().map(|path| format!("{} {path}", request.method()));
    accounts.note_failure(agent, door, code().as_str(), detail);
}
