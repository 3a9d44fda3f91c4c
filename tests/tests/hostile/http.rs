//! Broken, unfinished, and pipelined requests, and requests without a credential.

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Server, pace};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::{Witness, raw};

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
        // This body is not read, but it still ends where its framing says.
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
            pace(Duration::from_millis(1)).await;
        }
        let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
        read.expect("it ends").unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let got = answer.split("HTTP/1.1 ").skip(1).map(|part| part[..3].to_owned()).collect::<Vec<_>>();
        assert_eq!(got, expected, "in parts of {size}");
    }
}

/// Documents have an entity tag, and a client that has the current version gets 304.
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
