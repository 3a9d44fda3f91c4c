//! Messages that are lost between the commit and the socket are pushed again.

use std::time::Duration;

use domain::change::Change;
use domain::delivery::{DeliveryStatus, DeliveryStep, RedeliveryPolicy};
use domain::id::{MessageId, ParticipantId};
use serde_json::{Value, json};
use testkit::TestAgent;
use ws_gateway::Redeliverer;

use crate::client::Client;
use crate::harness::Bench;

/// After how long a message is pushed again.
const AFTER: Duration = Duration::from_secs(5);

/// A little more: of messages of one instant each is written a microsecond after the one before.
const LATER: Duration = Duration::from_millis(5_001);

/// How long an attempt shows that an agent works through its backlog.
const STUCK_AFTER: Duration = Duration::from_secs(900);

/// Which messages get lost on the event bus.
#[derive(Clone, Copy)]
enum Lost {
    All,
    EverySecond,
}

impl Bench {
    async fn losing(lost: Lost) -> (Self, Redeliverer) {
        let bench = Self::with_lost(match lost {
            Lost::All => 1,
            Lost::EverySecond => 2,
        });
        let bench = bench.await;
        let repeater = Redeliverer::new(
            bench.hub.clone(),
            bench.world.deliveries.clone(),
            RedeliveryPolicy::usual(AFTER, STUCK_AFTER),
        );
        (bench, repeater)
    }

    async fn say(&self, text: &str, to: &[&TestAgent]) -> MessageId {
        let to = to.iter().map(|agent| ParticipantId::Agent(agent.id)).collect::<Vec<_>>();
        self.world.send(self.ann.caller, self.room, text, &to).await.id
    }

    /// A round so much later: how many messages it pushed.
    async fn later(&self, repeater: &mut Redeliverer, by: Duration) -> usize {
        self.world.clock.advance(by);
        repeater.round().await
    }
}

/// The next frame must bring this message.
async fn brings(socket: &mut Client, join_ref: &str, topic: &str, message: MessageId) -> Value {
    let payload = socket.event(join_ref, topic, "message_created").await;
    assert_eq!(payload["id"], json!(message.to_string()));
    payload
}

#[actix_web::test]
async fn a_lost_message_is_pushed_again_until_it_was_taken() {
    let (bench, mut repeater) = Bench::losing(Lost::EverySecond).await;
    let topic = bench.chat_topic();
    let (mut one, mut ann) = (bench.socket(&bench.one.key).await, bench.socket(&bench.ann.key).await);
    one.join("1", &topic).await;
    ann.join("2", &topic).await;
    let lost = bench.say("lost", &[&bench.one]).await;
    let heard = bench.say("heard", &[&bench.one]).await;
    let pushed_at_once = brings(&mut one, "1", &topic, heard).await;
    bench.write_deliveries().await;
    assert_eq!(bench.states(&bench.one).await, [DeliveryStatus::New, DeliveryStatus::Delivered]);
    assert_eq!(bench.later(&mut repeater, Duration::from_micros(4_999_999)).await, 0, "it is too early");
    assert_eq!(bench.later(&mut repeater, Duration::from_micros(1)).await, 1);
    let payload = brings(&mut one, "1", &topic, lost).await;
    let members = |payload: &Value| payload.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&payload), members(&pushed_at_once), "it looks like any other");
    // It was taken, though that is not written down yet: nothing comes twice.
    assert_eq!(bench.later(&mut repeater, AFTER * 100).await, 0);
    bench.write_deliveries().await;
    assert_eq!(bench.states(&bench.one).await, [DeliveryStatus::Delivered, DeliveryStatus::Delivered]);
    assert_eq!(bench.later(&mut repeater, AFTER * 100).await, 0);
    one.nothing_came().await;
    // Humans hear of what was delivered, and nothing is pushed to them again.
    ann.event("2", &topic, "message_created").await;
    for message in [heard, lost] {
        let updated = ann.event("2", &topic, "message_updated").await;
        assert_eq!(updated["id"], json!(message.to_string()));
        let record = &updated["metadata"]["delivery_status"][bench.one.id.to_string()];
        assert_eq!(record["status"], "delivered");
    }
    ann.nothing_came().await;
    bench.end().await;
}

/// For older ones, the client has time to ask, and what is worked on is known to it.
#[actix_web::test]
async fn what_came_after_the_join_and_is_still_new_is_pushed_again() {
    let (bench, mut repeater) = Bench::losing(Lost::All).await;
    let topic = bench.chat_topic();
    let mut one = bench.socket(&bench.one.key).await;
    bench.say("before anybody listened", &[&bench.one]).await;
    one.join("1", &topic).await;
    let mut worked_on = Vec::new();
    for _ in 0..2 {
        worked_on.push(bench.say("asked for with /next", &[&bench.one]).await);
    }
    bench.say("for another", &[&bench.two]).await;
    bench.say("for nobody", &[]).await;
    let wanted = bench.say("lost", &[&bench.one, &bench.two]).await;
    for message in &worked_on {
        let (caller, step) = (bench.one.caller, DeliveryStep::Begin);
        bench.world.deliveries.advance(caller, bench.room, *message, step).await.unwrap();
    }
    let step = DeliveryStep::Succeed;
    bench.world.deliveries.advance(bench.one.caller, bench.room, worked_on[0], step).await.unwrap();
    assert_eq!(bench.later(&mut repeater, LATER).await, 1);
    brings(&mut one, "1", &topic, wanted).await;
    bench.write_deliveries().await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    one.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn many_lost_messages_come_in_their_order_a_few_at_once() {
    let (bench, mut repeater) = Bench::losing(Lost::All).await;
    let topic = bench.chat_topic();
    let mut one = bench.socket(&bench.one.key).await;
    one.join("1", &topic).await;
    let mut sent = Vec::new();
    for number in 0..20 {
        sent.push(bench.say(&format!("message {number}"), &[&bench.one]).await);
    }
    assert_eq!(bench.later(&mut repeater, LATER).await, 8);
    for (number, message) in sent.iter().enumerate() {
        if number > 0 && number % 8 == 0 {
            bench.write_deliveries().await;
            assert_eq!(bench.later(&mut repeater, AFTER / 2).await, (sent.len() - number).min(8));
        }
        brings(&mut one, "1", &topic, *message).await;
    }
    bench.write_deliveries().await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    assert_eq!(bench.states(&bench.one).await, [DeliveryStatus::Delivered; 20]);
    bench.end().await;
}

/// An agent that was away and does not ask gets the oldest first, a few at once, when it has had time to ask.
#[actix_web::test]
async fn a_backlog_is_pushed_to_an_agent_that_does_not_ask() {
    let (bench, mut repeater) = Bench::losing(Lost::All).await;
    let topic = bench.chat_topic();
    let mut sent = Vec::new();
    for number in 0..10 {
        sent.push(bench.say(&format!("message {number}"), &[&bench.one]).await);
    }
    let mut one = bench.socket(&bench.one.key).await;
    one.join("1", &topic).await;
    sent.push(bench.say("lost after the join", &[&bench.one]).await);
    assert_eq!(bench.later(&mut repeater, LATER).await, 1);
    brings(&mut one, "1", &topic, sent[10]).await;
    bench.write_deliveries().await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    assert_eq!(bench.later(&mut repeater, AFTER).await, 8);
    for message in &sent[..8] {
        brings(&mut one, "1", &topic, *message).await;
    }
    bench.write_deliveries().await;
    assert_eq!(bench.later(&mut repeater, AFTER / 2).await, 2);
    for message in &sent[8..10] {
        brings(&mut one, "1", &topic, *message).await;
    }
    bench.write_deliveries().await;
    assert_eq!(bench.later(&mut repeater, AFTER * 100).await, 0);
    assert_eq!(bench.states(&bench.one).await, [DeliveryStatus::Delivered; 11]);
    one.nothing_came().await;
    bench.end().await;
}

/// An agent that drains its backlog may take long for each message, and gets none of it over its socket. When
/// it has stopped, it gets the rest.
#[actix_web::test]
async fn a_backlog_is_left_to_an_agent_that_drains_it() {
    let (bench, mut repeater) = Bench::losing(Lost::All).await;
    let (topic, caller) = (bench.chat_topic(), bench.one.caller);
    let mut sent = Vec::new();
    for number in 0..4 {
        sent.push(bench.say(&format!("message {number}"), &[&bench.one]).await);
    }
    // Open when its process ended.
    let advance = async |message: MessageId, step: DeliveryStep| {
        bench.world.deliveries.advance(caller, bench.room, message, step).await.unwrap();
    };
    advance(sent[0], DeliveryStep::Begin).await;
    bench.world.clock.advance(AFTER);
    let mut one = bench.socket(&bench.one.key).await;
    one.join("1", &topic).await;
    for message in &sent[..2] {
        bench.world.clock.advance(AFTER);
        let next = bench.world.deliveries.next(caller, bench.room).await.unwrap().unwrap();
        assert_eq!(next.id, *message);
        advance(next.id, DeliveryStep::Begin).await;
        assert_eq!(bench.later(&mut repeater, STUCK_AFTER / 2).await, 0);
        advance(next.id, DeliveryStep::Succeed).await;
        assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    }
    let lost = bench.say("lost meanwhile", &[&bench.one]).await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 1);
    brings(&mut one, "1", &topic, lost).await;
    bench.write_deliveries().await;
    // Its next attempt gets stuck.
    advance(sent[2], DeliveryStep::Begin).await;
    assert_eq!(bench.later(&mut repeater, STUCK_AFTER.saturating_sub(LATER)).await, 0);
    assert_eq!(bench.later(&mut repeater, LATER).await, 1);
    brings(&mut one, "1", &topic, sent[3]).await;
    one.nothing_came().await;
    bench.end().await;
}

/// What waits for an agent that plays again is left to it as its backlog, and then pushed.
#[actix_web::test]
async fn play_counts_as_a_join() {
    let (bench, mut repeater) = Bench::losing(Lost::All).await;
    let topic = bench.chat_topic();
    let mut one = bench.socket(&bench.one.key).await;
    one.join("1", &topic).await;
    let lost = bench.say("lost before the stop", &[&bench.one]).await;
    bench.world.control.stop(bench.ann.caller, bench.room).await.unwrap();
    let waits = bench.say("written while it is stopped", &[&bench.one]).await;
    for _ in 0..4 {
        assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    }
    bench.world.control.play(bench.ann.caller, bench.room).await.unwrap();
    // The signal is lost as well, so the change log tells.
    bench.hub.follow(Change::AgentsPlaying(bench.room));
    assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    let next = bench.say("lost after the play", &[&bench.one]).await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 1, "what is new is not part of the backlog");
    brings(&mut one, "1", &topic, next).await;
    bench.write_deliveries().await;
    assert_eq!(bench.later(&mut repeater, AFTER * 2).await, 2);
    brings(&mut one, "1", &topic, lost).await;
    brings(&mut one, "1", &topic, waits).await;
    one.nothing_came().await;
    bench.end().await;
}

/// Whoever has left, joined anew, been removed or connected elsewhere has nothing pushed again
/// at once that was written before.
#[actix_web::test]
async fn nothing_is_pushed_again_to_a_stay_that_is_over() {
    let (bench, mut repeater) = Bench::losing(Lost::All).await;
    let topic = bench.chat_topic();
    let (mut one, mut two) = (bench.socket(&bench.one.key).await, bench.socket(&bench.two.key).await);
    one.join("1", &topic).await;
    two.join("1", &topic).await;
    let oldest = bench.say("lost", &[&bench.one, &bench.two]).await;
    one.say(&json!(["1", "2", topic, "phx_leave", {}])).await;
    assert_eq!(one.frame().await[3], "phx_reply");
    one.ended("1", &topic).await;
    bench.world.chats.remove_participant(bench.ann.caller, bench.room, bench.two.id).await.unwrap();
    two.ended("1", &topic).await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    one.join("3", &topic).await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    let lost = bench.say("lost again", &[&bench.one]).await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 1);
    brings(&mut one, "3", &topic, lost).await;
    // The same socket joins once more: from then on it counts.
    one.ask("4", &topic).await;
    one.answer("4", &topic, "ok", json!({})).await;
    one.ended("3", &topic).await;
    let newest = bench.say("lost before the next socket", &[&bench.one]).await;
    let mut newer = bench.socket(&bench.one.key).await;
    newer.join("1", &topic).await;
    bench.until_open(2).await;
    assert_eq!(bench.later(&mut repeater, LATER).await, 0);
    newer.nothing_came().await;
    // It is the backlog of the newest stay, but for what was taken.
    assert_eq!(bench.later(&mut repeater, AFTER * 2).await, 2);
    brings(&mut newer, "1", &topic, oldest).await;
    brings(&mut newer, "1", &topic, newest).await;
    two.nothing_came().await;
    bench.end().await;
}

/// It stays for `/next`, and does not stand in the way of others.
#[actix_web::test]
async fn what_is_too_large_for_an_agent_is_not_pushed_again() {
    let (bench, mut repeater) = Bench::losing(Lost::All).await;
    let topic = bench.chat_topic();
    let mut one = bench.socket(&bench.one.key).await;
    one.join("1", &topic).await;
    // Six bytes a character as JSON.
    let large = "\u{1}".repeat(200_000);
    for _ in 0..10 {
        bench.say(&large, &[&bench.one]).await;
    }
    let small = bench.say("small", &[&bench.one]).await;
    let mut pushed = 0;
    for _ in 0..10 {
        pushed += bench.later(&mut repeater, LATER).await;
    }
    assert_eq!(pushed, 1);
    brings(&mut one, "1", &topic, small).await;
    one.nothing_came().await;
    let waits = bench.world.deliveries.next(bench.one.caller, bench.room).await.unwrap().unwrap();
    assert_eq!((waits.sequence.get(), waits.deliveries[0].status()), (1, DeliveryStatus::New));
    bench.end().await;
}
