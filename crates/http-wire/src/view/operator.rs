//! What operators see: accounts, organizations, connections, and the condition of a server.

use std::collections::BTreeMap;

use domain::account::{Agent, AgentConnection, User};
use domain::id::{AgentId, NodeId, OrganizationId, ParticipantId, UserId};
use domain::operator::{Finding, OpenConnection, Overview, STEP, Series, ThroughputSteps};
use domain::plan::{OrganizationInUse, PlanInUse};
use domain::status::{ClusterStatus, NodeLease, StoreStatus};
use domain::time::Timestamp;
use domain::work::AgentWork;
use serde::Serialize;

use super::Shown;
use super::agent::{AgentWorkView, ConnectionView, WorkTotalsView};
use super::organization::{PauseView, PlanView};

/// A user of any organization.
#[derive(Serialize, utoipa::ToSchema)]
pub struct AccountView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<UserId>,
    handle: &'a str,
    name: String,
    email: &'a str,
    /// Role on the server: `admin` or `user`.
    role: &'static str,
    #[schema(value_type = super::Id)]
    organization_id: Shown<OrganizationId>,
    /// Role in the organization: `admin` or `member`.
    organization_role: &'static str,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// Since when the user is disabled; null for enabled users.
    #[schema(value_type = Option<super::Instant>)]
    disabled_at: Option<Shown<Timestamp>>,
}

impl<'a> AccountView<'a> {
    /// Shows `user`.
    pub fn new(user: &'a User) -> Self {
        Self {
            id: Shown(user.id),
            handle: user.handle.as_str(),
            name: user.name.full(),
            email: &user.email,
            role: user.role.as_str(),
            organization_id: Shown(user.organization),
            organization_role: user.organization_role.as_str(),
            inserted_at: Shown(user.created_at),
            disabled_at: user.disabled_at.map(Shown),
        }
    }
}

/// An agent of any owner, with its connection and its work.
#[derive(Serialize, utoipa::ToSchema)]
pub struct AgentOverviewView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<AgentId>,
    /// The handle, which begins with that of the owner.
    handle: &'a str,
    name: &'a str,
    #[schema(value_type = super::Id)]
    owner_id: Shown<UserId>,
    is_external: bool,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// Since when the agent is disabled; null for enabled agents.
    #[schema(value_type = Option<super::Instant>)]
    disabled_at: Option<Shown<Timestamp>>,
    #[serde(flatten)]
    work: AgentWorkView,
}

impl<'a> AgentOverviewView<'a> {
    /// Shows `agent` with its work; `connected` says whether it is.
    pub fn new(agent: &'a Agent, work: &AgentWork, connected: bool) -> Self {
        Self {
            id: Shown(agent.id),
            handle: agent.handle.as_str(),
            name: &agent.name,
            owner_id: Shown(agent.owner),
            is_external: agent.kind.is_external(),
            inserted_at: Shown(agent.created_at),
            disabled_at: agent.disabled_at.map(Shown),
            work: AgentWorkView::new(work, Some(connected)),
        }
    }
}

/// What an organization has of that which its plan limits.
#[derive(Serialize, utoipa::ToSchema)]
struct OrganizationUseView {
    agents: u64,
    /// Active chats.
    chats: u64,
    /// Bytes of all messages and memories, as last counted.
    bytes: u64,
}

/// Any organization, with its plan and what it uses of it.
#[derive(Serialize, utoipa::ToSchema)]
pub struct OrganizationInUseView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<OrganizationId>,
    name: &'a str,
    /// Number of members.
    members: u64,
    plan: PlanView<'a>,
    used: OrganizationUseView,
    /// Null unless the organization is paused.
    pause: Option<PauseView<'a>>,
}

impl<'a> OrganizationInUseView<'a> {
    /// Shows `row`.
    pub fn new(row: &'a OrganizationInUse) -> Self {
        let OrganizationInUse { organization, plan, agents, chats } = row;
        Self {
            id: Shown(organization.id),
            name: &organization.name,
            members: organization.users,
            plan: PlanView::new(plan),
            used: OrganizationUseView { agents: *agents, chats: *chats, bytes: organization.bytes },
            pause: organization.pause.as_ref().map(PauseView::new),
        }
    }
}

/// A plan that organizations can have.
#[derive(Serialize, utoipa::ToSchema)]
pub struct PlanInUseView<'a> {
    #[serde(flatten)]
    plan: PlanView<'a>,
    /// Number of organizations that have it.
    organizations: u64,
}

impl<'a> PlanInUseView<'a> {
    /// Shows `row`.
    pub fn new(row: &'a PlanInUse) -> Self {
        Self { plan: PlanView::new(&row.plan), organizations: row.organizations }
    }
}

/// An open socket of the server that answers.
#[derive(Serialize, utoipa::ToSchema)]
pub struct OpenConnectionView<'a> {
    /// `User` or `Agent`.
    r#type: &'static str,
    /// The user or agent.
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    /// Null if the account was deleted a moment ago.
    handle: Option<&'a str>,
    name: Option<&'a str>,
    #[schema(value_type = super::Instant)]
    began_at: Shown<Timestamp>,
    /// Approximate number of bytes that wait for the client.
    queued_bytes: u64,
}

impl<'a> OpenConnectionView<'a> {
    /// Shows `row`.
    pub fn new(row: &'a OpenConnection) -> Self {
        let OpenConnection { socket, handle, name } = row;
        Self {
            r#type: socket.who.kind().as_str(),
            id: Shown(socket.who),
            handle: handle.as_deref(),
            name: name.as_deref(),
            began_at: Shown(socket.began_at),
            queued_bytes: socket.queued_bytes,
        }
    }
}

/// A connection of any agent that has ended.
#[derive(Serialize, utoipa::ToSchema)]
pub struct DisconnectView<'a> {
    #[schema(value_type = super::Id)]
    agent_id: Shown<AgentId>,
    /// Null if the agent was deleted a moment ago.
    handle: Option<&'a str>,
    name: Option<&'a str>,
    #[serde(flatten)]
    connection: ConnectionView,
}

impl<'a> DisconnectView<'a> {
    /// Shows `row`; `agent` is its agent.
    pub fn new(row: &AgentConnection, agent: Option<&'a Agent>) -> Self {
        Self {
            agent_id: Shown(row.agent),
            handle: agent.map(|agent| agent.handle.as_str()),
            name: agent.map(|agent| agent.name.as_str()),
            connection: ConnectionView::new(&row.connection),
        }
    }
}

/// The throughput of the server that answers, in the last hour or since its start. All series have the same length,
/// with the oldest step first.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ThroughputView {
    /// The server; null unless it is one of several on its store.
    #[schema(value_type = Option<super::Id>)]
    node_id: Option<Shown<NodeId>>,
    /// The end of the last step; null in the first moment after the start.
    #[schema(value_type = Option<super::Instant>)]
    until: Option<Shown<Timestamp>>,
    /// The duration of a step.
    step_seconds: u64,
    /// Numbers by step: of `messages` (texts), their `deliveries` to agents, and `events` of agents that were stored; of
    /// attempts that ended (`attempts_success`, `attempts_failed`, `attempts_superseded`, `attempts_intervention`); of
    /// `requests`, with their `client_errors` (4xx) and `server_errors` (5xx), and those refused as `rate_limited` or
    /// `limit_reached`; of `pushes` and `redeliveries` to sockets, and `sockets_ended`. `user_sockets` and
    /// `agent_sockets` are those open at the end of the step. New series may be added.
    #[schema(value_type = BTreeMap<String, Vec<u32>>)]
    series: BTreeMap<&'static str, Vec<u32>>,
}

impl ThroughputView {
    /// Shows `steps` of `node`.
    pub fn new(steps: &ThroughputSteps, node: Option<NodeId>) -> Self {
        Self {
            node_id: node.map(Shown),
            until: steps.until.map(Shown),
            step_seconds: STEP.as_secs(),
            series: Series::ALL.into_iter().map(|series| (series.as_str(), steps.of(series))).collect(),
        }
    }
}

/// The server that answers, its store, and its cluster.
#[derive(Serialize, utoipa::ToSchema)]
pub struct OverviewView<'a> {
    version: &'static str,
    /// The commit that the server was built from, or `unknown`.
    commit: &'static str,
    uptime_seconds: u64,
    /// The server; null unless it is one of several on its store.
    #[schema(value_type = Option<super::Id>)]
    node_id: Option<Shown<NodeId>>,
    store: StoreView,
    sockets: SocketsView,
    /// Whether events of other servers arrive over NATS; null without NATS.
    nats_connected: Option<bool>,
    /// Whether large writes are refused because the disk is nearly full.
    disk_short: bool,
    /// All servers on the store, oldest first; empty for a single server.
    nodes: Vec<NodeView>,
    /// Who is connected to any of these servers; null if servers never share the store.
    cluster: Option<ClusterView>,
    /// The checks of `parlance doctor` that cost little: free space, permissions of files, and certificates.
    findings: Vec<FindingView<'a>>,
    totals: TotalsView,
    work: WorkTotalsView,
}

/// The store of the server.
#[derive(Serialize, utoipa::ToSchema)]
struct StoreView {
    /// `sqlite`, `memory`, or `postgresql`.
    kind: &'static str,
    size_bytes: u64,
}

/// The open sockets of the server that answers.
#[derive(Serialize, utoipa::ToSchema)]
struct SocketsView {
    users: u64,
    agents: u64,
}

/// A server of a cluster. Times are those of the database.
#[derive(Serialize, utoipa::ToSchema)]
struct NodeView {
    #[schema(value_type = super::Id)]
    id: Shown<NodeId>,
    #[schema(value_type = super::Instant)]
    entered_at: Shown<Timestamp>,
    /// The server counts as dead after this time, unless it renews its lease.
    #[schema(value_type = super::Instant)]
    lease_until: Shown<Timestamp>,
    alive: bool,
}

/// Who is connected to a cluster.
#[derive(Serialize, utoipa::ToSchema)]
struct ClusterView {
    /// Servers that are alive.
    nodes: u64,
    connected_users: u64,
    connected_agents: u64,
}

/// The result of a check.
#[derive(Serialize, utoipa::ToSchema)]
struct FindingView<'a> {
    check: &'static str,
    /// `ok`, `warning`, or `fault`.
    outcome: &'static str,
    found: &'a str,
    /// What to do; null if nothing is wrong.
    next: Option<&'a str>,
}

/// What the store holds.
#[derive(Serialize, utoipa::ToSchema)]
struct TotalsView {
    organizations: u64,
    paused_organizations: u64,
    /// Including disabled ones.
    users: u64,
    agents: u64,
    chats: u64,
    /// Texts and events.
    messages: u64,
}

impl<'a> OverviewView<'a> {
    /// Shows `overview`.
    pub fn new(overview: &'a Overview) -> Self {
        let Overview { node: own, facts, condition, status, nodes, work } = overview;
        let node = |lease: &NodeLease| NodeView {
            id: Shown(lease.node),
            entered_at: Shown(lease.entered_at),
            lease_until: Shown(lease.lease_until),
            alive: lease.is_alive,
        };
        let finding = |finding: &'a Finding| FindingView {
            check: finding.check,
            outcome: finding.outcome,
            found: &finding.found,
            next: finding.next.as_deref(),
        };
        let cluster = |cluster: ClusterStatus| ClusterView {
            nodes: cluster.nodes,
            connected_users: cluster.connected_users,
            connected_agents: cluster.connected_agents,
        };
        Self {
            version: facts.version,
            commit: facts.commit,
            uptime_seconds: facts.uptime.as_secs(),
            node_id: own.map(Shown),
            store: StoreView { kind: facts.store.as_str(), size_bytes: status.size_bytes },
            sockets: SocketsView { users: facts.user_sockets, agents: facts.agent_sockets },
            nats_connected: condition.is_bus_connected,
            disk_short: condition.is_disk_short,
            nodes: nodes.iter().map(node).collect(),
            cluster: status.cluster.map(cluster),
            findings: condition.findings.iter().map(finding).collect(),
            totals: TotalsView::new(status),
            work: WorkTotalsView::new(*work),
        }
    }
}

impl TotalsView {
    const fn new(status: &StoreStatus) -> Self {
        Self {
            organizations: status.organizations,
            paused_organizations: status.paused_organizations,
            users: status.users,
            agents: status.agents,
            chats: status.chats,
            messages: status.messages,
        }
    }
}
