//! All users and agents, the agents with flagged work, and disabling accounts.

use std::collections::HashMap;

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, AdministrationService, Agent, Operator};
use domain::id::ParticipantId;
use domain::page::PageRequest;
use domain::text::NamePart;
use domain::work::{AgentWork, WorkService};
use http_wire::auth::OperatorAuth;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::page::{CursorQuery, Window};
use http_wire::path::{AgentPath, KeyPath, UserPath};
use http_wire::query::{FromQuery, NoQuery, QueryReader, StrictQuery};
use http_wire::strict_json::{NoBody, Rejected, StrictJson};
use http_wire::view::{AccountView, AgentOverviewView, KeyView};

use super::{RecentAnswers, cursors};
use crate::confirm::{ConfirmBody, Confirmation};

/// A page of all users or agents.
pub(crate) struct ListAccountsQuery {
    page: CursorQuery,
    name: Option<NamePart>,
}

impl FromQuery for ListAccountsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let (page, name) = (CursorQuery::from_query(query), query.name_part());
        Ok(Self { page: page?, name: name? })
    }
}

impl ListAccountsQuery {
    fn window(self, list: &str, operator: Operator) -> Result<(Window, Option<NamePart>), ApiError> {
        let name = self.name.as_ref().map_or("", NamePart::as_str);
        let window = self.page.window(cursors(list, operator).filtered("q", name))?;
        Ok((window, self.name))
    }
}

pub(crate) async fn list_users(
    OperatorAuth(operator): OperatorAuth,
    StrictQuery(query): StrictQuery<ListAccountsQuery>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    let (window, name) = query.window("users", operator)?;
    let page = accounts.users(operator, name, window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(AccountView::new), window.metadata(&page)))
}

pub(crate) async fn list_agents(
    OperatorAuth(operator): OperatorAuth,
    StrictQuery(query): StrictQuery<ListAccountsQuery>,
    accounts: web::Data<AdministrationService>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let (window, name) = query.window("agents", operator)?;
    let page = accounts.agents(operator, name, window.request.clone()).await?;
    let each = work.of_agents(page.rows.iter().map(|agent| agent.id).collect()).await?;
    let rows = page.rows.iter().zip(&each).map(|(agent, of_agent)| view(&work, agent, of_agent));
    Ok(List::ok(rows, window.metadata(&page)))
}

pub(crate) async fn list_work(
    OperatorAuth(operator): OperatorAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    accounts: web::Data<AdministrationService>,
    work: web::Data<WorkService>,
    answers: web::Data<RecentAnswers>,
) -> Result<HttpResponse, ApiError> {
    let window = query.window(cursors("work", operator))?;
    let read = async |page: &PageRequest| work.flagged_agents(operator, page.clone()).await;
    let is_first = window.request.slice.after().is_none();
    let page = answers.work.get(window.request.clone(), is_first, read).await?;
    let of = page.rows.iter().map(|of_agent| ParticipantId::Agent(of_agent.agent)).collect::<Vec<_>>();
    let (_, agents) = accounts.accounts_of(operator, &of).await?;
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

pub(crate) async fn revoke_key(
    OperatorAuth(operator): OperatorAuth,
    path: KeyPath,
    _: StrictQuery<NoQuery>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(KeyView::new(&accounts.revoke_key_by(operator, path.key).await?)))
}

pub(crate) async fn disable_user(
    OperatorAuth(operator): OperatorAuth,
    confirmation: Confirmation,
    path: UserPath,
    StrictJson { body, .. }: StrictJson<ConfirmBody>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    confirmation.check_body(body).await?;
    set_disabled(operator, ParticipantId::User(path.user), true, &accounts).await
}

pub(crate) async fn enable_user(
    OperatorAuth(operator): OperatorAuth,
    path: UserPath,
    _: StrictJson<NoBody>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    set_disabled(operator, ParticipantId::User(path.user), false, &accounts).await
}

pub(crate) async fn disable_agent(
    OperatorAuth(operator): OperatorAuth,
    confirmation: Confirmation,
    path: AgentPath,
    StrictJson { body, .. }: StrictJson<ConfirmBody>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    confirmation.check_body(body).await?;
    set_disabled(operator, ParticipantId::Agent(path.agent), true, &accounts).await
}

pub(crate) async fn enable_agent(
    OperatorAuth(operator): OperatorAuth,
    path: AgentPath,
    _: StrictJson<NoBody>,
    accounts: web::Data<AdministrationService>,
) -> Result<HttpResponse, ApiError> {
    set_disabled(operator, ParticipantId::Agent(path.agent), false, &accounts).await
}

async fn set_disabled(
    operator: Operator,
    who: ParticipantId,
    disabled: bool,
    accounts: &AdministrationService,
) -> Result<HttpResponse, ApiError> {
    accounts.set_disabled_by(operator, who, disabled).await?;
    Ok(HttpResponse::NoContent().finish())
}
