//! Every command of the program, wrongly used: it says what to do next, prints nothing else, and changes nothing.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeSet;
use std::fs;
use std::process::{Output, Stdio};

use e2e::{Api, Server, isolated, on_postgres, program, soon};
use serde_json::{Value, json};

/// Commands that nothing can be wrong about but an argument that is not known.
const NEVER_WRONG: [&[&str]; 14] = [
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
    &["plan", "list"],
    &["org", "list"],
    &["user", "list"],
    &["token", "rotate-keys"],
];

/// Wrong uses of each other command: what it needs and does not get, values that cannot be, and subjects that are
/// not there.
const WRONG: [(&[&str], &[&[&str]]); 36] = [
    (&["user", "reset-password"], &[&[], &["nobody"], &["A B"]]),
    (&["org", "create"], &[&[], &[" "], &["ANN"], &["new", "--plan", "none"]]),
    (&["org", "show"], &[&[], &["nobodys"]]),
    (&["org", "rename"], &[&["ann"], &["nobodys", "x"], &["ann", " "]]),
    (&["org", "delete"], &[&[], &["nobodys", "--force"], &["ann", "--force"]]),
    (&["org", "members"], &[&[], &["nobodys"]]),
    (
        &["org", "invite"],
        &[
            &[],
            &["nobodys"],
            &["ann", "--role", "king"],
            &["ann", "--email", "x"],
            &["ann", "--days", "0"],
            &["ann", "--days", "91"],
        ],
    ),
    (&["org", "set-role"], &[&["ann"], &["nobody", "admin"], &["ann", "king"]]),
    (
        &["org", "move"],
        &[&["ann"], &["nobody", "--own"], &["ann", "--to", "nobodys"], &["ann", "--to", "x", "--own"]],
    ),
    (&["audit"], &[&["--org", "nobodys"], &["--since", "yesterday"], &["--limit", "0"]]),
    (&["audit", "verify"], &[&["--anchor", "x"], &["--anchor", "1:00"], &["--limit", "1"]]),
    (&["backup"], &[&["--to", "/nowhere"], &["--to", "/dev/null"]]),
    (&["backup", "verify"], &[&[], &["/nowhere/x.jsonl"], &["/dev/null"]]),
    (&["completions"], &[&[], &["tcsh"]]),
    (&["import"], &[&["--from", "/nowhere/x.jsonl"], &["--from", "/dev/null"]]),
    (
        &["user", "create"],
        &[
            &[],
            &["--handle", "A B", "--email", "x@example.org", "--name", "X"],
            &["--handle", "new", "--email", "x", "--name", "X"],
            &["--handle", "new", "--email", "x@example.org", "--name", " "],
            &["--handle", "new", "--email", "x@example.org", "--name", "X", "--org", ""],
            &["--handle", "new", "--email", "x@example.org", "--name", "X", "--plan", "none"],
            &["--handle", "ann", "--email", "x@example.org", "--name", "X"],
            &["--handle", "new", "--email", "ANN@example.org", "--name", "X"],
        ],
    ),
    (&["user", "show"], &[&[], &["nobody"], &["ann/bot"]]),
    (&["user", "disable"], &[&[], &["nobody"]]),
    (&["user", "enable"], &[&[], &["nobody"]]),
    (&["user", "delete"], &[&[], &["nobody", "--force"], &["ann"]]),
    (
        &["agent", "create"],
        &[
            &["--owner", "ann"],
            &["--owner", "nobody", "--name", "X", "--description", "x"],
            &["--owner", "ann", "--name", " ", "--description", "x"],
            &["--owner", "ann", "--name", "X", "--description", ""],
            &["--owner", "ann", "--name", "Bot", "--description", "x"],
        ],
    ),
    (&["agent", "list"], &[&["--owner", "nobody"], &["--owner"]]),
    (&["agent", "show"], &[&[], &["ann"], &["ann/nobody"]]),
    (&["agent", "set"], &[&["ann/bot"], &["ann/nobody", "--global"], &["ann/bot", "--global=maybe"]]),
    (&["agent", "disable"], &[&[], &["ann/nobody"]]),
    (&["agent", "enable"], &[&[], &["ann/nobody"]]),
    (&["agent", "delete"], &[&[], &["ann/nobody", "--force"], &["ann/bot"]]),
    (
        &["chat", "list"],
        &[
            &["--org", "nobodys"],
            &["--participant", "nobody"],
            &["--limit", "0"],
            &["--org", "ann", "--participant", "ann"],
        ],
    ),
    (&["chat", "delete"], &[&[], &["x"], &["019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77"]]),
    (&["chat", "show"], &[&[], &["x"], &["019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77"]]),
    (&["key", "list"], &[&[], &["nobody"], &["ann/nobody"]]),
    (
        &["key", "create"],
        &[
            &[],
            &["--user", "nobody"],
            &["--user", "ann/bot"],
            &["--user", "ann", "--name", " "],
            &["--user", "ann", "--days", "0"],
        ],
    ),
    (&["key", "rotate"], &[&[], &["ann"], &["ann/nobody"]]),
    (&["key", "revoke"], &[&[], &["thnv_u_1_x"], &["--all-of", "nobody"], &["x", "--all-of", "ann"]]),
    (
        &["plan", "set"],
        &[
            &[],
            &["free"],
            &["none", "--user", "ann"],
            &["enterprise", "--org", "none"],
            &["", "--user", "ann"],
        ],
    ),
    (
        &["token", "issue"],
        &[&[], &["--user", "nobody"], &["--user", "A B"], &["--user", "ann", "--ttl", "901"]],
    ),
];

/// Commands take their time on a busy machine, and the connection of a client stays open meanwhile.
const PATIENT: [(&str, &str); 1] = [("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "60000")];

fn run(server: &Server, path: &[&str], arguments: &[&str]) -> Output {
    server.command().args(path).args(arguments).output().unwrap()
}

/// All rows that the store holds, except those of the audit log, in which each export is recorded.
fn rows(server: &Server) -> Vec<Value> {
    let output = run(server, &["export"], &[]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
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

/// The help of the command at `path`.
fn help_of(path: &[String]) -> String {
    let output = isolated(program()).args(path).arg("--help").output().unwrap();
    assert!(output.status.success(), "{path:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands below `path`, as its help names them.
fn below(path: &[String]) -> Vec<String> {
    let help = help_of(path);
    let Some((_, commands)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = commands.lines().take_while(|line| line.starts_with("  "));
    let lines = lines.filter(|line| !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// Every command that does something.
fn leaves(path: &[String]) -> BTreeSet<Vec<String>> {
    let usage = help_of(path).lines().find(|line| line.starts_with("Usage: ")).unwrap().to_owned();
    let own = (!path.is_empty() && !usage.contains("<COMMAND>")).then(|| path.to_vec());
    own.into_iter()
        .chain(below(path).into_iter().flat_map(|name| leaves(&[path, &[name]].concat())))
        .collect()
}

/// The help of every command but those that take all settings fits on a screen.
#[test]
fn help_is_short() {
    let takes_settings =
        |path: &[String]| matches!(path.first().map(String::as_str), Some("serve" | "config" | "doctor"));
    for path in leaves(&[]).into_iter().chain([Vec::new()]) {
        let output = isolated(program()).args(&path).arg("-h").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let lines = help.lines().count();
        assert!(takes_settings(&path) || lines < 40, "{path:?}: {lines} lines\n{help}");
    }
}

/// Help fits a narrow terminal, and breaks its lines between words only.
#[test]
fn help_fits_its_terminal() {
    let words = |help: &str| help.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for path in leaves(&[]).into_iter().chain([Vec::new()]) {
        let help = |columns: &str| {
            let output =
                isolated(program()).args(&path).arg("--help").env("COLUMNS", columns).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let (narrow, wide) = (help("80"), help("1000"));
        for (help, width) in [(&narrow, 80), (&wide, 100)] {
            let long = help.lines().find(|line| line.chars().count() > width && line.contains("  "));
            assert_eq!(long, None, "{path:?}: {help}");
        }
        assert_eq!(words(&narrow), words(&wide), "{path:?}");
    }
}

/// Whoever does not know a command is shown how it is used.
#[test]
fn help_has_examples() {
    for path in leaves(&[]) {
        assert!(help_of(&path).contains("\n  parlance "), "{path:?} has no example");
    }
    let help = help_of(&["user".to_owned(), "list".to_owned()]);
    assert!(help.lines().count() < 30, "{help}");
    assert_eq!(help.matches("\n  parlance user list").count(), 2, "{help}");
}

/// On a terminal, a command that waits shows that it does; elsewhere it prints nothing of the kind.
#[test]
fn a_command_that_waits_shows_it_on_a_terminal() {
    // A database that takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://nobody@{}/none", silent.local_addr().unwrap());
    let run = |launcher: &str, arguments: &[&str]| {
        let mut command = isolated(launcher);
        command.args(arguments).env("PARLANCE_DATABASE_URL", &url).env("TERM", "xterm");
        let output = command.env("PARLANCE_POOL_TIMEOUT_MS", "2000").output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let program = program().to_str().unwrap();
    let command = format!("'{program}' user list");
    let shown = run("script", &["--quiet", "--command", &command, "/dev/null"]);
    assert!(shown.contains("opening the store") && shown.contains("parlance: "), "{shown}");
    let piped = run(program, &["user", "list"]);
    assert!(!piped.contains("opening the store") && piped.contains("parlance: "), "{piped}");
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

#[test]
fn the_version_is_printed() {
    let output = isolated(program()).args(["version", "--json"]).output().unwrap();
    let version = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    assert_eq!(version["name"], "parlance");
    let text = String::from_utf8(isolated(program()).arg("version").output().unwrap().stdout).unwrap();
    assert!(text.starts_with(&format!("parlance {}", version["version"].as_str().unwrap())), "{text}");
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

#[tokio::test]
async fn mistyped_names_get_a_suggestion() {
    let server = Server::start().await;
    let ann = server.user("ann");
    ann.register(&server, "Echo").await;
    let chat = ann.create_chat().await;
    let swapped = |text: &str, at: usize| {
        let mut letters = text.chars().collect::<Vec<_>>();
        letters[at] = if letters[at] == 'x' { 'y' } else { 'x' };
        letters.into_iter().collect::<String>()
    };
    let listed: Value =
        serde_json::from_slice(&run(&server, &["key", "list", "ann", "--json"], &[]).stdout).unwrap();
    let (key, prefix) = (&listed["keys"][0]["id"], &listed["keys"][0]["prefix"]);
    let (key, prefix) = (key.as_str().unwrap(), prefix.as_str().unwrap());
    let (wrong_chat, wrong_key, wrong_prefix) = (swapped(&chat, 30), swapped(key, 30), swapped(prefix, 12));
    for (arguments, what, meant) in [
        (&["user", "show", "nan"][..], "No user has the handle 'nan'", "ann"),
        (&["user", "reset-password", "annn"], "No user has the handle 'annn'", "ann"),
        (&["token", "issue", "--user", "nan"], "No user has the handle 'nan'", "ann"),
        (&["org", "set-role", "nan", "admin"], "No user has the handle 'nan'", "ann"),
        (&["agent", "show", "ann/ecko"], "No agent has the handle 'ann/ecko'", "ann/echo"),
        (&["agent", "set", "ann/ehco", "--global"], "No agent has the handle 'ann/ehco'", "ann/echo"),
        (&["key", "list", "nan"], "No user or agent has the handle 'nan'", "ann"),
        (
            &["chat", "list", "--participant", "an/echo"],
            "No user or agent has the handle 'an/echo'",
            "ann/echo",
        ),
        (&["org", "show", "Nan"], "No organization has the name 'Nan'", "ann"),
        (&["plan", "set", "enterprize", "--user", "ann"], "No plan has the name 'enterprize'", "enterprise"),
        (&["plan", "set", "enterprise", "--org", "nan"], "No organization has the name 'nan'", "ann"),
        (&["org", "create", "new", "--plan", "enterprse"], "No plan has the name 'enterprse'", "enterprise"),
        (&["chat", "show", &wrong_chat], &format!("No chat has the ID '{wrong_chat}'"), &chat),
        (&["key", "revoke", &wrong_key], "No such key is active", key),
        (&["key", "revoke", &wrong_prefix], "No such key is active", prefix),
    ] {
        let output = run(&server, arguments, &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert_eq!(said, format!("parlance: {what}. Did you mean '{meant}'?\n"), "{arguments:?}");
    }
    let output = run(&server, &["user", "show", "somebody-else"], &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    let expected =
        "parlance: No user has the handle 'somebody-else'. List users with `parlance user list`.\n";
    assert_eq!(said, expected);
}

#[tokio::test]
async fn exports_and_rotated_keys_are_reported_as_json() {
    let server = Server::start().await;
    let told = |arguments: &[&str]| -> Value {
        let output = run(&server, arguments, &["--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let file = server.data().join("archive.jsonl");
    let told_export = told(&["export", "--to", file.to_str().unwrap()]);
    assert_eq!(told_export["file"], file.to_str().unwrap());
    let lines = fs::read_to_string(&file).unwrap().lines().count() as u64;
    assert_eq!(told_export["rows"].as_u64(), Some(lines - 2), "without the first and the last line");
    let rotated = told(&["token", "rotate-keys", "--forget"]);
    assert_eq!(rotated["earlier_tokens_valid"], false);
    assert!(fs::exists(rotated["file"].as_str().unwrap()).unwrap(), "{rotated}");
    assert_eq!(told(&["token", "rotate-keys"])["earlier_tokens_valid"], true);
}

/// A command in the wrong directory neither makes a store nor succeeds on an empty one; it says where it looked.
#[test]
fn a_command_without_a_store_makes_none() {
    let commands: [&[&str]; 17] = [
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

#[tokio::test]
async fn accounts_are_made_seen_and_deleted() {
    let server = Server::start_with(&PATIENT).await;
    let told = |arguments: &[&str]| -> Value {
        let output = run(&server, arguments, &["--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let said = |arguments: &[&str]| {
        let output = run(&server, arguments, &[]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let ann = server.user("ann");
    let first = told(&["user", "list"])["users"].as_array().unwrap().len();
    let made = told(&["agent", "create", "--owner", "@Ann", "--name", "My Bot", "--description", "Works"]);
    assert_eq!(made["agent"]["handle"], "ann/my-bot");
    let bot =
        Api::new(&server, "agent", made["api_key"].as_str().unwrap(), made["agent"]["id"].as_str().unwrap());
    assert_eq!(bot.get("/me").await.data()["description"], "Works");
    let key = said(&["agent", "create", "--owner", "ann", "--name", "Two", "--description", "Waits"]);
    let key = key.split_whitespace().find(|word| word.starts_with("thnv_a_")).unwrap().to_owned();
    assert_eq!(bot.with_key(&key).get("/me").await.data()["name"], "Two");

    for number in 0..3 {
        server.user(&format!("user-{number}"));
    }
    let listed = told(&["user", "list"]);
    let handles = listed["users"].as_array().unwrap().iter().map(|user| user["handle"].as_str().unwrap());
    let handles = handles.collect::<Vec<_>>();
    assert!(handles.is_sorted() && handles.len() == first + 3, "{listed}");
    let table = said(&["user", "list"]);
    let lines = table.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), first + 4, "a heading and a line for each user: {table}");
    let columns = ["HANDLE", "NAME", "EMAIL", "CREATED", "DISABLED"];
    assert!(lines[0].split_whitespace().eq(columns), "{table}");
    let email = lines[0].find("EMAIL").unwrap();
    assert!(lines[1..].iter().all(|line| line[email..].contains('@')), "{table}");
    assert!(!table.contains('\u{1b}'), "a pipe gets no colour: {table}");
    assert!(lines[1].contains(" ago") || lines[1].contains("just now"), "{table}");
    assert!(said(&["user", "list", "--utc"]).lines().nth(1).unwrap().contains("Z  -"), "exact times");
    let status = told(&["status"]);
    assert_eq!((&status["agents"], &status["users"]), (&json!(2), &json!(first + 3)), "{status}");
    assert_eq!(status["open_work"]["oldest_at"], Value::Null);
    let shown = said(&["status"]);
    assert!(
        shown.lines().count() < 20 && shown.lines().all(|line| line.len() <= 80 || line.starts_with("Store"))
    );
    assert!(shown.contains("Open work      none"), "{shown}");
    let shown = told(&["user", "show", "ann"]);
    assert_eq!((&shown["user"]["agents"], &shown["user"]["api_keys"]), (&json!(2), &json!(1)));
    assert_eq!(shown["user"]["disabled_at"], Value::Null);
    let shown = said(&["user", "show", "ann"]);
    assert!(shown.contains("<ann@example.org>, created ") && !shown.contains('Z'), "{shown}");
    assert!(said(&["user", "show", "ann", "--utc"]).contains("Z;"), "exact times");
    let listed = told(&["agent", "list", "--owner", "ann"]);
    assert_eq!(
        (&listed["agents"][0]["handle"], &listed["agents"][1]["handle"]),
        (&json!("ann/my-bot"), &json!("ann/two"))
    );
    assert_eq!(told(&["agent", "list", "--owner", "user-0"]), json!({ "agents": [] }));
    assert_eq!(said(&["agent", "list", "--disabled"]), "No agent is disabled.\n");
    let mut shown = listed["agents"][1].clone();
    shown["owner_disabled_at"] = Value::Null;
    assert_eq!(told(&["agent", "show", "ann/two"])["agent"], shown);
    assert!(!said(&["agent", "show", "ann/two"]).lines().next().unwrap().ends_with('Z'));
    assert!(said(&["agent", "show", "ann/two", "--utc"]).lines().next().unwrap().ends_with('Z'));

    let deleted = told(&["agent", "delete", "ann/two"]);
    assert_eq!((&deleted["agent"]["handle"], &deleted["executions"]), (&json!("ann/two"), &json!(0)));
    assert!(soon(async || bot.with_key(&key).get("/me").await.status == 401).await);
    assert_eq!(ann.get("/agents").await.data().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn chats_are_listed_and_shown() {
    let server = Server::start_with(&PATIENT).await;
    let told = |arguments: &[&str]| -> Value {
        let output = run(&server, arguments, &["--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let said = |arguments: &[&str]| {
        let output = run(&server, arguments, &[]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(&["chat", "list"]).starts_with("No chats."));
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let made = ann.post("/chats", json!({ "chat": { "title": "Night shift" } })).await.data();
    let id = made["id"].as_str().unwrap();
    ben.create_chat().await;
    let listed = told(&["chat", "list"]);
    assert_eq!(listed["chats"].as_array().unwrap().len(), 2, "newest first: {listed}");
    assert_eq!(listed["chats"][1]["id"], made["id"]);
    for arguments in [["chat", "list", "--participant", "ann"], ["room", "list", "--org", "ann"]] {
        let listed = told(&arguments);
        assert_eq!(listed["chats"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(
            (&listed["chats"][0]["id"], &listed["chats"][0]["message_count"]),
            (&made["id"], &json!(0))
        );
    }
    assert_eq!(told(&["chat", "list", "--limit", "1"])["chats"].as_array().unwrap().len(), 1);
    let table = said(&["chat", "list", "--org", "ann"]);
    let columns = ["ID", "MESSAGES", "LAST", "MESSAGE", "TITLE"];
    assert!(table.lines().next().unwrap().split_whitespace().eq(columns), "{table}");
    assert!(table.contains("Night shift"), "{table}");
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    let shown = told(&["chat", "show", id]);
    assert_eq!(shown["chat"]["participants"][0]["handle"], "ann", "{shown}");
    assert_eq!(shown["chat"]["organization"], "ann", "{shown}");
    let shown = said(&["chat", "show", id]);
    assert!(shown.starts_with("Night shift\n") && !shown.contains('Z'), "{shown}");
    let columns = ["PARTICIPANT", "NAME", "ROLE", "JOINED"];
    assert!(shown.lines().any(|line| line.split_whitespace().eq(columns)), "{shown}");
    assert!(said(&["chat", "show", id, "--utc"]).trim_end().ends_with('Z'), "exact times");
    ann.delete(&format!("/chats/{id}")).await;
    assert_eq!(told(&["chat", "list", "--participant", "ann"]), json!({ "chats": [] }));
    refused(&server, &["chat", "show"], &[id]);
}

#[tokio::test]
async fn the_audit_log_and_organizations_are_shown_in_columns() {
    let server = Server::start().await;
    let said = |arguments: &[&str]| {
        let output = run(&server, arguments, &[]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    server.user("ann");
    let log = said(&["audit", "--org", "ann"]);
    let lines = log.lines().collect::<Vec<_>>();
    assert!(lines[0].split_whitespace().eq(["TIME", "ACTOR", "ACTION", "SUBJECT"]), "{log}");
    let action = lines[0].find("ACTION").unwrap();
    assert!(lines[1..].iter().any(|line| line[action..].starts_with("user.created")), "{log}");
    assert!(lines[1..].iter().all(|line| line.contains(" ago") || line.contains("just now")), "{log}");
    assert!(said(&["audit", "--utc"]).lines().skip(1).all(|line| line[..32].contains('Z')));
    assert_eq!(said(&["audit", "--since", "2999-01-01T00:00:00Z"]), "No such entries.\n");
    assert_eq!(said(&["audit", "--since", "2999-01-01T00:00:00Z", "--json"]), "");
    for line in said(&["audit", "--json"]).lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap()["action"].is_string(), "{line}");
    }

    let shown = said(&["org", "show", "ann"]);
    assert!(shown.contains("\n\nHANDLE  NAME") && shown.ends_with("\n\nNo open invitations.\n"), "{shown}");
    said(&["org", "invite", "ann", "--email", "ben@example.org"]);
    let shown = said(&["org", "show", "ann"]);
    let columns = ["INVITATION", "ROLE", "EXPIRES", "FOR"];
    assert!(shown.lines().any(|line| line.split_whitespace().eq(columns)), "{shown}");
    assert!(shown.contains("member  in 6 days  ben@example.org"), "{shown}");
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
    let shown = said(&["org", "show", "ann", "--utc"]);
    assert_eq!(shown.lines().filter(|line| line.contains('Z')).count(), 2, "{shown}");
}

/// With a public URL, an invitation is a link to a page that says how to accept it. The token stays in the browser.
#[tokio::test]
async fn an_invitation_is_a_link_to_a_page() {
    let settings = [
        ("PARLANCE_PUBLIC_URL", "https://chat.example.org/parlance"),
        ("PARLANCE_REGISTRATION", "invitation"),
    ];
    let server = Server::start_with(&settings).await;
    let ann = server.user("ann");
    let begin = "https://chat.example.org/parlance/invitation#";
    let invited = run(&server, &["org", "invite", "ann"], &["--json"]);
    let invited = serde_json::from_slice::<Value>(&invited.stdout).unwrap();
    let token = invited["token"].as_str().unwrap();
    assert_eq!(invited["link"], format!("{begin}{token}"));
    let said = String::from_utf8(run(&server, &["org", "invite", "ann"], &[]).stdout).unwrap();
    assert!(said.contains(&format!("    {begin}thnv_i_")), "{said}");
    let invited = ann.post("/organization/invitations", json!({})).await.data();
    assert_eq!(invited["link"], format!("{begin}{}", invited["token"].as_str().unwrap()));

    let page = reqwest::get(format!("http://{}/invitation#{token}", server.address())).await.unwrap();
    assert_eq!(page.status(), 200);
    let header = |name: &str| page.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert_eq!(
        (header("referrer-policy"), header("cache-control")),
        ("no-referrer".into(), "no-store".into())
    );
    assert_eq!(
        (header("x-content-type-options"), header("x-frame-options")),
        ("nosniff".into(), "DENY".into())
    );
    let policy = header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    let page = page.text().await.unwrap();
    assert!(!page.contains("<script") && !page.contains("href=") && !page.contains("src="), "{page}");
    assert!(!page.contains("{url}") && !page.contains("{register}"), "{page}");
    for path in ["/api/v1/auth/register", "/api/v1/me/invitations/accept"] {
        assert!(page.contains(&format!("curl https://chat.example.org/parlance{path} ")), "{page}");
    }

    // Its commands are right: by the first a guest registers, and by the second a user comes in.
    let curl = |path: &str, values: &[(&str, &str)]| {
        let command = page.split("<pre><code>").find(|part| part.contains(path)).unwrap();
        let command = command.split("</code>").next().unwrap().replace("&lt;", "<");
        let here = format!("http://{}", server.address());
        let command = command.replace("https://chat.example.org/parlance", &here);
        let command = values.iter().fold(command, |command, (name, value)| command.replace(name, value));
        let output = isolated("sh").args(["-c", &command]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let cat = [
        ("HANDLE", "cat"),
        ("YOUR NAME", "Cat"),
        ("EMAIL", "cat@example.org"),
        ("PASSWORD", "a walk by night"),
        ("TOKEN", token),
    ];
    assert_eq!(curl("/auth/register", &cat)["data"]["user"]["handle"], "cat");
    let token = invited["token"].as_str().unwrap();
    let ben = server.user("ben");
    assert_eq!(curl("/accept", &[("API_KEY", &ben.key), ("TOKEN", token)])["data"]["name"], "ann");
}

/// Without a public URL there is neither a link nor a page.
#[tokio::test]
async fn without_a_public_url_an_invitation_is_a_token() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let invited = ann.post("/organization/invitations", json!({})).await.data();
    assert_eq!(invited["link"], Value::Null);
    let said = String::from_utf8(run(&server, &["org", "invite", "ann"], &[]).stdout).unwrap();
    assert!(said.contains("    thnv_i_"), "{said}");
    let page = reqwest::get(format!("http://{}/invitation", server.address())).await.unwrap();
    assert_eq!(page.status(), 404);
}

/// What commands say on success and on refusal, as whole sentences.
#[tokio::test]
async fn what_is_said_are_sentences() {
    let server = Server::start_with(&[("PARLANCE_LOG", "error")]).await;
    let run = |arguments: &[&str]| {
        let mut command = server.command();
        let output = command.current_dir(server.data()).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(&output.stdout), text(&output.stderr))
    };
    let user = |handle: &str, more: &[&str]| {
        let email = format!("{handle}@example.org");
        let arguments = ["user", "create", "--handle", handle, "--email", &email, "--name", "X"];
        run(&[&arguments, more].concat())
    };
    let refused = |arguments: &[&str], said: &str| {
        let (out, error) = run(arguments);
        assert_eq!(
            (out.as_str(), error.as_str()),
            ("", format!("parlance: {said}\n").as_str()),
            "{arguments:?}"
        );
    };
    let told =
        |arguments: &[&str], said: &str| assert_eq!(run(arguments), (format!("{said}\n"), String::new()));

    let (created, _) = user("ann", &["--org", "house"]);
    assert!(created.starts_with("Created the user 'ann' and the organization 'house'. "), "{created}");
    let (created, _) = user("ben", &["--org", "House"]);
    assert!(created.starts_with("Created the user 'ben'. "), "{created}");
    let (created, error) = user("cat", &["--org", "house", "--plan", "enterprise"]);
    assert_eq!(created, "");
    let said = "The organization 'house' already exists, and --plan is for a new one. Change its plan with";
    assert!(error.contains(said), "{error}");

    refused(
        &["user", "delete", "ann", "--force"],
        "The user was not deleted, because 'ann' is the last admin of the organization 'house'. Make another member \
         an admin first with `parlance org set-role`.",
    );
    let (_, error) = run(&["org", "delete", "house"]);
    let said = "parlance: The organization was not deleted, because it has 2 members. Move its members with";
    assert!(error.starts_with(said), "{error}");
    refused(
        &["backup", "--to", "bk"],
        "The directory 'bk' does not exist. Create it, or name another one with --to.",
    );
    let plan = "default_plan = 'missing'\n[plans.missing]\nagents = 1\n";
    fs::write(server.data().join("plans.toml"), plan).unwrap();
    refused(
        &["--config", "plans.toml", "org", "create", "new"],
        "No plan has the name 'missing'. List plans with `parlance plan list`. The server stores newly configured \
         plans when it starts.",
    );

    told(&["org", "create", "empty"], "empty: plan enterprise, 0 users");
    let members =
        "No members. Move a user here with `parlance org move`, or invite one with `parlance org invite`.";
    told(&["org", "members", "empty"], members);
    told(&["org", "delete", "empty"], "Deleted the organization 'empty' with 0 chats.");
    let agents = "'ben' has no agents. Create one with `parlance agent create --owner ben`.";
    told(&["agent", "list", "--owner", "Ben"], agents);
    assert!(run(&["user", "show", "ben"]).0.ends_with("; 0 agents, 1 API key\n"));
    told(&["user", "delete", "ben"], "Deleted the user 'ben' with 0 agents; the user was in 0 chats.");
    let rotated = "New tokens are signed with a new key. Earlier tokens stay valid until they expire.";
    told(&["token", "rotate-keys"], rotated);
    let forgotten = "All earlier tokens are now refused. Restart the server to close their sockets.";
    told(&["token", "rotate-keys", "--forget"], forgotten);
    let (backup, error) = run(&["backup"]);
    assert!(
        backup.starts_with("Backup written and checked: ./parlance-") && !error.contains("sha256"),
        "{backup}{error}"
    );
    assert!(backup.ends_with(" rows)\n") && backup.lines().count() == 1, "{backup}");
    fs::create_dir(server.data().join("bk")).unwrap();
    let (backup, error) = run(&["backup", "--to", "bk", "--json"]);
    assert!(backup.starts_with('{') && !error.contains("sha256"), "{backup}{error}");
}

/// Tables fit a terminal, and exact times have no fractions.
#[tokio::test]
async fn tables_fit_a_terminal() {
    let server = Server::start().await;
    server.user("ann");
    let said = |arguments: &[&str]| String::from_utf8(run(&server, arguments, &[]).stdout).unwrap();
    let keys = said(&["key", "list", "ann"]);
    let columns = ["KEY", "NAME", "SCOPE", "CREATED", "EXPIRES", "LAST", "USED"];
    assert!(keys.lines().next().unwrap().split_whitespace().eq(columns), "{keys}");
    assert!(keys.contains("thnv_u_") && keys.lines().all(|line| line.chars().count() <= 100), "{keys}");
    let times = said(&["key", "list", "ann", "--utc"]);
    assert!(times.lines().nth(1).unwrap().contains('Z') && !times.contains('.'), "{times}");
    let plans = said(&["plan", "list"]);
    let columns = "NAME AGENTS CHATS PARTICIPANTS MESSAGES BYTES HUMAN INTERFACE MEMORIES ORGANIZATIONS";
    assert!(plans.lines().next().unwrap().split_whitespace().eq(columns.split(' ')), "{plans}");
    assert!(plans.contains("  100 GiB  "), "{plans}");
}
