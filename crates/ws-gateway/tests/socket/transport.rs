//! The WebSocket protocol below the frames, and how sockets are closed.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;
use ws_gateway::HubConfig;

use crate::client::Client;
use crate::harness::Bench;
use crate::raw::{Raw, header};

/// First bytes of frames, each the last of its message unless it says otherwise.
const TEXT: u8 = 0x81;
const TEXT_BEGINS: u8 = 0x01;
const CONTINUES: u8 = 0x00;
const ENDS: u8 = 0x80;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// What is sent, by name, and the code that answers it.
type Case<'a> = (&'a str, Vec<(u8, &'a [u8])>, u16);

/// A heartbeat of exactly so many bytes.
fn heartbeat(bytes: usize) -> String {
    let (before, after) = (r#"[null,"1","phoenix","heartbeat",{"x":""#, r#""}]"#);
    format!("{before}{}{after}", "x".repeat(bytes - before.len() - after.len()))
}

#[actix_web::test]
async fn a_broken_connection_ends_alone_and_with_its_code() {
    let bench = Bench::new().await;
    let mut witness = bench.socket(&bench.ann.key).await;
    let large = vec![b'x'; 40 * 1024];
    let over = heartbeat(64 * 1024 + 1).into_bytes();
    let fragments = [vec![(TEXT_BEGINS, &b""[..])], vec![(CONTINUES, &b"x"[..]); 64]].concat();
    let cases: [Case; 13] = [
        ("garbage", vec![(TEXT, b"hello")], 1003),
        ("an object", vec![(TEXT, b"{}")], 1003),
        ("binary", vec![(BINARY, b"\0\x01")], 1003),
        ("not UTF-8", vec![(TEXT, b"\xff\xfe")], 1007),
        ("not UTF-8 in parts", vec![(TEXT_BEGINS, b"\xff"), (ENDS, b"\xfe")], 1007),
        ("too large", vec![(TEXT, &over)], 1009),
        ("too large in parts", vec![(TEXT_BEGINS, &large), (ENDS, &large)], 1009),
        ("too many parts", fragments, 1009),
        ("a part of nothing", vec![(CONTINUES, b"x")], 1002),
        ("reserved bits", vec![(TEXT | 0x40, b"x")], 1002),
        ("an unknown kind", vec![(0x83, b"x")], 1002),
        ("a long Ping", vec![(PING, &[0; 126])], 1002),
        ("a Close without sense", vec![(CLOSE, &[0, 1])], 1002),
    ];
    let (address, key) = (bench.address, bench.ann.key.as_str());
    join_all(cases.into_iter().map(|(name, frames, code)| async move {
        let mut raw = Raw::open(address, key).await;
        for (first, payload) in frames {
            raw.write(first, payload).await;
        }
        assert_eq!(raw.closed().await, code, "{name}");
    }))
    .await;
    witness.nothing_came().await;
    bench.until_open(1).await;
    bench.end().await;
}

#[actix_web::test]
async fn what_is_announced_too_large_is_refused_before_it_arrives() {
    let bench = Bench::new().await;
    let (address, key) = (bench.address, bench.ann.key.as_str());
    let lengths = [64 * 1024 + 1, 1 << 40, i64::MAX as u64, u64::MAX];
    join_all(lengths.map(|length| async move {
        let mut raw = Raw::open(address, key).await;
        raw.0.write_all(&header(TEXT, length)).await.unwrap();
        assert_eq!(raw.closed().await, 1009, "{length}");
    }))
    .await;
    bench.end().await;
}

#[actix_web::test]
async fn the_largest_message_is_read_whole_in_parts_and_in_pieces() {
    let bench = Bench::new().await;
    let text = heartbeat(64 * 1024);
    let mut socket = bench.socket(&bench.ann.key).await;
    socket.send(Message::text(text.clone())).await;
    assert_eq!(socket.frame().await[1], "1");

    let mut raw = Raw::open(bench.address, &bench.ann.key).await;
    let (first, second) = text.as_bytes().split_at(30_000);
    raw.write(TEXT_BEGINS, first).await;
    raw.write(PING, b"between").await;
    raw.write(ENDS, second).await;
    // A head that arrives byte by byte.
    let mut slow = header(TEXT, 300);
    slow.extend_from_slice(heartbeat(300).as_bytes());
    for byte in slow {
        raw.0.write_all(&[byte]).await.unwrap();
        raw.0.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    raw.write(CLOSE, &[]).await;
    let sent = raw.rest().await;
    let kinds = sent.iter().map(|(first, _)| *first).collect::<Vec<_>>();
    assert_eq!(kinds, [PONG, TEXT, TEXT, CLOSE]);
    assert_eq!(sent[0].1, b"between");
    bench.end().await;
}

#[actix_web::test]
async fn a_close_is_answered_in_kind() {
    let bench = Bench::new().await;
    for (payload, code) in [
        (&[][..], 1000),
        (&[0x03, 0xe9], 1001),
        (&[0x0f, 0xa0, b'b', b'y', b'e'], 4000),
        // No Close may carry 999, 1005 or 5000.
        (&[0x03, 0xe7], 1002),
        (&[0x03, 0xed], 1002),
        (&[0x13, 0x88], 1002),
    ] {
        let mut raw = Raw::open(bench.address, &bench.ann.key).await;
        raw.write(CLOSE, payload).await;
        assert_eq!(raw.closed().await, code);
    }
    bench.until_open(0).await;
    bench.end().await;
}

/// Nothing of it depends on the client: it neither answers the Close nor hangs up itself.
#[actix_web::test]
async fn who_says_nothing_for_too_long_is_hung_up_on() {
    let idle_timeout = Duration::from_millis(100);
    let bench = Bench::with(HubConfig { idle_timeout, ..HubConfig::default() }).await;
    let mut raw = Raw::open(bench.address, &bench.ann.key).await;
    assert_eq!(raw.closed().await, 1002);
    bench.until_open(0).await;
    bench.end().await;
}

#[actix_web::test]
async fn a_lost_connection_frees_its_place() {
    let bench = Bench::new().await;
    let topic = bench.chat_topic();
    let mut dropped = bench.socket(&bench.one.key).await;
    dropped.join("1", &topic).await;
    drop(dropped);
    let mut half_closed = Raw::open(bench.address, &bench.ann.key).await;
    half_closed.0.shutdown().await.unwrap();
    half_closed.rest().await;
    bench.until_open(0).await;
    let query = "vsn=2.0.0&on_conflict=reject";
    Client::open(bench.address, query, &[("x-api-key", &bench.one.key)]).await.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn the_older_version_speaks_objects_and_refuses_arrays() {
    let bench = Bench::new().await;
    for query in ["", "vsn=1.0.0"] {
        let headers = [("x-api-key", bench.ann.key.as_str())];
        let mut socket = Client::open(bench.address, query, &headers).await;
        let topic = format!("user_rooms:{}", bench.ann.id);
        socket
            .say(&serde_json::json!({ "topic": topic, "event": "phx_join", "payload": {}, "ref": "1" }))
            .await;
        let expected = serde_json::json!({ "topic": topic, "event": "phx_reply", "ref": "1",
            "payload": { "status": "ok", "response": {} } });
        assert_eq!(socket.frame().await, expected);
        socket.say(&serde_json::json!(["1", "1", topic, "phx_join", {}])).await;
        assert_eq!(socket.closed().await, 1011);
    }
    bench.end().await;
}
