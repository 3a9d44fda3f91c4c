//! `GET /contacts`: newest first, by page numbers.

use actix_web::{HttpResponse, web};
use domain::contact::ContactService;
use http_wire::auth::AgentAuth;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::{NumberedMetadata, NumberedQuery};
use http_wire::query::StrictQuery;
use http_wire::view::AgentContactView;

pub(crate) async fn list(
    AgentAuth(caller): AgentAuth,
    StrictQuery(query): StrictQuery<NumberedQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.request();
    let page = contacts.list(caller, None, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(AgentContactView::new), NumberedMetadata::of(&request, page.total)))
}
