//! A message that an agent's socket has taken is delivered, and humans receive an event.

use domain::chat::ChatTitle;
use domain::delivery::{DeliveryFilter, DeliveryStatus, Order};
use domain::id::ParticipantId;
use domain::page::{PageRequest, Slice};
use serde_json::{Value, json};
use testkit::TestAgent;

use crate::harness::Bench;

impl Bench {
    /// Where the agent's messages of the room stand, oldest first.
    pub(crate) async fn states(&self, agent: &TestAgent) -> Vec<DeliveryStatus> {
        let page = PageRequest { slice: Slice::After { after: None, limit: 100 }, count: false };
        let (filter, order) = (DeliveryFilter::All, Order::Ascending);
        let rows =
            self.world.deliveries.list(agent.caller, self.room, filter, order, page).await.unwrap().rows;
        rows.into_iter().map(|message| message.deliveries[0].status()).collect()
    }

    /// What was taken is written down now.
    pub(crate) async fn write_deliveries(&self) {
        self.hub.acknowledgements().write(&self.world.deliveries).await.unwrap();
    }
}

#[actix_web::test]
async fn what_an_agent_took_is_delivered_and_humans_hear_of_it() {
    let bench = Bench::new().await;
    let topic = bench.chat_topic();
    let (mut one, mut ann) = (bench.socket(&bench.one.key).await, bench.socket(&bench.ann.key).await);
    one.join("1", &topic).await;
    ann.join("2", &topic).await;
    let to_both = [ParticipantId::Agent(bench.one.id), ParticipantId::Agent(bench.two.id)];
    let sent = bench.world.send(bench.ann.caller, bench.room, "hello", &to_both).await;
    one.event("1", &topic, "message_created").await;
    let created = ann.event("2", &topic, "message_created").await;
    assert_eq!(created["metadata"]["delivery_status"], json!({}));
    bench.write_deliveries().await;
    let updated = ann.event("2", &topic, "message_updated").await;
    assert_eq!(updated["id"], json!(sent.id.to_string()));
    let record = &updated["metadata"]["delivery_status"][bench.one.id.to_string()];
    assert_eq!((&record["status"], &record["attempts"]), (&json!("delivered"), &json!([])));
    assert!(record["delivered_at"].is_string() && record["processed_at"].is_null(), "{record}");
    assert_eq!(updated["metadata"]["delivery_status"][bench.two.id.to_string()], Value::Null);
    // Two has no socket, and one's record is not two's.
    assert_eq!(bench.states(&bench.one).await, [DeliveryStatus::Delivered]);
    assert_eq!(bench.states(&bench.two).await, [DeliveryStatus::New]);
    bench.write_deliveries().await;
    ann.nothing_came().await;
    one.nothing_came().await;
    bench.end().await;
}

/// Neither an agent that joined something else nor a human's reading delivers anything, and
/// whoever asks with `/next` finds the message as it was.
#[actix_web::test]
async fn only_the_push_to_the_agent_itself_delivers() {
    let bench = Bench::new().await;
    let topic = bench.chat_topic();
    let (mut one, mut ann) = (bench.socket(&bench.one.key).await, bench.socket(&bench.ann.key).await);
    one.join("1", &bench.people_topic()).await;
    ann.join("2", &topic).await;
    let to_one = [ParticipantId::Agent(bench.one.id)];
    bench.world.send(bench.ann.caller, bench.room, "hello", &to_one).await;
    ann.event("2", &topic, "message_created").await;
    let title = ChatTitle::renamed("Plan").unwrap();
    bench.world.chats.rename(bench.ann.caller, bench.room, title).await.unwrap();
    one.event("1", &bench.people_topic(), "room_title_changed").await;
    one.nothing_came().await;
    bench.world.deliveries.next(bench.one.caller, bench.room).await.unwrap().unwrap();
    bench.write_deliveries().await;
    assert_eq!(bench.states(&bench.one).await, [DeliveryStatus::New]);
    ann.nothing_came().await;
    bench.end().await;
}
