//! `GET /api-keys`: the keys that are not revoked, newest first.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use domain::id::ParticipantId;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::openapi::schema::Parameter;
use http_wire::page::PageQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::KeyView;

use crate::DEFAULT_ROWS;

pub(crate) struct ListKeysQuery {
    page: PageQuery,
}

impl FromQuery for ListKeysQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        Ok(Self { page: PageQuery::read(query)? })
    }

    fn parameters() -> Vec<Parameter> {
        PageQuery::parameters()
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListKeysQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/api-keys").of(caller.user.uuid());
    let window = query.page.window(scope, DEFAULT_ROWS)?;
    let page = accounts.list_keys(ParticipantId::User(caller.user), window.request.clone()).await?;
    Ok(window.mark(List::ok(page.rows.iter().map(KeyView::new), window.metadata(&page))))
}
