//! `GET /contacts`: newest first, by page numbers.

use actix_web::{HttpResponse, web};
use domain::contact::ContactService;
use http_wire::auth::AgentAuth;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::openapi::schema::Parameter;
use http_wire::page::{NumberedMetadata, NumberedQuery};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::AgentContactView;

use super::requests::DEFAULT_ROWS;

pub(crate) struct ListContactsQuery {
    page: NumberedQuery,
}

impl FromQuery for ListContactsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        Ok(Self { page: NumberedQuery::read(query)? })
    }

    fn parameters() -> Vec<Parameter> {
        NumberedQuery::parameters()
    }
}

pub(crate) async fn list(
    AgentAuth(caller): AgentAuth,
    StrictQuery(query): StrictQuery<ListContactsQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request(DEFAULT_ROWS);
    let page = contacts.list(caller, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(AgentContactView::new), NumberedMetadata::of(&request, page.total)))
}
