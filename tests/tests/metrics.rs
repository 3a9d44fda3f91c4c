//! Metrics, and the dashboard that shows them.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use e2e::{Server, Socket, figure, free_port, until};
use serde_json::Value;

/// The figures as they were read: each series with its value.
struct Figures(Vec<(String, f64)>, String);

impl Figures {
    async fn read(port: u16) -> Self {
        let answer = reqwest::get(format!("http://127.0.0.1:{port}/metrics")).await.unwrap();
        assert_eq!(answer.status(), 200);
        let text = answer.text().await.unwrap();
        let series = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        });
        let series = series.collect();
        Self(series, text)
    }

    /// The sum of the series of this name whose labels hold all of these.
    fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let of = |series: &str| {
            series.split('{').next() == Some(name) && labels.iter().all(|l| series.contains(l))
        };
        let found = self.0.iter().filter(|(series, _)| of(series)).collect::<Vec<_>>();
        assert!(!found.is_empty(), "{name} {labels:?} is not there\n{}", self.1);
        found.into_iter().map(|(_, value)| value).sum()
    }

    /// The names of all figures, as they are declared.
    fn names(&self) -> BTreeSet<&str> {
        self.1.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
    }

    /// The names of labels, by series.
    fn labels(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut labels = BTreeMap::<_, BTreeSet<_>>::new();
        for (series, _) in &self.0 {
            let (name, rest) = series.split_once('{').unwrap_or((series, ""));
            let names = rest.trim_end_matches('}').split("\",").filter_map(|label| label.split('=').next());
            labels.entry(name).or_default().extend(names);
        }
        labels
    }
}

async fn measured() -> (Server, u16) {
    measured_with(&[]).await
}

async fn measured_with(settings: &[(&str, &str)]) -> (Server, u16) {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let all = [settings, &[("PARLANCE_METRICS_LISTEN", &listen)]].concat();
    (Server::start_with(&all).await, port)
}

#[tokio::test]
async fn requests_sockets_and_the_store_are_measured() {
    let (server, port) = measured().await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    let topic = format!("chat_room:{chat}");
    let mut socket = Socket::of(&server, &bot).await;
    socket.join("1", &topic).await;
    let before = Figures::read(port).await;
    for _ in 0..5 {
        assert_eq!(ann.send(&chat, "hello", &[&bot.id]).await.status, 201);
        socket.event("1", &topic, "message_created").await;
    }
    let after = Figures::read(port).await;
    let grown = |name: &str, labels: &[&str]| after.sum(name, labels) - before.sum(name, labels);
    let send = ["route=\"/api/v1/me/chats/{chat_id}/messages\"", "method=\"POST\"", "status=\"2xx\""];
    assert!((after.sum("parlance_http_request_seconds_count", &send) - 5.0).abs() < 0.1);
    assert!(after.sum("parlance_http_request_seconds_sum", &send) > 0.0);
    assert!((after.sum("parlance_sockets", &["agents"]) - 1.0).abs() < 0.1);
    assert!(after.sum("parlance_topics", &[]) >= 1.0 && after.sum("parlance_topic_listeners", &[]) >= 1.0);
    assert!(grown("parlance_pushes_total", &[]) >= 5.0);
    assert!((grown("parlance_store_seconds_count", &["append"]) - 5.0).abs() < 0.1);
    assert!(grown("parlance_store_batch_changes_sum", &[]) >= 5.0);
    assert!(after.sum("parlance_store_connections_max", &[]) >= 2.0);
    assert!((after.sum("parlance_build_info", &[env!("CARGO_PKG_VERSION")]) - 1.0).abs() < 0.1);
    // The server does something by itself now and then.
    for idle in ["parlance_store_in_progress", "parlance_socket_queued_bytes", "parlance_redeliveries_total"]
    {
        until(idle, async || figure(port, idle).await.abs() < 0.1).await;
    }
    for secret in [&chat, &ann.key, &bot.key, &bot.id] {
        assert!(!after.1.contains(secret.as_str()), "no path, and nothing of a caller, is a label");
    }
}

/// For probes, on a thread that no request can keep busy.
#[tokio::test]
async fn health_checks_answer_on_the_metrics_listener() {
    let (mut server, port) = measured().await;
    let answer = async |path: &str| {
        let answer = reqwest::get(format!("http://127.0.0.1:{port}{path}")).await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    assert_eq!(answer("/health").await.0, 200);
    let (status, ready) = answer("/ready").await;
    assert_eq!((status, &ready["status"]), (200, &Value::from("ready")), "{ready}");
    assert_eq!(reqwest::get(format!("http://127.0.0.1:{port}/version")).await.unwrap().status(), 404);
    server.kill9();
    assert!(reqwest::get(format!("http://127.0.0.1:{port}/health")).await.is_err(), "it was this server's");
}

#[tokio::test]
async fn refusals_are_counted_by_code_and_route() {
    let (server, port) = measured().await;
    let base = format!("http://{}", server.address());
    for path in ["/api/v1/me/chats", "/api/v1/nowhere/secret-path"] {
        reqwest::get(format!("{base}{path}")).await.unwrap();
    }
    let invented = reqwest::Method::from_bytes(b"BREW").unwrap();
    reqwest::Client::new().request(invented, format!("{base}/health")).send().await.unwrap();
    let figures = Figures::read(port).await;
    let count = "parlance_http_request_seconds_count";
    assert!(figures.sum(count, &["\"/api/v1/me/chats\"", "4xx"]) >= 1.0);
    assert!(figures.sum(count, &["\"none\"", "4xx"]) >= 1.0);
    assert!(figures.sum(count, &["\"other\""]) >= 1.0);
    assert!(figures.sum("parlance_http_refusals_total", &["\"unauthorized\""]) >= 1.0);
    assert!(figures.sum("parlance_http_refusals_total", &["\"rate_limited\""]).abs() < 0.1);
    assert!(!figures.1.contains("secret-path") && !figures.1.contains("BREW"));
    assert_eq!(
        reqwest::get(format!("{base}/metrics")).await.unwrap().status(),
        404,
        "only on its own listener"
    );
}

/// Of all agents together, and no label tells whose it is.
#[tokio::test]
async fn open_work_and_the_ends_of_attempts_and_sockets_are_counted() {
    let (server, port) = measured_with(&[("PARLANCE_WORK_FAILING_ATTEMPTS", "1")]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    let mut sent = Vec::new();
    for text in ["done", "failed", "superseded", "new", "dead"] {
        sent.push(ann.sent(&chat, text, &[&bot.id]).await);
    }
    for (message, steps) in [
        (0, &["processing", "processed"][..]),
        (1, &["processing"]),
        (2, &["processing", "processing"]),
        (4, &["processing"]),
    ] {
        for step in steps {
            assert_eq!(bot.step(&chat, &sent[message], step).await.status, 200);
        }
    }
    let error = serde_json::json!({ "error": "no key" });
    assert_eq!(bot.post(&format!("/chats/{chat}/messages/{}/failed", sent[1]), error).await.status, 200);
    let reason = serde_json::json!({ "reason": "no key" });
    let dead_letter = format!("/work/{}/{}/dead-letter", sent[4], bot.id);
    assert_eq!(ann.post(&dead_letter, reason).await.status, 200);
    let mut socket = Socket::of(&server, &bot).await;
    socket.join("1", &format!("chat_room:{chat}")).await;
    drop(socket);

    let reads = async |series: &str, value: f64| (figure(port, series).await - value).abs() < 0.1;
    for (outcome, count) in [("success", 1.0), ("failed", 1.0), ("superseded", 1.0), ("intervention", 1.0)] {
        let series = format!("parlance_attempts_total{{outcome=\"{outcome}\"}}");
        assert!(reads(&series, count).await, "{series}");
    }
    until("the socket has ended", async || figure(port, "parlance_sockets_ended_total").await > 0.5).await;
    // It is counted every ten seconds.
    for (state, count) in [("new", 1.0), ("processing", 1.0), ("failed", 1.0), ("dead", 1.0)] {
        let series = format!("parlance_open_deliveries{{state=\"{state}\"}}");
        until(&series, async || reads(&series, count).await).await;
    }
    assert!(reads("parlance_flagged_deliveries{flag=\"failing\"}", 2.0).await);
    let oldest = figure(port, "parlance_oldest_open_delivery_seconds").await;
    assert!(oldest > 0.0 && oldest < 600.0, "{oldest}");
}

/// Every query of the dashboard and of the alerts asks for what the server tells, and every figure is documented.
#[tokio::test]
async fn the_dashboard_the_alerts_and_the_documents_know_the_figures() {
    let (server, port) = measured().await;
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    server.user("ann").create_chat().await;
    // These are counted after the start.
    for counted in ["parlance_content_bytes", "parlance_work_counted_timestamp_seconds"] {
        until(counted, async || Figures::read(port).await.names().contains(counted)).await;
    }
    let figures = Figures::read(port).await;
    let (names, labels) = (figures.names(), figures.labels());
    let text = std::fs::read_to_string(docs.join("grafana/parlance.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let mut shown = BTreeSet::new();
    let targets = |panel: &Value| panel["targets"].as_array().unwrap().clone();
    for target in dashboard["panels"].as_array().unwrap().iter().flat_map(targets) {
        let query = target["expr"].as_str().unwrap();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let asked = query.split(|c| !is_name(c)).filter(|word| word.starts_with("parlance_"));
        let asked = asked.collect::<Vec<_>>();
        assert!(!asked.is_empty(), "{query} asks for nothing");
        for series in asked {
            assert!(labels.contains_key(series), "{query} asks for {series}, which the server does not tell");
            shown.insert(series.to_owned());
            let groups =
                query.split("by (").skip(1).flat_map(|rest| rest.split(')').next().unwrap().split(", "));
            for label in groups {
                assert!(labels[series].contains(label), "{series} has no label {label}: {query}");
            }
        }
    }
    let alerts = std::fs::read_to_string(docs.join("../deploy/prometheus/alerts.yml")).unwrap();
    let asked = alerts.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    for series in asked.filter(|word| word.starts_with("parlance_")) {
        assert!(labels.contains_key(series), "an alert asks for {series}, which the server does not tell");
    }
    let described = std::fs::read_to_string(docs.join("operations.md")).unwrap();
    for name in &names {
        assert!(described.contains(&format!("`{name}`")), "{name} is not in docs/operations.md");
        assert!(shown.iter().any(|series| series.starts_with(name)), "{name} is not on the dashboard");
    }
    for word in described.split('`').filter(|word| word.starts_with("parlance_")) {
        assert!(names.contains(word), "docs/operations.md tells of {word}, which is not there");
    }
}

#[tokio::test]
async fn metrics_are_off_unless_they_are_wanted_and_a_port_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let server = Server::start_embedded().await;
    let shown = server.command().args(["config", "show", "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["settings"]["metrics_listen"]["value"], "off");
    let other = tempfile::TempDir::new().unwrap();
    let output = server
        .command()
        .args(["serve", "--listen", "127.0.0.1:0", "--metrics-listen", &address, "--data-dir"])
        .arg(other.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("metrics_listen") && said.contains(&address), "{said}");
}

/// A line about a request carries its id, in either form, also when only warnings are wanted.
#[tokio::test]
async fn lines_about_a_request_carry_its_id() {
    for format in ["text", "json"] {
        let settings = [("PARLANCE_LOG", "warn,http_wire::error=debug"), ("PARLANCE_LOG_FORMAT", format)];
        let server = Server::start_with(&settings).await;
        let request = reqwest::Client::new().get(format!("http://{}/api/v1/me/chats", server.address()));
        let answer = request.header("x-request-id", "the-id-of-it").send().await.unwrap();
        assert_eq!(answer.status(), 401);
        let log = server.logged();
        let line = log.lines().find(|line| line.contains("request refused")).expect("it is logged");
        if format == "json" {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["span"]["request.id"], "the-id-of-it", "{line}");
        } else {
            assert!(line.contains("request.id=\"the-id-of-it\""), "{line}");
        }
    }
}
