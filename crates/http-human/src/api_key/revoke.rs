//! `DELETE /api-keys/{key_id}`.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::KeyPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::KeyView;

pub(crate) async fn revoke(
    UserAuth(caller): UserAuth,
    path: KeyPath,
    _: StrictQuery<NoQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(KeyView::new(&accounts.revoke_key(caller, path.key).await?)))
}
