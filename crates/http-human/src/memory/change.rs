//! `GET` and `DELETE /memories/{memory_id}`, `POST …/supersede`, `…/archive` and `…/restore`.

use actix_web::{HttpResponse, web};
use domain::caller::UserCaller;
use domain::memory::{MemoryService, MemoryStep};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::MemoryPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{NoBody, StrictJson};
use http_wire::view::MemoryView;

pub(crate) async fn find(
    UserAuth(caller): UserAuth,
    path: MemoryPath,
    _: StrictQuery<NoQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(MemoryView::new(&memories.find(caller, path.memory).await?)))
}

/// For good; nobody finds it afterwards.
pub(crate) async fn remove(
    UserAuth(caller): UserAuth,
    path: MemoryPath,
    _: StrictQuery<NoQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    memories.delete(caller, path.memory).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(crate) async fn supersede(
    UserAuth(caller): UserAuth,
    path: MemoryPath,
    _: StrictJson<NoBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Supersede).await
}

pub(crate) async fn archive(
    UserAuth(caller): UserAuth,
    path: MemoryPath,
    _: StrictJson<NoBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Archive).await
}

pub(crate) async fn restore(
    UserAuth(caller): UserAuth,
    path: MemoryPath,
    _: StrictJson<NoBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    change(&memories, caller, path, MemoryStep::Restore).await
}

async fn change(
    memories: &MemoryService,
    caller: UserCaller,
    path: MemoryPath,
    step: MemoryStep,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(MemoryView::new(&memories.change(caller, path.memory, step).await?)))
}
