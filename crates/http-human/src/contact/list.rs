//! `GET /contacts`: newest first.

use actix_web::{HttpResponse, web};
use domain::contact::ContactService;
use domain::text::NamePart;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::PageQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::ContactView;

pub(crate) struct ListContactsQuery {
    page: PageQuery,
    name: Option<NamePart>,
}

impl FromQuery for ListContactsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let (page, name) = (PageQuery::from_query(query), query.name_part());
        Ok(Self { page: page?, name: name? })
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(ListContactsQuery { page, name }): StrictQuery<ListContactsQuery>,
    contacts: web::Data<ContactService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/contacts")
        .of(caller.user.uuid())
        .filtered("q", name.as_ref().map_or("", NamePart::as_str));
    let window = page.window(scope)?;
    let page = contacts.list(caller, name, window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(ContactView::new), window.metadata(&page)))
}
