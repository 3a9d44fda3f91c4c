//! Bodies, names, and texts that break a rule or try to deceive readers.

use e2e::Server;
use e2e::cast::Cast;
use serde_json::{Value, json};

use crate::Witness;

#[tokio::test]
async fn bad_bodies_queries_and_paths_get_their_error() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut witness = Witness::on(&server, &cast).await;
    let before = cast.u1.history(&cast.r1).await.len();
    let client = reqwest::Client::new();
    let url = |path: &str| format!("http://{}/api/v1/me{path}", server.address());
    let messages = format!("/chats/{}/messages", cast.r1);
    let large = format!(r#"{{"content":"{}"}}"#, "x".repeat(5 * 1024 * 1024));
    let deep = "[".repeat(100_000);
    let bodies: [(&[u8], u16, &str); 4] = [
        (b"{\"content\":\"\xc3\x28\"}", 400, "bad_request"),
        (deep.as_bytes(), 400, "bad_request"),
        (b"{\"content\":1}", 422, "validation_error"),
        (large.as_bytes(), 413, "content_too_large"),
    ];
    for (body, status, code) in bodies {
        let request = client.post(url(&messages)).header("x-api-key", &cast.u1.key);
        let request = request.header("content-type", "application/json").body(body.to_vec());
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status, "{:.60}", String::from_utf8_lossy(body));
        let envelope: Value = answer.json().await.unwrap();
        assert_eq!(envelope["error"]["code"], code, "{envelope}");
        assert!(envelope["error"]["request_id"].is_string());
    }
    for (path, status) in [
        ("/chats/%00%ff".to_owned(), 404),
        (format!("{messages}?cursor=%00"), 422),
        (format!("{messages}?limit=99999999999999999999"), 200),
    ] {
        assert_eq!(cast.u1.get(&path).await.status, status, "{path}");
    }
    assert_eq!(cast.u1.history(&cast.r1).await.len(), before, "nothing refused was stored");
    witness.is_well(&cast).await;
}

/// A name that looks like another one, or like nothing, and a text that looks like a mention.
#[tokio::test]
async fn names_and_texts_that_deceive_are_refused_or_shown() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let refused = |answer: &e2e::Answer, place: &str| {
        assert_eq!((answer.status, answer.code()), (422, "validation_error"), "{:?}", answer.body);
        assert!(answer.body["error"]["details"].get(place).is_some(), "{:?}", answer.body);
    };
    let marker = format!("@[[{}]]", cast.a2.id);
    for name in
        ["Sys\u{200b}tem", "\u{202e}metsyS", "Ann\u{2028}Lee", "SYSTEM", marker.as_str(), "Ann\u{2066}"]
    {
        let agent = json!({"agent": {"name": name, "description": "Somebody who deceives"}});
        refused(&cast.u1.post("/agents/register", agent).await, "/agent/name");
        let profile = json!({"user": {"first_name": name}});
        let answer = cast.u1.call(reqwest::Method::PUT, "/profile", Some(profile)).await;
        assert_eq!((answer.status, answer.code()), (422, "validation_error"), "{:?}", answer.body);
        if name != "SYSTEM" {
            refused(&cast.u1.post("/chats", json!({"chat": {"title": name}})).await, "/chat/title");
        }
    }
    // An agent that is not mentioned does not look mentioned.
    cast.u1.sent(&cast.r1, &format!("done by {marker}"), &[&cast.a1.id]).await;
    let next = cast.a1.get(&format!("/chats/{}/messages/next", cast.r1)).await.data();
    let shown = format!("@[[{}]] done by @\\[[{}]]", cast.a1.id, cast.a2.id);
    assert_eq!(next["content"].as_str(), Some(shown.as_str()));
    assert_eq!(cast.a2.next(&cast.r1).await, None);
}

/// Handles cannot be tried out without end, and an agent that is not in the directory keeps its name to itself.
#[tokio::test]
async fn looking_for_agents_by_their_handles_is_bounded() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMIT_INVITATIONS", "1/20")]).await;
    let cast = Cast::on(&server).await;
    let found = cast.u1.post("/contacts/resolve", json!({"handle": "@ben/three"})).await.data();
    assert_eq!((&found["name"], &found["type"]), (&json!("ben/three"), &json!("Agent")));
    assert_eq!(found["id"], json!(""));
    let mut answers = Vec::new();
    for number in 0..60 {
        answers.push(
            cast.u1.post("/contacts/resolve", json!({"handle": format!("ben/bot-{number}")})).await.status,
        );
    }
    assert!(answers.iter().filter(|status| **status == 429).count() > 20, "{answers:?}");
    assert_eq!(cast.u1.get("/chats").await.status, 200, "nothing else is slowed");
}
