//! Peers.

use e2e::Server;
use e2e::cast::Cast;

use crate::{column, refusal};

/// Sets what the operator may say of an agent.
fn mark(server: &Server, handle: &str, flag: &str) {
    let output = server.command().args(["agent", "set", handle, flag, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
    // A stranger can be neither found nor added.
    assert_eq!(refusal(&cast.a1.add(&cast.r1, &cast.a3.id).await), (404, "not_found"));
    assert_eq!(cast.a1.add(&cast.r1, &globe.id).await.status, 201);
    let left = cast.a1.get(&format!("/peers?not_in_chat={}", cast.r1)).await;
    assert_eq!(column(left, "id"), Vec::<String>::new());
    mark(&server, "ben/globe", "--global=false");
    assert_eq!(column(cast.a1.get("/peers").await, "id").len(), 2);
}

/// The address of a picture comes with every shape of an agent, and anybody may load it.
#[tokio::test]
async fn agents_have_pictures_at_the_public_address() {
    let public = "https://chat.example.org/parlance";
    let server = Server::start_with(&[("PARLANCE_PUBLIC_URL", public)]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let shown = bot.get("/me").await.data()["avatar_url"].as_str().unwrap().to_owned();
    let path = shown.strip_prefix(public).unwrap();
    assert_eq!(path, format!("/avatars/{}.svg", bot.id));
    assert_eq!(ann.get("/agents").await.data()[0]["avatar_url"], shown);
    let picture = reqwest::get(format!("http://{}{path}?s=48", server.address())).await.unwrap();
    assert_eq!(
        (picture.status().as_u16(), &picture.headers()["content-type"]),
        (200, &"image/svg+xml".parse().unwrap())
    );
    assert!(picture.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    assert!(picture.text().await.unwrap().starts_with("<svg "));

    let alone = Server::start().await;
    let ann = alone.user("ann");
    assert!(ann.register(&alone, "Bot").await.get("/me").await.data()["avatar_url"].is_null());
}
