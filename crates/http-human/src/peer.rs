//! `GET /peers` and `GET /directory`.

use actix_web::{HttpResponse, web};
use domain::peer::PeerService;
use http_wire::auth::UserAuth;
use http_wire::error::ApiError;
use http_wire::peers::{self, DirectoryQuery, ListPeersQuery};
use http_wire::query::StrictQuery;

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListPeersQuery>,
    service: web::Data<PeerService>,
) -> Result<HttpResponse, ApiError> {
    peers::peers(&service, caller, query).await
}

pub(crate) async fn directory(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<DirectoryQuery>,
    service: web::Data<PeerService>,
) -> Result<HttpResponse, ApiError> {
    peers::directory(&service, caller, query).await
}
