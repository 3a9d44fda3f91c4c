//! Defense against a hostile network, over real connections: slow clients, too many of them, forged addresses, and
//! pages of other origins.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use e2e::{Server, Socket, pace_thread};
use reqwest::header::HeaderMap;
use reqwest::{Method, Response, StatusCode};
use tokio::time::Instant;

/// A connection without anything said.
fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Everything until the server closes the connection, and how long that took.
fn until_closed(stream: &mut TcpStream) -> (String, Duration) {
    let started = Instant::now();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the server does not close"),
    }
    (String::from_utf8_lossy(&answer).into_owned(), started.elapsed())
}

/// One request on a connection that stays open; its answer's head.
fn ask(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while !answer.ends_with(b"}") {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&part[..count]),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                break;
            }
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_client_that_never_ends_its_headers_is_closed() {
    let settings = [("PARLANCE_HEADER_TIMEOUT_MS", "1000"), ("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "1000")];
    let server = Server::start_with(&settings).await;
    let bound = Duration::from_secs(15);
    let mut slow = connect(&server);
    let mut drops = slow.try_clone().unwrap();
    // Byte by byte, so that the connection is never without news.
    let dropping = std::thread::spawn(move || {
        for byte in b"GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ".iter().chain(std::iter::repeat(&b'a')) {
            if drops.write_all(&[*byte]).is_err() {
                return;
            }
            pace_thread(Duration::from_millis(50));
        }
    });
    let (answer, took) = until_closed(&mut slow);
    assert!(took < bound, "{took:?}");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    drop(slow);
    dropping.join().unwrap();

    let mut silent = connect(&server);
    assert!(until_closed(&mut silent).1 < bound, "who says nothing at all");
    let mut idle = connect(&server);
    assert!(ask(&mut idle).starts_with("HTTP/1.1 200"));
    assert!(until_closed(&mut idle).1 < bound, "who says nothing after an answer");
}

/// Sends this again and again, a little at a time, until the other side has had enough.
fn drip(stream: &TcpStream, bytes: &'static [u8]) -> std::thread::JoinHandle<()> {
    let mut stream = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        for byte in bytes.iter().cycle() {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            pace_thread(Duration::from_millis(50));
        }
    })
}

/// The head of each request has its time, not that of the first one only.
#[tokio::test]
async fn a_client_that_never_ends_its_second_headers_is_closed() {
    let settings = [("PARLANCE_HEADER_TIMEOUT_MS", "1000"), ("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "1000")];
    let server = Server::start_with(&settings).await;
    let bound = Duration::from_secs(15);
    let mut second = connect(&server);
    assert!(ask(&mut second).starts_with("HTTP/1.1 200"));
    second.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ").unwrap();
    let dripping = drip(&second, b"a");
    let (answer, took) = until_closed(&mut second);
    assert!(took < bound && answer.is_empty(), "{took:?} {answer}");
    drop(second);
    dripping.join().unwrap();

    // The second request begins together with the first one.
    for more in [None, Some(b"a")] {
        let mut early = connect(&server);
        early.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\nGET /he").unwrap();
        let dripping = more.map(|more| drip(&early, more));
        let (answer, took) = until_closed(&mut early);
        assert!(took < bound && answer.starts_with("HTTP/1.1 200"), "{took:?} {answer}");
        drop(early);
        dripping.map(std::thread::JoinHandle::join).transpose().unwrap();
    }
}

/// A refusal that comes early is not lost to a client that is still sending.
#[tokio::test]
async fn who_is_refused_while_sending_hears_it() {
    let server = Server::start().await;
    let body = vec![b'a'; 1024];
    for _ in 0..5 {
        let mut stream = connect(&server);
        let head = "POST /api/v1/me/chats HTTP/1.1\r\nhost: x\r\nx-api-key: wrong\r\ncontent-length: 1048576\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        // Long enough to be refused in the middle of it.
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(200) {
            assert!(stream.write_all(&body).is_ok(), "it is cut off after {:?}", started.elapsed());
            pace_thread(Duration::from_millis(2));
        }
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&answer));
    }
}

/// A client that reads large responses slowly is not cut off: the timeout is for the headers, not for the response.
#[tokio::test]
async fn a_client_that_reads_slowly_gets_all_of_it() {
    const ANSWERS: usize = 24;
    let settings = [("PARLANCE_HEADER_TIMEOUT_MS", "1000"), ("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "1000")];
    let server = Server::start_with(&settings).await;
    let ask = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
    let last = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let mut client = connect(&server);
    client.write_all((ask.repeat(ANSWERS - 1) + last).as_bytes()).unwrap();
    let started = Instant::now();
    let (mut answer, mut part) = (Vec::new(), vec![0; 128 * 1024]);
    loop {
        match client.read(&mut part).unwrap() {
            0 => break,
            count => answer.extend_from_slice(&part[..count]),
        }
        // More than three times as long as both time-outs together.
        if started.elapsed() < Duration::from_secs(7) {
            pace_thread(Duration::from_millis(200));
        }
    }
    let whole = String::from_utf8(answer).unwrap();
    assert_eq!(whole.matches("HTTP/1.1 200").count(), ANSWERS);
    assert!(
        whole.trim_end().ends_with('}') && started.elapsed() > Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
}

/// The time-outs are those of requests: a socket lives on.
#[tokio::test]
async fn a_socket_outlives_the_time_outs_of_requests() {
    let settings = [("PARLANCE_HEADER_TIMEOUT_MS", "1000"), ("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "1000")];
    let server = Server::start_with(&settings).await;
    let ann = server.user("ann");
    let mut socket = Socket::of(&server, &ann).await;
    let mut idle = connect(&server);
    assert!(ask(&mut idle).starts_with("HTTP/1.1 200"));
    // Twice as long as any connection without a request may stay.
    for _ in 0..2 {
        until_closed(&mut connect(&server));
    }
    socket.alive().await;
}

#[tokio::test]
async fn an_address_may_have_so_many_connections() {
    // Those that are held must not end by themselves.
    let settings =
        [("PARLANCE_MAX_CONNECTIONS_PER_ADDRESS", "3"), ("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "600000")];
    let server = Server::start_with(&settings).await;
    // What the start of the test used may not be gone yet.
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut held = Vec::new();
    while held.len() < 3 {
        // So that the client of the start gets to close its own.
        tokio::task::yield_now().await;
        let mut one = connect(&server);
        if ask(&mut one).starts_with("HTTP/1.1 200") {
            held.push(one);
        }
        assert!(Instant::now() < deadline, "three may connect");
    }
    for _ in 0..5 {
        let answer = ask_refused(&server);
        let (headers, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let is_told = headers.starts_with("HTTP/1.1 429 Too Many Requests\r\n")
            && headers.contains("\r\nretry-after: 5")
            && headers.contains("\r\ncontent-type: application/json")
            && body.contains("\"code\":\"rate_limited\"");
        assert!(answer.is_empty() || is_told, "{answer}");
    }
    for one in &mut held {
        assert!(ask(one).starts_with("HTTP/1.1 200"), "who was there first goes on");
    }
    held.pop();
    while !ask_refused(&server).starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < deadline, "a place that was given up is free");
    }
}

/// Asks on a connection that may be refused at any moment.
fn ask_refused(server: &Server) -> String {
    let mut stream = connect(server);
    // It may be closed already.
    let _ = stream.write_all(b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    until_closed(&mut stream).0
}

#[tokio::test]
async fn a_trusted_proxy_is_not_counted() {
    let settings =
        [("PARLANCE_MAX_CONNECTIONS_PER_ADDRESS", "1"), ("PARLANCE_TRUSTED_PROXIES", "127.0.0.0/8")];
    let server = Server::start_with(&settings).await;
    let mut many = (0..10).map(|_| connect(&server)).collect::<Vec<_>>();
    assert!(many.iter_mut().all(|one| ask(one).starts_with("HTTP/1.1 200")));
}

/// A request with an invalid key and a forwarded address.
async fn guess(server: &Server, number: u32, from: &str) -> StatusCode {
    let address = format!("http://{}/api/v1/me/chats", server.address());
    let request = reqwest::Client::new().get(address).header("x-forwarded-for", from);
    request.header("x-api-key", format!("thnv_u_wrong{number}")).send().await.unwrap().status()
}

#[tokio::test]
async fn forwarded_addresses_are_believed_from_trusted_proxies_only() {
    let limit = ("PARLANCE_RATE_LIMIT_FAILURES", "1/3");
    let trusting = Server::start_with(&[limit, ("PARLANCE_TRUSTED_PROXIES", "127.0.0.1")]).await;
    let mut refused = 0;
    for number in 0..20 {
        refused += u32::from(guess(&trusting, number, "203.0.113.7").await == 429);
    }
    assert!(refused > 0, "who guesses is shut out");
    assert_eq!(guess(&trusting, 100, "203.0.113.8").await, 401, "and nobody else is");
    // A guess is admitted again each second.
    let mut refused = 0;
    for number in 200..220 {
        let written = format!("203.0.113.{number}, 203.0.113.7");
        refused += u32::from(guess(&trusting, number, &written).await == 429);
    }
    assert!(refused > 0, "what a client wrote is not believed");

    let wary = Server::start_with(&[limit]).await;
    let mut refused = 0;
    for number in 0..20 {
        refused += u32::from(guess(&wary, number, &format!("203.0.113.{number}")).await == 429);
    }
    assert!(refused > 0, "an invented address is no way out");
}

async fn answer(server: &Server, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = reqwest::Client::new().request(method, format!("http://{}{path}", server.address()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn every_answer_tells_browsers_that_it_is_data() {
    let server = Server::start().await;
    for path in ["/health", "/nowhere", "/api/v1/me/chats", "/api/v1/docs/", "/api/v1/openapi.json"] {
        let answer = answer(&server, Method::GET, path, &[]).await;
        let headers = answer.headers();
        assert_eq!(text(headers, "x-content-type-options"), "nosniff", "{path}");
        assert_eq!(text(headers, "x-frame-options"), "DENY", "{path}");
        assert_eq!(text(headers, "referrer-policy"), "no-referrer", "{path}");
        assert!(text(headers, "content-security-policy").contains("frame-ancestors 'none'"), "{path}");
        assert!(headers.contains_key("cache-control") && headers.contains_key("x-request-id"), "{path}");
        assert!(!headers.contains_key("server"), "{path}");
        assert_eq!(headers.get_all("content-security-policy").iter().count(), 1, "{path}");
    }
}

const PAGE: &str = "https://app.example.org";

const PREFLIGHT: [(&str, &str); 3] = [
    ("origin", PAGE),
    ("access-control-request-method", "POST"),
    ("access-control-request-headers", "x-api-key"),
];

/// The headers of an upload beyond those of a simple request.
const UPLOAD: &str = "content-type,x-api-key,x-file-name,x-file-sha256";

#[tokio::test]
async fn pages_of_other_origins_read_nothing_unless_they_are_named() {
    let closed = Server::start().await;
    let open =
        Server::start_with(&[("PARLANCE_CORS_ORIGINS", &format!("{PAGE},https://b.example.org"))]).await;
    let allowed = |answer: &Response| text(answer.headers(), "access-control-allow-origin").to_owned();
    let path = "/api/v1/me/chats";
    assert_eq!(allowed(&answer(&closed, Method::GET, path, &[("origin", PAGE)]).await), "");
    let preflight = answer(&closed, Method::OPTIONS, path, &PREFLIGHT).await;
    assert!(preflight.status().is_client_error() && allowed(&preflight).is_empty());

    let preflight = answer(&open, Method::OPTIONS, path, &PREFLIGHT).await;
    assert_eq!((preflight.status().as_u16(), allowed(&preflight).as_str()), (204, PAGE));
    assert!(text(preflight.headers(), "access-control-allow-headers").contains("x-api-key"));
    assert!(text(preflight.headers(), "access-control-allow-methods").contains("POST"));
    assert!(!preflight.headers().contains_key("access-control-allow-credentials"));
    let upload = [
        ("origin", PAGE),
        ("access-control-request-method", "PUT"),
        ("access-control-request-headers", UPLOAD),
    ];
    let preflight = answer(&open, Method::OPTIONS, &format!("{path}/1/files"), &upload).await;
    assert_eq!((preflight.status().as_u16(), allowed(&preflight).as_str()), (204, PAGE));
    assert!(text(preflight.headers(), "access-control-allow-methods").contains("PUT"));
    let headers = text(preflight.headers(), "access-control-allow-headers").split(", ").collect::<Vec<_>>();
    assert!(UPLOAD.split(',').all(|name| headers.contains(&name)), "{headers:?}");
    // Refusals are to be read as well, else a page cannot say what is wrong.
    for (path, status) in [("/health", 200), (path, 401), ("/nowhere", 404)] {
        let answer = answer(&open, Method::GET, path, &[("origin", PAGE)]).await;
        assert_eq!((answer.status().as_u16(), allowed(&answer).as_str()), (status, PAGE), "{path}");
        let readable = text(answer.headers(), "access-control-expose-headers");
        assert!(readable.contains("x-request-id") && readable.contains("content-disposition"));
        assert!(text(answer.headers(), "vary").contains("origin"));
    }
    for other in ["https://evil.example.org", "https://app.example.org.evil.org", "null", ""] {
        let answer = answer(&open, Method::GET, "/health", &[("origin", other)]).await;
        assert_eq!(allowed(&answer), "", "{other}");
    }
    let all = Server::start_with(&[("PARLANCE_CORS_ORIGINS", "*")]).await;
    assert_eq!(allowed(&answer(&all, Method::GET, "/health", &[("origin", PAGE)]).await), PAGE);
}
