//! Deleting rooms.

use e2e::Server;
use e2e::cast::Cast;
use serde_json::json;

use crate::{column, refusal, say};

#[tokio::test]
async fn case_18_a_deleted_room_is_gone_at_once() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    assert_eq!(cast.u1.delete(&format!("/chats/{}", cast.r1)).await.status, 200);
    for path in ["", "/participants", "/messages"] {
        let path = format!("/chats/{}{path}", cast.r1);
        assert_eq!(refusal(&cast.u1.get(&path).await), (404, "not_found"), "{path}");
        assert_eq!(refusal(&cast.a1.get(&path).await), (404, "not_found"), "{path}");
    }
    for path in ["/messages/next", "/context"] {
        assert_eq!(refusal(&cast.a1.get(&format!("/chats/{}{path}", cast.r1)).await), (404, "not_found"));
    }
    let mentions = json!([{"id": cast.a2.id}]);
    assert_eq!(refusal(&say(&cast.a1, &cast.r1, "x", mentions.clone()).await), (404, "not_found"));
    assert_eq!(refusal(&say(&cast.u1, &cast.r1, "x", mentions).await), (404, "not_found"));
    assert_eq!(refusal(&cast.a1.step(&cast.r1, &message, "processing").await), (404, "not_found"));
    assert!(!column(cast.u1.get("/chats").await, "id").contains(&cast.r1));
    assert!(!column(cast.a1.get("/chats").await, "id").contains(&cast.r1));
}
