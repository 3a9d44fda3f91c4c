//! Removing contacts, listing sent contact requests, and answering received ones.

use actix_web::{HttpResponse, web};
use domain::caller::Caller;
use domain::contact::{ContactService, RequestAction, SentFilter, WhichContact, WhichRequest};

use crate::auth::CallerExtractor;
use crate::body::RemoveContactBody;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::page::NumberedQuery;
use crate::path::{ContactPath, ContactRequestPath};
use crate::query::{FromQuery, NoQuery, QueryReader, StrictQuery};
use crate::strict_json::{NoBody, Rejected, StrictJson};
use crate::view::{RemovedView, RequestStepView};

/// The values of a filter by status.
pub const SENT_FILTERS: &[&str] = &["pending", "approved", "rejected", "cancelled", "expired", "all"];

/// The query of a list of sent contact requests.
#[derive(Clone, Copy, Debug)]
pub struct SentRequestsQuery {
    /// The requested page.
    pub page: NumberedQuery,
    /// The filter.
    pub status: SentFilter,
}

impl FromQuery for SentRequestsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = NumberedQuery::from_query(query);
        let description = "Only this status; all by default.";
        let status = query.word("status", SENT_FILTERS, description, SentFilter::parse);
        Ok(Self { page: page?, status: status?.unwrap_or_default() })
    }
}

/// `POST /contacts/remove`.
pub async fn remove_named<C: CallerExtractor>(
    caller: C,
    StrictJson { body, .. }: StrictJson<RemoveContactBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    contacts.remove(caller, body.into_command()?).await?;
    Ok(Data::ok(RemovedView::new()))
}

/// `DELETE /contacts/{contact_id}`.
pub async fn remove<C: CallerExtractor>(
    caller: C,
    path: ContactPath,
    _: StrictQuery<NoQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    contacts.remove(caller, WhichContact::Id(path.contact)).await?;
    Ok(Data::ok(RemovedView::new()))
}

/// `POST /contacts/requests/{request_id}/approve`.
pub async fn approve<C: CallerExtractor>(
    caller: C,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Approve).await
}

/// `POST /contacts/requests/{request_id}/reject`.
pub async fn reject<C: CallerExtractor>(
    caller: C,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Reject).await
}

/// `POST /contacts/requests/{request_id}/cancel`.
pub async fn cancel<C: CallerExtractor>(
    caller: C,
    path: ContactRequestPath,
    _: StrictJson<NoBody>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Cancel).await
}

/// `DELETE /contacts/requests/{request_id}`: cancels a request without a body.
pub async fn withdraw<C: CallerExtractor>(
    caller: C,
    path: ContactRequestPath,
    _: StrictQuery<NoQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    answer(&contacts, caller, WhichRequest::Id(path.request), RequestAction::Cancel).await
}

/// Takes `action` on a contact request, and answers with its new status.
pub async fn answer(
    contacts: &ContactService,
    caller: impl Into<Caller>,
    which: WhichRequest,
    action: RequestAction,
) -> Result<HttpResponse, ApiError> {
    let request = contacts.answer(caller, which, action).await?;
    Ok(Data::ok(RequestStepView::new(&request)))
}
