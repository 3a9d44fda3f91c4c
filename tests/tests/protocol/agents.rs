//! Events about agents for their owners.

use e2e::cast::Cast;
use e2e::{Server, Socket};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn an_owner_hears_what_becomes_of_the_own_agents() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (own, others) = (format!("user_agents:{}", cast.u1.id), format!("user_agents:{}", cast.u2.id));
    let mut owner = Socket::of(&server, &cast.u1).await;
    let mut stranger = Socket::of(&server, &cast.u2).await;
    owner.join("1", &own).await;
    stranger.join("1", &others).await;

    let agent = json!({ "agent": { "name": "Fresh", "description": "a fresh one" } });
    let registered = cast.u1.post("/agents/register", agent).await.data();
    let heard = owner.event("1", &own, "agent_created").await;
    assert_eq!(heard["id"], registered["agent"]["id"]);
    assert!(!heard.to_string().contains("thnv_a_"), "its key is nobody's business: {heard}");
    let platform = cast.u1.post("/agents", json!({ "agent": { "name": "Here" } })).await.data();
    assert_eq!(owner.event("1", &own, "agent_created").await, platform);

    let path = format!("/agents/{}", registered["agent"]["id"].as_str().unwrap());
    let change = json!({ "agent": { "bio": "born today", "tags": ["a"] } });
    let changed = cast.u1.call(Method::PATCH, &path, Some(change)).await.data();
    let heard = owner.event("1", &own, "agent_updated").await;
    assert_eq!((&heard, &heard["bio"]), (&changed, &json!("born today")));
    assert_eq!(cast.u1.delete(&path).await.status, 200);
    assert_eq!(owner.event("1", &own, "agent_deleted").await["id"], changed["id"]);
    stranger.silent().await;
    stranger.alive().await;
}
