//! The stores that the measured server keeps its data in.

use std::sync::Arc;

use e2e::Server;
use testkit::postgres::{Cluster, Database, Options};

use crate::process::SETTINGS;

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
        let options = Options::default()
            .setting("fsync", "on")
            .setting("shared_buffers", "1GB")
            .setting("max_wal_size", "4GB");
        Self::Postgres(Arc::new(Cluster::own(options)))
    }

    /// As the table calls it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Postgres(_) => "PostgreSQL",
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
    /// Where the data is: `postgres://…`, or `None` for the file in the data directory.
    pub(crate) fn database_url(&self) -> Option<String> {
        self.database.as_ref().map(Database::url)
    }
}
