//! `parlance status`: an overview of an installation.

use domain::status::{ClusterStatus, OpenWork, StoreStatus};
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::config::{Config, without_password};
use crate::doctor::port::{Ours, answer_of};
use crate::failure::Failure;
use crate::output::{Times, print};
use crate::store::{self, StoreAt};
use crate::system::PROGRAM;

/// The widest label and the gap behind it.
const LABEL: usize = 15;

/// Prints the overview.
pub(crate) async fn run(config: &Config, arguments: &TableArguments) -> Result<(), Failure> {
    store::with(config, async |store| {
        let status = store.status().await;
        let status =
            status.map_err(|cause| Failure::new("cannot read the store", cause).next(store::NEXT))?;
        let found = Found { status, place: place(config), server: Server::of(config) };
        print(&if arguments.json {
            found.as_json().to_string()
        } else {
            found.as_text(&Times::of(arguments))
        })
    })
    .await
}

/// The location of the store, without a password.
fn place(config: &Config) -> String {
    match &config.store {
        StoreAt::File(path) => format!("SQLite, {}", path.display()),
        StoreAt::Memory => "SQLite, in memory".to_owned(),
        StoreAt::Postgres(database) => format!("PostgreSQL, {}", without_password(&database.url)),
    }
}

/// The server of this configuration on this machine.
struct Server {
    listen: String,
    is_running: bool,
    /// Open sockets of users and of agents, if the server has metrics.
    sockets: Option<(u64, u64)>,
}

impl Server {
    fn of(config: &Config) -> Self {
        let ours = if config.tls.is_some() { Ours::TlsServer } else { Ours::Server };
        let is_running = answer_of(&config.listen, ours).is_some();
        let figures = config.metrics_listen.as_deref().and_then(|listen| answer_of(listen, Ours::Metrics));
        let sockets = figures.and_then(|text| Some((figure(&text, "users")?, figure(&text, "agents")?)));
        Self { listen: config.listen.clone(), is_running, sockets }
    }
}

/// The open sockets of one kind, from the metrics.
fn figure(figures: &str, kind: &str) -> Option<u64> {
    let start = format!("{}{{kind=\"{kind}\"}} ", measure::SOCKETS);
    figures.lines().find_map(|line| line.strip_prefix(&start))?.trim().parse().ok()
}

struct Found {
    status: StoreStatus,
    place: String,
    server: Server,
}

impl Found {
    fn as_text(&self, times: &Times) -> String {
        let StoreStatus { organizations, users, agents, chats, messages, size_bytes, work, cluster } =
            self.status;
        let Server { listen, is_running, sockets } = &self.server;
        let server = if *is_running { "running" } else { "no answer" };
        let mut lines = vec![
            ("Version", PROGRAM.version.to_owned()),
            ("Store", format!("{}, {}", self.place, size(size_bytes))),
            ("Server", format!("{server} at {listen}")),
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
            ("Organizations", organizations.to_string()),
            ("Users", users.to_string()),
            ("Agents", agents.to_string()),
            ("Chats", chats.to_string()),
            ("Messages", messages.to_string()),
            ("Open work", open(work, times)),
        ]);
        let lines = lines.iter().map(|(label, text)| format!("{label:LABEL$}{text}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn as_json(&self) -> Value {
        let StoreStatus { organizations, users, agents, chats, messages, size_bytes, work, cluster } =
            self.status;
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
            "store": { "place": self.place, "size_bytes": size_bytes },
            "server": { "listen": self.server.listen, "running": self.server.is_running, "sockets": sockets },
            "cluster": cluster,
            "organizations": organizations,
            "users": users,
            "agents": agents,
            "chats": chats,
            "messages": messages,
            "open_work": {
                "new": work.new,
                "delivered": work.delivered,
                "processing": work.processing,
                "failed": work.failed,
                "oldest_at": work.oldest.map(|at| at.to_string()),
            },
        })
    }
}

/// Printed if the server has no metrics.
const UNKNOWN: &str = "unknown; set metrics_listen to see them";

/// The open work of agents.
fn open(work: OpenWork, times: &Times) -> String {
    let OpenWork { new, delivered, processing, failed, oldest } = work;
    if work.total() == 0 {
        return "none".to_owned();
    }
    let oldest = oldest.map(|at| format!("; oldest sent {}", times.text(at)));
    format!(
        "{}: {new} new, {delivered} delivered, {processing} processing, {failed} failed{}",
        work.total(),
        oldest.unwrap_or_default()
    )
}

/// Bytes in the largest unit with a value of at least one.
fn size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = UNITS.into_iter().find(|(bits, _)| bytes >> bits > 0);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(bits, unit)| {
            let tenths = (u128::from(bytes) * 10) >> bits;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_their_largest_unit() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1_600_000, "1.5 MiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn sockets_are_read_out_of_the_figures() {
        let figures = "parlance_sockets{kind=\"users\"} 2\nparlance_sockets{kind=\"agents\"} 30\n";
        assert_eq!((figure(figures, "users"), figure(figures, "agents")), (Some(2), Some(30)));
        assert_eq!(figure("", "users"), None);
    }
}
