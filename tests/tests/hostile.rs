//! Malformed and hostile input: each gets its error, and neither the server nor another client
//! is disturbed.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use e2e::cast::Cast;
use e2e::{Closed, Server, Socket, is_full, p99};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};

/// Somebody who behaves, and must not notice anything.
struct Witness {
    socket: Socket,
    topic: String,
}

impl Witness {
    async fn on(server: &Server, cast: &Cast) -> Self {
        let topic = format!("chat_room:{}", cast.r1);
        let mut socket = Socket::of(server, &cast.a1).await;
        socket.join("w", &topic).await;
        Self { socket, topic }
    }

    async fn is_well(&mut self, cast: &Cast) {
        self.socket.alive().await;
        let id = cast.u1.sent(&cast.r1, "all well?", &[&cast.a1.id]).await;
        assert_eq!(self.socket.event("w", &self.topic, "message_created").await["id"], json!(id));
    }
}

/// What the server answers to bytes; it must answer or hang up in time.
async fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    // The server may hang up while the bytes are still on their way.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await.expect("it ends");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn broken_http_ends_its_own_connection_only() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let huge = format!("GET /health HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(300_000));
    let half = "POST /api/v1/me/chats HTTP/1.1\r\nhost: x\r\ncontent-le";
    let _silent = TcpStream::connect(server.address()).await.unwrap();
    for bytes in
        [&b"\x00\xff\x16\x03garbage\r\n\r\n"[..], huge.as_bytes(), half.as_bytes(), b"GET / HTTP/9.9\r\n\r\n"]
    {
        let answer = raw(&server, bytes).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer:.80}");
    }
    witness.is_well(&cast).await;
}

/// Lengths that contradict each other, chunks that are none, and more than any bound.
#[tokio::test]
async fn broken_bodies_end_their_own_request_only() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let head = format!(
        "POST /api/v1/me/chats HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\n\
         content-type: application/json\r\nconnection: close\r\n",
        cast.u1.key
    );
    let chunked = "transfer-encoding: chunked\r\n";
    let large = format!("{chunked}\r\n500000\r\n{}\r\n0\r\n\r\n", "x".repeat(0x50_0000));
    for (rest, status) in [
        (format!("{chunked}\r\n2\r\n{{}}\r\n0\r\n\r\n"), Some(201)),
        // The connection cannot be followed any more, so it may end without an answer.
        (format!("{chunked}\r\nZZZ\r\nno chunk\r\n\r\n"), None),
        (format!("{chunked}\r\nfffffffffffffffffff\r\n{{}}\r\n0\r\n\r\n"), None),
        (format!("content-length: 2\r\n{chunked}\r\n2\r\n{{}}\r\n0\r\n\r\n"), Some(400)),
        ("content-length: 2\r\ncontent-length: 3\r\n\r\n{}x".to_owned(), Some(400)),
        ("content-length: -1\r\n\r\n{}".to_owned(), Some(400)),
        ("content-length: 99999999999999999999\r\n\r\n{}".to_owned(), Some(400)),
        ("content-length: 99999999999\r\n\r\n{}".to_owned(), Some(413)),
        (large, Some(413)),
    ] {
        let answer = raw(&server, format!("{head}{rest}").as_bytes()).await;
        let got = answer.get(9..12).and_then(|text| text.parse::<u16>().ok());
        match status {
            Some(_) => assert_eq!(got, status, "{rest:.60}: {answer:.200}"),
            None => assert!(got.is_none_or(|status| status == 400), "{rest:.60}: {answer:.200}"),
        }
    }
    let rooms = cast.u1.get("/chats").await.data();
    assert_eq!(rooms.as_array().unwrap().len(), 2, "only what was whole has been done");
    witness.is_well(&cast).await;
}

/// Connections that say nothing, or never finish, take nothing from the others.
#[tokio::test]
async fn many_unfinished_connections_disturb_nobody() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let head = format!(
        "POST /api/v1/me/chats HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\ncontent-length: 99\r\n\r\n{{",
        cast.u1.key
    );
    let mut open = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let part = ["", "GET /hea", head.as_str()][number % 3];
        stream.write_all(part.as_bytes()).await.unwrap();
        open.push(stream);
    }
    witness.is_well(&cast).await;
    let health = reqwest::get(format!("http://{}/health", server.address())).await.unwrap();
    assert_eq!(health.status(), 200);
}

#[tokio::test]
async fn bad_bodies_queries_and_paths_get_their_error() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let before = cast.u1.history(&cast.r1).await.len();
    let client = reqwest::Client::new();
    let url = |path: &str| format!("http://{}/api/v1/me{path}", server.address());
    let messages = format!("/chats/{}/messages", cast.r1);
    let large = format!(r#"{{"content":"{}"}}"#, "x".repeat(5 * 1024 * 1024));
    let deep = "[".repeat(100_000);
    let over = format!(r#"{{"content":"{}"}}"#, "x".repeat(524_289));
    let bodies: [(&[u8], &str, u16, &str); 11] = [
        (b"{\"content\":\"\xc3\x28\"}", "application/json", 400, "bad_request"),
        (b"{", "application/json", 400, "bad_request"),
        (b"\xff\xfe{}", "application/json", 400, "bad_request"),
        (deep.as_bytes(), "application/json", 400, "bad_request"),
        (b"{\"content\":\"x\",\"unknown\":1}", "application/json", 400, "bad_request"),
        (b"{\"content\":1}", "application/json", 422, "validation_error"),
        (b"[]", "application/json", 422, "validation_error"),
        (b"{\"content\":\"x\"}", "text/plain", 415, "unsupported_media_type"),
        (
            b"{\"content\":\"x\",\"mentions\":[{\"id\":\"x\",\"kind\":null}]}",
            "application/json",
            422,
            "invalid_mention_kind",
        ),
        (large.as_bytes(), "application/json", 413, "content_too_large"),
        (over.as_bytes(), "application/json", 422, "validation_error"),
    ];
    for (body, kind, status, code) in bodies {
        let request =
            client.post(url(&messages)).header("x-api-key", &cast.u1.key).header("content-type", kind);
        let answer = request.body(body.to_vec()).send().await.unwrap();
        assert_eq!(answer.status(), status, "{:.60}", String::from_utf8_lossy(body));
        let envelope: Value = answer.json().await.unwrap();
        assert_eq!(envelope["error"]["code"], code, "{envelope}");
        assert!(envelope["error"]["request_id"].is_string());
    }
    for (path, status) in [
        ("/chats/not-an-id".to_owned(), 404),
        ("/chats/%00%ff".to_owned(), 404),
        (format!("{messages}?cursor=%00"), 422),
        (format!("{messages}?cursor=AAAA"), 422),
        (format!("{messages}?limit=0"), 422),
        (format!("{messages}?page=-1"), 422),
        (format!("{messages}?nonsense=1"), 422),
        (format!("{messages}?limit=99999999999999999999"), 200),
    ] {
        assert_eq!(cast.u1.get(&path).await.status, status, "{path}");
    }
    assert_eq!(cast.u1.history(&cast.r1).await.len(), before, "nothing refused was stored");
    witness.is_well(&cast).await;
}

#[tokio::test]
async fn broken_sockets_end_alone() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let deep = format!(r#"[null,"1","t","e",{}{}]"#, "[".repeat(10_000), "]".repeat(10_000));
    let frame = |opcode, fin: bool, bytes: &'static [u8]| {
        Message::Frame(Frame::message(bytes, OpCode::Data(opcode), fin))
    };
    for (hostile, code) in [
        (vec![Message::text(deep)], 1003),
        (vec![frame(Data::Text, true, b"\xff\xfe")], 1007),
        (vec![frame(Data::Continue, true, b"x")], 1002),
        (vec![frame(Data::Reserved(5), true, b"x")], 1002),
        (vec![frame(Data::Text, false, b"[null,\"1\","), frame(Data::Continue, true, b"\"t\"]")], 1003),
    ] {
        let mut socket = Socket::of(&server, &cast.u1).await;
        for message in hostile {
            let _ = socket.send_message(message).await;
        }
        assert_eq!(socket.closed().await, Closed::Code(code));
    }
    let mut fragmented = Socket::of(&server, &cast.u1).await;
    fragmented.send_message(frame(Data::Text, false, b"[null,\"hb\",\"phoenix\",")).await.unwrap();
    fragmented.send_message(frame(Data::Continue, true, b"\"heartbeat\",{}]")).await.unwrap();
    assert_eq!(fragmented.frame().await[1], "hb");
    let odd = CloseFrame { code: CloseCode::Library(4321), reason: "x".into() };
    let _ = fragmented.send_message(Message::Close(Some(odd))).await;
    fragmented.closed().await;
    witness.is_well(&cast).await;
}

#[tokio::test]
async fn floods_cost_little_and_disturb_nobody() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    // Thousands of joins of rooms that are not there: each is refused, in order.
    let mut joiner = Socket::of(&server, &cast.u2).await;
    for number in 0..3_000_u32 {
        let topic = format!("chat_room:0190c5a4-0000-7000-8000-{number:012x}");
        joiner
            .send_raw(&json!([number.to_string(), number.to_string(), topic, "phx_join", {}]).to_string())
            .await;
    }
    for number in 0..3_000_u32 {
        let answer = joiner.frame().await;
        assert_eq!((&answer[1], &answer[4]["status"]), (&json!(number.to_string()), &json!("error")));
    }
    for _ in 0..50 {
        assert_eq!(Socket::connect(&server, "vsn=2.0.0&api_key=wrong", &[]).await.err(), Some(403));
    }
    witness.is_well(&cast).await;
    costs_little(&server);
}

/// What all of it may take; the program itself takes less than half of that.
fn costs_little(server: &Server) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib = resident.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
    assert!(kib < 100 * 1024, "{kib} KiB");
}

/// Heartbeats of a client that does not read the answers, which repeat what it says.
#[tokio::test]
async fn who_asks_and_does_not_read_is_cut_off() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let mut beating = Socket::of(&server, &cast.u2).await;
    let beat = json!([null, "x".repeat(64), "phoenix", "heartbeat", {}]).to_string();
    let mut sent = 0;
    // More answers than the buffers of both ends and the queue can hold together.
    while sent < 200_000 {
        let sending = beating.send_message(Message::text(beat.as_str()));
        match timeout(Duration::from_secs(5), sending).await {
            Ok(Ok(())) => sent += 1,
            _ => break,
        }
    }
    let mut whole = 0;
    let closed = loop {
        match beating.receive().await {
            Ok(_) => whole += 1,
            Err(closed) => break closed,
        }
    };
    assert!(matches!(closed, Closed::Code(1013) | Closed::Dropped), "{closed:?}");
    assert!(whole < sent, "{whole} answers to {sent}");
    witness.is_well(&cast).await;
    costs_little(&server);
}

/// Thousands of joins that are granted, on sockets that open all at once.
#[tokio::test]
async fn joins_by_the_thousand_cost_little() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let mut topics = Vec::new();
    for _ in 0..250 {
        let room = cast.u2.create_chat().await;
        topics
            .extend(["chat_room", "room_activity", "room_participants"].map(|kind| format!("{kind}:{room}")));
    }
    let joins = async |mut socket: Socket| {
        // A part at a time, so that the answers are read before too many wait.
        for part in topics.chunks(50) {
            for topic in part {
                socket.send_raw(&json!([topic, topic, topic, "phx_join", {}]).to_string()).await;
            }
            for topic in part {
                let answer = socket.frame().await;
                assert_eq!((&answer[1], &answer[4]["status"]), (&json!(topic), &json!("ok")));
            }
        }
        socket
    };
    let mut joining = join_all((0..300).map(|_| Socket::of(&server, &cast.u2))).await;
    let waiting = joining.split_off(8);
    let joined = join_all(joining.into_iter().map(joins)).await;
    witness.is_well(&cast).await;
    costs_little(&server);
    for mut socket in joined.into_iter().chain(waiting) {
        socket.alive().await;
    }
}

/// One user joins and leaves a room on hundreds of sockets, without end. The store is asked for each,
/// but others have their answers all the same.
#[tokio::test]
async fn a_flood_of_joins_keeps_nobody_waiting() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let topic = format!("chat_room:{}", cast.u2.create_chat().await);
    let [join, leave] =
        ["phx_join", "phx_leave"].map(|event| json!(["1", "1", topic, event, {}]).to_string());
    let mut flooding = join_all((0..300).map(|_| Socket::of(&server, &cast.u2))).await;
    let flood = async |socket: &mut Socket| loop {
        for text in [&join, &leave] {
            socket.send_raw(text).await;
        }
        // Two answers, and the end of the stay.
        for _ in 0..3 {
            socket.frame().await;
        }
    };
    let others = async {
        let people = format!("room_participants:{}", cast.r1);
        for round in 0..20 {
            let mut human = Socket::of(&server, &cast.u1).await;
            human.join_people("p", &people).await;
            witness.is_well(&cast).await;
            assert!(cast.a1.next(&cast.r1).await.is_some(), "{round}");
        }
    };
    tokio::select! {
        _ = join_all(flooding.iter_mut().map(flood)) => panic!("the flood does not end"),
        answered = timeout(Duration::from_secs(60), others) => answered.expect("answers in time"),
    }
    costs_little(&server);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let server = Server::start_with(&[("PARLANCE_SOCKET_QUEUE_BYTES", "262144")]).await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut slow = Socket::of(&server, &cast.u1).await;
    slow.join("1", &topic).await;
    let mut reader = Socket::of(&server, &cast.u1).await;
    reader.join("2", &topic).await;
    // More than the buffers of both ends and the queue can hold together.
    let text = "x".repeat(500_000);
    for _ in 0..40 {
        let id = cast.u1.sent(&cast.r1, &text, &[]).await;
        assert_eq!(reader.event("2", &topic, "message_created").await["id"], json!(id));
    }
    let mut whole = 0;
    loop {
        match slow.receive().await {
            Ok(_) => whole += 1,
            Err(Closed::Code(code)) => break assert_eq!(code, 1013),
            Err(Closed::Dropped) => break,
        }
    }
    assert!(whole < 40, "{whole}");
    assert_eq!(cast.u1.history(&cast.r1).await.len(), 40, "and nothing is lost");
}

/// A name that looks like another one, or like nothing, and a text that looks like a mention.
#[tokio::test]
async fn names_and_texts_that_deceive_are_refused_or_shown() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let refused = |answer: &e2e::Answer, place: &str| {
        assert_eq!((answer.status, answer.code()), (422, "validation_error"), "{:?}", answer.body);
        assert!(answer.body["error"]["details"].get(place).is_some(), "{:?}", answer.body);
    };
    let marker = format!("@[[{}]]", cast.a2.id);
    for name in
        ["Sys\u{200b}tem", "\u{202e}metsyS", "Ann\u{2028}Lee", "SYSTEM", marker.as_str(), "Ann\u{2066}"]
    {
        let agent = json!({"agent": {"name": name, "description": "Somebody who deceives"}});
        refused(&cast.u1.post("/agents/register", agent).await, "/agent/name");
        let profile = json!({"user": {"first_name": name}});
        let answer = cast.u1.call(reqwest::Method::PUT, "/profile", Some(profile)).await;
        assert_eq!((answer.status, answer.code()), (422, "validation_error"), "{:?}", answer.body);
        if name != "SYSTEM" {
            refused(&cast.u1.post("/chats", json!({"chat": {"title": name}})).await, "/chat/title");
        }
    }
    // An agent that is mentioned by nobody is not made to look so.
    cast.u1.sent(&cast.r1, &format!("done by {marker}"), &[&cast.a1.id]).await;
    let next = cast.a1.get(&format!("/chats/{}/messages/next", cast.r1)).await.data();
    let shown = format!("@[[{}]] done by @\\[[{}]]", cast.a1.id, cast.a2.id);
    assert_eq!(next["content"].as_str(), Some(shown.as_str()));
    assert_eq!(cast.a2.next(&cast.r1).await, None);
}

/// Which of two members counts is for no reader to guess, however deep they are.
#[tokio::test]
async fn members_that_come_twice_are_refused() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let before = cast.u1.history(&cast.r1).await.len();
    let client = reqwest::Client::new();
    let chat = &cast.r1;
    let one = &cast.a1.id;
    for (key, interface, path, body, pointer) in [
        (&cast.u1.key, "me", "messages", r#"{"content":"a","content":"b"}"#.to_owned(), "/content"),
        (
            &cast.u1.key,
            "me",
            "messages",
            format!(r#"{{"message":{{"content":"a","mentions":[{{"id":"{one}","id":"{one}"}}]}}}}"#),
            "/message/mentions/0/id",
        ),
        (
            &cast.a1.key,
            "agent",
            "events",
            r#"{"event":{"content":"a","message_type":"thought","metadata":{"x":[{"y":{"z":1,"\u007a":2}}]}}}"#
                .to_owned(),
            "/event/metadata/x/0/y/z",
        ),
    ] {
        let url = format!("http://{}/api/v1/{interface}/chats/{chat}/{path}", server.address());
        let request = client.post(url).header("x-api-key", key).header("content-type", "application/json");
        let answer = request.body(body).send().await.unwrap();
        assert_eq!(answer.status(), 422, "{pointer}");
        let told = answer.json::<Value>().await.unwrap();
        assert_eq!(told["error"]["details"][pointer], json!(["is given more than once"]), "{told}");
    }
    assert_eq!(cast.u1.history(&cast.r1).await.len(), before);
}

/// Handles cannot be tried out without end, and an agent that is not in the directory keeps its name to itself.
#[tokio::test]
async fn looking_for_agents_by_their_handles_is_bounded() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMIT_INVITATIONS", "1/20")]).await;
    let cast = Cast::on(&server).await;
    let found = cast.u1.post("/contacts/resolve", json!({"handle": "@ben/three"})).await.data();
    assert_eq!((&found["name"], &found["type"]), (&json!("ben/three"), &json!("Agent")));
    assert_eq!(found["id"], json!(""));
    let mut answers = Vec::new();
    for number in 0..60 {
        answers.push(
            cast.u1.post("/contacts/resolve", json!({"handle": format!("ben/bot-{number}")})).await.status,
        );
    }
    assert!(answers.iter().filter(|status| **status == 429).count() > 20, "{answers:?}");
    assert_eq!(cast.u1.get("/chats").await.status, 200, "nothing else is slowed");
}

/// How much more memory the server may hold half a minute after nobody's answers are unread than before, in MiB.
const KEPT_MIB: u64 = 25;

/// What the server takes of memory, in MiB.
fn resident_mib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    resident.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// So many connections from so many addresses that send `bytes` and read nothing.
async fn deaf(server: &Server, addresses: u8, connections: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for address in 1..=addresses {
        for _ in 0..connections {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::from(([127, 0, 0, address], 0))).unwrap();
            let stream = socket.connect(server.address().parse().unwrap()).await.unwrap();
            // What does not fit at once is not sent.
            let _ = stream.writable().await.map(|()| stream.try_write(bytes));
            open.push(stream);
        }
    }
    open
}

/// Many connections ask for static documents over and over and read nothing: neither what is answered nor what was
/// sent ahead takes memory, and others have their answers. With `--nocapture` the figures are printed.
#[tokio::test]
async fn answers_that_nobody_reads_take_little_memory() {
    let (addresses, connections) = if is_full() { (3, 1_900) } else { (1, 300) };
    // The target is the shipped build's.
    let longest = Duration::from_millis(if is_full() { 200 } else { 10_000 });
    // Without the limits it is the budget alone that holds.
    for limits in ["true", "false"] {
        let server = Server::start_alone(&[("PARLANCE_RATE_LIMITS", limits), ("PARLANCE_LOG", "info")]).await;
        let cast = Cast::on(&server).await;
        let before = resident_mib(&server);
        // A text that a decoder takes apart into thousands of requests, if it is given all of it.
        let tiny = "GET / HTTP/1.1\r\nhost:x\r\n\r\n".repeat(5_000);
        let mut open = Vec::new();
        for path in ["/api/v1/openapi.json", "/api/v1/docs/swagger-ui-bundle.js"] {
            let asks = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").repeat(16);
            open.push(deaf(&server, addresses, connections / 2, asks.as_bytes()).await);
        }
        open.push(deaf(&server, 1, 100, tiny.as_bytes()).await);
        let (mut most, mut times) = (0, Vec::new());
        for _ in 0..if is_full() { 500 } else { 20 } {
            let asked = Instant::now();
            assert_eq!(cast.u1.get("/chats").await.status, 200);
            times.push(asked.elapsed());
            most = most.max(resident_mib(&server));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (p99, worst) = (p99(&mut times), times.iter().max().unwrap());
        println!("limits {limits}: {before} to {most} MiB; GET p99 {p99:?}, worst {worst:?}");
        assert!(p99 < longest && worst < &Duration::from_secs(10), "p99 {p99:?}, worst {worst:?}");
        let bound = if is_full() { 150 } else { before + 50 };
        assert!(most < bound, "{before} MiB before, {most} MiB then, limits {limits}");
        drop(open);
        let ended = Instant::now();
        while resident_mib(&server) >= before + KEPT_MIB {
            assert!(
                ended.elapsed() < Duration::from_secs(30),
                "{before} MiB before, {most} MiB at most, {} MiB 30 s after",
                resident_mib(&server)
            );
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        println!("{} MiB after {:?}", resident_mib(&server), ended.elapsed());
        assert!(server.logged().lines().count() < 500, "no line for each of them");
    }
}

/// Requests that are sent ahead are answered in order, whatever their bodies look like.
#[tokio::test]
async fn requests_sent_ahead_are_answered_in_order() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let head =
        |method: &str, path: &str, rest: &str| format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{rest}\r\n");
    let key = format!("x-api-key: {}\r\ncontent-type: application/json\r\n", ann.key);
    let chats = "/api/v1/me/chats";
    let blank = "{\r\n\r\n\n\n}";
    let parts = [
        (head("GET", "/version", ""), 200),
        (head("POST", chats, &format!("{key}content-length: {}\r\n", blank.len())) + blank, 201),
        (
            head("POST", chats, &format!("{key}transfer-encoding: chunked\r\n"))
                + "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
            201,
        ),
        // Nobody reads this body; it ends where it says so all the same.
        (head("POST", chats, "transfer-encoding: chunked\r\n") + "6\r\n0\r\n\r\nX\r\n0\r\n\r\n", 401),
        (head("GET", "/nowhere", ""), 404),
        (head("DELETE", chats, &key), 405),
        (head("GET", chats, &format!("{key}connection: close\r\n")), 200),
    ];
    let all = parts.iter().map(|(text, _)| text.as_str()).collect::<String>();
    let expected = parts.iter().map(|(_, status)| status.to_string()).collect::<Vec<_>>();
    // All at once, in two parts, and a few bytes at a time.
    for size in [all.len(), all.len() / 2, 7] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut answer = Vec::new();
        for part in all.as_bytes().chunks(size) {
            stream.write_all(part).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
        read.expect("it ends").unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let got = answer.split("HTTP/1.1 ").skip(1).map(|part| part[..3].to_owned()).collect::<Vec<_>>();
        assert_eq!(got, expected, "in parts of {size}");
    }
}

/// Documents have a tag, and whoever has them is told so.
#[tokio::test]
async fn static_documents_have_a_tag() {
    let server = Server::start().await;
    let client = reqwest::Client::new();
    for path in ["/api/v1/openapi.json", "/api/v1/docs/", "/api/v1/docs/swagger-ui-bundle.js"] {
        let ask = || client.get(format!("http://{}{path}", server.address()));
        let first = ask().send().await.unwrap();
        let tag = first.headers()["etag"].to_str().unwrap().to_owned();
        assert!(first.status() == 200 && !first.bytes().await.unwrap().is_empty(), "{path}");
        for (known, status) in
            [(tag.as_str(), 304), (&format!("\"x\", W/{tag}"), 304), ("*", 304), ("\"x\"", 200)]
        {
            let answer = ask().header("if-none-match", known).send().await.unwrap();
            assert_eq!(
                (answer.status().as_u16(), answer.headers()["etag"].to_str().unwrap()),
                (status, tag.as_str()),
                "{path} {known}"
            );
            assert_eq!(answer.bytes().await.unwrap().is_empty(), status == 304, "{path} {known}");
        }
    }
}

/// Requests without a credential are counted by address; health checks are not, and callers have their own limits.
#[tokio::test]
async fn requests_without_a_credential_are_counted() {
    let server = Server::start_alone(&[("PARLANCE_RATE_LIMIT_ANONYMOUS", "1/5")]).await;
    let ann = server.user("ann");
    let status = async |path: &str| {
        reqwest::get(format!("http://{}{path}", server.address())).await.unwrap().status().as_u16()
    };
    let mut refused = 0;
    for path in ["/version", "/api/v1/openapi.json", "/api/v1/me/chats", "/api/v1/docs/", "/"].repeat(4) {
        refused += u32::from(status(path).await == 429);
    }
    assert!(refused > 5, "{refused}");
    for path in ["/health", "/ready"].repeat(10) {
        assert_eq!(status(path).await, 200, "{path}");
    }
    assert_eq!(ann.get("/chats").await.status, 200);
}

/// A head that is too long is the client's fault, and no error of the server.
#[tokio::test]
async fn faults_of_clients_are_no_errors_in_the_log() {
    let server = Server::start_with(&[("PARLANCE_LOG", "info")]).await;
    let huge = format!("GET /health HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(300_000));
    for bytes in [huge.as_str(), "no request\r\n\r\n"] {
        raw(&server, bytes.as_bytes()).await;
    }
    let logged = server.logged();
    // The database of the tests is faster than it is durable, which is an error.
    let mut errors =
        logged.lines().filter(|line| line.contains("ERROR") && !line.contains("setting=\"fsync\""));
    assert_eq!(errors.next(), None, "{logged}");
}

/// Behind the closing handshake of a socket nothing keeps its connection.
#[tokio::test]
async fn a_closed_socket_ends_its_connection_at_once() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "GET /api/v1/socket/websocket?vsn=2.0.0&api_key={} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\n\
         connection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        ann.key
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let got = stream.read(&mut answer).await.unwrap();
    assert!(answer[..got].starts_with(b"HTTP/1.1 101"));
    // Close with 1000, masked with zeros.
    stream.write_all(&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]).await.unwrap();
    let closing = Instant::now();
    let mut rest = Vec::new();
    timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await.expect("it ends").unwrap();
    assert!(rest.starts_with(&[0x88, 0x02, 0x03, 0xe8]), "{rest:?}");
    assert!(closing.elapsed() < Duration::from_millis(700), "{:?}", closing.elapsed());
}
