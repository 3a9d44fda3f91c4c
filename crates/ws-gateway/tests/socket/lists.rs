//! Changes of rooms for the lists of humans.

use domain::chat::Role;
use domain::id::{ChatId, ParticipantId};
use serde_json::{Value, json};
use ws_gateway::RoomChanges;

use crate::harness::Bench;

fn changes(bench: &Bench) -> RoomChanges {
    RoomChanges::new(bench.hub.clone(), bench.world.chats.clone(), bench.world.activity.clone())
}

async fn tell_ann(bench: &Bench, room: ChatId, text: &str) {
    bench.world.send(bench.one.caller, room, text, &[ParticipantId::User(bench.ann.id)]).await;
}

/// The text of the last message, and the numbers of unread texts and mentions.
fn row(event: &Value) -> Value {
    let unread = &event["unread"];
    json!([event["last_message"]["content"], unread["count"], unread["mentions"], unread["muted"]])
}

#[actix_web::test]
async fn a_burst_is_one_change_with_its_last_state() {
    let bench = Bench::new().await;
    let (mut changes, rooms) = (changes(&bench), format!("user_rooms:{}", bench.ann.id));
    tell_ann(&bench, bench.room, "before").await;
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &rooms).await;
    changes.round().await;
    ann.nothing_came().await;
    for text in ["one", "two", "three"] {
        tell_ann(&bench, bench.room, text).await;
    }
    changes.round().await;
    let event = ann.event("1", &rooms, "room_changed").await;
    let marker = format!("@[[{}]]", bench.ann.id);
    assert_eq!(row(&event), json!([format!("{marker} three"), 4, 4, false]));
    assert_eq!(
        (&event["id"], &event["membership"], &event["work_status"], event.get("participants")),
        (&json!(bench.room.to_string()), &json!("participant"), &json!("idle"), None)
    );
    changes.round().await;
    ann.nothing_came().await;
    tell_ann(&bench, bench.room, &"é".repeat(300)).await;
    changes.round().await;
    let event = ann.event("1", &rooms, "room_changed").await;
    let beginning = event["last_message"]["content"].as_str().unwrap();
    assert_eq!(beginning.chars().count(), 200);
    assert_eq!(event["last_message"]["metadata"]["mentions"].as_array().unwrap().len(), 1);
    // Also from the indicators.
    bench.world.activity.report(bench.one.caller, bench.room, true).await.unwrap();
    changes.round().await;
    assert_eq!(ann.event("1", &rooms, "room_changed").await["work_status"], "working");
    bench.end().await;
}

/// Whoever has left, or never was in the room, learns nothing.
#[actix_web::test]
async fn rooms_are_listed_for_those_who_see_them() {
    let bench = Bench::new().await;
    let mut changes = changes(&bench);
    let (of_ann, of_ben) = (format!("user_rooms:{}", bench.ann.id), format!("user_rooms:{}", bench.ben.id));
    bench.world.connect((bench.ann.caller, "ann"), (bench.ben.caller, "ben")).await;
    let mut ann = bench.socket(&bench.ann.key).await;
    let mut ben = bench.socket(&bench.ben.key).await;
    ann.join("1", &of_ann).await;
    ben.join("1", &of_ben).await;
    tell_ann(&bench, bench.room, "one").await;
    changes.round().await;
    ann.event("1", &of_ann, "room_changed").await;
    ben.nothing_came().await;
    // A room that came later is listed as well.
    bench.world.add(bench.ann.caller, bench.room, bench.ben.id.into(), Role::Member).await;
    ben.event("1", &of_ben, "room_added").await;
    tell_ann(&bench, bench.room, "two").await;
    changes.round().await;
    assert_eq!(ben.event("1", &of_ben, "room_changed").await["unread"]["count"], 1);
    ann.event("1", &of_ann, "room_changed").await;
    bench.world.chats.remove_participant(bench.ann.caller, bench.room, bench.ben.id).await.unwrap();
    ben.event("1", &of_ben, "room_removed").await;
    tell_ann(&bench, bench.room, "three").await;
    changes.round().await;
    ben.nothing_came().await;
    ann.event("1", &of_ann, "room_changed").await;
    // Observers see the rooms of their agents.
    let observed = bench.world.chat(bench.one.caller, &[bench.two.id.into()]).await;
    let mut late = bench.socket(&bench.ann.key).await;
    late.join("1", &of_ann).await;
    bench.world.send(bench.one.caller, observed, "hi", &[ParticipantId::Agent(bench.two.id)]).await;
    changes.round().await;
    let event = late.event("1", &of_ann, "room_changed").await;
    assert_eq!((&event["membership"], &event["unread"]), (&json!("via_agent"), &Value::Null));
    // Also those that came after the join, be it by the agent itself or by others.
    for room in [
        bench.world.chat(bench.one.caller, &[]).await,
        bench.world.chat(bench.two.caller, &[bench.one.id.into()]).await,
    ] {
        changes.round().await;
        let event = late.event("1", &of_ann, "room_changed").await;
        assert_eq!((&event["id"], &event["membership"]), (&json!(room.to_string()), &json!("via_agent")));
    }
    bench.end().await;
}
