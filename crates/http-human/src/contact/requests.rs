//! `GET /contacts/requests/received` (also as `/contacts/requests`) and `/contacts/requests/sent`.

use actix_web::{HttpResponse, web};
use domain::contact::{ContactService, SentFilter};
use http_wire::auth::UserAuth;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{Parameter, parameter, word};
use http_wire::page::{NumberedMetadata, NumberedQuery};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::ContactRequestView;

pub(crate) async fn received(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<NumberedQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.request();
    let page = contacts.received_by_user(caller, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(ContactRequestView::new), NumberedMetadata::of(&request, page.total)))
}

pub(crate) struct SentQuery {
    page: NumberedQuery,
    status: SentFilter,
}

impl FromQuery for SentQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        let page = NumberedQuery::from_query(query);
        let status = query.parsed("status", "Invalid value for enum", SentFilter::parse);
        Ok(Self { page: page?, status: status?.unwrap_or_default() })
    }

    fn parameters() -> Vec<Parameter> {
        let mut all = NumberedQuery::parameters();
        let status = word(&["pending", "approved", "rejected", "cancelled", "expired", "all"]);
        all.push(parameter("status", status, "Only this status; all by default."));
        all
    }
}

pub(crate) async fn sent(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<SentQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request();
    let page = contacts.sent(caller, query.status, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(ContactRequestView::new), NumberedMetadata::of(&request, page.total)))
}
