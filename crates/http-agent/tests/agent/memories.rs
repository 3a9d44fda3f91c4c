//! Lists of memories.

use crate::harness::Api;

/// By cursor a heavy page ends early; by number, where rows would be hidden, it is refused.
#[actix_web::test]
async fn heavy_memories_are_read_in_light_pages() {
    let api = Api::new().await;
    api.world.remember_heavy_things(&api.helper, api.ann.id.uuid(), 60).await;
    let refused = api.get(&api.helper, "/memories?page_size=60").await;
    assert_eq!(refused.status, 422, "a page with all of them");
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/page_size"]));
    assert_eq!(api.get(&api.helper, "/memories?page=2&page_size=40").await.column("id").len(), 20);
    let (mut seen, mut query) = (0, String::new());
    loop {
        let page = api.get(&api.helper, &format!("/memories?limit=100{query}")).await;
        let bytes = page.body.to_string().len();
        assert!(bytes < 1_200_000, "{bytes} bytes");
        seen += page.column("id").len();
        let Some(cursor) = page.body["metadata"]["next_cursor"].as_str() else { break };
        query = format!("&cursor={cursor}");
    }
    assert_eq!(seen, 60);
}
