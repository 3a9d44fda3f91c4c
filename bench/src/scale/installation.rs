//! The servers that are measured, on one store.

use std::time::Duration;

use e2e::Server;
use futures_util::future::join_all;
use testkit::nats::Nats;
use testkit::postgres::Database;

use super::population::IN_ROOM;
use crate::places::Place;
use crate::process::{SETTINGS, cpu, resident};

/// How long servers take to know each other, with a little more.
const ACQUAINTED: Duration = Duration::from_secs(4);

/// Servers on one store. They go before what they stand on.
pub(crate) struct Installation {
    pub(crate) nodes: Vec<Server>,
    place: Place,
    database: Option<Database>,
    _nats: Option<Nats>,
}

/// Time on the processors.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) servers: Duration,
    pub(crate) store: Duration,
}

impl Spent {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            servers: self.servers.saturating_sub(before.servers),
            store: self.store.saturating_sub(before.store),
        }
    }
}

impl Installation {
    pub(crate) async fn start(place: &Place, nodes: usize, with_nats: bool) -> Self {
        let database = match place {
            Place::Embedded => None,
            Place::Postgres(cluster) => Some(cluster.server().database()),
        };
        let nats = with_nats.then(Nats::start);
        let (url, bus) = (database.as_ref().map(Database::url), nats.as_ref().map(Nats::url));
        let mut settings = SETTINGS.to_vec();
        settings.extend(url.as_deref().map(|url| ("PARLANCE_DATABASE_URL", url)));
        settings.extend(bus.as_deref().map(|bus| ("PARLANCE_NATS_URL", bus)));
        if nodes > 1 {
            settings.push(("PARLANCE_CLUSTER_MODE", "multi"));
        }
        let mut started = Vec::new();
        for _ in 0..nodes {
            started.push(Server::start_with(&settings).await);
        }
        Self { nodes: started, place: place.clone(), database, _nats: nats }
    }

    pub(crate) fn database_url(&self) -> Option<String> {
        self.database.as_ref().map(Database::url)
    }

    /// The server of a room: all of its agents are connected to it, so that it serves them alone.
    pub(crate) fn node_of(&self, agent: usize) -> &Server {
        &self.nodes[agent / IN_ROOM % self.nodes.len()]
    }

    pub(crate) fn spent(&self) -> Spent {
        Spent { servers: self.nodes.iter().map(|server| cpu(server.pid())).sum(), store: self.place.cpu() }
    }

    /// Resident memory of all servers.
    pub(crate) fn resident(&self) -> u64 {
        self.nodes.iter().map(|server| resident(server.pid())).sum()
    }

    /// Stops all servers at once.
    pub(crate) async fn stop(&mut self) {
        join_all(self.nodes.iter_mut().map(Server::terminate)).await;
    }

    /// Starts them again.
    pub(crate) async fn serve(&mut self) {
        join_all(self.nodes.iter_mut().map(Server::run)).await;
    }

    /// The same, and waits until they know each other.
    pub(crate) async fn run(&mut self) {
        self.serve().await;
        if self.nodes.len() > 1 {
            tokio::time::sleep(ACQUAINTED).await;
        }
    }
}
