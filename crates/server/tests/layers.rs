//! The dependency rule: dependencies between our crates point inwards, and the domain uses few other crates.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Which of our crates each of our crates may use.
const ALLOWED: [(&str, &[&str]); 25] = [
    ("domain", &[]),
    ("measure", &[]),
    ("a2a-gateway", &["domain", "http-wire", "measure", "webhooks"]),
    ("adapters-nats", &["domain", "measure"]),
    ("adapters-objects", &["domain"]),
    ("adapters-postgres", &["domain", "measure"]),
    ("adapters-sqlite", &["domain", "measure"]),
    ("client", &[]),
    ("http-wire", &["domain", "measure"]),
    ("http-agent", &["domain", "http-wire"]),
    ("http-console", &["domain", "http-wire", "measure"]),
    ("http-human", &["domain", "http-wire"]),
    ("mcp-gateway", &["domain", "http-wire"]),
    ("oidc", &["domain"]),
    ("passkeys", &["domain"]),
    ("notifications", &["domain", "measure", "webhooks"]),
    ("webhooks", &["domain", "http-wire", "measure"]),
    ("ws-gateway", &["domain", "http-wire", "measure"]),
    ("cluster", &["domain", "measure", "ws-gateway"]),
    (
        "server",
        &[
            "domain",
            "a2a-gateway",
            "adapters-nats",
            "adapters-objects",
            "adapters-postgres",
            "adapters-sqlite",
            "client",
            "cluster",
            "http-wire",
            "http-agent",
            "http-console",
            "http-human",
            "mcp-gateway",
            "measure",
            "oidc",
            "passkeys",
            "notifications",
            "webhooks",
            "ws-gateway",
        ],
    ),
    ("testkit", &["domain", "adapters-objects", "adapters-sqlite"]),
    ("e2e", &["testkit"]),
    ("bench", &["adapters-postgres", "adapters-sqlite", "domain", "e2e", "testkit"]),
    ("guard", &["domain", "http-agent", "http-human", "http-wire", "testkit", "ws-gateway"]),
    ("parlance-fuzz", &["domain", "http-wire", "ws-gateway"]),
];

/// The other crates that the domain may use. `serde` is for the bus between nodes
/// (`docs/adr/0014-bus-format-by-derive.md`); the shapes of the public API are views in `http-wire`.
const DOMAIN_MAY_USE: [&str; 12] = [
    "async-trait",
    "chrono",
    "chrono-tz",
    "data-encoding",
    "hmac",
    "serde",
    "serde_json",
    "sha1",
    "sha2",
    "thiserror",
    "unicode-normalization",
    "uuid",
];

/// Package name to (dependency name, is it a dev-dependency).
fn packages() -> BTreeMap<String, Vec<(String, bool)>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let dependencies = |package: &serde_json::Value| {
        let list = package["dependencies"].as_array().unwrap();
        list.iter().map(|d| (text(&d["name"]), d["kind"] == "dev")).collect()
    };
    let list = metadata["packages"].as_array().unwrap();
    list.iter().map(|p| (text(&p["name"]), dependencies(p))).collect()
}

#[test]
fn arrows_point_inwards() {
    let packages = packages();
    let ours = packages.keys().cloned().collect::<BTreeSet<_>>();
    let known = ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(ours, known, "a crate was added or removed: update ALLOWED");
    for (name, allowed) in ALLOWED {
        let used = packages[name].iter().filter(|(dependency, _)| ours.contains(dependency));
        let (in_tests, in_code) = used.partition::<Vec<_>, _>(|(_, dev)| *dev);
        for (dependency, _) in in_tests {
            assert_eq!(dependency, "testkit", "{name} must not use {dependency} in its tests");
        }
        let used = in_code.iter().map(|(dependency, _)| dependency.as_str()).collect::<BTreeSet<_>>();
        let allowed = allowed.iter().copied().collect::<BTreeSet<_>>();
        let difference = used.symmetric_difference(&allowed).collect::<Vec<_>>();
        assert_eq!(used, allowed, "{name} uses other crates than it may, or fewer: {difference:?}");
    }
}

#[test]
fn the_domain_uses_a_closed_list_of_crates() {
    let packages = packages();
    let used = packages["domain"].iter().filter(|(_, dev)| !dev).map(|(dependency, _)| dependency.as_str());
    assert_eq!(used.collect::<BTreeSet<_>>(), BTreeSet::from(DOMAIN_MAY_USE));
}

/// How many packages `Cargo.lock` lists, ours included.
const LOCKED_PACKAGES: usize = 640;

/// Every dependency costs build time and trust, so that their number grows only on purpose, and never back.
#[test]
fn the_number_of_dependencies_grows_on_purpose() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    let count = lock.lines().filter(|line| *line == "[[package]]").count();
    assert_eq!(
        count, LOCKED_PACKAGES,
        "the number of packages in Cargo.lock has changed. If it is smaller, lower LOCKED_PACKAGES. If it is larger and \
         the new packages are worth their build time, explain that in docs/dependencies.md and raise it."
    );
}
