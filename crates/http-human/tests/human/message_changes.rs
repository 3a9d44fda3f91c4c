//! Editing and deleting texts.

use domain::delivery::DeliveryStep;
use domain::id::MessageId;
use serde_json::json;

use crate::harness::Api;

#[actix_web::test]
async fn an_edited_text_is_answered_with_what_became_of_it() {
    let api = Api::new().await;
    let chat = api.room().await;
    let id = api.mention(api.ann.caller, chat, &api.helper, "@Helper, first").await;
    let message = MessageId::parse(&id).unwrap();
    api.world.deliveries.advance(api.helper.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    let path = format!("/chats/{chat}/messages/{id}");
    let sent = api.now();
    api.world.clock.advance(std::time::Duration::from_secs(1));
    for (body, content) in [
        (json!({"message": {"content": "second"}}), format!("@[[{}]] second", api.helper.id)),
        (json!({"content": "@ann/helper: third"}), format!("@[[{}]]: third", api.helper.id)),
    ] {
        let answer = api.patch(&api.ann, &path, body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let (row, helper) = (answer.data(), api.helper.id.to_string());
        assert_eq!((&row["id"], &row["content"]), (&json!(id), &json!(content)));
        assert_eq!((&row["inserted_at"], &row["updated_at"]), (&json!(sent), &json!(api.now())));
        assert_eq!(row["metadata"]["mentions"][0]["id"], helper.as_str());
        assert_eq!(row["metadata"]["delivery_status"][&helper]["status"], "processing");
        let listed = api.get(&api.ann, &format!("/chats/{chat}/messages")).await;
        assert_eq!(&listed.data()[0], row);
    }
}

#[actix_web::test]
async fn a_deleted_text_is_answered_once_and_gone() {
    let api = Api::new().await;
    let chat = api.room().await;
    let id = api.mention(api.ann.caller, chat, &api.helper, "never mind").await;
    let (messages, path) = (format!("/chats/{chat}/messages"), format!("/chats/{chat}/messages/{id}"));
    let row = api.get(&api.ann, &messages).await.data()[0].clone();
    let answer = api.delete(&api.ann, &path).await;
    assert_eq!((answer.status, answer.data()), (200, &row));
    assert_eq!(*api.get(&api.ann, &messages).await.data(), json!([]));
    assert_eq!(api.delete(&api.ann, &path).await.code(), (404, "not_found"));
    assert_eq!(api.patch(&api.ann, &path, json!({"content": "back"})).await.code(), (404, "not_found"));
    let around = api.get(&api.ann, &format!("{messages}?around={id}")).await;
    assert_eq!(around.code(), (404, "not_found"));
    let counts = api.get(&api.ann, &format!("/chats/{chat}?include=message_counts")).await;
    assert_eq!(counts.data()["message_counts"], json!({}));
    assert!(api.world.deliveries.next(api.helper.caller, chat).await.unwrap().is_none());
}

#[actix_web::test]
async fn texts_of_others_and_of_other_rooms_stay() {
    let api = Api::new().await;
    let (chat, other) = (api.room().await, api.empty_room(api.ann.caller).await);
    let hers = api.mention(api.ann.caller, chat, &api.helper, "by Ann").await;
    let its = api.mention(api.helper.caller, chat, &api.scout, "by Helper").await;
    for (user, chat, message, expected) in [
        (&api.ann, chat, &its, (403, "forbidden")),
        (&api.ann, other, &hers, (404, "not_found")),
        (&api.bob, chat, &hers, (404, "not_found")),
    ] {
        let path = format!("/chats/{chat}/messages/{message}");
        assert_eq!(api.patch(user, &path, json!({"content": "x"})).await.code(), expected);
        assert_eq!(api.delete(user, &path).await.code(), expected);
    }
    assert_eq!(api.get(&api.ann, &format!("/chats/{chat}/messages")).await.column("id"), [its, hers]);
}

#[actix_web::test]
async fn an_edit_says_a_content_and_nothing_else() {
    let api = Api::new().await;
    let chat = api.room().await;
    let id = api.mention(api.ann.caller, chat, &api.helper, "as it was").await;
    let path = format!("/chats/{chat}/messages/{id}");
    for (body, expected) in [
        (json!({"message": {"content": "x", "mentions": []}}), (400, "bad_request", "/message/mentions")),
        (json!({"content": "x", "attachment_ids": []}), (400, "bad_request", "/attachment_ids")),
        (json!({"message": {"content": " \n"}}), (422, "validation_error", "/message/content")),
        (json!({"content": "x".repeat(524_289)}), (422, "validation_error", "/content")),
        (json!({"message": {}}), (422, "validation_error", "/message/content")),
        (json!({"content": null}), (422, "validation_error", "/content")),
    ] {
        let answer = api.patch(&api.ann, &path, body).await;
        assert_eq!(answer.refusal(), (expected.0, expected.1, vec![expected.2]));
    }
    let listed = api.get(&api.ann, &format!("/chats/{chat}/messages")).await;
    assert_eq!(listed.data()[0]["content"], format!("@[[{}]] as it was", api.helper.id));
}
