//! The stores that the measured server keeps its data in.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use e2e::Server;
use testkit::postgres::{Cluster, Database, Options};

use crate::pgbench::ask_sql;
use crate::process::{SETTINGS, cpu_of_family};

/// A kind of store.
#[derive(Clone)]
pub(crate) enum Place {
    /// A file beside the server.
    Embedded,
    /// A database of this cluster.
    Postgres(Arc<Cluster>),
}

/// A server on a store of its own; the store goes with it.
pub(crate) struct Served {
    pub(crate) server: Server,
    database: Option<Database>,
}

impl Place {
    /// A cluster that keeps what it has committed, also through a power cut.
    pub(crate) fn postgres() -> Self {
        // On a disk, as in production, and not in memory.
        let options = Options::default()
            .inside(&std::env::temp_dir())
            .setting("fsync", "on")
            .setting("shared_buffers", "1GB")
            .setting("max_wal_size", "4GB");
        Self::Postgres(Arc::new(Cluster::own(options)))
    }

    /// As the table calls PostgreSQL.
    pub(crate) const POSTGRES: &str = "PostgreSQL";

    /// As the table calls it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Postgres(_) => Self::POSTGRES,
        }
    }

    /// How long PostgreSQL has been on a processor; nothing for the embedded store, which is in the server.
    pub(crate) fn cpu(&self) -> Duration {
        match self {
            Self::Embedded => Duration::ZERO,
            Self::Postgres(cluster) => {
                let text = fs::read_to_string(cluster.directory().join("data/postmaster.pid")).unwrap();
                cpu_of_family(text.lines().next().unwrap().parse().unwrap())
            }
        }
    }

    /// Starts a server on an empty store.
    pub(crate) async fn serve(&self) -> Served {
        let database = match self {
            Self::Embedded => None,
            Self::Postgres(cluster) => Some(cluster.server().database()),
        };
        let url = database.as_ref().map(Database::url);
        let mut settings = SETTINGS.to_vec();
        settings.extend(url.as_deref().map(|url| ("PARLANCE_DATABASE_URL", url)));
        let server = Server::start_with(&settings).await;
        Served { server, database }
    }
}

impl Served {
    /// Bytes of the store on disk: the tables of messages and work with their indexes, or the whole file, into which the
    /// server has brought its log when it stopped.
    pub(crate) fn bytes(&self) -> f64 {
        let Some(url) = self.database_url() else {
            #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
            return fs::metadata(self.server.data().join("parlance.db")).unwrap().len() as f64;
        };
        let tables = "unnest(ARRAY['messages', 'deliveries', 'attempts']::regclass[])";
        ask_sql(&url, &format!("SELECT sum(pg_total_relation_size(name)) FROM {tables} AS name"))
    }

    /// Where the data is: `postgres://…`, or `None` for the file in the data directory.
    pub(crate) fn database_url(&self) -> Option<String> {
        self.database.as_ref().map(Database::url)
    }
}
