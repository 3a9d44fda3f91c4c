use std::sync::Arc;
use std::time::Duration;

use domain::account::AgentChanges;
use domain::delivery::{AttemptNumber, ClaimLease, DeliveryStep, FailureText};
use domain::id::ParticipantId;
use domain::ports::Clock;
use testkit::postgres::server;
use testkit::{Stores, World};

use super::*;
use crate::group_commit::tests::{decide_again, write_once};
use crate::{PostgresConfig, PostgresStore};

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
    let step = |step| AdvanceDelivery {
        agent,
        chat,
        message,
        step,
        attempt: None,
        lease: ClaimLease::default(),
        now: world.clock.now(),
    };

    let begin = step(DeliveryStep::Begin);
    let mut lost = write_once(&store, &DeliverySteps, &begin, "ROLLBACK").await;
    let again_taken =
        decide_again(&store, &DeliverySteps, &begin, &mut lost).await.expect("it is not stored");
    let current = |decided: &DecidedSteps| decided.outcomes[0].as_ref().unwrap().delivery.current_attempt();
    assert_eq!(
        (current(&lost), current(&again_taken)),
        (Some(AttemptNumber::FIRST), Some(AttemptNumber::FIRST))
    );
    let mut kept = write_once(&store, &DeliverySteps, &begin, "COMMIT").await;
    assert!(decide_again(&store, &DeliverySteps, &begin, &mut kept).await.is_none());

    world.clock.advance(Duration::from_secs(1));
    let succeed = step(DeliveryStep::Succeed);
    let mut lost = write_once(&store, &DeliverySteps, &succeed, "ROLLBACK").await;
    assert!(decide_again(&store, &DeliverySteps, &succeed, &mut lost).await.is_some());
    let mut closed = write_once(&store, &DeliverySteps, &succeed, "COMMIT").await;
    assert!(decide_again(&store, &DeliverySteps, &succeed, &mut closed).await.is_none());
    // The later step has closed the attempt of the earlier one.
    assert!(decide_again(&store, &DeliverySteps, &begin, &mut kept).await.is_none());

    // Under a lower limit, a step ends the delivery and leaves its attempts as they are.
    write_once(&store, &DeliverySteps, &step(DeliveryStep::Begin), "COMMIT").await;
    let error = FailureText::new("no key".to_owned()).unwrap();
    write_once(&store, &DeliverySteps, &step(DeliveryStep::Fail(error)), "COMMIT").await;
    let changes = AgentChanges { max_attempts: Some(MaxAttempts::new(1)), ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, agent, changes).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let exceed = step(DeliveryStep::Begin);
    let mut lost = write_once(&store, &DeliverySteps, &exceed, "ROLLBACK").await;
    assert!(lost.outcomes[0].as_ref().unwrap().delivery.dead().is_some());
    assert!(decide_again(&store, &DeliverySteps, &exceed, &mut lost).await.is_some());
    let mut ended = write_once(&store, &DeliverySteps, &exceed, "COMMIT").await;
    assert!(decide_again(&store, &DeliverySteps, &exceed, &mut ended).await.is_none());
}
