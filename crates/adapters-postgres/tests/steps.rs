//! Delivery steps that share a commit, and steps that are stored alone.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod common;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use domain::chat::Role;
use domain::delivery::{
    AdvanceDelivery, AdvanceRefused, Advanced, AttemptNumber, ClaimLease, DeliveryKey, DeliveryRepository,
    DeliveryStatus, DeliveryStep, FailureText,
};
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{HistoryFilter, Message};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::store::{OnCommit, StoreError};
use testkit::postgres::Database;
use testkit::{TestAgent, TestUser, World};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

/// Agents in the room, and texts that mention all of them.
const AGENTS: usize = 5;
const MESSAGES: usize = 4;

/// A room whose agents have all been at work, with texts for them.
struct Room {
    world: Arc<World>,
    deliveries: Arc<dyn DeliveryRepository>,
    agents: Vec<TestAgent>,
    ann: TestUser,
    chat: ChatId,
    messages: Vec<MessageId>,
    database: Database,
}

type Published = Arc<Mutex<Vec<Message>>>;
type Step = Result<Result<Advanced, AdvanceRefused>, StoreError>;

impl Room {
    async fn new() -> Self {
        let (stores, database) = common::store().await;
        let deliveries = stores.deliveries.clone();
        let world = Arc::new(World::on(stores));
        let ann = world.user("ann").await;
        let mut agents = Vec::new();
        for number in 0..AGENTS {
            agents.push(world.agent(&ann, &format!("Agent {number}")).await);
        }
        let ids = agents.iter().map(|agent| agent.id.into()).collect::<Vec<_>>();
        let chat = world.chat(ann.caller, &ids).await;
        let mentioned = agents.iter().map(|agent| ParticipantId::Agent(agent.id)).collect::<Vec<_>>();
        let mut messages = Vec::new();
        for number in 0..MESSAGES {
            messages.push(world.send(ann.caller, chat, &format!("work {number}"), &mentioned).await.id);
        }
        for agent in &agents {
            // From now on it is active.
            world.deliveries.next(agent.caller, chat).await.unwrap().unwrap();
        }
        Self { world, deliveries, agents, ann, chat, messages, database }
    }

    fn step(
        &self,
        agent: usize,
        message: MessageId,
        step: DeliveryStep,
        published: &Published,
    ) -> JoinHandle<Step> {
        self.step_at(&self.deliveries, agent, message, step, published)
    }

    fn step_at(
        &self,
        at: &Arc<dyn DeliveryRepository>,
        agent: usize,
        message: MessageId,
        step: DeliveryStep,
        published: &Published,
    ) -> JoinHandle<Step> {
        let (agent, chat, now) = (self.agents[agent].id, self.chat, self.world.clock.now());
        let (deliveries, published) = (at.clone(), published.clone());
        let on_commit = OnCommit::new(move |advanced: &Advanced| {
            published.lock().unwrap().push(advanced.message.clone());
        });
        tokio::spawn(async move {
            deliveries
                .advance(
                    AdvanceDelivery {
                        agent,
                        chat,
                        message,
                        step,
                        attempt: None,
                        lease: ClaimLease::default(),
                        now,
                    },
                    on_commit,
                )
                .await
        })
    }

    /// What everybody's records say now.
    async fn stored(&self) -> Vec<Message> {
        let page = PageRequest { slice: Slice::After { after: None, limit: 100 }, count: false };
        let history = self.world.messages.history(self.ann.caller, self.chat, HistoryFilter::default(), page);
        history.await.unwrap().rows
    }
}

fn failed() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("it did not work. ".repeat(100)).unwrap())
}

/// A transaction of somebody else that has the message locked, until it is dropped.
async fn hold(database: &Database, message: MessageId) -> Client {
    hold_by(database, "SELECT 1 FROM messages WHERE id = $1::text::uuid FOR UPDATE", message).await
}

async fn hold_by(database: &Database, lock: &str, message: MessageId) -> Client {
    let client = connect(database).await;
    client.batch_execute("BEGIN").await.unwrap();
    assert_eq!(client.query(lock, &[&message.to_string()]).await.unwrap().len(), 1);
    client
}

async fn connect(database: &Database) -> Client {
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// How many steps a message shows: attempts, and those that are closed.
fn steps_of(message: &Message) -> usize {
    let attempts = message.deliveries.iter().flat_map(domain::delivery::Delivery::attempts);
    attempts.map(|attempt| 1 + usize::from(attempt.completed_at().is_some())).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_agents_take_steps_at_once_and_each_is_told_with_all_before_it() {
    let room = Room::new().await;
    let published = Published::default();
    for round in [DeliveryStep::Begin, failed(), DeliveryStep::Begin, DeliveryStep::Succeed] {
        let all = (0..AGENTS).flat_map(|agent| room.messages.iter().map(move |message| (agent, *message)));
        let steps = all.map(|(agent, message)| room.step(agent, message, round.clone(), &published));
        for step in steps.collect::<Vec<_>>() {
            let advanced = step.await.unwrap().unwrap().unwrap();
            let shown =
                advanced.message.deliveries.iter().find(|record| record.agent() == advanced.delivery.agent());
            assert_eq!(shown.unwrap().status(), advanced.delivery.status());
        }
    }
    let published = std::mem::take(&mut *published.lock().unwrap());
    assert_eq!(published.len(), 4 * AGENTS * MESSAGES);
    let mut last = HashMap::<MessageId, &Message>::new();
    for message in &published {
        let before = last.get(&message.id).map_or(0, |message| steps_of(message));
        assert_eq!(steps_of(message), before + 1, "told in the order of the steps");
        last.insert(message.id, message);
    }
    for message in &room.stored().await {
        assert_eq!(last[&message.id].deliveries, message.deliveries, "what was told last is what is stored");
        assert_eq!(message.deliveries.len(), AGENTS);
        for delivery in &message.deliveries {
            assert_eq!(
                (delivery.status(), delivery.current_attempt()),
                (DeliveryStatus::Processed, AttemptNumber::new(2))
            );
            assert!(delivery.attempts().iter().all(|attempt| attempt.completed_at().is_some()));
            assert!(delivery.attempts()[0].error().unwrap().ends_with('…'), "the error is shown in short");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_done_is_refused_beside_what_can() {
    let room = Room::new().await;
    let (published, message) = (Published::default(), room.messages[0]);
    let other = room.world.chat(room.ann.caller, &[]).await;
    let elsewhere = room.world.send(room.ann.caller, other, "elsewhere", &[]).await.id;
    let steps = [
        room.step(0, message, DeliveryStep::Begin, &published),
        room.step(1, message, DeliveryStep::Succeed, &published),
        room.step(2, elsewhere, DeliveryStep::Begin, &published),
        room.step(3, message, DeliveryStep::Begin, &published),
        room.step(3, message, DeliveryStep::Begin, &published),
    ];
    let mut outcomes = Vec::new();
    for step in steps {
        outcomes.push(step.await.unwrap().unwrap().map(|advanced| advanced.delivery.current_attempt()));
    }
    outcomes[3..].sort_by_key(|outcome| *outcome.as_ref().unwrap());
    assert_eq!(
        outcomes,
        [Ok(1), Err(AdvanceRefused::NoActiveAttempt), Err(AdvanceRefused::NotFound), Ok(1), Ok(2)]
            .map(|outcome| outcome.map(AttemptNumber::new))
    );
    assert_eq!(published.lock().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_go_on_while_a_message_is_held() {
    let room = Room::new().await;
    let published = Published::default();
    let holding = hold(&room.database, room.messages[0]).await;
    let waiting = room.step(0, room.messages[0], DeliveryStep::Begin, &published);
    for agent in 0..AGENTS {
        for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
            room.step(agent, room.messages[1], step, &published).await.unwrap().unwrap().unwrap();
        }
    }
    assert!(!waiting.is_finished());
    drop(holding);
    assert_eq!(waiting.await.unwrap().unwrap().unwrap().delivery.status(), DeliveryStatus::Processing);
}

/// A second server, and one that marks: whatever is read is another row a moment later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_work_on_the_same_messages_overlook_nothing() {
    let room = Room::new().await;
    let other = common::open(&room.database).await;
    let mut elsewhere = Vec::new();
    for agent in 0..AGENTS {
        for message in &room.messages {
            elsewhere.push(DeliveryKey { message: *message, agent: room.agents[agent].id });
        }
    }
    let now = room.world.clock.now();
    let marks = elsewhere.chunks(3).map(|keys| {
        let (other, keys, heard) = (other.clone(), keys.to_vec(), Box::new(|_| true));
        tokio::spawn(async move { other.mark_delivered(keys, now, heard, OnCommit::new(|_| ())).await })
    });
    let marks = marks.collect::<Vec<_>>();
    let published = Published::default();
    let there: Arc<dyn DeliveryRepository> = other;
    for round in [DeliveryStep::Begin, DeliveryStep::Begin, DeliveryStep::Succeed] {
        let mut steps = Vec::new();
        for agent in 0..AGENTS {
            for message in &room.messages {
                let at = if agent % 2 == 0 { &room.deliveries } else { &there };
                steps.push(room.step_at(at, agent, *message, round.clone(), &published));
            }
        }
        for step in steps {
            step.await.unwrap().unwrap().unwrap();
        }
    }
    for mark in marks {
        mark.await.unwrap().unwrap();
    }
    for message in room.stored().await {
        for delivery in &message.deliveries {
            assert_eq!(
                (delivery.status(), delivery.current_attempt()),
                (DeliveryStatus::Processed, AttemptNumber::new(2))
            );
            assert_eq!(delivery.attempts().len(), 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_not_shown_itself_and_who_was_not_addressed_are_served_too() {
    let room = Room::new().await;
    let published = Published::default();
    let late = room.world.agent(&room.ann, "Late").await;
    room.world.add(room.ann.caller, room.chat, late.id.into(), Role::Member).await;
    let room = Room { agents: vec![late], ..room };
    let advanced =
        room.step(0, room.messages[0], DeliveryStep::Begin, &published).await.unwrap().unwrap().unwrap();
    assert!(!advanced.delivery.is_addressed());
    let done =
        room.step(0, room.messages[0], DeliveryStep::Succeed, &published).await.unwrap().unwrap().unwrap();
    assert_eq!(done.delivery.status(), DeliveryStatus::Processed);
}
