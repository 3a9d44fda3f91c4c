//! `GET /contacts/requests/received` (also as `/contacts/requests`) and `/contacts/requests/sent`.

use actix_web::{HttpResponse, web};
use domain::contact::ContactService;
use http_wire::auth::UserAuth;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::handlers::contact::SentRequestsQuery;
use http_wire::page::{NumberedMetadata, NumberedQuery};
use http_wire::query::StrictQuery;
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

pub(crate) async fn sent(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<SentRequestsQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request();
    let page = contacts.sent(caller, query.status, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(ContactRequestView::new), NumberedMetadata::of(&request, page.total)))
}
