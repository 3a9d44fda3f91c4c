//! Who may open a socket, and as whom.

use e2e::cast::Cast;
use e2e::{Api, Server, Socket};

/// The socket speaks for this agent: its topics open, its owner's do not.
async fn is_agent(socket: &mut Socket, agent: &Api, owner: &Api) {
    socket.join("1", &format!("agent_rooms:{}", agent.id)).await;
    socket.refused("2", &format!("user_rooms:{}", owner.id), "unauthorized").await;
}

#[tokio::test]
async fn case_01_02_08_an_agent_key_in_the_header_or_the_query() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (a1, u1) = (&cast.a1, &cast.u1);
    let query = format!("vsn=2.0.0&agent_id={}", a1.id);
    let mut socket = Socket::connect(&server, &query, &[("x-api-key", &a1.key)]).await.unwrap();
    is_agent(&mut socket, a1, u1).await;

    let query = format!("api_key={}&vsn=2.0.0", a1.key);
    let mut socket = Socket::connect(&server, &query, &[]).await.unwrap();
    is_agent(&mut socket, a1, u1).await;

    let query = "api_key=garbage&vsn=2.0.0";
    let mut socket = Socket::connect(&server, query, &[("x-api-key", &a1.key)]).await.unwrap();
    is_agent(&mut socket, a1, u1).await;
}

#[tokio::test]
async fn case_10_a_request_without_an_upgrade_is_400() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let answer = cast.a1.get("/../socket/websocket?vsn=2.0.0").await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.code(), "bad_request");
}

#[tokio::test]
async fn case_65_66_67_68_one_socket_for_an_agent_many_for_a_user() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let key = [("x-api-key", cast.a1.key.as_str())];
    let rejecting = "vsn=2.0.0&on_conflict=reject";
    let mut first = Socket::connect(&server, rejecting, &key).await.unwrap();
    first.join("1", &format!("agent_control:{}", cast.a1.id)).await;

    let banana = Socket::connect(&server, "vsn=2.0.0&on_conflict=banana", &key).await;
    assert_eq!(banana.err(), Some(400));
    assert_eq!(Socket::connect(&server, rejecting, &key).await.err(), Some(409));
    first.alive().await;

    first.send_message(tokio_tungstenite::tungstenite::Message::Close(None)).await.unwrap();
    first.closed().await;
    let mut second = Socket::connect(&server, rejecting, &key).await.expect("the place is free again");
    second.alive().await;

    let mut sockets = Vec::new();
    for _ in 0..3 {
        sockets.push(Socket::of(&server, &cast.u1).await);
    }
    for socket in &mut sockets {
        socket.alive().await;
    }
}
