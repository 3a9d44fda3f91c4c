//! Reading one memory, superseding it, and archiving it.

use actix_web::{HttpResponse, web};
use domain::caller::Caller;
use domain::memory::{MemoryService, MemoryStep};

use crate::auth::CallerExtractor;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::path::MemoryPath;
use crate::query::{NoQuery, StrictQuery};
use crate::strict_json::{NoBody, StrictJson};
use crate::view::MemoryView;

/// `GET /memories/{memory_id}`.
pub async fn find<C: CallerExtractor>(
    caller: C,
    path: MemoryPath,
    _: StrictQuery<NoQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(MemoryView::new(&memories.find(caller, path.memory).await?)))
}

/// `POST /memories/{memory_id}/supersede`.
pub async fn supersede<C: CallerExtractor>(
    caller: C,
    path: MemoryPath,
    _: StrictJson<NoBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Supersede).await
}

/// `POST /memories/{memory_id}/archive`.
pub async fn archive<C: CallerExtractor>(
    caller: C,
    path: MemoryPath,
    _: StrictJson<NoBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Archive).await
}

/// Changes the status of a memory, and answers with the memory.
pub async fn change(
    memories: &MemoryService,
    caller: impl Into<Caller>,
    path: MemoryPath,
    step: MemoryStep,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(MemoryView::new(&memories.change(caller, path.memory, step).await?)))
}
