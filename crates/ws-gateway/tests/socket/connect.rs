//! Opening a socket: credentials, refused handshakes, and limits.

use std::time::Duration;

use domain::event::DomainEvent;
use domain::ports::EventPublisher;
use http_wire::limit::{Quota, RateLimitConfig};
use serde_json::json;
use ws_gateway::HubConfig;

use crate::client::Client;
use crate::harness::Bench;
use crate::raw::{Raw, Refusal};

/// The socket speaks for this topic's owner.
async fn owns(socket: &mut Client, topic: String) {
    socket.join("1", &topic).await;
}

#[actix_web::test]
async fn a_header_wins_over_the_query_and_a_token_over_a_key() {
    let bench = Bench::new().await;
    let (ann, one, two) = (&bench.ann.key, &bench.one.key, &bench.two.key);
    let as_one = format!("agent_rooms:{}", bench.one.id);
    for (query, headers) in [
        ("vsn=2.0.0".to_owned(), vec![("x-api-key", one.as_str())]),
        (format!("vsn=2.0.0&agent_id={}", bench.one.id), vec![("x-api-key", one)]),
        ("api_key=garbage&vsn=2.0.0".to_owned(), vec![("x-api-key", one)]),
        (format!("token={two}&vsn=2.0.0"), vec![("x-api-key", one)]),
        ("vsn=2.0.0".to_owned(), vec![("x-api-key", two), ("x-auth-token", one)]),
        (format!("api_key={one}&vsn=2.0.0"), vec![]),
        (format!("api_key={one}&vsn=2.0.0"), vec![("x-api-key", "")]),
        (format!("unknown=%20&vsn=2.0.0&api_key={two}&token={one}"), vec![]),
        (format!("api_key={ann}&agent_id={}&vsn=2.0.0", bench.one.id), vec![]),
    ] {
        let mut socket = Client::open(bench.address, &query, &headers).await;
        owns(&mut socket, as_one.clone()).await;
        socket.refused("2", &format!("user_rooms:{}", bench.ann.id), "unauthorized").await;
    }
    bench.end().await;
}

/// A token opens the socket of its user, from the query or a header, and of the user's agents.
#[actix_web::test]
async fn a_token_stands_for_its_user() {
    let bench = Bench::new().await;
    let token = bench.world.token(&bench.ann).await;
    let as_ann = format!("user_rooms:{}", bench.ann.id);
    let as_one = format!("agent_rooms:{}", bench.one.id);
    for (query, headers, topic) in [
        (format!("vsn=2.0.0&token={token}"), vec![], &as_ann),
        (format!("vsn=2.0.0&token={token}&api_key={}", bench.one.key), vec![], &as_ann),
        ("vsn=2.0.0".to_owned(), vec![("x-auth-token", token.as_str())], &as_ann),
        (format!("vsn=2.0.0&token={token}&agent_id={}", bench.one.id), vec![], &as_one),
    ] {
        let mut socket = Client::open(bench.address, &query, &headers).await;
        owns(&mut socket, topic.clone()).await;
    }
    for (query, headers) in [
        (format!("vsn=2.0.0&token={token}&agent_id={}", bench.three.id), vec![]),
        ("vsn=2.0.0&token=a.b.c".to_owned(), vec![]),
        // Nor does a good key help a bad one.
        ("vsn=2.0.0".to_owned(), vec![("x-auth-token", "a.b.c"), ("x-api-key", bench.one.key.as_str())]),
        // A token is no key.
        ("vsn=2.0.0".to_owned(), vec![("x-api-key", token.as_str())]),
        (format!("vsn=2.0.0&api_key={token}"), vec![]),
    ] {
        assert_eq!(Raw::refusal(bench.address, &query, &headers).await.status, 403, "{query}");
    }
    bench.world.clock.advance(Duration::from_secs(16 * 60));
    let query = format!("vsn=2.0.0&token={token}");
    assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, 403, "it has expired");
    bench.end().await;
}

/// Too many sockets of one agent, one after the other.
#[actix_web::test]
async fn who_connects_too_often_is_told_to_wait() {
    let connects = Quota::new(1, 2);
    let bench = Bench::limited(RateLimitConfig { connects, ..RateLimitConfig::off() }).await;
    let headers = [("x-api-key", bench.one.key.as_str())];
    for _ in 0..2 {
        bench.socket(&bench.one.key).await;
    }
    let refusal = Raw::refusal(bench.address, "vsn=2.0.0", &headers).await;
    assert_eq!((refusal.status, &refusal.body["error"]["code"]), (429, &json!("too_many_requests")));
    for line in ["retry-after: 1", "x-ratelimit-limit: 2", "x-ratelimit-remaining: 0"] {
        assert!(refusal.head.contains(&format!("\r\n{line}\r\n")), "{}", refusal.head);
    }
    assert!(refusal.head.contains("\r\nx-ratelimit-reset: "), "{}", refusal.head);
    bench.socket(&bench.two.key).await;
    bench.world.clock.advance(Duration::from_secs(1));
    bench.socket(&bench.one.key).await;
    bench.end().await;
}

/// A good key that is refused for another reason counts, and is told how it stands.
#[actix_web::test]
async fn refused_connections_are_counted() {
    let connects = Quota::new(1, 2);
    let bench = Bench::limited(RateLimitConfig { connects, ..RateLimitConfig::off() }).await;
    let other = format!("vsn=2.0.0&agent_id={}", bench.two.id);
    let unknown = "vsn=2.0.0&on_conflict=unknown".to_owned();
    for (query, status, remaining) in [(&other, 403, 1), (&unknown, 400, 0), (&other, 429, 0)] {
        let refusal = Raw::refusal(bench.address, query, &[("x-api-key", &bench.one.key)]).await;
        let received = format!("\r\nx-ratelimit-remaining: {remaining}\r\n");
        assert!(refusal.status == status && refusal.head.contains(&received), "{status}: {}", refusal.head);
    }
    // A user's agents are counted by themselves, what they may not be with the user.
    let foreign = format!("vsn=2.0.0&agent_id={}", bench.three.id);
    let ann = [("x-api-key", bench.ann.key.as_str())];
    for status in [403, 403, 429] {
        assert_eq!(Raw::refusal(bench.address, &foreign, &ann).await.status, status);
    }
    Client::open(bench.address, &other, &ann).await;
    bench.end().await;
}

/// Whoever guesses is shut out; whoever was known before is not.
#[actix_web::test]
async fn guessing_at_the_socket_is_slowed() {
    let failures = Quota::new(1, 3);
    let bench = Bench::limited(RateLimitConfig { failures, ..RateLimitConfig::off() }).await;
    bench.socket(&bench.one.key).await;
    // A good key that may not act as the agent is no guess.
    let query = format!("vsn=2.0.0&agent_id={}", bench.two.id);
    for _ in 0..5 {
        let refusal = Raw::refusal(bench.address, &query, &[("x-api-key", &bench.one.key)]).await;
        assert_eq!(refusal.status, 403);
    }
    for (guess, status) in [(1, 403), (1, 403), (2, 403), (3, 403), (4, 429), (1, 403), (5, 429)] {
        let query = format!("vsn=2.0.0&api_key=guess-{guess}");
        assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, status, "{guess}");
    }
    let refusal = Raw::refusal(bench.address, "vsn=2.0.0", &[("x-auth-token", "a.b.c")]).await;
    assert_eq!((refusal.status, &refusal.body["error"]["code"]), (429, &json!("too_many_requests")));
    bench.socket(&bench.one.key).await;
    bench.world.clock.advance(Duration::from_secs(1));
    bench.socket(&bench.two.key).await;
    bench.end().await;
}

/// What was bad as a key may still be good as a token.
#[actix_web::test]
async fn a_token_that_was_no_key_is_still_a_token() {
    let failures = Quota::new(1, 3);
    let bench = Bench::limited(RateLimitConfig { failures, ..RateLimitConfig::off() }).await;
    let token = bench.world.token(&bench.ann).await;
    for _ in 0..2 {
        let refusal = Raw::refusal(bench.address, "vsn=2.0.0", &[("x-api-key", &token)]).await;
        assert_eq!(refusal.status, 403);
        Client::open(bench.address, "vsn=2.0.0", &[("x-auth-token", &token)]).await;
    }
    bench.end().await;
}

#[actix_web::test]
async fn what_a_client_does_not_have_counts_as_absent() {
    let bench = Bench::new().await;
    for agent in ["undefined", "null", ""] {
        let query = format!("api_key={}&token={agent}&agent_id={agent}&vsn=2.0.0", bench.ann.key);
        let mut socket = Client::open(bench.address, &query, &[]).await;
        owns(&mut socket, format!("user_rooms:{}", bench.ann.id)).await;
        socket.refused("2", &format!("agent_rooms:{}", bench.one.id), "unauthorized").await;
    }
    bench.end().await;
}

#[actix_web::test]
async fn refusals_come_before_the_upgrade_and_never_as_401() {
    let bench = Bench::new().await;
    let (ann, one) = (&bench.ann.key, &bench.one.key);
    let long = "k".repeat(600);
    for (query, key, status, code) in [
        ("vsn=2.0.0".to_owned(), None, 403, "forbidden"),
        ("vsn=2.0.0".to_owned(), Some("wrong"), 403, "forbidden"),
        ("vsn=2.0.0".to_owned(), Some(long.as_str()), 403, "forbidden"),
        (format!("vsn=2.0.0&agent_id={}", bench.three.id), Some(ann), 403, "forbidden"),
        (format!("vsn=2.0.0&agent_id={}", bench.two.id), Some(one), 403, "forbidden"),
        ("vsn=2.0.0&agent_id=1".to_owned(), Some(ann), 403, "forbidden"),
        ("vsn=3.0.0".to_owned(), Some(ann), 403, "forbidden"),
        ("vsn=2.0".to_owned(), Some(ann), 403, "forbidden"),
        ("vsn=".to_owned(), Some(ann), 403, "forbidden"),
        ("vsn=2.0.0&on_conflict=banana".to_owned(), Some(one), 400, "invalid_on_conflict"),
    ] {
        let headers = key.map(|key| ("x-api-key", key));
        let refusal = Raw::refusal(bench.address, &query, headers.as_slice()).await;
        assert_eq!((refusal.status, &refusal.body["error"]["code"]), (status, &json!(code)), "{query}");
        assert!(!refusal.body.to_string().contains("thnv_"), "no key is ever repeated");
    }
    assert_eq!(bench.open_sockets(), 0);
    bench.end().await;
}

/// What a client did wrong, and what it does next, is in the message.
#[actix_web::test]
async fn refusals_say_what_to_do() {
    let bench = Bench::new().await;
    let (bearer, one) = (format!("Bearer {}", bench.ann.key), bench.one.key.as_str());
    let other = format!("vsn=2.0.0&agent_id={}", bench.two.id);
    for (query, header, message) in [
        (
            "vsn=2.0.0",
            ("authorization", bearer.as_str()),
            "The socket does not read Authorization. Send the API key as x-api-key, or the token as x-auth-token.",
        ),
        (
            &other,
            ("x-api-key", one),
            "This credential cannot act as the agent named by agent_id. Use the agent's own key, or a key of its \
             owner, and check agent_id.",
        ),
        (
            "vsn=2.0.0&agent_id=1",
            ("x-api-key", one),
            "agent_id is not a valid id. Copy it from `parlance agent show OWNER/SLUG`.",
        ),
    ] {
        let refusal = Raw::refusal(bench.address, query, &[header]).await;
        assert_eq!((refusal.status, &refusal.body["error"]["message"]), (403, &json!(message)));
    }
    // If there is a credential elsewhere, the header is ignored.
    Client::open(bench.address, "vsn=2.0.0", &[("authorization", "x"), ("x-api-key", one)]).await;
    bench.end().await;
}

#[actix_web::test]
async fn compression_is_not_agreed_on() {
    let bench = Bench::new().await;
    let offer = "permessage-deflate; client_max_window_bits";
    let headers = [("x-api-key", bench.ann.key.as_str()), ("sec-websocket-extensions", offer)];
    // The client panics when an extension comes back.
    Client::open(bench.address, "vsn=2.0.0", &headers).await.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn an_agent_has_one_socket_and_a_user_many() {
    let bench = Bench::new().await;
    let key = [("x-api-key", bench.one.key.as_str())];
    let mut first = bench.socket(&bench.one.key).await;
    let refusal = Raw::refusal(bench.address, "vsn=2.0.0&on_conflict=reject", &key).await;
    assert_eq!((refusal.status, &refusal.body["error"]["code"]), (409, &json!("connection_conflict")));
    first.nothing_came().await;
    let mut people = Vec::new();
    for _ in 0..3 {
        people.push(bench.socket(&bench.ann.key).await);
    }
    for socket in &mut people {
        socket.nothing_came().await;
    }
    bench.end().await;
}

#[actix_web::test]
async fn a_newer_socket_takes_over() {
    let bench = Bench::new().await;
    let topic = format!("agent_control:{}", bench.one.id);
    let mut first = bench.socket(&bench.one.key).await;
    first.join("7", &topic).await;
    let mut second = bench.socket(&bench.one.key).await;
    let payload = first.event("7", &topic, "supersede").await;
    assert_eq!(payload["reason"], "session.already_connected");
    assert_eq!(payload["retryable"], false);
    assert_eq!(payload["target_socket_id"], format!("agent_socket:{}", bench.one.id));
    assert!(payload["message"].is_string() && payload["correlation_id"].is_string());
    assert_eq!(first.closed().await, 1001);
    second.join("1", &topic).await;
    // What has not joined the topic is closed all the same.
    let _third = bench.socket(&bench.one.key).await;
    assert_eq!(second.closed().await, 1001);
    bench.end().await;
}

#[actix_web::test]
async fn who_has_closed_is_no_longer_in_the_way() {
    let bench = Bench::new().await;
    for _ in 0..5 {
        let query = "vsn=2.0.0&on_conflict=reject";
        let mut socket = Client::open(bench.address, query, &[("x-api-key", &bench.one.key)]).await;
        socket.send(tokio_tungstenite::tungstenite::Message::Close(None)).await;
        assert_eq!(socket.closed().await, 1000);
    }
    bench.end().await;
}

#[actix_web::test]
async fn a_user_has_no_more_sockets_than_allowed() {
    let bench = Bench::with(HubConfig { max_sockets_per_caller: 1, ..HubConfig::default() }).await;
    let only = bench.socket(&bench.ann.key).await;
    let headers = [("x-api-key", bench.ann.key.as_str())];
    let Refusal { status, head, body } = Raw::refusal(bench.address, "vsn=2.0.0", &headers).await;
    assert_eq!((status, &body["error"]["code"]), (429, &json!("too_many_requests")));
    assert!(head.contains("\r\nretry-after: 5\r\n"), "{head}");
    drop(only);
    bench.until_open(0).await;
    bench.socket(&bench.ann.key).await.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn a_stopping_server_sends_everybody_away() {
    let bench = Bench::new().await;
    let (mut ann, mut one) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.one.key).await);
    bench.hub.shut_down();
    assert_eq!((ann.closed().await, one.closed().await), (1012, 1012));
    let headers = [("x-api-key", bench.ann.key.as_str())];
    let refusal = Raw::refusal(bench.address, "vsn=2.0.0", &headers).await;
    assert_eq!((refusal.status, &refusal.body["error"]["code"]), (503, &json!("tracking_failed")));
    bench.end().await;
}

#[actix_web::test]
async fn who_is_sent_away_for_once_comes_back_and_joins_anew() {
    let bench = Bench::new().await;
    let (mut ann, mut one) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.one.key).await);
    bench.hub.end_sockets();
    assert_eq!((ann.closed().await, one.closed().await), (1012, 1012));
    bench.until_open(0).await;
    for key in [&bench.ann.key, &bench.one.key] {
        let mut again = bench.socket(key).await;
        again.ask("1", &bench.chat_topic()).await;
        again.answer("1", &bench.chat_topic(), "ok", json!({})).await;
    }
    bench.end().await;
}

/// Between being authenticated and being told of, a newcomer is in nobody's list: what ends its agent
/// there ends it as well.
#[actix_web::test]
async fn an_agent_that_ends_while_it_connects_gets_no_socket() {
    let bench = Bench::new().await;
    let agent = bench.world.accounts.owned_agent(bench.ann.caller, bench.one.id).await.unwrap();
    // The key is still good, as it was when it was looked at; the end is told before the claim.
    bench.hub.publish(DomainEvent::AgentDeleted { agent });
    let query = format!("vsn=2.0.0&api_key={}", bench.one.key);
    assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, 403);
    let query = format!("vsn=2.0.0&api_key={}&agent_id={}", bench.ann.key, bench.one.id);
    assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, 403);
    assert_eq!(bench.open_sockets(), 0);
    Client::open(bench.address, &format!("vsn=2.0.0&api_key={}", bench.two.key), &[]).await;
    bench.end().await;
}
