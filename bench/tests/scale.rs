//! The small form of `bench scale`, so that it works when somebody wants to know.

use std::fs;
use std::process::Command;

use serde_json::Value;

/// A thousand agents in a hundred rooms, on both stores: everything is measured, and no message is lost in the restart.
#[test]
#[ignore = "takes minutes; scripts/test --full runs it"]
fn a_thousand_agents_are_measured() {
    let results = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["scale", "--agents", "1000", "--seconds", "2", "--results"])
        .arg(results.path())
        .env("PARLANCE_BIN", e2e::program())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let shown = fs::read_to_string(results.path().join("scale.json")).unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    for store in ["PostgreSQL", "embedded"] {
        let rows = shown["rows"].as_array().unwrap().iter().filter(|row| row["store"] == store);
        let judged = |what: &str| {
            let row = rows.clone().find(|row| row["what"].as_str().unwrap().contains(what));
            row.unwrap_or_else(|| panic!("{what}: {shown:#}"))["judged"].as_f64().unwrap()
        };
        assert!(judged("memory of the servers") > 1000.0, "{shown:#}");
        assert!(judged("/next of an idle agent") > 1.0, "{shown:#}");
        assert!(judged("watched by one socket") > 1.0, "{shown:#}");
        assert!(judged("until all 1000 are connected again") > 1.0, "{shown:#}");
        assert!(judged("reached their socket") >= 1.0, "{shown:#}");
    }
}
