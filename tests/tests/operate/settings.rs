//! Faults at the start: misspelled, invalid, and unusable settings.

use std::net::TcpListener;

use serde_json::Value;
use tempfile::TempDir;

use crate::{one_line, run};

/// A mistyped command, flag, or value gets the nearest right one.
#[test]
fn mistyped_commands_get_a_suggestion() {
    let directory = TempDir::new().unwrap();
    for (arguments, meant) in [
        (&["usr", "list"][..], "'user'"),
        (&["user", "lsit"], "'list'"),
        (&["user", "list", "--disabeld"], "'--disabled'"),
        (&["serve", "--lisen", "x"], "'--listen'"),
        (&["org", "invite", "acme", "--role", "admn"], "'admin'"),
    ] {
        let output = run(arguments, &[], directory.path());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let tip = said.lines().find(|line| line.contains("tip:")).unwrap_or_else(|| panic!("{said}"));
        assert!(tip.contains(meant), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn what_cannot_be_served_is_said_in_one_line() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a-file");
    std::fs::write(&file, "not a directory").unwrap();
    let below = file.join("data");
    for data in [&file, &below] {
        let data = data.to_str().unwrap();
        let output =
            run(&[], &[("PARLANCE_DATA_DIR", data), ("PARLANCE_LISTEN", "127.0.0.1:0")], directory.path());
        assert!(one_line(&output).contains(data), "{output:?}");
    }
    let damaged = directory.path().join("damaged");
    std::fs::create_dir(&damaged).unwrap();
    std::fs::write(damaged.join("parlance.db"), "this is no database, but long enough to be one ".repeat(50))
        .unwrap();
    let output = run(&[], &[("PARLANCE_DATA_DIR", damaged.to_str().unwrap())], directory.path());
    assert!(one_line(&output).contains("not a database"), "{output:?}");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["--listen", &address, "--data-dir", "fresh"], &[], directory.path());
    let next = format!("Cannot listen on {address}: ");
    assert!(one_line(&output).contains(&next), "{output:?}");
    assert!(one_line(&output).ends_with("Another program uses this port. Choose another one with --listen."));
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains("thnv_"),
        "no key is shown when nothing is served"
    );
}

#[tokio::test]
async fn wrong_settings_are_named() {
    let directory = TempDir::new().unwrap();
    let flag = run(&["--lisen", "x"], &[], directory.path());
    assert!(String::from_utf8_lossy(&flag.stderr).contains("--lisen") && !flag.status.success());
    let command = run(&["sreve"], &[], directory.path());
    assert!(String::from_utf8_lossy(&command.stderr).contains("sreve") && !command.status.success());
    for url in ["mysql://u:secret@h/d", "postgres://u:secret@h/d?sslmode=sure", "postgres://u:secret@h:x/d"] {
        let line = one_line(&run(&["--database-url", url, "--listen", "x"], &[], directory.path()));
        assert!(
            line.contains("database_url") && line.contains("listen") && !line.contains("secret"),
            "{line}"
        );
    }
    std::fs::write(directory.path().join("parlance.toml"), "lisen = '127.0.0.1:0'").unwrap();
    let line = one_line(&run(&[], &[], directory.path()));
    assert!(line.contains("lisen") && line.contains("parlance.toml"), "{line}");
}

#[test]
fn the_configuration_is_checked_and_shown_with_its_origins() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("parlance.toml");
    std::fs::write(&file, "listen = '127.0.0.1:4001'\nlog = 'warn'\n").unwrap();
    let url = ("PARLANCE_DATABASE_URL", "postgres://u:secret@h/d");
    let right = run(&["config", "check"], &[url], directory.path());
    assert!(right.status.success(), "{right:?}");
    let shown = run(&["config", "show", "--json", "--log", "debug"], &[url], directory.path());
    assert!(shown.status.success(), "{shown:?}");
    assert!(!String::from_utf8_lossy(&shown.stdout).contains("secret"));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    for (name, value, from) in [
        ("listen", "127.0.0.1:4001", "file"),
        ("log", "debug", "flag"),
        ("log_format", "text", "default"),
        ("database_url", "postgres://u:***@h/d", "variable"),
    ] {
        let setting = &shown["settings"][name];
        assert_eq!(
            (setting["value"].as_str(), setting["from"].as_str()),
            (Some(value), Some(from)),
            "{name}"
        );
    }
    let plain = run(&["config", "show"], &[url], directory.path());
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.contains("parlance.toml, line 1") && !plain.contains("secret"), "{plain}");

    std::fs::write(&file, "lisen = 'x'\nlog_format = 'xml'\n").unwrap();
    let wrong = [("PARLANCE_LISEN", "x"), ("PARLANCE_DATABASE_CONNECTIONS", "many"), ("PARLANCE_KEY", "k")];
    let output = run(&["config", "check", "--rate-limit", "x"], &wrong, directory.path());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = ["lisen:", "log_format:", "PARLANCE_LISEN:", "database_connections:", "rate_limit:"];
    assert_eq!(said.lines().count(), names.len(), "{said}");
    for name in names {
        assert!(said.lines().any(|line| line.starts_with(name)), "{name} {said}");
    }
    let place = |name: &str| said.lines().position(|line| line.starts_with(name)).unwrap();
    assert!(place("lisen:") < place("log_format:"), "in the order of lines: {said}");
    assert!(said.contains("did you mean PARLANCE_LISTEN?"), "{said}");
    assert!(
        one_line(&output).contains("5 invalid settings. Fix them, then run `parlance config check` again."),
        "{output:?}"
    );
    let output = run(&["config", "check", "--json"], &wrong, directory.path());
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((said["ok"].as_bool(), said["faults"].as_array().unwrap().len()), (Some(false), 4));
    assert!(!output.status.success());
    let start = one_line(&run(&["serve"], &wrong, directory.path()));
    assert!(names[..4].iter().all(|name| start.contains(name)) && start.contains("config check"), "{start}");
}
