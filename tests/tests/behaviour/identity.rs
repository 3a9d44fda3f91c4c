//! Keys, handles, deletion of agents, and who is whose peer.

use e2e::cast::Cast;
use e2e::{Closed, Server, Socket};
use serde_json::json;

use crate::{column, mark, refusal, room};

#[tokio::test]
async fn case_1_each_interface_has_its_callers() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let as_user = cast.a1.at(&server, "/api/v1/me");
    for path in ["/profile", "/agents", "/peers", "/chats", "/nowhere"] {
        assert_eq!(refusal(&as_user.get(path).await), (403, "forbidden"), "{path}");
        assert_eq!(refusal(&as_user.with_key("").get(path).await), (401, "unauthorized"), "{path}");
    }
    let as_agent = cast.u1.at(&server, "/api/v1/agent");
    assert_eq!(refusal(&as_agent.get("/me").await), (403, "forbidden"));
    assert_eq!(refusal(&as_agent.with_key("").get("/me").await), (401, "unauthorized"));
}

#[tokio::test]
async fn case_2_a_key_is_shown_once_and_dies_with_its_agent() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let listed = cast.u1.get("/agents").await.data().to_string();
    assert!(!listed.contains(&cast.a1.key) && !listed.contains("api_key"));
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &format!("agent_rooms:{}", cast.a1.id)).await;
    let gone = cast.u1.delete(&format!("/agents/{}?force=true", cast.a1.id)).await;
    assert_eq!(gone.status, 200);
    assert_eq!(refusal(&cast.a1.get("/me").await), (401, "unauthorized"));
    assert_eq!(socket.closed().await, Closed::Code(1008), "its socket ends");
    assert_eq!(Socket::connect(&server, "vsn=2.0.0", &[("x-api-key", &cast.a1.key)]).await.err(), Some(403));
}

#[tokio::test]
async fn case_3_equal_slugs_get_distinct_handles() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let (one, two) = (ann.register(&server, "Weather Bot").await, ann.register(&server, "weather-bot").await);
    let handles = [one.get("/me").await.data(), two.get("/me").await.data()].map(|me| me["handle"].clone());
    assert_eq!(handles, [json!("ann/weather-bot"), json!("ann/weather-bot-2")]);
    let chat = room(&ann, &[&one, &two]).await;
    for handle in ["@ANN/Weather-Bot-2", "ann/weather-bot-2", " @ann/WEATHER-BOT-2 "] {
        let sent = crate::say(&ann, &chat, "hello", json!([{"handle": handle}])).await.data();
        assert_eq!(sent["recipients"][0]["id"], json!(two.id), "{handle}");
    }
}

#[tokio::test]
async fn case_4_an_agent_with_history_goes_by_force_and_its_messages_stay() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    cast.a1.sent(&cast.r1, "I was here", &[&cast.u1.id]).await;
    let path = format!("/agents/{}", cast.a1.id);
    assert_eq!(refusal(&cast.u1.delete(&path).await), (422, "execution_history_exists"));
    let gone = cast.u1.delete(&format!("{path}?force=true")).await.data();
    assert_eq!(gone["executions_deleted"], json!(1));
    assert_eq!(refusal(&cast.u1.get(&path).await), (404, "not_found"));
    let history = cast.u1.history(&cast.r1).await;
    assert_eq!((history.len(), &history[0]["sender_name"]), (1, &json!("One")));
}

#[tokio::test]
async fn case_5_peers_are_owner_siblings_and_global_agents() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let globe = cast.u2.register(&server, "Globe").await;
    mark(&server, "ben/globe", "--global");
    let peers = cast.a1.get("/peers").await;
    assert_eq!(column(peers.clone(), "id"), [cast.u1.id.clone(), cast.a2.id.clone(), globe.id.clone()]);
    assert_eq!(column(peers.clone(), "type"), ["User", "Agent", "Agent"]);
    assert_eq!(column(peers, "source"), ["registry", "registry", "registry"]);
    // A stranger can be found by nobody, and added by nobody.
    assert_eq!(refusal(&cast.a1.add(&cast.r1, &cast.a3.id).await), (404, "not_found"));
    assert_eq!(cast.a1.add(&cast.r1, &globe.id).await.status, 201);
    let left = cast.a1.get(&format!("/peers?not_in_chat={}", cast.r1)).await;
    assert_eq!(column(left, "id"), Vec::<String>::new());
    mark(&server, "ben/globe", "--global=false");
    assert_eq!(column(cast.a1.get("/peers").await, "id").len(), 2);
}
