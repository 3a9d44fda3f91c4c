//! Databases on a server: new ones, and clones of a template.

use std::future::Future;
use std::sync::{Arc, Mutex};

use tokio_postgres::Config;

use super::supervisor::Supervisor;
use super::{administration, random};

/// The connection settings of a server.
pub(super) struct ConnectionSettings {
    /// A connection that may make databases.
    pub(super) administrator: Config,
    /// The owner of the databases, if it is not the role that creates them.
    pub(super) owner: Option<&'static str>,
    /// The parts of a URL before `/` and after the database's name.
    pub(super) url: (String, String),
    /// The prefix of the names of databases.
    pub(super) prefix: String,
    /// The cluster runs as long as a database on it is in use.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub(super) kept: Option<Arc<Mutex<Supervisor>>>,
}

/// A PostgreSQL server on which tests make databases.
pub struct Server {
    connection: ConnectionSettings,
}

impl Server {
    pub(super) fn new(connection: ConnectionSettings) -> Self {
        Self { connection }
    }

    /// A new, empty database.
    pub fn database(self: &Arc<Self>) -> Database {
        // template0 allows no connections and has no content.
        self.create("template0")
    }

    /// A database in which `migrate` has been at work, to be cloned; `migrate` is given its URL.
    ///
    /// Whatever connections are still open afterwards are closed by the server.
    pub async fn template<F: Future<Output = ()>>(
        self: &Arc<Self>,
        migrate: impl FnOnce(String) -> F,
    ) -> Template {
        let database = self.database();
        migrate(database.url()).await;
        let name = &database.name;
        // PostgreSQL clones only databases without connections, so none are allowed from here on.
        self.execute(&[
            format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"),
            format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' \
                 AND backend_type = 'client backend'"
            ),
        ]);
        Template { database }
    }

    /// A new database with all that is in the template.
    pub fn clone_of(self: &Arc<Self>, template: &Template) -> Database {
        assert!(Arc::ptr_eq(self, &template.database.server), "the template is on another server");
        self.create(&template.database.name)
    }

    fn create(self: &Arc<Self>, template: &str) -> Database {
        let name = format!("{}_{:016x}", self.connection.prefix, random());
        let owner = self.connection.owner.map(|role| format!(" OWNER {role}")).unwrap_or_default();
        let made = administration::with_client(&self.connection.administrator, async |client| {
            let version = client.query_one("SELECT current_setting('server_version_num')::int", &[]).await?;
            // By default, newer versions write a clone block by block, which takes several times as long. Older ones always
            // copy files.
            let strategy = if version.get::<_, i32>(0) < 150_000 { "" } else { " STRATEGY file_copy" };
            client
                .batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}{owner}{strategy}"))
                .await
        });
        made.unwrap_or_else(|error| panic!("PostgreSQL: {name}: {error}"));
        Database { server: Arc::clone(self), name }
    }

    fn execute(&self, statements: &[String]) {
        administration::execute(&self.connection.administrator, statements)
            .unwrap_or_else(|error| panic!("PostgreSQL: {}: {error}", statements.join("; ")));
    }
}

/// A database of one test. It is dropped with this handle, even if clients are still connected.
pub struct Database {
    server: Arc<Server>,
    name: String,
}

impl Database {
    /// The URL, as `postgres://…`.
    pub fn url(&self) -> String {
        let (before, after) = &self.server.connection.url;
        format!("{before}/{}{after}", self.name)
    }

    /// Its name on its server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server it is on.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A cluster that a test has stopped cannot be asked any more, and takes the database with it.
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        administration::execute(&self.server.connection.administrator, &[statement]).ok();
    }
}

/// A migrated database that is there to be cloned; dropped with this handle.
pub struct Template {
    database: Database,
}

impl Template {
    /// A new database with all that is in this one.
    pub fn database(&self) -> Database {
        self.database.server.clone_of(self)
    }
}
