//! Who may open a socket, and as whom.

use e2e::cast::Cast;
use e2e::{Api, Server, Socket};

/// The socket speaks for this agent: its topics open, its owner's do not.
async fn is_agent(socket: &mut Socket, agent: &Api, owner: &Api) {
    socket.join("1", &format!("agent_rooms:{}", agent.id)).await;
    socket.refused("2", &format!("user_rooms:{}", owner.id), "unauthorized").await;
}

/// The socket speaks for this user: its topics open, its agent's do not.
async fn is_user(socket: &mut Socket, user: &Api, agent: &Api) {
    socket.join("1", &format!("user_rooms:{}", user.id)).await;
    socket.refused("2", &format!("agent_rooms:{}", agent.id), "unauthorized").await;
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
async fn case_03_04_06_a_user_key_alone_and_as_an_agent() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (a1, u1) = (&cast.a1, &cast.u1);
    for query in ["", "&agent_id=undefined", "&agent_id=null", "&agent_id="] {
        let query = format!("api_key={}&vsn=2.0.0{query}", u1.key);
        let mut socket = Socket::connect(&server, &query, &[]).await.unwrap();
        is_user(&mut socket, u1, a1).await;
    }
    let query = format!("api_key={}&agent_id={}&vsn=2.0.0", u1.key, a1.id);
    let mut socket = Socket::connect(&server, &query, &[]).await.unwrap();
    is_agent(&mut socket, a1, u1).await;
}

#[tokio::test]
async fn case_05_07_who_may_not_connect_gets_403() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (u1, a1) = (&cast.u1.key, &cast.a1.key);
    for query in [
        "vsn=2.0.0".to_owned(),
        "vsn=2.0.0&api_key=thnv_a_wrong".to_owned(),
        format!("vsn=2.0.0&api_key={u1}&agent_id={}", cast.a3.id),
        format!("vsn=2.0.0&api_key={a1}&agent_id={}", cast.a2.id),
        format!("vsn=2.0.0&api_key={a1}&agent_id=not-an-id"),
    ] {
        assert_eq!(Socket::connect(&server, &query, &[]).await.err(), Some(403), "{query}");
    }
    let wrong = Socket::connect(&server, "vsn=2.0.0", &[("x-api-key", "thnv_a_wrong")]).await;
    assert_eq!(wrong.err(), Some(403));
    let wrong = Socket::connect(&server, "vsn=2.0.0", &[("x-auth-token", "wrong"), ("x-api-key", a1)]).await;
    assert_eq!(wrong.err(), Some(403), "a token wins over a key");
}

#[tokio::test]
async fn case_09_versions() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let key = [("x-api-key", cast.a1.key.as_str())];
    for vsn in ["vsn=3.0.0", "vsn=2.0", "vsn="] {
        assert_eq!(Socket::connect(&server, vsn, &key).await.err(), Some(403), "{vsn}");
    }
    let mut socket = Socket::connect(&server, "", &key).await.unwrap();
    socket.send_raw(r#"["1","1","phoenix","heartbeat",{}]"#).await;
    assert_eq!(
        socket.closed().await,
        e2e::Closed::Code(1011),
        "an array where the older version was asked for"
    );
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

#[tokio::test]
async fn refusals_tell_their_code() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let _first = Socket::of(&server, &cast.a1).await;
    for (query, status, code) in [
        ("on_conflict=reject", 409, "connection_conflict"),
        ("on_conflict=banana", 400, "invalid_on_conflict"),
    ] {
        let url = format!("http://{}/api/v1/socket/websocket?vsn=2.0.0&{query}", server.address());
        let answer = reqwest::Client::new()
            .get(url)
            .header("x-api-key", &cast.a1.key)
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), status);
        let body: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(body["error"]["code"], code, "{body}");
    }
}
