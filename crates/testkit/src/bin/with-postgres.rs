//! Runs a command beside a PostgreSQL of its own: `with-postgres COMMAND…`.
//!
//! The command finds the server's URL in `PARLANCE_TEST_DATABASE_URL`, and PostgreSQL's programs in its
//! path. If the variable is set already nothing is started. The server goes when the command has ended.

use std::env;
use std::process::{Command, ExitCode};

use testkit::postgres::{Cluster, Options, programs};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let Some(program) = arguments.next() else { return ExitCode::from(2) };
    let mut command = Command::new(program);
    command.args(arguments);
    let mut path = vec![programs()];
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    command.env("PATH", env::join_paths(path).expect("a path is made of paths"));
    let given = env::var_os("PARLANCE_TEST_DATABASE_URL").is_some();
    let cluster = (!given).then(|| Cluster::own(Options::default()));
    if let Some(cluster) = &cluster {
        command.env("PARLANCE_TEST_DATABASE_URL", cluster.administrator_url());
    }
    let status = command.status().expect("the command can be started");
    drop(cluster);
    // A signal has no code.
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
