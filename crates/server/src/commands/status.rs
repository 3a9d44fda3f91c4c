//! `parlance status`: an overview of an installation.

use domain::status::{ClusterStatus, StoreStatus};
use domain::work::WorkTotals;
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::commands::doctor::port::{Ours, Served, answer_of};
use crate::config::{Config, without_password};
use crate::failure::Failure;
use crate::output::{Times, bytes_as_text, print};
use crate::store::{self, StoreAt};
use crate::system::PROGRAM;
use crate::wiring;

/// The width of the widest label and the gap after it.
const LABEL: usize = 15;

/// Prints the overview.
pub(crate) async fn run(config: &Config, arguments: &TableArguments) -> Result<(), Failure> {
    // Before the store is opened, as its lock is looked at.
    let server = Server::of(config);
    store::with(config, async |store| {
        let status = store.status().await;
        let unread = |cause| Failure::new("cannot read the store", cause).next(store::NEXT);
        let status = status.map_err(unread)?;
        let work = wiring::work(config, store.clone()).totals().await.map_err(unread)?;
        let found = Found { status, work, location: location(config), server };
        print(&if arguments.json {
            found.as_json().to_string()
        } else {
            found.as_text(&Times::of(arguments))
        })
    })
    .await
}

/// The location of the store, without a password.
fn location(config: &Config) -> String {
    match &config.store {
        StoreAt::File(path) => format!("SQLite, {}", path.display()),
        StoreAt::Memory => "SQLite, in memory".to_owned(),
        StoreAt::Postgres(database) => format!("PostgreSQL, {}", without_password(&database.url)),
    }
}

/// The server with this configuration on this machine.
struct Server {
    listen: String,
    /// Whether a server answers that may use this store.
    is_running: bool,
    /// The description of its state.
    state: String,
    /// Open sockets of users and of agents, if the server exposes metrics.
    sockets: Option<(u64, u64)>,
}

impl Server {
    fn of(config: &Config) -> Self {
        let ours = if config.tls.is_some() { Ours::TlsServer } else { Ours::Server };
        let listen = &config.listen;
        let (is_running, state) = match (answer_of(listen, ours).is_some(), Served::by_lock(config)) {
            (false, _) => (false, format!("no answer at {listen}")),
            (true, Served::Here) => (true, format!("running at {listen}")),
            (true, Served::Unknown) => (true, format!("a Parlance server answers at {listen}")),
            (true, Served::Elsewhere) => {
                (false, format!("not running on this store; another Parlance server uses {listen}"))
            }
        };
        let metrics = config.metrics_listen.as_deref().filter(|_| is_running);
        let figures = metrics.and_then(|listen| answer_of(listen, Ours::Metrics));
        let sockets = figures.and_then(|text| Some((figure(&text, "users")?, figure(&text, "agents")?)));
        Self { listen: listen.clone(), is_running, state, sockets }
    }
}

/// The open sockets of one kind, from the metrics.
fn figure(figures: &str, kind: &str) -> Option<u64> {
    let start = format!("{}{{kind=\"{kind}\"}} ", measure::SOCKETS);
    figures.lines().find_map(|line| line.strip_prefix(&start))?.trim().parse().ok()
}

struct Found {
    status: StoreStatus,
    work: WorkTotals,
    location: String,
    server: Server,
}

impl Found {
    fn as_text(&self, times: &Times) -> String {
        let StoreStatus {
            organizations,
            paused_organizations,
            users,
            agents,
            paused_agents,
            chats,
            messages,
            size_bytes,
            cluster,
        } = self.status;
        let work = self.work;
        let Server { state, sockets, .. } = &self.server;
        let mut lines = vec![
            ("Version", PROGRAM.version.to_owned()),
            ("Store", format!("{}, {}", self.location, bytes_as_text(size_bytes))),
            ("Server", state.clone()),
            (
                "Sockets",
                sockets.map_or_else(
                    || UNKNOWN.to_owned(),
                    |(users, agents)| format!("{users} of users, {agents} of agents"),
                ),
            ),
        ];
        lines.extend(cluster.filter(|cluster| cluster.nodes > 0).map(|cluster| {
            let ClusterStatus { nodes, connected_agents, connected_users } = cluster;
            (
                "Cluster",
                format!("{nodes} nodes, {connected_agents} agents and {connected_users} users connected"),
            )
        }));
        lines.extend([
            ("Organizations", with_paused(organizations, paused_organizations)),
            ("Users", users.to_string()),
            ("Agents", with_paused(agents, paused_agents)),
            ("Chats", chats.to_string()),
            ("Messages", messages.to_string()),
            ("Open work", open(work, times)),
        ]);
        lines.extend(flagged(work).map(|flagged| ("Flagged work", flagged)));
        let lines = lines.iter().map(|(label, text)| format!("{label:LABEL$}{text}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn as_json(&self) -> Value {
        let StoreStatus {
            organizations,
            paused_organizations,
            users,
            agents,
            paused_agents,
            chats,
            messages,
            size_bytes,
            cluster,
        } = self.status;
        let work = self.work;
        let sockets = self.server.sockets.map(|(users, agents)| json!({ "users": users, "agents": agents }));
        let cluster = cluster.map(|cluster| {
            json!({
                "nodes": cluster.nodes,
                "connected_agents": cluster.connected_agents,
                "connected_users": cluster.connected_users,
            })
        });
        json!({
            "version": PROGRAM.version,
            "store": { "place": self.location, "size_bytes": size_bytes },
            "server": { "listen": self.server.listen, "running": self.server.is_running, "sockets": sockets },
            "cluster": cluster,
            "organizations": organizations,
            "paused_organizations": paused_organizations,
            "users": users,
            "agents": agents,
            "paused_agents": paused_agents,
            "chats": chats,
            "messages": messages,
            "open_work": {
                "new": work.new,
                "delivered": work.delivered,
                "processing": work.processing,
                "failed": work.failed,
                "dead": work.dead,
                "held": work.held,
                "unanswered": work.unanswered,
                "stuck": work.stuck,
                "failing": work.failing,
                "oldest_at": work.oldest.map(|at| at.to_string()),
            },
        })
    }
}

/// The number of organizations or agents, and of those that are paused.
fn with_paused(all: u64, paused: u64) -> String {
    if paused == 0 { all.to_string() } else { format!("{all}, {paused} paused") }
}

/// Printed if the server has no metrics.
const UNKNOWN: &str = "unknown; set metrics_listen, and check that the server runs";

/// The open work of agents.
fn open(work: WorkTotals, times: &Times) -> String {
    let WorkTotals { new, delivered, processing, failed, oldest, .. } = work;
    if work.open() == 0 {
        return "none".to_owned();
    }
    let oldest = oldest.map(|at| format!("; oldest sent {}", times.text(at)));
    format!(
        "{}: {new} new, {delivered} delivered, {processing} processing, {failed} failed{}",
        work.open(),
        oldest.unwrap_or_default()
    )
}

/// The work that needs attention, if there is any.
fn flagged(work: WorkTotals) -> Option<String> {
    let flagged = work.by_flag().into_iter().filter(|(_, count)| *count > 0);
    let flagged = flagged.map(|(flag, count)| format!("{count} {}", flag.as_str())).collect::<Vec<_>>();
    (!flagged.is_empty()).then(|| flagged.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_paused_is_counted_if_there_is_any() {
        assert_eq!((with_paused(3, 0), with_paused(3, 1)), ("3".to_owned(), "3, 1 paused".to_owned()));
    }

    #[test]
    fn sockets_are_read_out_of_the_figures() {
        let figures = "parlance_sockets{kind=\"users\"} 2\nparlance_sockets{kind=\"agents\"} 30\n";
        assert_eq!((figure(figures, "users"), figure(figures, "agents")), (Some(2), Some(30)));
        assert_eq!(figure("", "users"), None);
    }
}
