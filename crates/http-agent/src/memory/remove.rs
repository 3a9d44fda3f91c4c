//! `DELETE /memories/{memory_id}`: supersedes a memory without a body.

use actix_web::{HttpResponse, web};
use domain::memory::{MemoryService, MemoryStep};
use http_wire::auth::AgentAuth;
use http_wire::error::ApiError;
use http_wire::handlers::memory::change;
use http_wire::path::MemoryPath;
use http_wire::query::{NoQuery, StrictQuery};

pub(crate) async fn remove(
    caller: AgentAuth,
    path: MemoryPath,
    _: StrictQuery<NoQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Supersede).await
}
