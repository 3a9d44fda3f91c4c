//! Runs a command with a PostgreSQL of its own: `with-postgres COMMAND…`.
//!
//! The command finds the server's URL in `PARLANCE_TEST_DATABASE_URL`, PostgreSQL's programs in its path, and
//! this program in `PARLANCE_TEST_WITH_POSTGRES`. If the first is already set, no server is started. The
//! server is removed when the command ends. With `PARLANCE_TEST_FSYNC`, it flushes its commits to the disk,
//! as a production server does.
//!
//! Without a command, it serves tests in which PostgreSQL crashes. It starts a server, and prints the URL of
//! an empty database on it. For each line `restart` that it reads, it kills the server, starts it again, and
//! prints `restarted`. At the end of the input, it removes the server.

use std::env;
use std::io::{Write, stdin, stdout};
use std::process::{Command, ExitCode};

use testkit::postgres::{Cluster, Options, programs};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let Some(program) = arguments.next() else { return obey() };
    let mut command = Command::new(program);
    command.args(arguments);
    let mut path = vec![programs()];
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    command.env("PATH", env::join_paths(path).expect("a path is made of paths"));
    command.env("PARLANCE_TEST_WITH_POSTGRES", env::current_exe().expect("this program is a file"));
    let given = env::var_os("PARLANCE_TEST_DATABASE_URL").is_some();
    let flushes = env::var_os("PARLANCE_TEST_FSYNC").is_some();
    let options = Options::default().setting("fsync", if flushes { "on" } else { "off" });
    let cluster = (!given).then(|| Cluster::own(options));
    if let Some(cluster) = &cluster {
        command.env("PARLANCE_TEST_DATABASE_URL", cluster.administrator_url());
    }
    let status = command.status().expect("the command can be started");
    drop(cluster);
    // A signal has no code.
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Keeps a server running until the input is closed.
fn obey() -> ExitCode {
    let cluster = Cluster::own(Options::default());
    let database = cluster.server().database();
    say(&database.url());
    for line in stdin().lines() {
        match line.as_deref() {
            Ok("restart") => cluster.restart_immediately(),
            _ => return ExitCode::from(2),
        }
        say("restarted");
    }
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let mut out = stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("whoever asks listens");
}
