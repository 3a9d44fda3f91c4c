//! The audit log of the caller's organization.

use serde_json::json;

use crate::harness::Api;

#[actix_web::test]
async fn an_admin_reads_who_did_what() {
    let api = Api::new().await;
    let start = api.now();
    api.world.clock.advance(std::time::Duration::from_secs(1));
    let chat = api.world.chat(api.ann.caller, &[]).await;
    let since = format!("/organization/audit?since={}", api.now());
    let answer = api.get(&api.ann, &since).await;
    let ann = json!({"type": "User", "id": api.ann.id.to_string(), "name": "ann"});
    let row = &answer.data()[0];
    let expected = json!([{
        "id": row["id"], "inserted_at": api.now(), "actor": ann, "action": "chat.created",
        "subject": {"type": "Chat", "id": chat.to_string(), "name": null}, "place": null, "detail": null,
    }]);
    assert_eq!((answer.status, answer.data()), (200, &expected));
    assert_eq!(answer.body["metadata"]["total_count"], 1);

    let all = api.get(&api.ann, "/organization/audit?page_size=100").await;
    let mut actions = all.column("action");
    actions[1..].sort_unstable();
    assert_eq!(actions, ["chat.created", "agent.registered", "agent.registered", "user.created"]);
    let user = all.data().as_array().unwrap().iter().find(|row| row["action"] == "user.created").unwrap();
    assert_eq!((&user["actor"], &user["subject"], &user["inserted_at"]), (&json!(null), &ann, &json!(start)));
    assert_eq!(user["place"]["name"], "ann");
    let bobs = api.get(&api.bob, "/organization/audit").await;
    let mut actions = bobs.column("action");
    actions.sort_unstable();
    assert_eq!(actions, ["agent.registered", "user.created"]);
}

#[actix_web::test]
async fn an_admin_filters_the_log() {
    let api = Api::new().await;
    let start = api.now();
    api.world.clock.advance(std::time::Duration::from_secs(1));
    let chat = api.world.chat(api.ann.caller, &[]).await;
    let (ann, bot) = (api.ann.id, api.helper.id);
    let actions = async |filter: &str| {
        let answer = api.get(&api.ann, &format!("/organization/audit?{filter}")).await;
        assert_eq!(answer.status, 200, "{filter}");
        answer.column("action").iter().map(|action| (*action).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(actions(&format!("subject_id={chat}")).await, ["chat.created"]);
    assert_eq!(actions(&format!("subject_id={bot}")).await, ["agent.registered"]);
    assert_eq!(actions(&format!("subject_id={bot}&action=chat.created")).await, [""; 0]);
    assert_eq!(actions("action=user.created").await, ["user.created"]);
    assert_eq!(actions(&format!("actor_id={ann}&action=chat.created")).await, ["chat.created"]);
    assert_eq!(actions(&format!("actor_id={ann}&until={start}")).await, ["agent.registered"; 2]);

    let first = api.get(&api.ann, &format!("/organization/audit?limit=1&actor_id={ann}")).await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let next = api.get(&api.ann, &format!("/organization/audit?actor_id={ann}&cursor={cursor}")).await;
    assert_eq!(next.column("action"), ["agent.registered"; 2]);
    let other = api.get(&api.ann, &format!("/organization/audit?actor_id={bot}&cursor={cursor}")).await;
    assert_eq!(other.refusal(), (422, "cursor_filter_mismatch", vec!["/cursor"]));
    let wrong = "/organization/audit?action=chat.eaten&actor_id=ann&subject_id=1&until=soon";
    let wrong = api.get(&api.ann, wrong).await;
    let pointers = vec!["/action", "/actor_id", "/subject_id", "/until"];
    assert_eq!(wrong.refusal(), (422, "validation_error", pointers));
}

#[actix_web::test]
async fn others_do_not() {
    let api = Api::new().await;
    let cat = api.world.colleague("cat", "ann").await;
    assert_eq!(api.get(&cat, "/organization/audit").await.code(), (403, "forbidden"));
    let wrong = api.get(&api.ann, "/organization/audit?since=soon").await;
    assert_eq!(wrong.refusal(), (422, "validation_error", vec!["/since"]));
}
