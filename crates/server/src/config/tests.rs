//! Tests of the configuration as a whole.

use std::path::Path;

use super::*;

fn faults(examined: &Examined) -> Vec<String> {
    examined.faults.iter().map(ToString::to_string).collect()
}

fn setting<'a>(examined: &'a Examined, name: &str) -> &'a Setting {
    examined.settings.iter().find(|setting| setting.key.name == name).unwrap()
}

#[test]
fn flags_win_over_variables_those_over_the_file_and_that_over_defaults() {
    let examined = with_file(
        &[("listen", "127.0.0.1:1")],
        &[("PARLANCE_LISTEN", "127.0.0.1:2"), ("PARLANCE_LOG_FORMAT", "json")],
        "listen = '127.0.0.1:3'\nlog_format = 'text'\ndata_dir = '/srv/p'\n",
    );
    assert_eq!(faults(&examined), Vec::<String>::new());
    let config = &examined.config;
    assert_eq!((config.listen.as_str(), config.log.format), ("127.0.0.1:1", LogFormat::Json));
    assert!(matches!(&config.store, StoreAt::File(path) if path == Path::new("/srv/p/parlance.db")));
    let origin = |name| setting(&examined, name).origin.to_string();
    assert_eq!(origin("listen"), "--listen");
    assert_eq!(origin("log_format"), "PARLANCE_LOG_FORMAT");
    assert_eq!(origin("data_dir"), "parlance.toml, line 3");
    assert_eq!(origin("log"), "default");
}

#[test]
fn a_renamed_setting_is_refused_with_its_new_name() {
    let (flag, variable) = (("nodes", "several"), ("PARLANCE_DATABASE_WAIT_MS", "1"));
    let faults = faults(&with_file(&[flag], &[variable], "push_again_after_ms = 5\n"));
    for part in [
        "nodes: this setting is called cluster_mode now (from --nodes)",
        "PARLANCE_DATABASE_WAIT_MS: this setting is called PARLANCE_POOL_TIMEOUT_MS now",
        "push_again_after_ms: this setting is called redelivery_after_ms now (from parlance.toml, line 1)",
    ] {
        assert!(faults.iter().any(|fault| fault.starts_with(part)), "{part}\n{faults:#?}");
    }
    assert_eq!(faults.len(), 3);
}

#[test]
fn every_fault_is_reported_at_once_with_its_place() {
    let examined = with_file(
        &[("max_sockets_per_caller", "0")],
        &[("PARLANCE_DATABASE_URL", "mysql://u:secret@h/d"), ("PARLANCE_LISEN", "x"), ("PARLANCE_FOO", "x")],
        "listen = 'nowhere'\nsocket_queue_bytes = 1\nlog = 7\nrate_limts = false\n[plans.free]\nagent = 1\n[x]\n",
    );
    let faults = faults(&examined);
    let expected = [
        "listen: 'nowhere' is not ADDRESS:PORT, such as 127.0.0.1:4000 (from parlance.toml, line 1)",
        "database_url: there is no store for 'mysql:', only sqlite:PATH and postgres://… (from PARLANCE_DATABASE_URL)",
        "log: must be a text in quotes (from parlance.toml, line 3)",
        "socket_queue_bytes: '1' is not a whole number from 65536 to",
        "max_sockets_per_caller: '0' is not a whole number from 1 to",
        "PARLANCE_FOO: there is no such setting; unset it",
        "PARLANCE_LISEN: there is no such setting; did you mean PARLANCE_LISTEN?",
        "plans.free.agent: there is no such setting; did you mean plans.free.agents? (from parlance.toml, line 6)",
        "rate_limts: there is no such setting; did you mean rate_limits? (from parlance.toml, line 4)",
        "x: there is no such setting (from parlance.toml, line 7)",
    ];
    for part in expected {
        assert!(faults.iter().any(|fault| fault.starts_with(part)), "{part}\n{faults:#?}");
    }
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    assert!(!faults.join(" ").contains("secret"));
}

#[test]
fn variables_that_are_no_settings_are_left_alone() {
    let names = [
        "PARLANCE_KEY",
        "PARLANCE_PROFILE",
        "PARLANCE_URL",
        "PARLANCE_TEST_STORE",
        "PARLANCE_BIN",
        "PARLANCE_PORT_4000_TCP",
        "PATH",
    ];
    let examined = with_file(&[], &names.map(|name| (name, "x")), "");
    assert_eq!(faults(&examined), Vec::<String>::new());
}

#[test]
fn secrets_are_hidden_wherever_they_come_from() {
    let url = "postgres://parlance:pa@ss@h/d?sslmode=disable";
    for examined in [
        with_file(&[("database_url", url)], &[], ""),
        with_file(&[], &[("PARLANCE_DATABASE_URL", url)], ""),
        with_file(&[], &[], &format!("database_url = '{url}'")),
    ] {
        let shown = setting(&examined, "database_url").shown.clone().unwrap();
        assert!(!shown.contains("pa@ss") && shown.contains("parlance:***@h/d"), "{shown}");
    }
}

#[test]
fn a_setting_for_tests_cannot_stay_on_in_a_file() {
    let examined = with_file(&[], &[], "fault_lose_messages = 2");
    assert!(faults(&examined)[0].contains("for tests"));
    assert_eq!(examined.config.sockets.lose_messages, None);
    let examined = with_file(&[], &[("PARLANCE_FAULT_LOSE_MESSAGES", "2")], "");
    assert_eq!(examined.config.sockets.lose_messages, Some(2));
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let examined = with_file(&[("config", "/nowhere/p.toml")], &[], "");
    let faults = faults(&examined);
    assert!(faults[0].contains("/nowhere/p.toml") && faults[0].contains("--config"), "{faults:?}");
}

#[test]
fn a_command_by_hand_has_the_settings_of_a_service() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secrets");
    let text = "PARLANCE_DATA_DIR=/srv/p\nPARLANCE_LISTEN=\"127.0.0.1:7\"\nOTHER=x\nPARLANCE_LISEN=1\n";
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let by_flag = with_file(&[("env_file", path)], &[("PARLANCE_LISTEN", "127.0.0.1:8")], "data_dir = 'x'");
    assert_eq!(by_flag.config.data_dir, Path::new("/srv/p"), "it wins over the file with settings");
    assert_eq!(by_flag.config.listen, "127.0.0.1:8", "and the environment over it");
    let expected = format!("lisen: there is no such setting; did you mean listen? (from {path}, line 4)");
    assert_eq!(faults(&by_flag), [expected]);
    assert_eq!(setting(&by_flag, "data_dir").origin.to_string(), format!("{path}, line 1"));
    let by_variable = with_file(&[("listen", "127.0.0.1:9")], &[("PARLANCE_ENV_FILE", path)], "");
    assert_eq!(by_variable.config.listen, "127.0.0.1:9");
    assert_eq!(by_variable.config.data_dir, Path::new("/srv/p"));
    let gone = with_file(&[("env_file", "/nowhere/env")], &[], "");
    assert!(faults(&gone)[0].contains("/nowhere/env (from") || faults(&gone)[0].contains("/nowhere/env:"));
}

/// Each setting is described, and its names are those of a flag and a variable.
#[test]
fn every_setting_is_described_once() {
    let described = Config::described();
    let mut names = std::collections::BTreeSet::new();
    for Setting { key, section, .. } in &described {
        assert!(names.insert(key.name), "{} is there twice", key.name);
        assert!(key.what.ends_with('.') && !section.is_empty(), "{}", key.name);
        let may_be = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        assert!(key.name.bytes().all(may_be), "{}", key.name);
    }
    assert!(names.len() > 20);
}
