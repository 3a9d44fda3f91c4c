//! `parlance migrate`, `export`, and `import`: the program moves whole stores.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod kills;
mod moves;
mod refusals;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;
use testkit::{Fixture, Stores, World};

/// The program with these arguments, on the store at this URL.
fn parlance(store: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parlance"));
    command.env_clear().env("PARLANCE_DATABASE_URL", store).args(arguments).stdin(Stdio::null());
    command
}

fn run(store: &str, arguments: &[&str]) -> Output {
    parlance(store, arguments).output().unwrap()
}

/// What it printed; it ended well.
fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The one line that says why it did not end well.
fn refused(output: &Output) -> String {
    let printed_text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    let mut lines = printed_text.lines().filter_map(|line| line.strip_prefix("parlance: "));
    let line = lines.next().unwrap_or_else(|| panic!("{printed_text}")).to_owned();
    assert!(lines.next().is_none() && !printed_text.contains("panicked"), "{printed_text}");
    line
}

/// A directory for the stores and archives of a test.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.file(name).to_str().unwrap().to_owned()
    }

    fn url(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name))
    }

    fn stores(&self, name: &str) -> Stores {
        Stores::in_file(&self.file(name))
    }

    /// An archive of a store in which everything was made.
    async fn fixture(&self, store: &str, archive: &str) -> (World, Fixture) {
        let world = World::on(self.stores(store));
        let fixture = Fixture::in_world(&world).await;
        self.export(&self.url(store), archive);
        (world, fixture)
    }

    fn export(&self, store: &str, archive: &str) {
        assert_eq!(printed(run(store, &["export", "--to", &self.path(archive)])), "");
    }

    fn import(&self, store: &str, archive: &str) -> Json {
        let printed_text = run(store, &["import", "--from", &self.path(archive), "--json"]);
        serde_json::from_str(&printed(printed_text)).unwrap()
    }

    /// All lines but the first, which tells when it was written, and the digest of that in the last.
    fn rows(&self, archive: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(archive)).unwrap();
        let mut rows = text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        let mut end = serde_json::from_str::<Json>(&rows.pop().unwrap()).unwrap();
        assert!(end["end"].as_object_mut().unwrap().remove("header_sha256").is_some());
        rows.push(end.to_string());
        rows
    }
}
