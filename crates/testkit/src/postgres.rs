//! A real PostgreSQL for tests, without any setup.
//!
//! If `PARLANCE_TEST_DATABASE_URL` names a server (its role needs CREATEDB), databases are made there.
//! Otherwise the first test of a process that asks starts a private cluster from the newest installed
//! programs, and it goes with the process, even if that is killed. Nothing is skipped: without
//! PostgreSQL a test fails and says what to install.
//!
//! A suite migrates one database, makes it a [`Template`], and gives every test a clone. Tests that
//! stop the database, or need TLS or other settings, have a [`Cluster`] of their own.

mod administration;
mod cluster;
mod given;
mod programs;
mod server;
mod supervisor;

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

pub use cluster::{Cluster, Options, Tls};
pub use server::{Database, Server, Template};

/// The server that all tests of this process share.
///
/// # Panics
/// If there is no PostgreSQL; the message says what to install.
pub fn server() -> &'static Arc<Server> {
    static SHARED: OnceLock<Arc<Server>> = OnceLock::new();
    SHARED.get_or_init(|| match std::env::var_os("PARLANCE_TEST_DATABASE_URL") {
        Some(url) => Arc::new(given::server(url.to_str().expect("PARLANCE_TEST_DATABASE_URL is text"))),
        None => Arc::clone(Cluster::own(Options::default()).server()),
    })
}

/// The directory of the newest programs of PostgreSQL that are installed.
///
/// # Panics
/// If there are none; the message says what to install.
pub fn programs() -> PathBuf {
    programs::newest()
}

/// A unique number. It does not have to be secret.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
