//! Help texts (length, width, and examples), and the progress of a command that waits.

use std::collections::BTreeSet;

use e2e::{isolated, program};
use serde_json::Value;

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
pub(crate) fn leaves(path: &[String]) -> BTreeSet<Vec<String>> {
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
        |path: &[String]| matches!(path.first().map(String::as_str), Some("serve" | "config"));
    for path in leaves(&[]).into_iter().chain([Vec::new()]) {
        let output = isolated(program()).args(&path).arg("-h").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let lines = help.lines().count();
        assert!(takes_settings(&path) || lines <= 44, "{path:?}: {lines} lines\n{help}");
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

/// The help of every command has examples.
#[test]
fn help_has_examples() {
    for path in leaves(&[]) {
        assert!(help_of(&path).contains("\n  parlance "), "{path:?} has no example");
    }
    let help = help_of(&["user".to_owned(), "list".to_owned()]);
    assert!(help.lines().count() < 30, "{help}");
    assert_eq!(help.matches("\n  parlance user list").count(), 2, "{help}");
    let help = help_of(&["room".to_owned()]);
    assert!(help.contains("Usage: parlance {chat|room} "), "{help}");
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

#[test]
fn the_version_is_printed() {
    let output = isolated(program()).args(["version", "--json"]).output().unwrap();
    let version = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    assert_eq!(version["name"], "parlance");
    let text = String::from_utf8(isolated(program()).arg("version").output().unwrap().stdout).unwrap();
    assert!(text.starts_with(&format!("parlance {}", version["version"].as_str().unwrap())), "{text}");
}
