//! Stores of earlier releases, which this version migrates, checks, exports, and serves. `tests/upgrade/README.md` says how
//! they are kept.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod archive;
mod fill;
mod kept;

use std::path::{Path, PathBuf};

use e2e::{Api, Server, until};
use serde_json::{Value, json};

use fill::{FIGURES, PASSWORD};
use kept::{Kept, StoreKind};

/// Where the stores of releases are kept.
fn releases() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/upgrade"))
}

/// Where a store is kept that was made by this version on request: `PARLANCE_TEST_UPGRADE_TO`.
fn requested() -> Option<PathBuf> {
    std::env::var_os("PARLANCE_TEST_UPGRADE_TO").map(PathBuf::from)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_of_all_releases_are_upgraded() {
    let mut kinds = Vec::new();
    for entry in std::fs::read_dir(releases()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            kinds.push(upgrade(&path).await);
        }
    }
    for kind in [StoreKind::Sqlite, StoreKind::Postgres] {
        assert!(kinds.contains(&kind), "no release is kept on {kind:?}");
    }
}

/// What is kept at a release has rows in every table, and passes the same test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn this_version_makes_a_store_with_everything_in_it() {
    let directory = tempfile::TempDir::new().unwrap();
    let directory = requested().unwrap_or_else(|| directory.path().to_owned());
    for kind in [StoreKind::Sqlite, StoreKind::Postgres] {
        let path = fill::make(kind, &directory).await;
        assert!(std::fs::metadata(&path).unwrap().len() < 150_000, "{} is too large", path.display());
        assert_eq!(upgrade(&path).await, kind);
    }
}

async fn upgrade(path: &Path) -> StoreKind {
    let kept = Kept::unpack(path).await;
    kept.run(&["migrate"]);
    kept.run(&["audit", "verify"]);
    let again = kept.path("again.jsonl");
    kept.run(&["export", "--to", again.to_str().unwrap()]);
    archive::has_everything(&kept.path("archive.jsonl"), &again);
    is_sound(&kept);
    for list in [&["user", "list"][..], &["org", "list"], &["agent", "list"], &["chat", "list"], &["status"]]
    {
        kept.run(list);
    }
    serves(&kept).await;
    kept.run(&["audit", "verify"]);
    kept.kind
}

/// The databases of tests do not flush what they commit; nothing else is wrong.
fn is_sound(kept: &Kept) {
    let output = kept.command().args(["doctor", "--json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = found["findings"].as_array().unwrap();
    for finding in findings.iter().filter(|finding| finding["check"] != "durability") {
        assert_ne!(finding["outcome"], "fault", "{finding}");
    }
    assert!(
        findings.iter().any(|finding| finding["check"] == "schema" && finding["outcome"] == "ok"),
        "{found}"
    );
}

/// People and agents find what they had, and go on.
async fn serves(kept: &Kept) {
    let known = |name: &str| kept.known[name].as_str().unwrap().to_owned();
    let settings = kept.settings();
    let settings = settings.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
    let mut server = Server::start_on(&kept.path("data"), &settings).await;
    let dora = Api::new(&server, "me", &known("user_key"), &known("user"));
    let bot = Api::new(&server, "agent", &known("agent_key"), &known("agent"));
    let (room, waiting) = (known("room"), known("waiting"));
    assert_eq!(dora.get("/profile").await.data()["handle"], "dora");
    let rooms = dora.get("/chats").await.data();
    assert!(rooms.as_array().unwrap().iter().any(|one| one["id"] == json!(room)), "{rooms}");
    let history = dora.history(&room).await;
    for id in ["done", "failed", "waiting"] {
        assert!(history.iter().any(|message| message["id"] == json!(known(id))), "{id}: {history:?}");
    }
    let work = dora.get("/work?state=failed").await.data();
    assert!(
        work.as_array().unwrap().iter().any(|item| item["message_id"] == json!(known("failed"))),
        "{work}"
    );
    let is_found = async || {
        let hits = dora.get("/search?q=quarterly").await.data();
        hits.as_array().unwrap().iter().any(|hit| hit["message_id"] == json!(known("done")))
    };
    until("the search finds nothing", is_found).await;
    assert_eq!(dora.download(&room, &known("file")).await, (200, FIGURES.to_vec()));
    let log_in = json!({"login": "dora", "password": PASSWORD});
    assert_eq!(Api::new(&server, "auth", "", "").post("/login", log_in).await.status, 200);

    assert_eq!(bot.next(&room).await, Some(waiting.clone()));
    for step in ["processing", "processed"] {
        assert_eq!(bot.step(&room, &waiting, step).await.status, 200, "{step}");
    }
    assert_eq!(dora.send(&room, "on this version", &[&bot.id]).await.status, 201);
    server.terminate().await;
}
