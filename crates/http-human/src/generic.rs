//! The generic paths: agents and rooms under a base that ends in `/v1`.
//!
//! They serve programs written against the short form. A user's key acts as that user. An agent's
//! key creates and lists chats as the agent, and cannot manage agents.

use actix_web::{HttpResponse, web};
use domain::account::AccountService;
use domain::caller::{Caller, UserCaller};
use domain::chat::ChatService;
use domain::work::WorkService;
use http_wire::auth::{CallerAuth, UserAuth};
use http_wire::body::CreateChatBody;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{BareAndData, List};
use http_wire::error::{ApiError, ErrorCode};
use http_wire::features::Features;
use http_wire::idempotent::IdempotentJson;
use http_wire::page::PageQuery;
use http_wire::path::AgentPath;
use http_wire::query::StrictQuery;
use http_wire::strict_json::StrictJson;
use http_wire::view::{AgentView, ChatView};

use crate::account::{self, CreateAgentBody, FindAgentQuery, ListAgentsQuery};

/// Only users manage agents.
fn user(caller: Caller) -> Result<UserCaller, ApiError> {
    match caller {
        Caller::User(caller) => Ok(caller),
        Caller::Agent(_) => Err(ApiError::new(
            ErrorCode::Forbidden,
            "Agents cannot use this path. Send the credential of a user.",
        )),
    }
}

pub(crate) async fn list_agents(
    CallerAuth(caller): CallerAuth,
    query: StrictQuery<ListAgentsQuery>,
    accounts: web::Data<AccountService>,
    work: web::Data<WorkService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    account::list_agents(UserAuth(user(caller)?), query, accounts, work, features).await
}

pub(crate) async fn find_agent(
    CallerAuth(caller): CallerAuth,
    path: AgentPath,
    query: StrictQuery<FindAgentQuery>,
    accounts: web::Data<AccountService>,
    work: web::Data<WorkService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    account::find_agent(UserAuth(user(caller)?), path, query, accounts, work, features).await
}

pub(crate) async fn create_agent(
    CallerAuth(caller): CallerAuth,
    StrictJson { body, .. }: StrictJson<CreateAgentBody>,
    accounts: web::Data<AccountService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    let agent = accounts.create_platform_agent(user(caller)?, body.0).await?;
    Ok(BareAndData::created(AgentView::new(&agent, **features)))
}

pub(crate) async fn create_chat(
    CallerAuth(caller): CallerAuth,
    IdempotentJson { body, once, .. }: IdempotentJson<CreateChatBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let chat = chats.create_once(caller, body.0, once).await?;
    Ok(BareAndData::created(ChatView::new(&chat)))
}

pub(crate) async fn list_chats(
    CallerAuth(caller): CallerAuth,
    StrictQuery(query): StrictQuery<PageQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("chats").of(caller.participant().uuid());
    let window = query.window(scope)?;
    let page = chats.list(caller, window.request.clone()).await?;
    Ok(window.mark(List::ok(page.rows.iter().map(ChatView::new), window.metadata(&page))))
}
