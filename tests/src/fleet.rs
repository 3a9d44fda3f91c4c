//! Several servers on one database.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tempfile::TempDir;
use testkit::nats::Nats;
use testkit::postgres::{Database, server as postgres};
use testkit::{free_port, until};

use crate::metrics::figure;
use crate::server::Server;

/// Servers on one database. They go before what they stand on.
pub struct Fleet {
    /// The servers, in the order in which they were started.
    pub servers: Vec<Server>,
    metrics: Vec<u16>,
    nats: Option<Nats>,
    /// The directory of files, which all of them see.
    files: TempDir,
    database: Database,
}

impl Fleet {
    /// So many on an empty database, with these variables.
    pub async fn start(count: usize, settings: &[(&str, &str)]) -> Self {
        Self::start_on(postgres().database(), count, settings).await
    }

    /// So many on this database, with these variables.
    pub async fn start_on(database: Database, count: usize, settings: &[(&str, &str)]) -> Self {
        let files = TempDir::new().unwrap();
        let mut fleet = Self { servers: Vec::new(), metrics: Vec::new(), nats: None, files, database };
        fleet.add(count, settings).await;
        fleet
    }

    /// So many on an empty database, which tell each other over NATS what happened; they are connected to it, and find
    /// each other in a moment.
    pub async fn with_nats(count: usize, settings: &[(&str, &str)]) -> Self {
        let (nats, database) = (Nats::start(), postgres().database());
        let url = nats.url();
        let own = [("PARLANCE_NATS_URL", url.as_str()), ("PARLANCE_RATE_LIMITS", "false")];
        let files = TempDir::new().unwrap();
        let mut fleet = Self { servers: Vec::new(), metrics: Vec::new(), nats: Some(nats), files, database };
        fleet.add(count, &[&own, settings].concat()).await;
        fleet.all_are("ready").await;
        fleet
    }

    async fn add(&mut self, count: usize, settings: &[(&str, &str)]) {
        let url = self.database.url();
        let files = self.files.path().to_str().unwrap().to_owned();
        for _ in 0..count {
            let port = free_port();
            let listen = format!("127.0.0.1:{port}");
            let own = [
                ("PARLANCE_DATABASE_URL", url.as_str()),
                ("PARLANCE_METRICS_LISTEN", &listen),
                ("PARLANCE_FILES_DIRECTORY", &files),
                ("PARLANCE_FILES_SHARED", "true"),
            ];
            let settings = [&own[..], settings].concat();
            let server = match self.servers.first() {
                None => Server::start_alone(&settings).await,
                Some(first) => Server::start_beside(first, &settings).await,
            };
            self.servers.push(server);
            self.metrics.push(port);
        }
    }

    /// NATS, where there is one.
    pub fn nats(&mut self) -> &mut Nats {
        self.nats.as_mut().expect("they were started with it")
    }

    /// The database of all servers.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Waits until every server knows of all others, and what they want.
    pub async fn acquainted(&self) {
        let others = f64::from(u32::try_from(self.servers.len()).unwrap() - 1);
        for index in 0..self.servers.len() {
            let all = async || (self.figure(index, "parlance_bus_nodes").await - others).abs() < 0.5;
            until("the servers do not find each other", all).await;
        }
        for server in &self.servers {
            // For two seconds after it was connected, a server believes that there may be more of them.
            let are_known = async || {
                let log = server.logged();
                let connected = ["NATS connected", "NATS available again"].map(|text| log.rfind(text));
                log.rfind("other servers on NATS known") > connected.into_iter().max().flatten()
            };
            until("the servers do not know each other", are_known).await;
        }
    }

    /// Waits until `/ready` of each of them says this.
    pub async fn all_are(&self, status: &str) {
        for server in &self.servers {
            let is_so = async || {
                let answer = reqwest::get(format!("http://{}/ready", server.address())).await.unwrap();
                answer.status() == 200 && answer.json::<Value>().await.unwrap()["status"] == status
            };
            until(status, is_so).await;
        }
    }

    /// The [figure](figure()) of a server.
    pub async fn figure(&self, server: usize, series: &str) -> f64 {
        figure(self.metrics[server], series).await
    }
}

/// The other servers of a fleet that a test uses like one server, and which is next.
pub(crate) struct Beside {
    fleet: Fleet,
    callers: AtomicUsize,
    sockets: AtomicUsize,
}

impl Beside {
    /// The first of the servers, and the others. The first socket is on another server than the first caller.
    pub(crate) fn first_of(mut fleet: Fleet) -> (Server, Self) {
        let first = fleet.servers.remove(0);
        (first, Self { fleet, callers: AtomicUsize::new(0), sockets: AtomicUsize::new(1) })
    }

    /// The server for the next caller, if it is not the first.
    pub(crate) fn for_caller(&self) -> Option<&Server> {
        self.next(&self.callers)
    }

    /// The server for the next socket, if it is not the first.
    pub(crate) fn for_socket(&self) -> Option<&Server> {
        self.next(&self.sockets)
    }

    fn next(&self, turns: &AtomicUsize) -> Option<&Server> {
        let others = &self.fleet.servers;
        let turn = turns.fetch_add(1, Ordering::SeqCst) % (others.len() + 1);
        turn.checked_sub(1).map(|other| &others[other])
    }
}
