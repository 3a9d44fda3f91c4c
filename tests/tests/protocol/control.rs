//! Superseding and closing an agent's socket.

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Closed, Server, Socket};
use futures_util::future::join_all;
use serde_json::json;

/// However many come at the same instant, one is left, and it works.
#[tokio::test]
async fn case_64_of_a_hundred_that_come_at_once_one_stays() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let sockets = join_all((0..100).map(|_| Socket::of(&server, &cast.a1))).await;
    // One server hears of another's within half a second, and has as long as this to close them.
    let ends = sockets.into_iter().map(|socket| socket.stays(Duration::from_secs(8)));
    let mut left = join_all(ends).await.into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(left.len(), 1);
    let (one, topic) = (&mut left[0], format!("chat_room:{}", cast.r1));
    one.join("1", &topic).await;
    let id = cast.u1.sent(&cast.r1, "to the one", &[&cast.a1.id]).await;
    assert_eq!(one.event("1", &topic, "message_created").await["id"], json!(id));
    let key = [("x-api-key", cast.a1.key.as_str())];
    let late = Socket::connect(&server, "vsn=2.0.0&on_conflict=reject", &key).await;
    assert_eq!(late.err(), Some(409));
}

#[tokio::test]
async fn case_70_a_deleted_agent_is_sent_away() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &format!("chat_room:{}", cast.r1)).await;
    let deleted = cast.u1.delete(&format!("/agents/{}?force=true", cast.a1.id)).await;
    assert!((200..300).contains(&deleted.status), "{deleted:?}");
    assert_eq!(socket.closed().await, Closed::Code(1008));
    let key = [("x-api-key", cast.a1.key.as_str())];
    assert_eq!(Socket::connect(&server, "vsn=2.0.0", &key).await.err(), Some(403));
    let query = format!("vsn=2.0.0&api_key={}&agent_id={}", cast.u1.key, cast.a1.id);
    assert_eq!(Socket::connect(&server, &query, &[]).await.err(), Some(403));
}
