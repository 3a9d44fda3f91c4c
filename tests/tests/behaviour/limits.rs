//! Quotas and rate limits.

use e2e::Server;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Headers and body of a GET.
async fn fetch(url: &str, key: &str) -> (u16, HeaderMap, Value) {
    let answer = reqwest::Client::new().get(url).header("x-api-key", key).send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    (status, headers, answer.json().await.unwrap_or_default())
}

fn number(headers: &HeaderMap, name: &str) -> u64 {
    headers[name].to_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn case_41_too_many_requests_are_told_when_to_come_back() {
    let server = Server::start_alone(&[("PARLANCE_RATE_LIMIT", "1/5")]).await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let url = format!("http://{}/api/v1/me/profile", server.address());
    let mut refused = None;
    for _ in 0..50 {
        let (status, headers, body) = fetch(&url, &ann.key).await;
        if status == 429 {
            refused = Some((headers, body));
            break;
        }
        assert_eq!(status, 200);
    }
    let (headers, body) = refused.expect("fifty at once are too many");
    assert_eq!(body["error"]["code"], "rate_limited");
    assert!(body["error"]["request_id"].is_string());
    assert!((1..=60).contains(&number(&headers, "retry-after")));
    assert!(number(&headers, "x-ratelimit-reset") > 1_700_000_000, "in seconds of the epoch");
    assert_eq!(number(&headers, "x-ratelimit-remaining"), 0);
    // Each caller has its own limit, and health checks are never refused.
    assert_eq!(fetch(&url, &ben.key).await.0, 200);
    for _ in 0..20 {
        assert_eq!(fetch(&format!("http://{}/health", server.address()), "").await.0, 200);
    }
}

/// Page numbers on lists that know cursors are answered, and told to be going.
#[tokio::test]
async fn page_numbers_are_told_to_be_deprecated() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let list = |query: &str| format!("http://{}/api/v1/me/chats{query}", server.address());
    for (query, deprecated) in [("?page=1", true), ("?page_size=5", true), ("", false), ("?limit=5", false)] {
        let (status, headers, _) = fetch(&list(query), &ann.key).await;
        assert_eq!(status, 200);
        for name in ["deprecation", "sunset"] {
            assert_eq!(headers.contains_key(name), deprecated, "{query} {name}");
        }
    }
}
