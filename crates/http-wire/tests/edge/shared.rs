//! Tests of the operations that both interfaces share. The crate that includes them defines the caller,
//! `Api::caller`.

use actix_web::http::Method;
use serde_json::Value;

use crate::harness::Api;

/// By cursor, a page ends before it becomes too large. By number, which would hide rows, it is refused.
#[actix_web::test]
async fn heavy_memories_are_read_in_light_pages() {
    let api = Api::new().await;
    api.world.remember_heavy_things(&api.helper, api.ann.id.into(), 60).await;
    let refused = api.get(api.caller(), "/memories?page_size=60").await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/page_size"]));
    assert_eq!(api.get(api.caller(), "/memories?page=2&page_size=40").await.column("id").len(), 20);
    let (mut seen, mut query) = (0, String::new());
    loop {
        let page = api.get(api.caller(), &format!("/memories?limit=100{query}")).await;
        let bytes = page.body.to_string().len();
        assert!(bytes < 1_200_000, "{bytes} bytes");
        seen += page.column("id").len();
        let Some(cursor) = page.body["metadata"]["next_cursor"].as_str() else { break };
        query = format!("&cursor={cursor}");
    }
    assert_eq!(seen, 60);
}

/// The response hides the cause, and has a code that asks for a retry.
#[actix_web::test]
async fn a_store_that_cannot_work_is_503() {
    let api = Api::new().await;
    (api.world.stores.close)();
    for method in [Method::GET, Method::POST] {
        let answer = api.call(&api.caller().key, method, "/chats", &Value::Null).await;
        assert_eq!(answer.refusal(), (503, "service_unavailable", vec![]));
    }
}
