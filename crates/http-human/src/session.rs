//! `/sessions`: the caller's own log-ins.

use actix_web::{HttpResponse, web};
use domain::login::LoginService;
use http_wire::auth::{SessionAuth, UserAuth};
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::SessionPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::OpenSessionView;

/// Lists all at once: there are at most [`domain::login::MAX_SESSIONS`].
pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    SessionAuth(current): SessionAuth,
    _: StrictQuery<NoQuery>,
    logins: web::Data<LoginService>,
) -> Result<HttpResponse, ApiError> {
    let current = current.map(|session| session.id);
    let open = logins.list_sessions(caller).await?;
    let shown = open.iter().map(|session| OpenSessionView::new(session, current));
    Ok(Data::ok(shown.collect::<Vec<_>>()))
}

pub(crate) async fn end(
    UserAuth(caller): UserAuth,
    path: SessionPath,
    _: StrictQuery<NoQuery>,
    logins: web::Data<LoginService>,
) -> Result<HttpResponse, ApiError> {
    logins.end_session(caller, path.session).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(crate) async fn end_others(
    UserAuth(caller): UserAuth,
    SessionAuth(current): SessionAuth,
    _: StrictQuery<NoQuery>,
    logins: web::Data<LoginService>,
) -> Result<HttpResponse, ApiError> {
    logins.end_other_sessions(caller, current.map(|session| session.id)).await?;
    Ok(HttpResponse::NoContent().finish())
}
