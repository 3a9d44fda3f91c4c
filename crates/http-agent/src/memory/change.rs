//! `GET` and `DELETE /memories/{memory_id}`, `POST …/supersede` and `…/archive`.

use actix_web::{HttpResponse, web};
use domain::caller::AgentCaller;
use domain::memory::{MemoryService, MemoryStep};
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::MemoryPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{NoBody, StrictJson};
use http_wire::view::MemoryView;

pub(crate) async fn find(
    AgentAuth(caller): AgentAuth,
    path: MemoryPath,
    _: StrictQuery<NoQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(MemoryView::new(&memories.find(caller, path.memory).await?)))
}

/// As DELETE, which has no body.
pub(crate) async fn remove(
    AgentAuth(caller): AgentAuth,
    path: MemoryPath,
    _: StrictQuery<NoQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Supersede).await
}

pub(crate) async fn supersede(
    AgentAuth(caller): AgentAuth,
    path: MemoryPath,
    _: StrictJson<NoBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Supersede).await
}

pub(crate) async fn archive(
    AgentAuth(caller): AgentAuth,
    path: MemoryPath,
    _: StrictJson<NoBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Archive).await
}

async fn change(
    memories: &MemoryService,
    caller: AgentCaller,
    path: MemoryPath,
    step: MemoryStep,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(MemoryView::new(&memories.change(caller, path.memory, step).await?)))
}
