//! `GET /contacts/requests`, both directions; `…/received` and `…/sent`, one of them.

use actix_web::{HttpResponse, web};
use domain::contact::{ContactService, RequestStatus, SentFilter};
use domain::page::PageRequest;
use http_wire::auth::AgentAuth;
use http_wire::envelope::{Described, List};
use http_wire::error::ApiError;
use http_wire::handlers::contact::{SENT_FILTERS, SentRequestsQuery};
use http_wire::page::{NumberedMetadata, NumberedQuery};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::{ReceivedRequestView, SentRequestView};
use serde::Serialize;
use utoipa::ToSchema;

pub(crate) struct ListBothQuery {
    page: NumberedQuery,
    sent: SentFilter,
}

impl FromQuery for ListBothQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = NumberedQuery::from_query(query);
        let description = "Status of the sent requests; pending by default.";
        let sent = query.word("sent_status", SENT_FILTERS, description, SentFilter::parse);
        Ok(Self { page: page?, sent: sent?.unwrap_or(SentFilter::Only(RequestStatus::Pending)) })
    }
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Both<'a> {
    received: Vec<ReceivedRequestView<'a>>,
    sent: Vec<SentRequestView<'a>>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct BothMetadata {
    page: u32,
    page_size: u32,
    received: Direction,
    sent: Direction,
}

/// Totals for received or sent requests. Both lists use the same page number.
#[derive(Serialize, ToSchema)]
struct Direction {
    total: u64,
    total_pages: u64,
}

impl Direction {
    fn new(request: &PageRequest, total: Option<u64>) -> Self {
        let total = total.unwrap_or_default();
        Self { total, total_pages: total.div_ceil(u64::from(request.slice.limit())) }
    }
}

pub(crate) async fn both(
    AgentAuth(caller): AgentAuth,
    StrictQuery(query): StrictQuery<ListBothQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request();
    let received = contacts.received_by_agent(caller, request.clone()).await?;
    let sent = contacts.sent(caller, query.sent, request.clone()).await?;
    let metadata = BothMetadata {
        page: query.page.number(),
        page_size: request.slice.limit(),
        received: Direction::new(&request, received.total),
        sent: Direction::new(&request, sent.total),
    };
    let data = Both {
        received: received.rows.iter().map(ReceivedRequestView::new).collect(),
        sent: sent.rows.iter().map(SentRequestView::new).collect(),
    };
    Ok(Described::ok(data, metadata))
}

pub(crate) async fn received(
    AgentAuth(caller): AgentAuth,
    StrictQuery(query): StrictQuery<NumberedQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.request();
    let page = contacts.received_by_agent(caller, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(ReceivedRequestView::new), NumberedMetadata::of(&request, page.total)))
}

pub(crate) async fn sent(
    AgentAuth(caller): AgentAuth,
    StrictQuery(query): StrictQuery<SentRequestsQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request();
    let page = contacts.sent(caller, query.status, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(SentRequestView::new), NumberedMetadata::of(&request, page.total)))
}
