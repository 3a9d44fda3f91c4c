//! The routes of `/api/v1/operator`, with their documentation.

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use http_wire::auth::operators_only;
use http_wire::openapi::{AllowedCallers, Endpoint, Interface, delete, get, mount, patch, post};
use http_wire::page::{CursorQuery, PageMetadata};
use http_wire::view::{
    AccountView, AgentOverviewView, AuditEntryView, DisconnectView, KeyView, OpenConnectionView,
    OrganizationInUseView, OverviewView, PlanInUseView, ThroughputView,
};

use crate::confirm::ConfirmBody;
use crate::{audit, operator};

/// The base path of the operator interface.
const BASE: &str = "/api/v1/operator";

/// Mounts `/api/v1/operator`, inside the request scope; needs the services, the
/// [`OperatorService`](domain::operator::OperatorService), and the [`RecentAnswers`](crate::RecentAnswers) as
/// application data. Other callers than operators are refused before the path is matched.
pub fn configure_operator(config: &mut ServiceConfig) {
    let scope = web::scope(BASE).wrap(from_fn(operators_only));
    config.service(mount(scope, "", endpoints(), actix_web::Scope::service));
}

/// Its part of the API's document.
pub(super) fn interface() -> Interface {
    Interface {
        base: BASE,
        tag: "Operators",
        prefix: "",
        callers: AllowedCallers::Users,
        // 404 if the operator of the server has turned the interface off.
        endpoints: endpoints().into_iter().map(|endpoint| endpoint.refuses(&[404])).collect(),
    }
}

fn endpoints() -> Vec<Endpoint> {
    let mut all = server_endpoints();
    all.extend(account_endpoints());
    all
}

fn server_endpoints() -> Vec<Endpoint> {
    vec![
        get("/overview", operator::show_overview)
            .named("showOverview", "Show the server that answers, its store and cluster, and totals")
            .answers::<OverviewView<'_>>(200),
        get("/throughput", operator::show_throughput)
            .named("showThroughput", "Show the throughput of the server that answers in steps of ten seconds")
            .answers::<ThroughputView>(200),
        get("/connections", operator::list_connections)
            .named("listOpenConnections", "List the open sockets of the server that answers, newest first")
            .query::<CursorQuery>()
            .lists::<OpenConnectionView<'_>, operator::ConnectionsMetadata>(),
        get("/disconnects", operator::list_disconnects)
            .named("listDisconnects", "List the last connections of all agents that have ended, newest first")
            .query::<CursorQuery>()
            .lists::<DisconnectView<'_>, PageMetadata>(),
        get("/audit", audit::list_all)
            .named("listAllAuditEntries", "List the audit log of the server, newest first")
            .query::<audit::ListAuditQuery<CursorQuery>>()
            .lists::<AuditEntryView<'_>, PageMetadata>(),
    ]
}

fn account_endpoints() -> Vec<Endpoint> {
    vec![
        get("/users", operator::list_users)
            .named("listUsers", "List all users, by handle")
            .query::<operator::ListAccountsQuery>()
            .lists::<AccountView<'_>, PageMetadata>(),
        post("/users/{user_id}/disable", operator::disable_user)
            .named("disableUser", "Disable a user and the user's agents, and end their sessions and sockets")
            .body::<ConfirmBody>()
            .answers_nothing()
            .refuses(&[409]),
        post("/users/{user_id}/enable", operator::enable_user)
            .named("enableUser", "Enable a user who was disabled")
            .answers_nothing(),
        get("/agents", operator::list_agents)
            .named("listAllAgents", "List all agents with their connections and their work, by handle")
            .query::<operator::ListAccountsQuery>()
            .lists::<AgentOverviewView<'_>, PageMetadata>(),
        post("/agents/{agent_id}/disable", operator::disable_agent)
            .named("disableAgent", "Disable an agent, and end its sockets")
            .body::<ConfirmBody>()
            .answers_nothing(),
        post("/agents/{agent_id}/enable", operator::enable_agent)
            .named("enableAgent", "Enable an agent that was disabled")
            .answers_nothing(),
        get("/work", operator::list_work)
            .named("listFlaggedAgents", "List the agents whose work needs attention, by id, without contents")
            .query::<CursorQuery>()
            .lists::<AgentOverviewView<'_>, PageMetadata>(),
        get("/organizations", operator::list_organizations)
            .named("listOrganizations", "List all organizations with their plans and what they use, by name")
            .query::<CursorQuery>()
            .lists::<OrganizationInUseView<'_>, PageMetadata>(),
        patch("/organizations/{organization_id}", operator::assign_plan)
            .named("assignPlan", "Assign a plan to an organization")
            .body::<operator::AssignPlanBody>()
            .answers_nothing(),
        get("/plans", operator::list_plans)
            .named("listPlans", "List all plans by name, with the number of organizations that have them")
            .lists_all::<PlanInUseView<'_>>(),
        delete("/keys/{key_id}", operator::revoke_key)
            .named(
                "revokeAnyApiKey",
                "Permanently revoke any user's or agent's API key, and close the sockets that it opened",
            )
            .answers::<KeyView<'_>>(200),
    ]
}
