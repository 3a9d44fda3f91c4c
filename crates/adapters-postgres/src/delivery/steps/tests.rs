use std::sync::Arc;
use std::time::Duration;

use domain::account::AgentChanges;
use domain::delivery::{AttemptNumber, DeliveryStep, FailureText};
use domain::id::ParticipantId;
use domain::ports::Clock;
use testkit::postgres::server;
use testkit::{Stores, World};

use super::*;
use crate::{PostgresConfig, PostgresStore};

/// Decides the step with long patience after a commit in doubt of `before`; rolls back.
async fn again(
    store: &PostgresStore,
    command: &AdvanceDelivery,
    before: &mut DecidedSteps,
) -> Option<DecidedSteps> {
    let connection = store.pool.acquire().await.unwrap();
    let commands = std::slice::from_ref(command);
    let decided =
        DeliverySteps.decide_on(connection.db(), commands, LockWait::Long, Some(before)).await.unwrap();
    execute(connection.db(), "ROLLBACK").await.unwrap();
    connection.release();
    decided
}

/// Decides and writes the step; commits it if wanted.
async fn take(store: &PostgresStore, command: &AdvanceDelivery, end: &'static str) -> DecidedSteps {
    let connection = store.pool.acquire().await.unwrap();
    let commands = std::slice::from_ref(command);
    let decided = DeliverySteps.decide_on(connection.db(), commands, LockWait::Brief, None).await.unwrap();
    let mut decided = decided.unwrap();
    assert!(matches!(decided.outcomes.as_slice(), [Ok(_)]));
    DeliverySteps.write_on(connection.db(), commands, &mut decided).await.unwrap();
    execute(connection.db(), end).await.unwrap();
    connection.release();
    decided
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_in_doubt_is_found_by_its_attempt_or_end() {
    let database = server().database();
    let config = PostgresConfig { connections: 4, ..PostgresConfig::at(&database.url()) };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let sent = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await;
    world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    let (agent, message) = (bot.id, sent.id);
    let step = |step| AdvanceDelivery { agent, chat, message, step, now: world.clock.now() };

    let begin = step(DeliveryStep::Begin);
    let mut lost = take(&store, &begin, "ROLLBACK").await;
    let again_taken = again(&store, &begin, &mut lost).await.expect("it is not stored");
    let current = |decided: &DecidedSteps| decided.outcomes[0].as_ref().unwrap().delivery.current_attempt();
    assert_eq!(
        (current(&lost), current(&again_taken)),
        (Some(AttemptNumber::FIRST), Some(AttemptNumber::FIRST))
    );
    let mut kept = take(&store, &begin, "COMMIT").await;
    assert!(again(&store, &begin, &mut kept).await.is_none());

    world.clock.advance(Duration::from_secs(1));
    let succeed = step(DeliveryStep::Succeed);
    let mut lost = take(&store, &succeed, "ROLLBACK").await;
    assert!(again(&store, &succeed, &mut lost).await.is_some());
    let mut closed = take(&store, &succeed, "COMMIT").await;
    assert!(again(&store, &succeed, &mut closed).await.is_none());
    // The later step has closed the attempt of the earlier one.
    assert!(again(&store, &begin, &mut kept).await.is_none());

    // Under a lower limit, a step ends the delivery and leaves its attempts as they are.
    take(&store, &step(DeliveryStep::Begin), "COMMIT").await;
    let error = FailureText::new("no key".to_owned()).unwrap();
    take(&store, &step(DeliveryStep::Fail(error)), "COMMIT").await;
    let changes = AgentChanges { max_attempts: Some(MaxAttempts::new(1)), ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, agent, changes).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let exceed = step(DeliveryStep::Begin);
    let mut lost = take(&store, &exceed, "ROLLBACK").await;
    assert!(lost.outcomes[0].as_ref().unwrap().delivery.dead().is_some());
    assert!(again(&store, &exceed, &mut lost).await.is_some());
    let mut ended = take(&store, &exceed, "COMMIT").await;
    assert!(again(&store, &exceed, &mut ended).await.is_none());
}
