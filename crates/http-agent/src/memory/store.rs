//! `POST /memories`.

use actix_web::{HttpResponse, web};
use domain::memory::MemoryService;
use http_wire::auth::AgentAuth;
use http_wire::body::StoreMemoryBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::strict_json::StrictJson;
use http_wire::view::MemoryView;

pub(crate) async fn store(
    AgentAuth(caller): AgentAuth,
    StrictJson { body, form }: StrictJson<StoreMemoryBody>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    let command = body.into_command(form)?;
    let memory = memories.store(caller, command).await.map_err(|error| form.explain(error))?;
    Ok(Data::created(MemoryView::new(&memory)))
}
