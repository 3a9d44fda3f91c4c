//! Bulk deletions.

use domain::bulk_deletion::{BulkDeletion, BulkItem, ItemFailure, ItemState};
use domain::id::BulkDeletionId;
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// A job that deletes agents or rooms.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct BulkDeletionView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<BulkDeletionId>,
    /// `agent` or `chat`.
    resource_type: &'static str,
    /// `queued`, `processing`, `completed` when every item has its result, or `failed` if the server could not go on.
    status: &'static str,
    total: usize,
    /// The sum of `succeeded` and `failed`.
    processed: usize,
    succeeded: usize,
    failed: usize,
    /// Set if agents that have worked are deleted as well.
    force: bool,
    /// In the order of the request.
    results: Vec<ResultView<'a>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = Option<super::Instant>)]
    started_at: Option<Shown<Timestamp>>,
    #[schema(value_type = Option<super::Instant>)]
    completed_at: Option<Shown<Timestamp>>,
}

/// The result of an item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ResultView<'a> {
    /// As it was sent.
    id: &'a str,
    /// `pending`, `succeeded`, or `failed`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ItemErrorView>,
}

/// The reason why an item was not deleted.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ItemErrorView {
    /// `not_found`, `forbidden`, `execution_history_exists`, `delete_failed`, or `not_attempted`.
    code: &'static str,
    message: &'static str,
}

impl<'a> BulkDeletionView<'a> {
    /// Shows `job`.
    pub fn new(job: &'a BulkDeletion) -> Self {
        let (succeeded, failed) = (job.succeeded(), job.failed());
        Self {
            id: Shown(job.id),
            resource_type: job.resource.as_str(),
            status: job.status().as_str(),
            total: job.items.len(),
            processed: succeeded + failed,
            succeeded,
            failed,
            force: job.force,
            results: job.items.iter().map(ResultView::new).collect(),
            inserted_at: Shown(job.inserted_at),
            started_at: job.started_at.map(Shown),
            completed_at: job.completed_at.map(Shown),
        }
    }
}

impl<'a> ResultView<'a> {
    fn new(item: &'a BulkItem) -> Self {
        let (status, error) = match item.state {
            ItemState::Pending => ("pending", None),
            ItemState::Succeeded => ("succeeded", None),
            ItemState::Failed(failure) => ("failed", Some(failure)),
        };
        let error = error.map(|failure| ItemErrorView { code: failure.as_str(), message: message(failure) });
        Self { id: &item.id, status, error }
    }
}

fn message(failure: ItemFailure) -> &'static str {
    match failure {
        ItemFailure::NotFound => "Nothing with this id exists, or you cannot see it.",
        ItemFailure::Forbidden => "You may not delete this.",
        ItemFailure::LegalHold => "A legal hold keeps this. Ask the operator of the server.",
        ItemFailure::ExecutionHistoryExists => {
            "The agent has execution history. Retry with force=true to delete the agent and its history."
        }
        ItemFailure::DeleteFailed => "The server could not delete this. Try again.",
        ItemFailure::NotAttempted => {
            "Not tried, since the server could not delete an earlier item. Send it again."
        }
    }
}
