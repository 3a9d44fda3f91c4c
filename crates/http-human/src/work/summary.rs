//! `/work/summary`: how much the caller's agents have to answer, by state, agent, and error, and
//! `/organization/work/summary`: how much the agents of the caller's organization have to answer.

use actix_web::{HttpResponse, web};
use domain::caller::UserCaller;
use domain::work::{WorkFilter, WorkService};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::WorkSummaryView;

use super::{OfOrganization, Own, Scope, error_filter, filter_without_error};

/// The filters of a list of work.
pub(crate) struct SummarizeWorkQuery(WorkFilter);

/// The filters of a list of the organization's work.
pub(crate) struct SummarizeOrganizationWorkQuery(WorkFilter);

impl FromQuery for SummarizeWorkQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let (error, filter) = (error_filter(query), filter_without_error(query));
        Ok(Self(WorkFilter { error: error?, ..filter? }))
    }
}

impl FromQuery for SummarizeOrganizationWorkQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        filter_without_error(query).map(Self)
    }
}

pub(crate) async fn own(
    UserAuth(caller): UserAuth,
    StrictQuery(SummarizeWorkQuery(filter)): StrictQuery<SummarizeWorkQuery>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    summarized::<Own>(&work, caller, filter).await
}

pub(crate) async fn of_organization(
    UserAuth(caller): UserAuth,
    StrictQuery(SummarizeOrganizationWorkQuery(filter)): StrictQuery<SummarizeOrganizationWorkQuery>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    summarized::<OfOrganization>(&work, caller, filter).await
}

async fn summarized<S: Scope>(
    work: &WorkService,
    caller: UserCaller,
    filter: WorkFilter,
) -> Result<HttpResponse, ApiError> {
    let summary = work.summary(S::of(caller), filter).await?;
    Ok(Data::ok(WorkSummaryView::new(&summary)))
}
