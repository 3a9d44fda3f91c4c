//! The work of the caller's agents, and of the organization's.

use std::time::Duration;

use actix_web::http::Method;
use domain::chat::Role;
use domain::delivery::{DeliveryStep, FailureText};
use domain::id::{MessageId, ParticipantId};
use domain::time::Timestamp;
use serde_json::{Value, json};

use crate::harness::Api;

#[actix_web::test]
async fn what_an_agent_owes_is_told_with_its_attempts() {
    let api = Api::new().await;
    let chat = api.room().await;
    let began = api.now();
    let message = api.mention(api.ann.caller, chat, &api.helper, "do it").await;
    let id = MessageId::parse(&message).unwrap();
    let failed = DeliveryStep::Fail(FailureText::new("it broke".to_owned()).unwrap());
    let attempts = [1, 2, 3].map(|number| {
        json!({
            "attempt_number": number, "status": "failed", "started_at": began, "completed_at": began,
            "error": "it broke",
        })
    });
    for _ in &attempts {
        for step in [DeliveryStep::Begin, failed.clone()] {
            api.world.deliveries.advance(api.helper.caller, chat, id, step).await.unwrap();
        }
    }
    api.world.clock.advance(Duration::from_secs(90));
    let title = api.world.chats.find(api.ann.caller, chat).await.unwrap().title;
    let text = format!("@[[{}]] do it", api.helper.id);
    let expected = json!({
        "message_id": message,
        "sequence": 1,
        "agent": {
            "id": api.helper.id.to_string(), "handle": "ann/helper", "name": "Helper", "connected": false,
            "last_disconnected_at": null, "last_disconnect_reason": null,
            "stopped": false, "paused": false,
        },
        "chat_room_id": chat.to_string(),
        "chat_room_title": title,
        "sender": {"id": api.ann.id.to_string(), "type": "User", "name": "ann Example"},
        "content": text,
        "state": "failed",
        "flags": ["failing"],
        "age_ms": 90_000,
        "current_attempt": 3,
        "attempts": attempts,
        "inserted_at": began,
        "respond_by": null,
        "delivered_at": null,
        "processed_at": null,
        "dead_at": null,
        "dead_reason": null,
        "held_by": null,
        "replaced_by": null,
        "retried_at": null,
    });
    let answer = api.get(&api.ann, "/work").await;
    assert_eq!((answer.status, answer.data()), (200, &json!([expected])));
    let metadata = json!({"has_more": false, "limit": 20, "next_cursor": null});
    assert_eq!(answer.body["metadata"], metadata, "what is open is not counted");
    let one = format!("/work/{message}/{}", api.helper.id);
    assert_eq!(api.get(&api.ann, &one).await.data(), &expected);
    api.world.presence.connect(ParticipantId::Agent(api.helper.id));
    assert_eq!(api.get(&api.ann, "/organization/work").await.data()[0]["agent"]["connected"], true);

    for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
        api.world.deliveries.advance(api.helper.caller, chat, id, step).await.unwrap();
    }
    assert_eq!(api.get(&api.ann, "/work").await.data(), &json!([]));
    let done = api.get(&api.ann, &one).await;
    assert_eq!((&done.data()["state"], &done.data()["flags"]), (&json!("processed"), &json!([])));
    assert!(done.data()["processed_at"].is_string());
}

#[actix_web::test]
async fn work_is_summarized() {
    let api = Api::new().await;
    let chat = api.room().await;
    let (helper, scout) = (&api.helper, &api.scout);
    let began = api.now();
    for (agent, error) in
        [(helper, Some("Error 529: busy")), (scout, Some("Error 530: busy")), (helper, None)]
    {
        let message = api.mention(api.ann.caller, chat, agent, "do it").await;
        let message = MessageId::parse(&message).unwrap();
        let failed = |error: &str| DeliveryStep::Fail(FailureText::new(error.to_owned()).unwrap());
        for step in error.into_iter().flat_map(|error| [DeliveryStep::Begin, failed(error)]) {
            api.world.deliveries.advance(agent.caller, chat, message, step).await.unwrap();
        }
        api.world.clock.advance(Duration::from_secs(60));
    }
    let answer = api.get(&api.ann, "/work/summary").await;
    let sums = |state: &str, count: u32, oldest: u64| {
        let oldest = Timestamp::parse(&began).unwrap().plus(Duration::from_secs(oldest)).to_string();
        json!({"state": state, "count": count, "oldest_at": oldest, "unanswered": 0, "stuck": 0, "failing": 0})
    };
    let of_helper = json!({
        "agent": {"id": helper.id.to_string(), "handle": "ann/helper", "name": "Helper"},
        "count": 2, "oldest_at": began, "by_state": [sums("new", 1, 120), sums("failed", 1, 0)],
    });
    let mut agents = [helper.id.to_string(), scout.id.to_string()];
    agents.sort_unstable();
    let data = answer.data();
    assert_eq!((answer.status, &data["total"], &data["complete"]), (200, &json!(3), &json!(true)));
    assert_eq!(data["by_state"], json!([sums("new", 1, 120), sums("failed", 2, 0)]));
    assert_eq!((&data["by_agent"][0], data["by_agent"].as_array().unwrap().len()), (&of_helper, 2));
    let expected = json!([{
        "error": "Error #: busy", "filter": ": busy", "count": 2, "oldest_at": began, "agent_ids": agents,
    }]);
    assert_eq!((&data["by_error"], &data["omitted_errors"]), (&expected, &json!(0)));

    let filtered = api.get(&api.ann, &format!("/work/summary?state=failed&agent_id={}", scout.id)).await;
    assert_eq!(
        (&filtered.data()["total"], &filtered.data()["by_error"][0]["error"]),
        (&json!(1), &json!("Error 530: busy"))
    );
    let by_error = api.get(&api.ann, "/work/summary?error=529").await;
    assert_eq!(by_error.data()["total"], 1);
    let of_all = api.get(&api.ann, "/organization/work/summary").await;
    assert_eq!((&of_all.data()["total"], &of_all.data()["by_error"]), (&json!(3), &json!(null)));
    assert_eq!(api.get(&api.bob, "/work/summary").await.data()["total"], 0);
    let refused = api.get(&api.ann, "/organization/work/summary?error=busy").await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/error"]));
    let refused = api.get(&api.ann, "/work/summary?limit=2&state=lost").await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/limit", "/state"]));
    let cat = api.world.colleague("cat", "ann").await;
    assert_eq!(api.get(&cat, "/organization/work/summary").await.code(), (403, "forbidden"));
}

#[actix_web::test]
async fn work_is_filtered_and_paged() {
    let api = Api::new().await;
    let chat = api.room().await;
    let (helper, scout) = (&api.helper, &api.scout);
    let mut messages = Vec::new();
    for agent in [helper, scout, helper] {
        messages.push(api.mention(api.ann.caller, chat, agent, "do it").await);
        api.world.clock.advance(Duration::from_secs(60));
    }
    let begun = MessageId::parse(&messages[2]).unwrap();
    api.world.deliveries.advance(helper.caller, chat, begun, DeliveryStep::Begin).await.unwrap();
    let all = messages.iter().map(String::as_str).collect::<Vec<_>>();
    for (query, expected) in [
        (String::new(), &all[..]),
        (format!("agent_id={}", scout.id), &all[1..2]),
        (format!("chat_id={chat}"), &all),
        ("chat_id=0190c5a4-0000-7000-8000-0000000000a1".to_owned(), &[]),
        ("state=processing".to_owned(), &all[2..]),
        ("state=new&min_age_seconds=121".to_owned(), &all[..1]),
        ("flag=unanswered".to_owned(), &[]),
        ("flag=stuck&min_attempts=1".to_owned(), &[]),
        ("min_attempts=1".to_owned(), &all[2..]),
    ] {
        for path in ["/work", "/organization/work"] {
            let answer = api.get(&api.ann, &format!("{path}?{query}")).await;
            assert_eq!(answer.column("message_id"), expected, "{path} {query}");
        }
    }
    assert_eq!(api.get(&api.ann, "/work?error=nothing").await.column("message_id"), Vec::<String>::new());
    let refused = api.get(&api.ann, "/organization/work?error=nothing").await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/error"]));
    let first = api.get(&api.ann, "/work?limit=2").await;
    assert_eq!(first.column("message_id"), all[..2]);
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let second = api.get(&api.ann, &format!("/work?limit=2&cursor={cursor}")).await;
    assert_eq!(
        (second.column("message_id"), &second.body["metadata"]["has_more"]),
        (vec![all[2]], &json!(false))
    );
    let other = api.get(&api.ann, &format!("/work?cursor={cursor}&state=new")).await;
    assert_eq!(other.code(), (422, "cursor_filter_mismatch"));
    let elsewhere = api.get(&api.ann, &format!("/organization/work?cursor={cursor}")).await;
    assert_eq!(elsewhere.refusal(), (422, "validation_error", vec!["/cursor"]));
    for wrong in [
        "state=processed",
        "flag=lost",
        "agent_id=x",
        "min_age_seconds=-1",
        "min_attempts=0",
        "page=1",
        "error=%20",
    ] {
        let name = format!("/{}", wrong.split_once('=').unwrap().0);
        let answer = api.get(&api.ann, &format!("/work?{wrong}")).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec![name.as_str()]), "{wrong}");
    }
}

#[actix_web::test]
async fn others_do_not_see_what_an_agent_owes() {
    let api = Api::new().await;
    let cat = api.world.colleague("cat", "ann").await;
    let cats = api.world.agent(&cat, "Cats").await;
    let chat = api.empty_room(cat.caller).await;
    api.add(cat.caller, chat, cats.id.into(), Role::Member).await;
    let message = api.mention(cat.caller, chat, &cats, "a secret").await;
    let one = format!("/work/{message}/{}", cats.id);
    let seen = api.get(&cat, &one).await;
    assert!(seen.data()["content"].as_str().unwrap().ends_with("a secret"));
    for other in [&api.ann, &api.bob] {
        assert_eq!(api.get(other, "/work").await.data(), &json!([]));
        assert_eq!(api.get(other, &one).await.code(), (404, "not_found"));
    }
    assert_eq!(api.get(&cat, "/organization/work").await.code(), (403, "forbidden"));
    assert_eq!(api.get(&api.bob, "/organization/work").await.data(), &json!([]));
    let admins = api.get(&api.ann, "/organization/work").await;
    assert_eq!(
        (&admins.data()[0]["message_id"], &admins.data()[0]["content"]),
        (&json!(message), &json!(null))
    );
}

#[actix_web::test]
async fn work_is_taken_out_of_the_queue_and_offered_again() {
    let api = Api::new().await;
    let chat = api.room().await;
    let message = api.mention(api.ann.caller, chat, &api.helper, "do it").await;
    let one = format!("/work/{message}/{}", api.helper.id);
    let conflict = (409, "conflict");
    let refused = api.post(&api.ann, &format!("{one}/retry"), json!({})).await;
    assert_eq!(refused.code(), conflict, "it is new");
    let refused =
        api.post(&api.ann, &format!("{one}/dead-letter"), json!({"reason": "x", "if_state": "failed"})).await;
    assert_eq!(refused.code(), conflict);
    for path in [one.clone(), format!("/organization{one}")] {
        let dead = api.post(&api.ann, &format!("{path}/dead-letter"), json!({"reason": "no key"})).await;
        assert_eq!(dead.status, 200);
        let dead = dead.data();
        assert_eq!((&dead["state"], &dead["flags"]), (&json!("dead"), &json!(["dead"])));
        assert_eq!((&dead["dead_at"], &dead["dead_reason"]), (&json!(api.now()), &json!("no key")));
        assert_eq!(api.get(&api.ann, "/work").await.data(), &json!([]));
        assert_eq!(api.get(&api.ann, "/work?state=dead").await.column("message_id"), [message.as_str()]);
        let again = api.post(&api.ann, &format!("{path}/dead-letter"), json!({"reason": "x"})).await;
        assert_eq!(again.code(), conflict);
        let retried = api.post(&api.ann, &format!("{path}/retry"), json!({"if_state": "dead"})).await;
        let retried = retried.data();
        assert_eq!((&retried["state"], &retried["taken_up"]), (&json!("new"), &json!(false)));
        assert_eq!((&retried["retried_at"], &retried["dead_at"]), (&json!(api.now()), &json!(null)));
    }
    for (verb, body, pointer) in [
        ("dead-letter", json!({}), "/reason"),
        ("dead-letter", json!({"reason": " "}), "/reason"),
        ("dead-letter", json!({"reason": "x".repeat(501)}), "/reason"),
        ("retry", json!({"if_state": "processed"}), "/if_state"),
    ] {
        let refused = api.post(&api.ann, &format!("{one}/{verb}"), body).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]));
    }
    for other in [&api.bob, &api.world.colleague("cat", "ann").await] {
        let refused = api.post(other, &format!("{one}/dead-letter"), json!({"reason": "x"})).await;
        assert_eq!(refused.code(), (404, "not_found"));
    }
}

#[actix_web::test]
async fn several_items_are_changed_by_filter() {
    let api = Api::new().await;
    let chat = api.room().await;
    for agent in [&api.helper, &api.scout, &api.helper] {
        api.mention(api.ann.caller, chat, agent, "do it").await;
    }
    let dead_letter = |filter: Value| {
        let mut body = filter;
        body["reason"] = json!("no key");
        body
    };
    for (path, body, pointer) in [
        ("/work/dead-letter", dead_letter(json!({})), "/all"),
        ("/work/dead-letter", dead_letter(json!({"min_attempts": 0})), "/min_attempts"),
        ("/organization/work/retry", json!({"all": true}), "/state"),
        ("/work/retry", json!({"agent_id": api.helper.id.to_string()}), "/state"),
    ] {
        let refused = api.post(&api.ann, path, body).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]), "{path}");
    }
    let all = |changed: u32| json!({"changed": changed, "refused": [], "skipped": 0, "has_more": false, "next_cursor": null});
    let of_helper = dead_letter(json!({"agent_id": api.helper.id.to_string()}));
    assert_eq!(api.post(&api.ann, "/work/dead-letter", of_helper).await.data(), &all(2));
    let everything = dead_letter(json!({"all": true}));
    assert_eq!(
        api.post(&api.ann, "/organization/work/dead-letter", everything.clone()).await.data(),
        &all(1)
    );
    assert_eq!(
        api.post(&api.bob, "/organization/work/dead-letter", everything.clone()).await.data(),
        &all(0)
    );
    let cat = api.world.colleague("cat", "ann").await;
    let refused = api.post(&cat, "/organization/work/dead-letter", everything).await;
    assert_eq!(refused.code(), (403, "forbidden"));
    assert_eq!(api.post(&api.ann, "/work/retry", json!({"flag": "dead"})).await.data(), &all(3));
}

/// Two answers of agents, of which the second is one hop too many.
#[actix_web::test]
async fn held_work_is_listed_and_released_by_tree() {
    let api = Api::new().await;
    let chat = api.room().await;
    let (helper, scout) = (&api.helper, &api.scout);
    let changed = api
        .call(&api.ann.key, Method::PATCH, &format!("/chats/{chat}"), &json!({"chat": {"max_hops": 1}}))
        .await;
    assert_eq!((changed.status, &changed.data()["max_hops"]), (200, &json!(1)));
    let root = api.mention(api.ann.caller, chat, helper, "begin").await;
    let mut last = root.clone();
    for (from, to) in [(helper, scout), (scout, helper)] {
        let begun = MessageId::parse(&last).unwrap();
        api.world.deliveries.advance(from.caller, chat, begun, DeliveryStep::Begin).await.unwrap();
        last = api.mention(from.caller, chat, to, "and you?").await;
    }
    let held = api.get(&api.ann, "/work?state=held").await;
    assert_eq!(held.column("message_id"), [last.as_str()]);
    let item = &held.data()[0];
    assert_eq!((&item["message_id"], &item["state"]), (&json!(last), &json!("held")));
    assert_eq!((&item["flags"], &item["held_by"]), (&json!(["held"]), &json!("max_hops")));
    for (query, found) in [
        (format!("root={root}&state=held"), 1),
        (format!("root={chat}&state=held"), 0),
        ("flag=held".to_owned(), 1),
        (format!("root={root}"), 2),
    ] {
        let listed = api.get(&api.ann, &format!("/work?{query}")).await;
        assert_eq!(listed.column("message_id").len(), found, "{query}");
    }
    assert_eq!(api.get(&api.ann, "/work?root=odd").await.refusal().0, 422);
    let retry = json!({"root": root});
    assert_eq!(api.post(&api.ann, "/work/retry", retry).await.code(), (422, "validation_error"));
    let retry = json!({"state": "held", "root": root});
    assert_eq!(api.post(&api.ann, "/work/retry", retry).await.data()["changed"], 1);
    let released = api.get(&api.ann, &format!("/work/{last}/{}", helper.id)).await;
    assert_eq!((&released.data()["state"], &released.data()["held_by"]), (&json!("new"), &json!(null)));
}

#[actix_web::test]
async fn work_is_reassigned_and_sent_again() {
    let api = Api::new().await;
    let chat = api.room().await;
    let (helper, scout) = (&api.helper, &api.scout);
    let message = api.mention(api.ann.caller, chat, helper, "book a flight").await;
    let one = format!("/work/{message}/{}", helper.id);
    let to_scout = json!({"agent_id": scout.id.to_string(), "reason": "no key"});
    for (verb, body, pointer) in [
        ("reassign", json!({}), "/agent_id"),
        ("reassign", json!({"agent_id": helper.id.to_string()}), "/agent_id"),
        ("reassign", json!({"agent_id": api.rival.id.to_string()}), "/agent_id"),
        ("reassign", json!({"agent_id": scout.id.to_string(), "reason": " "}), "/reason"),
        ("send-again", json!({"if_state": "processed"}), "/if_state"),
    ] {
        let refused = api.post(&api.ann, &format!("{one}/{verb}"), body).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]), "{verb}");
    }
    let failed = json!({"if_state": "failed"});
    assert_eq!(api.post(&api.ann, &format!("{one}/send-again"), failed).await.code(), (409, "conflict"));
    let reassigned = api.post(&api.ann, &format!("{one}/reassign"), to_scout.clone()).await;
    assert_eq!(reassigned.status, 201);
    let item = reassigned.data();
    let new = item["replaced_by"].as_str().unwrap();
    let reason = json!("reassigned to @ann/scout: no key");
    assert_eq!((&item["state"], &item["flags"], &item["dead_reason"]), (&json!("dead"), &json!([]), &reason));
    let offered = api.get(&api.ann, &format!("/work?agent_id={}", scout.id)).await;
    assert_eq!(offered.column("message_id"), [new]);
    let receipts = api.get(&api.ann, &format!("/chats/{chat}/messages/{message}/receipts")).await;
    assert_eq!(receipts.column("replaced_by"), [new]);
    // Nothing is sent twice, and nothing is retried that was sent again.
    for (verb, body) in [
        ("reassign", to_scout.clone()),
        ("send-again", json!({"if_state": "dead"})),
        ("retry", json!({})),
        ("dead-letter", json!({"reason": "over"})),
    ] {
        let refused = api.post(&api.ann, &format!("{one}/{verb}"), body).await;
        assert_eq!(refused.code(), (409, "conflict"), "{verb}");
        assert!(refused.body["error"]["message"].as_str().unwrap().contains(new), "{refused:?}");
    }
    let other = format!("/work/{new}/{}", scout.id);
    api.world
        .deliveries
        .advance(scout.caller, chat, MessageId::parse(new).unwrap(), DeliveryStep::Begin)
        .await
        .unwrap();
    let taken = api.post(&api.ann, &format!("{other}/send-again"), json!({})).await;
    assert_eq!(taken.code(), (409, "conflict"), "the agent works on it");
    api.world.clock.advance(Duration::from_secs(3600));
    let again = api.post(&api.ann, &format!("/organization{other}/send-again"), json!({})).await;
    assert_eq!((again.status, &again.data()["dead_at"]), (201, &json!(api.now())));
    let waiting = format!("/work/{}/{}", again.data()["replaced_by"].as_str().unwrap(), scout.id);
    assert_eq!(
        api.post(&api.ann, &format!("{waiting}/dead-letter"), json!({"reason": "over"})).await.status,
        200
    );
    let one = waiting;

    let retry = api.post(&api.ann, &format!("{one}/retry"), json!({})).await;
    assert!(retry.data()["hint"].as_str().unwrap().contains("send-again"), "{retry:?}");
    // Those who are responsible for an agent need not be in its room.
    let cat = api.world.colleague("cat", "ann").await;
    let cats = api.world.agent(&cat, "Cats").await;
    let room = api.empty_room(cat.caller).await;
    api.add(cat.caller, room, cats.id.into(), Role::Member).await;
    let secret = api.mention(cat.caller, room, &cats, "a secret").await;
    let path = format!("/organization/work/{secret}/{}/send-again", cats.id);
    assert_eq!(api.post(&api.ann, &path, json!({})).await.code(), (403, "forbidden"));
    assert_eq!(api.post(&api.bob, &path, json!({})).await.code(), (404, "not_found"));

    let many = |filter: Value| {
        let mut body = filter;
        body["to_agent_id"] = json!(scout.id.to_string());
        body
    };
    for (body, pointer) in [
        (many(json!({})), "/all"),
        (many(json!({"agent_id": scout.id.to_string()})), "/to_agent_id"),
        (many(json!({"all": true, "cursor": "x"})), "/cursor"),
        (json!({"all": true}), "/to_agent_id"),
    ] {
        let refused = api.post(&api.ann, "/work/reassign", body).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]));
    }
    let elsewhere = api.empty_room(api.ann.caller).await;
    api.add(api.ann.caller, elsewhere, helper.id.into(), Role::Member).await;
    for room in [chat, chat, elsewhere] {
        api.mention(api.ann.caller, room, helper, "do it").await;
    }
    let of_helper = many(json!({"agent_id": helper.id.to_string()}));
    let changed = api.post(&api.ann, "/work/reassign", of_helper.clone()).await;
    let expected = json!({"changed": 2, "refused": [], "skipped": 1, "has_more": false, "next_cursor": null});
    assert_eq!(changed.data(), &expected);
    let changed = api.post(&api.ann, "/organization/work/reassign", of_helper).await;
    assert_eq!(changed.data()["changed"], 0);
}
