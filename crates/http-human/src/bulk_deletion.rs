//! `POST /agents/bulk-delete`, `POST /chats/bulk-delete`, and `GET /bulk-deletions/{job_id}`.

use actix_web::{HttpResponse, web};
use domain::bulk_deletion::{BulkDeletion, BulkDeletionService, BulkIds};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{flag, text};
use http_wire::path::BulkDeletionPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::BulkDeletionView;

/// The agents to delete.
#[derive(Clone, Debug)]
pub(crate) struct DeleteAgentsBody {
    ids: BulkIds,
    force: bool,
}

impl FromBody for DeleteAgentsBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let ids = ids(body);
        let about = "Delete agents even if they have worked, together with the record of their work.";
        let force = body.flag_if_given("force", flag().about(about));
        Ok(Self { ids: ids?, force: force? })
    }
}

/// The chats to delete.
#[derive(Clone, Debug)]
pub(crate) struct DeleteChatsBody(BulkIds);

impl FromBody for DeleteChatsBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        ids(body).map(Self)
    }
}

fn ids(body: &mut ObjectReader<'_>) -> Result<BulkIds, Rejected> {
    let id = text().max(BulkIds::MAX_CHARS).about("An id that does not exist or is malformed fails alone.");
    let parse = |ids| BulkIds::new(ids).map_err(|fault| (fault.index(), fault));
    body.texts("ids", id, BulkIds::MAX, parse)
}

pub(crate) async fn delete_agents(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<DeleteAgentsBody>,
    bulk_deletions: web::Data<BulkDeletionService>,
) -> Result<HttpResponse, ApiError> {
    Ok(accepted(&bulk_deletions.delete_agents(caller, body.ids, body.force).await?))
}

pub(crate) async fn delete_chats(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<DeleteChatsBody>,
    bulk_deletions: web::Data<BulkDeletionService>,
) -> Result<HttpResponse, ApiError> {
    Ok(accepted(&bulk_deletions.delete_chats(caller, body.0).await?))
}

fn accepted(job: &BulkDeletion) -> HttpResponse {
    Data::accepted(format!("/api/v1/me/bulk-deletions/{}", job.id), BulkDeletionView::new(job))
}

pub(crate) async fn find(
    UserAuth(caller): UserAuth,
    path: BulkDeletionPath,
    _: StrictQuery<NoQuery>,
    bulk_deletions: web::Data<BulkDeletionService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(BulkDeletionView::new(&bulk_deletions.find(caller, path.job).await?)))
}
