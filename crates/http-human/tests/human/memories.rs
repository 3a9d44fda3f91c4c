//! Lists of memories.

use crate::harness::Api;

/// By cursor a heavy page ends early; by number, where rows would be hidden, it is refused.
#[actix_web::test]
async fn heavy_memories_are_read_in_light_pages() {
    let api = Api::new().await;
    api.world.remember_heavy_things(&api.helper, api.ann.id.uuid(), 60).await;
    let refused = api.get(&api.ann, "/memories?page_size=60").await;
    assert_eq!(refused.status, 422, "a page with all of them");
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/page_size"]));
    assert_eq!(api.get(&api.ann, "/memories?page=2&page_size=40").await.column("id").len(), 20);
    let first = api.get(&api.ann, "/memories?limit=100").await;
    let bytes = first.body.to_string().len();
    assert!(bytes < 9 * 1024 * 1024, "{bytes} bytes");
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let rest = api.get(&api.ann, &format!("/memories?limit=100&cursor={cursor}")).await;
    assert_eq!(first.column("id").len() + rest.column("id").len(), 60);
}
