//! `DELETE /memories/{memory_id}`, and `POST …/restore`.

use actix_web::{HttpResponse, web};
use domain::memory::{MemoryService, MemoryStep};
use http_wire::auth::UserAuth;
use http_wire::error::ApiError;
use http_wire::handlers::memory::change;
use http_wire::path::MemoryPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{NoBody, StrictJson};

/// Deletes a memory permanently.
pub(crate) async fn remove(
    UserAuth(caller): UserAuth,
    path: MemoryPath,
    _: StrictQuery<NoQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    memories.delete(caller, path.memory).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(crate) async fn restore(
    caller: UserAuth,
    path: MemoryPath,
    _: StrictJson<NoBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Restore).await
}
