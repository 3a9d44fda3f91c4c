//! The cache of callers: a hit reads nothing from the store, and every change takes effect in time.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use e2e::{Api, LEASE, Server, free_port, soon, until};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_postgres::{Client, NoTls};

/// The JSON output of a command that must succeed.
fn printed(server: &Server, arguments: &[&str]) -> Value {
    let output = server.command().args(arguments).arg("--json").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A server that tells what it measures, without limits.
struct Measured {
    server: Server,
    port: u16,
}

impl Measured {
    async fn start(settings: &[(&str, &str)]) -> Self {
        let port = free_port();
        let listen = format!("127.0.0.1:{port}");
        let mut all = vec![("PARLANCE_METRICS_LISTEN", listen.as_str()), ("PARLANCE_RATE_LIMITS", "false")];
        all.extend(settings);
        Self { server: Server::start_with(&all).await, port }
    }

    /// The hits and misses of the cache of callers.
    async fn lookups(&self) -> [u64; 2] {
        let text = reqwest::get(format!("http://127.0.0.1:{}/metrics", self.port)).await.unwrap();
        let text = text.text().await.unwrap();
        ["hit", "miss"].map(|result| {
            let series = format!("parlance_caller_cache_requests_total{{result=\"{result}\"}} ");
            let line = text.lines().find_map(|line| line.strip_prefix(&series));
            line.unwrap_or_else(|| panic!("{series} is not there")).parse().unwrap()
        })
    }

    /// Asks until nothing more is read for it.
    async fn warm(&self, who: &Api, path: &str) {
        let is_known = async || {
            let [hits, misses] = self.lookups().await;
            assert_eq!(who.get(path).await.status, 200);
            let [more_hits, more_misses] = self.lookups().await;
            more_hits > hits && more_misses == misses
        };
        until(path, is_known).await;
    }
}

async fn rotate(ann: &Api, agent: &Api) -> Api {
    let rotated = ann.post(&format!("/agents/{}/rotate-key", agent.id), json!({})).await.data();
    agent.with_key(rotated["credentials"]["api_key"].as_str().unwrap())
}

/// Many requests arrive while the key is replaced, some just after reading it. None that begins afterwards is let in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_let_in_by_a_key_that_was_read_before_it_was_replaced() {
    let here = Measured::start(&[]).await;
    let ann = here.server.user("ann");
    let mut bot = ann.register(&here.server, "Bot").await;
    for _ in 0..10 {
        let (ended, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let asking = (0..8).map(|_| {
            let (bot, ended, answers) = (bot.clone(), ended.clone(), answers.clone());
            tokio::spawn(async move {
                loop {
                    let is_last = ended.load(Ordering::SeqCst);
                    let status = bot.get("/me").await.status;
                    assert!(status == 401 || (status == 200 && !is_last), "{status} {is_last}");
                    answers.fetch_add(1, Ordering::SeqCst);
                    if is_last {
                        return;
                    }
                }
            })
        });
        let asking = asking.collect::<Vec<_>>();
        until("nobody is answered", async || answers.load(Ordering::SeqCst) >= 8).await;
        let next = rotate(&ann, &bot).await;
        ended.store(true, Ordering::SeqCst);
        for one in asking {
            one.await.unwrap();
        }
        bot = next;
    }
}

#[tokio::test]
async fn what_a_command_changes_holds_within_a_second() {
    let here = Measured::start(&[]).await;
    let server = &here.server;
    let ann = server.user("ann");
    let bot = ann.register(server, "Bot").await;
    here.warm(&bot, "/me").await;
    printed(server, &["agent", "set", "ann/bot", "--global"]);
    assert!(soon(async || bot.get("/me").await.data()["is_global"] == true).await);
    let statuses = async |who: &Api, path: &str, status: u16| {
        assert!(soon(async || who.get(path).await.status == status).await, "{path} {status}");
    };
    for (who, path, handle, what) in [(&bot, "/me", "ann/bot", "agent"), (&ann, "/profile", "ann", "user")] {
        here.warm(who, path).await;
        printed(server, &[what, "disable", handle]);
        statuses(who, path, 403).await;
        printed(server, &[what, "enable", handle]);
        statuses(who, path, 200).await;
    }
    here.warm(&bot, "/me").await;
    let made = printed(server, &["key", "rotate", "ann/bot"]);
    statuses(&bot, "/me", 401).await;
    let bot = bot.with_key(made["api_key"].as_str().unwrap());
    here.warm(&bot, "/me").await;
    printed(server, &["agent", "delete", "ann/bot"]);
    statuses(&bot, "/me", 401).await;
    here.warm(&ann, "/profile").await;
    printed(server, &["key", "revoke", "--all-of", "ann"]);
    statuses(&ann, "/profile", 401).await;
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// While the change log cannot be read, no caller is cached: the store is read, and a key that was revoked behind the
/// servers' backs is refused. When the log can be read again, callers are cached again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_log_cannot_be_read_the_store_is_asked() {
    let database = testkit::postgres::server().database();
    let url = database.url();
    let here = Measured::start(&[("PARLANCE_DATABASE_URL", &url)]).await;
    let ann = here.server.user("ann");
    let (bot, other) = (ann.register(&here.server, "Bot").await, ann.register(&here.server, "Other").await);
    here.warm(&bot, "/me").await;
    here.warm(&other, "/me").await;

    let mut holder = connect(&url).await;
    let held = holder.transaction().await.unwrap();
    held.batch_execute("LOCK TABLE change_log IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let revoke = format!("UPDATE api_keys SET revoked_at = now() WHERE agent_id = '{}'", bot.id);
    connect(&url).await.batch_execute(&revoke).await.unwrap();
    let since = Instant::now();
    assert!(soon(async || bot.get("/me").await.status == 401).await);
    while since.elapsed() < LEASE {
        assert_eq!(other.get("/me").await.status, 200);
    }
    let before = here.lookups().await;
    assert_eq!(other.get("/me").await.status, 200, "the others go on");
    assert_eq!(here.lookups().await, [before[0], before[1] + 2], "and are looked up");
    held.rollback().await.unwrap();
    here.warm(&other, "/me").await;
}
