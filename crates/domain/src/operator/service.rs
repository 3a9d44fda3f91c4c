//! Use cases on the condition of a server.

use std::collections::HashMap;
use std::sync::Arc;

use super::probe::{Condition, OpenSocket, ServerFacts, ServerProbe};
use super::throughput::{Throughput, ThroughputSteps};
use crate::account::{AdministrationService, Operator};
use crate::id::{NodeId, ParticipantId, RecordId};
use crate::page::{Page, PageRequest, Position};
use crate::ports::Clock;
use crate::status::{NodeLease, StatusRepository, StoreStatus};
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::work::{WorkService, WorkTotals};

/// A server, its store, and its cluster at a glance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overview {
    /// See [`OperatorService::node`].
    pub node: Option<NodeId>,
    /// The server.
    pub facts: ServerFacts,
    /// Its condition.
    pub condition: Condition,
    /// The totals of the store.
    pub status: StoreStatus,
    /// The servers on the store.
    pub nodes: Vec<NodeLease>,
    /// The totals of all work.
    pub work: WorkTotals,
}

/// An open socket, with the names of its user or agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenConnection {
    /// The socket.
    pub socket: OpenSocket,
    /// The handle; `None` if the account was deleted a moment ago.
    pub handle: Option<String>,
    /// The name.
    pub name: Option<String>,
}

/// Use cases on the condition of a server.
pub struct OperatorService {
    probe: Arc<dyn ServerProbe>,
    status: Arc<dyn StatusRepository>,
    administration: Arc<AdministrationService>,
    work: Arc<WorkService>,
    clock: Arc<dyn Clock>,
    started_at: Timestamp,
    throughput: Throughput,
}

impl OperatorService {
    /// Wires the area to its ports.
    pub fn new(
        probe: Arc<dyn ServerProbe>,
        status: Arc<dyn StatusRepository>,
        administration: Arc<AdministrationService>,
        work: Arc<WorkService>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let started_at = clock.now();
        Self { probe, status, administration, work, clock, started_at, throughput: Throughput::default() }
    }

    /// The current id of the server; `None` unless it is one of several.
    pub fn node(&self) -> Option<NodeId> {
        self.probe.node()
    }

    /// The time at which the server started. Socket numbers start over at each start.
    pub const fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// The server, its store, and its cluster. The cost grows with the number of accounts and rooms, and with the
    /// work that is not processed.
    pub async fn overview(&self, _: Operator) -> Result<Overview, StoreError> {
        Ok(Overview {
            condition: self.probe.condition().await,
            status: self.status.status().await?,
            nodes: self.status.node_leases().await?,
            work: self.work.totals().await?,
            node: self.node(),
            facts: self.probe.facts(),
        })
    }

    /// Ends a step of the throughput; must be called once every [`STEP`](super::STEP).
    pub fn record_throughput(&self) {
        self.throughput.record(self.probe.counts(), self.clock.now(), self.clock.steady());
    }

    /// The throughput of the last hour.
    pub fn throughput(&self, _: Operator) -> ThroughputSteps {
        self.throughput.read()
    }

    /// The open sockets of this server, newest first; the position is the number of the socket. Pages are by cursor
    /// only.
    pub async fn connections(
        &self,
        operator: Operator,
        page: PageRequest,
    ) -> Result<Page<OpenConnection>, StoreError> {
        let before = page.slice.after().map_or(u64::MAX, |before| before.key.unsigned_abs());
        let sockets = self.probe.sockets(before, page.slice.limit() as usize + 1);
        let position = |socket: &OpenSocket| Position::at(socket.number.cast_signed(), RecordId::NIL);
        let sockets = Page::from_overfetch(sockets, &page, None, position);
        let who = sockets.rows.iter().map(|socket| socket.who).collect::<Vec<_>>();
        let (users, agents) = self.administration.accounts_of(operator, &who).await?;
        let users = users
            .into_iter()
            .map(|user| (ParticipantId::User(user.id), (user.handle.to_string(), user.name.full())));
        let agents = agents
            .into_iter()
            .map(|agent| (ParticipantId::Agent(agent.id), (agent.handle.to_string(), agent.name)));
        let names = users.chain(agents).collect::<HashMap<_, _>>();
        Ok(sockets.map(|socket| {
            let (handle, name) = names.get(&socket.who).cloned().unzip();
            OpenConnection { socket, handle, name }
        }))
    }
}
