//! Searching over REST: what is found, across a kill, over two servers, and with bad input.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, until_or};
use reqwest::Method;
use serde_json::{Value, json};

/// The path of a search.
fn path(query: &str, rest: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    format!("/search?q={}{rest}", query.bytes().map(escape).collect::<String>())
}

/// The hits of all pages.
async fn hits(by: &Api, query: &str) -> Vec<Value> {
    let (mut all, mut rest) = (Vec::new(), String::new());
    loop {
        let answer = by.get(&path(query, &rest)).await;
        assert_eq!(answer.status, 200, "{query}: {:?}", answer.body);
        all.extend(answer.body["data"].as_array().unwrap().iter().cloned());
        match answer.body["metadata"]["next_cursor"].as_str() {
            Some(cursor) => rest = format!("&limit=3&cursor={cursor}"),
            None => return all,
        }
    }
}

async fn found(by: &Api, query: &str) -> Vec<String> {
    hits(by, query).await.iter().map(|hit| hit["message_id"].as_str().unwrap().to_owned()).collect()
}

/// Waits until a search finds these messages.
async fn finds(by: &Api, query: &str, expected: &[&String]) {
    let is_found = async || found(by, query).await.iter().eq(expected.iter().copied());
    until_or(|| format!("{query} does not find {expected:?}"), is_found).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_found_by_their_words() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (ann, bot) = (&cast.u1, &cast.a1);
    let first = ann.sent(&cast.r1, "Please deploy parseHttpRequest to 東京都", &[&bot.id]).await;
    let second = bot.sent(&cast.r1, "I deploy it now", &[&ann.id]).await;
    let foreign = cast.u2.sent(&cast.r2, "deploy something else", &[&cast.a3.id]).await;
    finds(ann, "deploy", &[&second, &first]).await;
    finds(&cast.u2, "deploy", &[&foreign]).await;
    finds(bot, "deploy", &[&second, &first]).await;
    assert_eq!(found(&cast.a2, "deploy").await, [""; 0]);
    for (query, expected) in [
        ("http request", vec![&first]),
        ("\"deploy it\"", vec![&second]),
        ("京都", vec![&first]),
        ("from:ann/one deploy", vec![&second]),
        ("deploy kind:thought", vec![]),
        ("deploy before:2020-01-01", vec![]),
        ("@ann/one deploy", vec![&first]),
        (format!("deploy in:{}", cast.r1).as_str(), vec![&second, &first]),
        (format!("deploy in:{}", cast.r2).as_str(), vec![]),
    ] {
        let expected = expected.into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(found(ann, query).await, expected, "{query}");
    }
    let hit = hits(ann, "httpRequest").await.remove(0);
    assert_eq!(hit["snippet"], "@ann/one Please deploy parseHttpRequest to 東京都");
    assert_eq!(hit["highlights"], json!([{"start": 28, "end": 39}]));
    assert_eq!((&hit["chat"]["id"], &hit["message_type"]), (&json!(cast.r1), &json!("text")));
    assert_eq!((&hit["sender"]["handle"], &hit["sender"]["type"]), (&json!("ann"), &json!("User")));

    // Edits and deletions count at once.
    let edit = json!({"content": "never mind"});
    ann.call(Method::PATCH, &format!("/chats/{}/messages/{first}", cast.r1), Some(edit)).await.data();
    assert_eq!(found(ann, "deploy").await, std::slice::from_ref(&second));
    assert_eq!(found(ann, "mind").await, std::slice::from_ref(&first));
    ann.delete(&format!("/chats/{}/messages/{first}", cast.r1)).await.data();
    assert_eq!(found(ann, "mind").await, [""; 0]);
    ann.delete(&format!("/chats/{}", cast.r1)).await.data();
    assert_eq!((found(ann, "deploy").await, found(bot, "deploy").await), (vec![], vec![]));
}

/// What a killed server had not indexed is indexed after its start, and nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_survives_a_kill() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let mut sent = Vec::new();
    for round in 0..3 {
        for number in 0..20 {
            sent.push(cast.u1.sent(&cast.r1, &format!("needle {round} {number}"), &[]).await);
        }
        server.kill9();
        server.run().await;
    }
    let expected = sent.iter().rev().collect::<Vec<_>>();
    finds(&cast.u1, "needle", &expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_find_the_same() {
    let fleet = Fleet::start(2, &[("PARLANCE_CLUSTER_MODE", "multi")]).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    let cast = Cast::on(here).await;
    let (one, other) = (&cast.u1, cast.u1.on(there));
    let mut sent = Vec::new();
    for number in 0..20 {
        let by = if number % 2 == 0 { one } else { &other };
        sent.push(by.sent(&cast.r1, &format!("needle {number}"), &[]).await);
    }
    let expected = sent.iter().rev().collect::<Vec<_>>();
    finds(one, "needle", &expected).await;
    finds(&other, "needle", &expected).await;
    other.delete(&format!("/chats/{}/messages/{}", cast.r1, sent[0])).await.data();
    assert_eq!(found(one, "needle").await.len(), 19);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_that_are_refused_say_why() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let long = "x".repeat(501);
    let (many, deep) = ("w ".repeat(17), "\"".to_owned() + &"w ".repeat(33));
    for by in [&cast.u1, &cast.a1] {
        let wrong = ["", "?!", "before:2026-07-01", "kind:song", "from:", "from:a from:b", "a after:soon"];
        for query in wrong.into_iter().chain([long.as_str(), many.as_str(), deep.as_str()]) {
            let answer = by.get(&path(query, "")).await;
            assert_eq!((answer.status, answer.code()), (422, "validation_error"), "{query}");
            let fault = answer.body["error"]["details"]["/q"][0].as_str().unwrap();
            assert!(!fault.is_empty(), "{query}");
        }
        assert_eq!(by.get("/search").await.body["error"]["details"]["/q"][0], "is required");
        // The syntax of the databases has no meaning.
        for query in [
            "a OR b NOT c",
            "a* AND ^b NEAR(c d, 2)",
            "'; DROP TABLE messages; --",
            "{keys} : a",
            "\\ % _ & | ! <-> :*",
            "((((((((((((((((a",
            "a\u{0}b",
            "\"\"\"\"\"a",
            "\u{202e}a\u{feff}",
        ] {
            let answer = by.get(&path(query, "")).await;
            assert!(answer.status == 200 || answer.status == 422, "{query}: {:?}", answer.body);
        }
    }
    // A cursor belongs to its query and its reader.
    let sent = [cast.u1.sent(&cast.r1, "page one", &[]).await, cast.u1.sent(&cast.r1, "page two", &[]).await];
    finds(&cast.u1, "page", &[&sent[1], &sent[0]]).await;
    let first = cast.u1.get(&path("page", "&limit=1")).await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap().to_owned();
    let rest = format!("&cursor={cursor}");
    assert_eq!(cast.u1.get(&path("page", &rest)).await.data()[0]["message_id"], json!(sent[0]));
    assert_eq!(cast.u1.get(&path("pages", &rest)).await.code(), "cursor_filter_mismatch");
    assert_eq!(cast.u2.get(&path("page", &rest)).await.status, 422);
}
