//! A kept store: `store.sql` or the file in `data`, with the keys and files of its server, `archive.jsonl`, which its version
//! has exported, and `known.json`, which says what is in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use e2e::{free_port, isolated, program};
use serde_json::Value;
use tempfile::TempDir;
use testkit::postgres::{Database, server as postgres};
use tokio_postgres::{Client, NoTls};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreKind {
    Sqlite,
    Postgres,
}

/// A store in a directory of its own.
pub(crate) struct Kept {
    pub(crate) kind: StoreKind,
    pub(crate) known: Value,
    pub(crate) database: Option<Database>,
    directory: TempDir,
}

impl Kept {
    /// An empty place for a store.
    pub(crate) fn new(kind: StoreKind) -> Self {
        let database = (kind == StoreKind::Postgres).then(|| postgres().database());
        let directory = TempDir::new().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        Self { kind, known: Value::Null, database, directory }
    }

    /// The store in this file.
    pub(crate) async fn unpack(path: &Path) -> Self {
        let is_dump = path.to_str().unwrap().ends_with("-postgres.tar.gz");
        let mut kept = Self::new(if is_dump { StoreKind::Postgres } else { StoreKind::Sqlite });
        let mut tar = Command::new("tar");
        succeeded(tar.arg("-xzf").arg(path).arg("-C").arg(kept.directory.path()));
        kept.known = serde_json::from_slice(&std::fs::read(kept.path("known.json")).unwrap()).unwrap();
        if let Some(client) = kept.client().await {
            client.batch_execute(&std::fs::read_to_string(kept.path("store.sql")).unwrap()).await.unwrap();
        }
        kept
    }

    /// Writes it to a file.
    pub(crate) fn pack(&self, path: &Path) {
        let known = serde_json::to_vec_pretty(&self.known).unwrap();
        std::fs::write(self.path("known.json"), known).unwrap();
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-I", "gzip -9n", "-cf"]);
        succeeded(tar.arg(path).arg("-C").arg(self.directory.path()).arg("."));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The settings of its server and commands.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let url = self.database.as_ref().map(|database| ("PARLANCE_DATABASE_URL", database.url()));
        url.into_iter().chain([("PARLANCE_PASSWORD_MEMORY_KIB", "1024".to_owned())]).collect()
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = isolated(program());
        command.current_dir(self.directory.path()).env("PARLANCE_DATA_DIR", self.path("data"));
        command.env("PARLANCE_LISTEN", format!("127.0.0.1:{}", free_port())).envs(self.settings());
        command
    }

    /// Runs a command of the program.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        succeeded(self.command().args(arguments))
    }

    /// A connection to its database, if it has one.
    pub(crate) async fn client(&self) -> Option<Client> {
        let url = self.database.as_ref()?.url();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Some(client)
    }
}

pub(crate) fn succeeded(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
