//! `GET /api-keys`: the keys that are not revoked, newest first.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use domain::id::ParticipantId;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::PageQuery;
use http_wire::query::StrictQuery;
use http_wire::view::KeyView;

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<PageQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/api-keys").of(caller.user.uuid());
    let window = query.window(scope)?;
    let page = accounts.list_keys(ParticipantId::User(caller.user), window.request.clone()).await?;
    Ok(window.mark(List::ok(page.rows.iter().map(KeyView::new), window.metadata(&page))))
}
