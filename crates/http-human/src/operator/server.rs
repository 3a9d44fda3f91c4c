//! The server that answers: its condition, its throughput, and its connections.

use std::collections::HashMap;

use actix_web::{HttpResponse, web};
use domain::account::AdministrationService;
use domain::id::{NodeId, ParticipantId};
use domain::operator::OperatorService;
use http_wire::auth::OperatorAuth;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::page::{CursorQuery, PageMetadata};
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::{DisconnectView, OpenConnectionView, OverviewView, Shown, ThroughputView};
use serde::Serialize;
use utoipa::ToSchema;

use super::{RecentAnswers, cursors};

/// Metadata of the list of open connections.
#[derive(Serialize, ToSchema)]
pub(crate) struct ConnectionsMetadata {
    #[serde(flatten)]
    page: PageMetadata,
    /// The server whose connections these are; null unless it is one of several on its store.
    #[schema(value_type = Option<http_wire::view::Id>)]
    node_id: Option<Shown<NodeId>>,
}

pub(crate) async fn show_overview(
    OperatorAuth(operator): OperatorAuth,
    _: StrictQuery<NoQuery>,
    server: web::Data<OperatorService>,
    answers: web::Data<RecentAnswers>,
) -> Result<HttpResponse, ApiError> {
    let overview = answers.overview.get((), true, async |()| server.overview(operator).await).await?;
    Ok(Data::ok(OverviewView::new(&overview)))
}

pub(crate) async fn show_throughput(
    OperatorAuth(operator): OperatorAuth,
    _: StrictQuery<NoQuery>,
    server: web::Data<OperatorService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(ThroughputView::new(&server.throughput(operator), server.node())))
}

pub(crate) async fn list_connections(
    OperatorAuth(operator): OperatorAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    server: web::Data<OperatorService>,
) -> Result<HttpResponse, ApiError> {
    // The numbers of sockets, and so the cursors, are those of one run of one server.
    let run = format!("connections/{:?}/{}", server.node(), server.started_at());
    let window = query.window(cursors(&run, operator))?;
    let page = server.connections(operator, window.request.clone()).await?;
    let metadata = ConnectionsMetadata { page: window.metadata(&page), node_id: server.node().map(Shown) };
    Ok(List::ok(page.rows.iter().map(OpenConnectionView::new), metadata))
}

pub(crate) async fn list_disconnects(
    OperatorAuth(operator): OperatorAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    let window = query.window(cursors("disconnects", operator))?;
    let page = accounts.disconnects(operator, window.request.clone()).await?;
    let of = page.rows.iter().map(|row| ParticipantId::Agent(row.agent)).collect::<Vec<_>>();
    let (_, agents) = accounts.accounts_of(operator, &of).await?;
    let agents = agents.into_iter().map(|agent| (agent.id, agent)).collect::<HashMap<_, _>>();
    let rows = page.rows.iter().map(|row| DisconnectView::new(row, agents.get(&row.agent)));
    Ok(List::ok(rows, window.metadata(&page)))
}
