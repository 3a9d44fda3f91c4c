//! Broken frames, floods, and sockets that do not read.

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Closed, Server, Socket};
use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};

use crate::Witness;

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

/// The maximum cost; the shipped program needs less than half of it.
fn costs_little(server: &Server) {
    let kib = server.resident_bytes() / 1024;
    assert!(kib < 128 * 1024, "{kib} KiB");
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

/// Behind the closing handshake of a socket nothing keeps its connection, not even for the second that the data of a
/// refused client is read. The fastest of several counts: a machine under load delays some of them.
#[tokio::test]
async fn a_closed_socket_ends_its_connection_at_once() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let head = format!(
            "GET /api/v1/socket/websocket?vsn=2.0.0&api_key={} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\n\
             connection: upgrade\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
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
        fastest = fastest.min(closing.elapsed());
    }
    assert!(fastest < Duration::from_millis(700), "{fastest:?}");
}
