//! Wrong use of every command: the program says what to do next, prints nothing else, and changes nothing.
//! The modules test help texts, output, documented commands, and invitation links.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod documented;
mod help;
mod invitation;
mod output;
mod work;
mod wrong;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Output, Stdio};

use e2e::{Server, isolated, on_postgres, program};
use serde_json::Value;

use crate::help::leaves;
use crate::wrong::WRONG;

/// Commands that nothing can be wrong about but an argument that is not known.
const NEVER_WRONG: [&[&str]; 17] = [
    &["status"],
    &["serve"],
    &["version"],
    &["migrate"],
    &["doctor"],
    &["openapi"],
    &["export"],
    &["config", "check"],
    &["config", "show"],
    &["config", "reference"],
    &["config", "example"],
    &["plan", "list"],
    &["org", "list"],
    &["user", "list"],
    &["hold", "list"],
    &["token", "rotate-keys"],
    &["client", "profiles"],
];

fn run(server: &Server, path: &[&str], arguments: &[&str]) -> Output {
    server.command().args(path).args(arguments).output().unwrap()
}

/// The output of a command that must succeed.
fn printed(server: &Server, arguments: &[&str]) -> String {
    let output = run(server, arguments, &[]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Its output with `--json`.
fn json_of(server: &Server, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(server, &[arguments, &["--json"]].concat())).unwrap()
}

/// All rows that the store holds, except those of the audit log, in which each export is recorded.
fn rows(server: &Server) -> Vec<Value> {
    let text = printed(server, &["export"]);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["t"].as_str().is_some_and(|table| !table.starts_with("audit"))).collect()
}

/// It says what is wrong and what to do next, and nothing on standard output.
fn refused(server: &Server, path: &[&str], arguments: &[&str]) {
    let output = run(server, path, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.status.code().is_some(), "{path:?} {arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{path:?} {arguments:?}: {output:?}");
    let points_on = said.contains("--help") || said.contains("`parlance ");
    let points_on = points_on || said.contains("with --force") || said.contains("with --to");
    assert!(points_on, "{path:?} {arguments:?} does not say what to do next: {said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// A setting of the server is refused by a command that does not use it, whether before or after its name.
#[test]
fn settings_of_the_server_are_its_own() {
    let said = |arguments: &[&str]| {
        let output = isolated(program()).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = said(&["--listen", "127.0.0.1:1", "user", "list"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("--listen is a setting of `parlance serve`"), "{error}");
    let (code, error) = said(&["user", "list", "--listen", "127.0.0.1:1"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("unexpected argument '--listen'"), "{error}");
    let (code, error) = said(&["--listen", "127.0.0.1:1", "config", "check"]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "before and after the command");
    let (code, error) = said(&["doctor", "--listen", "nowhere"]);
    assert_eq!(code, Some(2), "{error}");
    let (code, error) = said(&["--listen", "nowhere", "doctor"]);
    assert!(
        code == Some(1) && error.contains("1 fault found"),
        "it checks the settings of the server: {error}"
    );
    let (code, error) = said(&["config", "check", "--listen", "nowhere"]);
    assert_eq!(code, Some(1), "{error}");
}

/// The parser of the command line exits with 2, and whatever the program checks itself with 1.
#[tokio::test]
async fn exit_statuses_tell_usage_errors_apart() {
    let server = Server::start().await;
    let user = ["user", "create", "--handle", "new", "--name", "X", "--email", "x"];
    let wrong: [(&[&str], i32); 5] = [
        (&user, 1),
        (&["audit", "--since", "yesterday"], 1),
        (&["audit", "--limit", "0"], 2),
        (&["user", "show"], 2),
        (&["nothing"], 2),
    ];
    for (arguments, status) in wrong {
        assert_eq!(run(&server, arguments, &[]).status.code(), Some(status), "{arguments:?}");
    }
    let mut export =
        server.command().arg("export").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(export.stdout.take());
    let output = export.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "an incomplete archive is a failure: {output:?}");
}

/// `head` closes the pipe when it has what it wants; that is no error.
#[tokio::test]
async fn a_closed_pipe_is_no_error() {
    let server = Server::start().await;
    let mut command = server.command();
    let command = command.args(["config", "show"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

/// A new command without a case here fails.
#[test]
fn every_command_is_tried() {
    let tried = NEVER_WRONG.into_iter().chain(WRONG.map(|(path, _)| path));
    let tried = tried.map(|path| path.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
    assert_eq!(leaves(&[]), tried.collect::<BTreeSet<_>>());
}

#[tokio::test]
async fn what_is_wrong_is_explained_and_changes_nothing() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    ann.sent(&chat, "do it", &[&bot.id]).await;
    server.terminate().await;
    let before = rows(&server);
    for path in NEVER_WRONG.into_iter().chain(WRONG.map(|(path, _)| path)) {
        refused(&server, path, &["--no-such-flag"]);
    }
    for group in [
        &["user"][..],
        &["agent"],
        &["key"],
        &["plan"],
        &["org"],
        &["chat"],
        &["client"],
        &["webhook"],
        &["attention"],
        &["reminder"],
        &["hold"],
        &["work"],
        &["token"],
        &["config"],
        &["nothing"],
    ] {
        refused(&server, group, &[]);
        refused(&server, group, &["nothing"]);
    }
    for (path, wrong) in WRONG {
        for arguments in wrong {
            refused(&server, path, arguments);
        }
    }
    // No store at all, and one that cannot be.
    let place = server.data().join("file");
    fs::write(&place, "no store").unwrap();
    for url in ["sqlite::memory:".to_owned(), format!("sqlite:{}", place.display())] {
        for path in [&["user", "list"][..], &["agent", "list"], &["key", "list", "ann"], &["plan", "list"]] {
            refused(&server, path, &["--database-url", &url]);
        }
    }
    assert_eq!(rows(&server), before);
}

/// A command in the wrong directory neither makes a store nor succeeds on an empty one; it says where it looked.
#[test]
fn a_command_without_a_store_makes_none() {
    let commands: [&[&str]; 18] = [
        &["work", "list"],
        &["status"],
        &["chat", "list"],
        &["user", "list"],
        &["user", "create", "--handle", "new", "--email", "x@example.org", "--name", "X"],
        &["user", "reset-password", "ann"],
        &["agent", "list"],
        &["key", "list", "ann"],
        &["key", "create", "--user", "ann"],
        &["plan", "list"],
        &["plan", "set", "enterprise", "--user", "ann"],
        &["org", "list"],
        &["audit"],
        &["export"],
        &["backup"],
        &["token", "issue", "--user", "ann"],
        &["token", "rotate-keys"],
        &["user", "show", "ann"],
    ];
    let database = on_postgres().then(|| testkit::postgres::server().database());
    for command in commands {
        let directory = tempfile::TempDir::new().unwrap();
        let mut program = isolated(program());
        program.current_dir(directory.path()).args(command);
        program.envs(database.iter().map(|database| ("PARLANCE_DATABASE_URL", database.url())));
        let output = program.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
        let place = match &database {
            Some(_) if command == ["token", "rotate-keys"] => directory.path().join("data"),
            Some(database) => database.name().into(),
            None => directory.path().join("data/parlance.db"),
        };
        // Whichever name the directory of a test has, `/tmp` may be a link.
        let place = place.canonicalize().unwrap_or(place);
        assert!(
            said.contains(&*place.to_string_lossy()) && said.contains("There is no"),
            "{command:?}: {said}"
        );
        assert!(said.contains("--env-file"), "{command:?}: {said}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{command:?} has made something");
    }
}
