//! The credentials of a socket.

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
    let message = "This path accepts only WebSocket connections. Connect with a Phoenix client.";
    assert_eq!(answer.body["error"]["message"], message);
}

#[tokio::test]
async fn case_66_an_unknown_conflict_rule_is_400() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let key = [("x-api-key", ann.key.as_str())];
    let banana = Socket::connect(&server, "vsn=2.0.0&on_conflict=banana", &key).await;
    assert_eq!(banana.err(), Some(400));
}
