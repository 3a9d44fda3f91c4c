//! All users and agents, the agents with flagged work, and disabling accounts.

use std::collections::HashMap;

use actix_web::{HttpResponse, web};
use domain::account::{AdministrationService, Agent};
use domain::caller::UserCaller;
use domain::id::ParticipantId;
use domain::work::{AgentWork, WorkService};
use http_wire::auth::UserAuth;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::CursorQuery;
use http_wire::path::{AgentPath, UserPath};
use http_wire::query::StrictQuery;
use http_wire::strict_json::{NoBody, StrictJson};
use http_wire::view::{AccountView, AgentOverviewView};

use super::cursors;

pub(crate) async fn list_users(
    UserAuth(operator): UserAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    let window = query.window(cursors("users", operator))?;
    let page = accounts.users(window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(AccountView::new), window.metadata(&page)))
}

pub(crate) async fn list_agents(
    UserAuth(operator): UserAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    accounts: web::Data<AdministrationService>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let window = query.window(cursors("agents", operator))?;
    let page = accounts.agents(window.request.clone()).await?;
    let each = work.of_agents(page.rows.iter().map(|agent| agent.id).collect()).await?;
    let rows = page.rows.iter().zip(&each).map(|(agent, of_agent)| view(&work, agent, of_agent));
    Ok(List::ok(rows, window.metadata(&page)))
}

pub(crate) async fn list_work(
    UserAuth(operator): UserAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    accounts: web::Data<AdministrationService>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let window = query.window(cursors("work", operator))?;
    let page = work.flagged_agents(window.request.clone()).await?;
    let of = page.rows.iter().map(|of_agent| ParticipantId::Agent(of_agent.agent)).collect::<Vec<_>>();
    let (_, agents) = accounts.accounts_of(&of).await?;
    let agents = agents.into_iter().map(|agent| (agent.id, agent)).collect::<HashMap<_, _>>();
    // One that was deleted meanwhile has no work.
    let rows = page.rows.iter().filter_map(|of_agent| {
        let agent = agents.get(&of_agent.agent)?;
        Some(view(&work, agent, of_agent))
    });
    Ok(List::ok(rows, window.metadata(&page)))
}

fn view<'a>(work: &WorkService, agent: &'a Agent, of_agent: &AgentWork) -> AgentOverviewView<'a> {
    AgentOverviewView::new(agent, of_agent, work.is_connected(agent.id, agent.kind.is_external()))
}

pub(crate) async fn disable_user(
    UserAuth(operator): UserAuth,
    path: UserPath,
    _: StrictJson<NoBody>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    set_disabled(operator, ParticipantId::User(path.user), true, &accounts).await
}

pub(crate) async fn enable_user(
    UserAuth(operator): UserAuth,
    path: UserPath,
    _: StrictJson<NoBody>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    set_disabled(operator, ParticipantId::User(path.user), false, &accounts).await
}

pub(crate) async fn disable_agent(
    UserAuth(operator): UserAuth,
    path: AgentPath,
    _: StrictJson<NoBody>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    set_disabled(operator, ParticipantId::Agent(path.agent), true, &accounts).await
}

pub(crate) async fn enable_agent(
    UserAuth(operator): UserAuth,
    path: AgentPath,
    _: StrictJson<NoBody>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    set_disabled(operator, ParticipantId::Agent(path.agent), false, &accounts).await
}

async fn set_disabled(
    operator: UserCaller,
    who: ParticipantId,
    disabled: bool,
    accounts: &AdministrationService,
) -> Result<HttpResponse, ApiError> {
    accounts.set_disabled_by(operator, who, disabled).await?;
    Ok(HttpResponse::NoContent().finish())
}
