//! Exported traces; a failing collector has little effect.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use e2e::{Api, Fleet, Server, Socket, figure, free_port, message, pace, until, until_or};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use reqwest::Response;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// The maximum wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(20);

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

type Given = Arc<Mutex<Vec<ExportTraceServiceRequest>>>;

/// A collector: all that it was given.
struct Collector {
    address: String,
    given: Given,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, given) = (listener.local_addr().unwrap().to_string(), Given::default());
        tokio::spawn(collect(listener, given.clone()));
        Self { address, given }
    }

    async fn server(&self, more: &[(&str, &str)]) -> Server {
        let endpoint = format!("http://{}", self.address);
        let own = [("PARLANCE_OTLP_ENDPOINT", endpoint.as_str()), ("PARLANCE_OTLP_SERVICE_NAME", "talk")];
        Server::start_with(&[&own, more].concat()).await
    }

    fn spans(&self) -> Vec<Span> {
        let given = self.given.lock().unwrap();
        let scopes = given.iter().flat_map(|one| &one.resource_spans).flat_map(|one| &one.scope_spans);
        scopes.flat_map(|one| one.spans.clone()).collect()
    }

    /// The spans of this trace, once there are so many.
    async fn trace(&self, trace: &str, count: usize) -> Vec<Span> {
        let of_trace = |span: &Span| hex(&span.trace_id) == trace;
        let spans = || self.spans().into_iter().filter(of_trace).collect::<Vec<_>>();
        let otherwise = || format!("{count} spans of {trace}: {:#?}", spans());
        until_or(otherwise, async || spans().len() >= count).await;
        spans()
    }
}

async fn collect(listener: TcpListener, given: Given) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(take(stream, given.clone()));
    }
}

/// Takes what one connection brings, as a collector of OTLP over HTTP.
async fn take(mut stream: TcpStream, given: Given) {
    let mut all = Vec::new();
    loop {
        if let Some(end) = all.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8(all[..end].to_vec()).unwrap();
            assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
            assert!(head.contains("content-type: application/x-protobuf"), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let body = &all[end + 4..];
            if body.len() == length.parse::<usize>().unwrap() {
                given.lock().unwrap().push(ExportTraceServiceRequest::decode(body).unwrap());
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                all.clear();
            }
        }
        match stream.read_buf(&mut all).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn attribute(span: &Span, name: &str) -> Option<Any> {
    span.attributes.iter().find(|one| one.key == name)?.value.clone()?.value
}

fn text(span: &Span, name: &str) -> String {
    match attribute(span, name) {
        Some(Any::StringValue(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

/// A text into a room, with more headers.
async fn send(server: &Server, who: &Api, room: &str, to: &str, headers: &[(&str, &str)]) -> Response {
    let url = format!("http://{}/api/v1/me/chats/{room}/messages", server.address());
    let mut request = reqwest::Client::new().post(url).header("x-api-key", &who.key);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.json(&message("what nobody else is to read", &[to])).send().await.unwrap()
}

/// A human, an agent that listens, and a room of both.
async fn cast(server: &Server) -> (Api, Api, String, Socket) {
    let ann = server.user("ann");
    let bot = ann.register(server, "Bot").await;
    let room = ann.create_chat().await;
    assert_eq!(ann.add(&room, &bot.id).await.status, 201);
    let mut socket = Socket::of(server, &bot).await;
    socket.join("1", &format!("chat_room:{room}")).await;
    (ann, bot, room, socket)
}

#[tokio::test]
async fn a_request_is_a_span_of_the_trace_that_it_came_with() {
    let collector = Collector::start().await;
    let settings = [("PARLANCE_LOG", "info,http_wire=debug"), ("PARLANCE_LOG_FORMAT", "json")];
    let server = collector.server(&settings).await;
    let (ann, bot, room, mut socket) = cast(&server).await;
    let parent = parent("01");
    reqwest::get(format!("http://{}/nowhere?key=in-a-query", server.address())).await.unwrap();
    let headers = [("traceparent", parent.as_str()), ("x-request-id", "the-id-of-it")];
    assert_eq!(send(&server, &ann, &room, &bot.id, &headers).await.status(), 201);
    socket.event("1", &format!("chat_room:{room}"), "message_created").await;

    let spans = collector.trace(TRACE, 4).await;
    let one = |name: &str| {
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:#?}"))
    };
    let request = one("POST /api/v1/me/chats/{chat_id}/messages");
    assert_eq!(hex(&request.parent_span_id), PARENT);
    assert_eq!(request.kind, SpanKind::Server as i32);
    assert_eq!(text(request, "http.route"), "/api/v1/me/chats/{chat_id}/messages");
    assert_eq!(text(request, "http.request.method"), "POST");
    assert_eq!(text(request, "request.id"), "the-id-of-it");
    assert_eq!(attribute(request, "http.response.status_code"), Some(Any::IntValue(201)));
    assert!(request.end_time_unix_nano > request.start_time_unix_nano);
    for part in ["store.read", "store.append"] {
        assert_eq!(one(part).parent_span_id, request.span_id, "{part}");
    }
    assert_eq!(one("push").parent_span_id, one("store.append").span_id);

    let given = format!("{:?}", collector.given.lock().unwrap());
    assert!(given.contains("service.name") && given.contains("talk") && given.contains("service.version"));
    for secret in ["what nobody", "in-a-query", "nowhere", &ann.key, &bot.key, &room] {
        assert!(!given.contains(secret), "{secret} is nobody's business");
    }
    let log = server.logged();
    let line = log.lines().find(|line| line.contains("the-id-of-it")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["span"]["trace.id"], TRACE, "{line}");
}

#[tokio::test]
async fn what_the_server_does_by_itself_leaves_no_spans() {
    let collector = Collector::start().await;
    let metrics = free_port();
    let server = collector.server(&[("PARLANCE_METRICS_LISTEN", &format!("127.0.0.1:{metrics}"))]).await;
    let ann = server.user("ann");
    ann.create_chat().await;
    // The server reads the change log twice a second.
    let reads = async || figure(metrics, "parlance_store_seconds_count{work=\"read\"}").await;
    let before = reads().await;
    until("the server reads its store", async || reads().await >= before + 5.0).await;
    let last = reqwest::Client::new().get(format!("http://{}/version", server.address()));
    last.header("traceparent", parent("01")).send().await.unwrap();
    // Spans are sent in their order.
    collector.trace(TRACE, 1).await;
    let mut roots = collector.spans();
    roots.retain(|span| span.parent_span_id.is_empty());
    assert!(roots.iter().any(|span| span.name == "POST /api/v1/me/chats"), "{roots:#?}");
    for root in &roots {
        assert_eq!(root.kind, SpanKind::Server as i32, "{root:?}");
    }
}

#[tokio::test]
async fn a_malformed_traceparent_is_as_if_it_were_not_there() {
    let collector = Collector::start().await;
    let server = collector.server(&[("PARLANCE_LOG", "info,http_wire=debug")]).await;
    let malformed = [
        "00".to_owned(),
        format!("00-{TRACE}-{PARENT}"),
        format!("ff-{TRACE}-{PARENT}-01"),
        format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
        format!("00-{}-{PARENT}-01", "0".repeat(32)),
    ];
    let client = reqwest::Client::new();
    let url = format!("http://{}/version", server.address());
    for (number, header) in malformed.iter().enumerate() {
        let request = client.get(&url).header("x-request-id", format!("malformed-{number}"));
        assert_eq!(request.header("traceparent", header).send().await.unwrap().status(), 200);
    }
    // Two of them are none.
    let twice = client.get(&url).header("x-request-id", "malformed-5").header("traceparent", parent("01"));
    twice.header("traceparent", parent("01")).send().await.unwrap();
    for number in 0..=malformed.len() {
        let id = Some(Any::StringValue(format!("malformed-{number}")));
        let span = || collector.spans().into_iter().find(|span| attribute(span, "request.id") == id);
        until(&format!("{number} is not told of"), async || span().is_some()).await;
        let span = span().unwrap();
        let trace = hex(&span.trace_id);
        assert!(span.parent_span_id.is_empty() && trace != TRACE, "{span:?}");
        assert!(server.logged().contains(&format!("trace.id={trace}")), "its own is in the log");
    }
}

#[tokio::test]
async fn who_asks_decides_whether_it_is_traced_and_else_the_share() {
    let collector = Collector::start().await;
    let server = collector.server(&[("PARLANCE_OTLP_SAMPLE_RATIO", "0.0")]).await;
    let client = reqwest::Client::new();
    let url = format!("http://{}/version", server.address());
    let unwanted = format!("00-{}-{PARENT}-00", "1".repeat(32));
    for header in ["", &unwanted, &parent("01")] {
        let request = client.get(&url);
        let request = if header.is_empty() { request } else { request.header("traceparent", header) };
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
    collector.trace(TRACE, 1).await;
    // What came before is sent before.
    assert_eq!(collector.spans().len(), 1, "{:#?}", collector.spans());
}

/// Requests are answered as ever and in time, the spans are dropped and counted, and the server stops in time.
async fn goes_on_without(address: &str) {
    let metrics = free_port();
    let endpoint = format!("http://{address}");
    let listen = format!("127.0.0.1:{metrics}");
    let mut server = Server::start_with(&[
        ("PARLANCE_OTLP_ENDPOINT", &endpoint),
        ("PARLANCE_METRICS_LISTEN", &listen),
        ("PARLANCE_RATE_LIMITS", "false"),
    ])
    .await;
    let (ann, bot, room, mut socket) = cast(&server).await;
    let deadline = Instant::now() + PATIENCE;
    let mut slowest = Duration::ZERO;
    while figure(metrics, "parlance_spans_dropped_total").await < 20.0 {
        let started = Instant::now();
        assert_eq!(send(&server, &ann, &room, &bot.id, &[]).await.status(), 201);
        slowest = slowest.max(started.elapsed());
        socket.event("1", &format!("chat_room:{room}"), "message_created").await;
        assert!(Instant::now() < deadline, "what is dropped is counted: {}", server.log());
        pace(Duration::from_millis(20)).await;
    }
    // The collector is waited for five seconds.
    assert!(slowest < Duration::from_secs(4), "{slowest:?}");
    assert!(figure(metrics, "parlance_spans_sent_total").await < 1.0);
    let logged = server.logged().matches("trace collector unavailable").count();
    assert_eq!(logged, 1, "an outage is logged once: {}", server.log());
    assert_eq!(send(&server, &ann, &room, &bot.id, &[]).await.status(), 201);
    let took = server.terminate().await;
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[tokio::test]
async fn a_collector_that_is_down_stops_nothing() {
    goes_on_without(&format!("127.0.0.1:{}", free_port())).await;
}

#[tokio::test]
async fn a_collector_that_never_answers_stops_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    goes_on_without(&address).await;
    silent.abort();
}

#[tokio::test]
async fn a_collector_that_refuses_stops_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let refusing = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // Whatever becomes of it, it is a refusal.
            let _ = stream.read(&mut [0; 8192]).await;
            let answer =
                b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(answer).await;
        }
    });
    goes_on_without(&address).await;
    refusing.abort();
}

#[tokio::test]
async fn the_last_spans_are_sent_when_the_server_stops() {
    let collector = Collector::start().await;
    let mut server = collector.server(&[]).await;
    let url = format!("http://{}/version", server.address());
    reqwest::Client::new().get(url).header("traceparent", parent("01")).send().await.unwrap();
    server.terminate().await;
    collector.trace(TRACE, 1).await;
}

#[tokio::test]
async fn an_outage_ends_with_a_line_that_says_so() {
    let address = format!("127.0.0.1:{}", free_port());
    let endpoint = format!("http://{address}");
    let server = Server::start_with(&[("PARLANCE_OTLP_ENDPOINT", &endpoint)]).await;
    let deadline = Instant::now() + PATIENCE;
    let mut collecting = None;
    while !server.logged().contains("trace collector available again") {
        assert!(Instant::now() < deadline, "{}", server.log());
        reqwest::get(format!("http://{}/version", server.address())).await.unwrap();
        if collecting.is_none() && server.logged().contains("trace collector unavailable") {
            let listener = TcpListener::bind(&address).await.unwrap();
            collecting = Some(tokio::spawn(collect(listener, Given::default())));
        }
        pace(Duration::from_millis(50)).await;
    }
    collecting.unwrap().abort();
    let log = server.logged();
    let over = log.lines().find(|line| line.contains("trace collector available again")).unwrap();
    assert!(over.contains("duration_ms=") && over.contains("lost="), "{over}");
}

/// The trace that a client names stands in the log in any case.
#[tokio::test]
async fn without_a_collector_the_log_still_names_the_trace() {
    let server = Server::start_with(&[("PARLANCE_LOG", "info,http_wire=debug")]).await;
    let request = reqwest::Client::new().get(format!("http://{}/version", server.address()));
    request.header("traceparent", parent("01")).send().await.unwrap();
    assert!(server.logged().contains(&format!("trace.id={TRACE}")), "{}", server.logged());
}

/// Agents that know nothing of traces: a human asks the first, which asks the second.
#[tokio::test]
async fn a_conversation_is_one_trace() {
    let collector = Collector::start().await;
    let server = collector.server(&[("PARLANCE_OTLP_GEN_AI", "true")]).await;
    let (ann, bot, room, mut socket) = cast(&server).await;
    let scout = ann.register(&server, "Scout").await;
    assert_eq!(ann.add(&room, &scout.id).await.status, 201);
    let opening = ann.sent(&room, "what nobody else is to read", &[&bot.id]).await;
    let pushed = socket.event("1", &format!("chat_room:{room}"), "message_created").await;
    let at = pushed["metadata"]["traceparent"].as_str().unwrap_or_else(|| panic!("{pushed}")).to_owned();
    let trace = at[3..35].to_owned();
    assert_eq!(trace, opening.replace('-', ""), "it begins with the text");
    // What has been pushed is marked before it is worked on.
    until("it is marked", async || {
        let status = ann.history(&room).await[0]["metadata"]["delivery_status"].to_string();
        status.contains("delivered")
    })
    .await;
    assert_eq!(bot.step(&room, &opening, "processing").await.status, 200);
    let asked = bot.sent(&room, "nor this", &[&scout.id]).await;
    let usage = json!({"band_usage": {"input_tokens": 120, "output_tokens": 30}});
    let report = json!({"event": {"message_type": "task", "content": "nor that", "metadata": usage}});
    assert_eq!(bot.post(&format!("/chats/{room}/events"), report).await.status, 201);
    assert_eq!(bot.step(&room, &opening, "processed").await.status, 200);
    let next = scout.get(&format!("/chats/{room}/messages/next")).await.data();
    let continued = next["metadata"]["traceparent"].as_str().unwrap();
    assert_eq!((next["id"].as_str(), &continued[..36]), (Some(asked.as_str()), &at[..36]));
    assert_ne!(continued, at);
    assert_eq!(scout.step(&room, &asked, "processing").await.status, 200);
    assert_eq!(scout.step(&room, &asked, "failed").await.status, 200);

    let spans = collector.trace(&trace, 6).await;
    assert_eq!(spans.len(), 6, "{spans:#?}");
    let one = |name: &str, message: &str| {
        let is_it = |span: &&Span| span.name == name && text(span, "messaging.message.id") == message;
        spans.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {spans:#?}"))
    };
    for span in &spans {
        assert_eq!(text(span, "gen_ai.conversation.id"), room);
        assert_eq!(text(span, "session.id"), room);
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{span:?}");
    }
    let (first, second) = (one("accept", &opening), one("accept", &asked));
    assert!(first.parent_span_id.is_empty() && hex(&first.span_id) == at[36..52], "{first:?}");
    assert_eq!((&second.parent_span_id, attribute(first, "gen_ai.agent.id")), (&first.span_id, None));
    assert_eq!(text(second, "gen_ai.agent.id"), bot.id);
    for (message, agent, parent) in [(&opening, &bot, first), (&asked, &scout, second)] {
        for name in ["deliver", "attempt"] {
            let span = one(name, message);
            assert_eq!(
                (text(span, "gen_ai.agent.id"), &span.parent_span_id),
                (agent.id.clone(), &parent.span_id)
            );
        }
    }
    let (attempt, failed) = (one("attempt", &opening), one("attempt", &asked));
    assert_eq!(attribute(attempt, "gen_ai.usage.input_tokens"), Some(Any::IntValue(120)));
    assert_eq!(attribute(attempt, "gen_ai.usage.output_tokens"), Some(Any::IntValue(30)));
    assert_eq!(failed.status.as_ref().unwrap().code, StatusCode::Error as i32);
    let given = format!("{:?}", collector.given.lock().unwrap());
    for secret in ["nobody", "nor this", "nor that", "did not work"] {
        assert!(!given.contains(secret), "{secret} is nobody's business");
    }
}

/// Each change has one span, of the server that has stored it.
#[tokio::test]
async fn several_servers_send_one_span_for_each_change() {
    let collector = Collector::start().await;
    let endpoint = format!("http://{}", collector.address);
    let settings = [
        ("PARLANCE_CLUSTER_MODE", "multi"),
        ("PARLANCE_OTLP_ENDPOINT", endpoint.as_str()),
        ("PARLANCE_OTLP_GEN_AI", "true"),
    ];
    let fleet = Fleet::start(2, &settings).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    let ann = here.user("ann");
    let (bot, scout) = (ann.register(here, "Bot").await, ann.register(here, "Scout").await);
    let room = ann.create_chat().await;
    for agent in [&bot, &scout] {
        assert_eq!(ann.add(&room, &agent.id).await.status, 201);
    }
    for _ in 0..2 {
        let sent = ann.sent(&room, "go", &[&bot.id, &scout.id]).await;
        for (agent, step, server) in [
            (&bot, "processing", there),
            (&scout, "processing", here),
            (&bot, "processed", here),
            (&scout, "failed", there),
        ] {
            assert_eq!(agent.on(server).step(&room, &sent, step).await.status, 200);
        }
        let spans = collector.trace(&sent.replace('-', ""), 5).await;
        let mut names = spans.iter().map(|span| span.name.as_str()).collect::<Vec<_>>();
        names.sort_unstable();
        assert_eq!(names, ["accept", "attempt", "attempt", "deliver", "deliver"], "{spans:#?}");
    }
}

/// Only an operator who wants them gets spans with rooms in them, and only those begin traces.
#[tokio::test]
async fn without_the_setting_messages_begin_no_trace() {
    let collector = Collector::start().await;
    let server = collector.server(&[]).await;
    let (ann, bot, room, mut socket) = cast(&server).await;
    let path = format!("chat_room:{room}");
    assert_eq!(send(&server, &ann, &room, &bot.id, &[]).await.status(), 201);
    let untraced = socket.event("1", &path, "message_created").await;
    assert_eq!(untraced["metadata"].get("traceparent"), None, "{untraced}");
    assert_eq!(send(&server, &ann, &room, &bot.id, &[("traceparent", &parent("01"))]).await.status(), 201);
    let traced = socket.event("1", &path, "message_created").await;
    assert_eq!(traced["metadata"]["traceparent"], parent("01"));
    assert_eq!(bot.step(&room, traced["id"].as_str().unwrap(), "processing").await.status, 200);
    let last = reqwest::Client::new().get(format!("http://{}/version", server.address()));
    last.header("traceparent", parent("01")).send().await.unwrap();
    // Spans are sent in their order.
    until("the last span", async || collector.spans().iter().any(|span| span.name == "GET /version")).await;
    let spans = collector.trace(TRACE, 4).await;
    let is_of_request =
        |span: &Span| span.name.contains(' ') || span.name.contains('.') || span.name == "push";
    assert!(spans.iter().all(is_of_request), "{spans:#?}");
}
