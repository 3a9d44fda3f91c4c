//! A client that does not read costs at most its queue, and does not affect others.

use serde_json::json;
use ws_gateway::HubConfig;

use crate::harness::Bench;
use crate::raw::Raw;

/// A masked text frame, short enough for one byte of length and more.
const TEXT: u8 = 0x81;

#[actix_web::test]
async fn who_does_not_read_is_cut_off_and_the_others_hear_everything() {
    let bench = Bench::with(HubConfig { queue_bytes: 256 * 1024, ..HubConfig::default() }).await;
    let topic = bench.chat_topic();
    let mut slow = Raw::open(bench.address, &bench.ann.key).await;
    slow.write(TEXT, json!(["1", "1", topic, "phx_join", {}]).to_string().as_bytes()).await;
    let mut reader = bench.socket(&bench.ann.key).await;
    reader.join("2", &topic).await;
    let text = "x".repeat(400_000);
    let mut sent = 0_u32;
    while bench.open_sockets() > 1 {
        sent += 1;
        assert!(sent < 100, "it was never cut off");
        let message = bench.world.send(bench.ann.caller, bench.room, &text, &[]).await;
        let payload = reader.event("2", &topic, "message_created").await;
        assert_eq!(payload["id"], message.id.to_string());
    }
    assert!(sent > 1, "a queue was granted");
    reader.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn one_message_larger_than_the_queue_reaches_who_reads() {
    let bench = Bench::with(HubConfig { queue_bytes: 64 * 1024, ..HubConfig::default() }).await;
    let topic = bench.chat_topic();
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &topic).await;
    for _ in 0..3 {
        bench.world.send(bench.ann.caller, bench.room, &"x".repeat(400_000), &[]).await;
        ann.event("1", &topic, "message_created").await;
    }
    bench.end().await;
}

#[actix_web::test]
async fn topics_of_a_socket_are_bounded() {
    let bench = Bench::with(HubConfig { max_topics: 2, ..HubConfig::default() }).await;
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &bench.chat_topic()).await;
    ann.join("2", &bench.people_topic()).await;
    let third = format!("user_rooms:{}", bench.ann.id);
    ann.refused("3", &third, "too many channels joined").await;
    ann.say(&json!(["2", "4", bench.people_topic(), "phx_leave", {}])).await;
    assert_eq!(ann.frame().await[4]["status"], "ok");
    ann.ended("2", &bench.people_topic()).await;
    ann.join("5", &third).await;
    bench.end().await;
}

#[actix_web::test]
async fn topics_of_a_caller_are_bounded_on_all_sockets_together() {
    let bench = Bench::with(HubConfig { max_topics_per_caller: 3, ..HubConfig::default() }).await;
    let (mut first, mut second) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.ann.key).await);
    let (chat, own) = (bench.chat_topic(), format!("user_rooms:{}", bench.ann.id));
    first.join("1", &chat).await;
    first.join("2", &own).await;
    second.join("3", &chat).await;
    second.refused("4", &own, "too many channels joined").await;
    bench.socket(&bench.one.key).await.join("1", &chat).await;
    // What is joined may be joined anew.
    second.join("5", &chat).await;
    second.ended("3", &chat).await;
    first.say(&json!(["2", "6", own, "phx_leave", {}])).await;
    assert_eq!(first.frame().await[4]["status"], "ok");
    second.join("7", &own).await;
    drop(first);
    bench.until_open(1).await;
    second.join_people("8", &bench.people_topic()).await;
    bench.end().await;
}
