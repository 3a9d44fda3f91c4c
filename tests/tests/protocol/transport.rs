//! Silent clients, and a server that stops.

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Closed, Server, Socket};
use tokio::time::{Instant, interval};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn case_14_silence_ends_a_socket_and_any_frame_keeps_it() {
    let limit = Duration::from_secs(6);
    let server = Server::start_with(&[("PARLANCE_SOCKET_IDLE_TIMEOUT_MS", "6000")]).await;
    let cast = Cast::on(&server).await;
    let mut silent = Socket::of(&server, &cast.a1).await;
    let opened = Instant::now();
    let silent = tokio::spawn(async move { (silent.closed().await, opened.elapsed()) });
    let (mut beating, mut pinging) =
        (Socket::of(&server, &cast.u1).await, Socket::of(&server, &cast.u1).await);
    let until = Instant::now() + limit * 3 / 2;
    let mut beats = interval(limit / 3);
    while Instant::now() < until {
        beats.tick().await;
        beating.alive().await;
        pinging.send_message(Message::Ping("x".into())).await.unwrap();
        assert_eq!(pinging.receive().await, Ok(Message::Pong("x".into())));
    }
    let (closed, after) = silent.await.unwrap();
    assert_eq!(closed, Closed::Code(1002));
    assert!(after + Duration::from_millis(50) >= limit, "closed too early: {after:?}");
    beating.alive().await;
    pinging.alive().await;
}

#[tokio::test]
async fn case_16_a_stopping_server_closes_every_socket_with_1012() {
    // One of several servers would drain for five seconds by default.
    let mut server = Server::start_alone(&[("PARLANCE_DRAIN_MS", "0")]).await;
    let cast = Cast::on(&server).await;
    let mut sockets = vec![Socket::of(&server, &cast.a1).await, Socket::of(&server, &cast.u1).await];
    let took = server.terminate().await;
    for socket in &mut sockets {
        assert_eq!(socket.closed().await, Closed::Code(1012));
    }
    assert!(took < Duration::from_secs(15), "{took:?}");
}
