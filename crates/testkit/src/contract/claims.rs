//! Claims of messages by one of several workers of an agent.

use std::time::Duration;

use domain::account::AgentChanges;
use domain::activity::ReportedWork;
use domain::caller::AgentCaller;
use domain::delivery::{
    AdvanceError, AttemptNumber, Claim, Claims, DeadLetterReason, DeliveryStatus, DeliveryStep, FailureText,
    StepResult,
};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{EventContent, EventMetadata, MessageKind, PostEvent};
use domain::ports::Clock;
use domain::work::{WorkChange, WorkScope};

use super::control::next;
use super::messages::ann_and_bot;
use crate::{TestAgent, TestUser, World};

/// The default lease of a claim.
const LEASE: Duration = Duration::from_secs(60);

async fn set(world: &World, ann: &TestUser, bot: &TestAgent, claims: Claims) {
    let changes = AgentChanges { claims: Some(claims), ..AgentChanges::default() };
    assert_eq!(world.accounts.update_agent(ann.caller, bot.id, changes).await.unwrap().claims, claims);
}

/// An agent with exclusive claims, as its key authenticates it, in a room with so many messages to it.
async fn exclusive(world: &World, messages: usize) -> (TestUser, TestAgent, ChatId, Vec<MessageId>) {
    let (ann, mut bot, chat) = ann_and_bot(world).await;
    set(world, &ann, &bot, Claims::Exclusive).await;
    let caller = world.accounts.authenticate(&bot.key).await.unwrap().caller;
    bot.caller = AgentCaller { claims: Claims::Exclusive, ..bot.caller };
    assert_eq!(caller, bot.caller.into());
    let mut sent = Vec::new();
    for _ in 0..messages {
        sent.push(world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id);
    }
    (ann, bot, chat, sent)
}

async fn step(
    world: &World,
    bot: &TestAgent,
    chat: ChatId,
    message: MessageId,
    step: DeliveryStep,
) -> Result<StepResult, AdvanceError> {
    world.deliveries.advance(bot.caller, chat, message, step).await
}

async fn step_of(
    world: &World,
    bot: &TestAgent,
    (chat, message): (ChatId, MessageId),
    step: DeliveryStep,
    attempt: u32,
) -> Result<StepResult, AdvanceError> {
    world.deliveries.advance_attempt(bot.caller, chat, message, step, AttemptNumber::new(attempt)).await
}

fn fail() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("no model".to_owned()).unwrap())
}

/// What is claimed is neither offered nor begun until its lease ends, and then is claimed by the next attempt.
pub async fn a_claimed_message_is_passed_over_until_its_lease_ends(world: World) {
    let (_, bot, chat, sent) = exclusive(&world, 2).await;
    let until = world.clock.now().plus(LEASE);
    let first = step(&world, &bot, chat, sent[0], DeliveryStep::Begin).await.unwrap();
    assert_eq!((first.attempt_number, first.claimed_until), (AttemptNumber::FIRST, Some(until)));
    assert_eq!(next(&world, &bot, chat).await, Some(sent[1]));
    world.clock.advance(Duration::from_secs(1));
    let claim = Claim { attempt: AttemptNumber::FIRST, until };
    let second = step(&world, &bot, chat, sent[0], DeliveryStep::Begin).await;
    assert!(matches!(second, Err(AdvanceError::AlreadyClaimed(by)) if by == claim), "{second:?}");
    step(&world, &bot, chat, sent[1], DeliveryStep::Begin).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, None);

    world.clock.set(until);
    assert_eq!(next(&world, &bot, chat).await, Some(sent[0]), "the other began later");
    let second = step(&world, &bot, chat, sent[0], DeliveryStep::Begin).await.unwrap();
    assert_eq!((second.attempt_number.get(), second.claimed_until), (2, Some(until.plus(LEASE))));
    // A late result that names its attempt changes nothing; one that names none counts for the open attempt.
    for late in [DeliveryStep::Succeed, fail(), DeliveryStep::Renew] {
        let refused = step_of(&world, &bot, (chat, sent[0]), late, 1).await;
        assert!(matches!(refused, Err(AdvanceError::NoActiveAttempt)), "{refused:?}");
    }
    let done = step(&world, &bot, chat, sent[0], DeliveryStep::Succeed).await.unwrap();
    assert_eq!((done.status, done.claimed_until), (DeliveryStatus::Processed, None));
    let again = step(&world, &bot, chat, sent[0], DeliveryStep::Begin).await;
    assert!(matches!(again, Err(AdvanceError::AlreadyProcessed(_))), "{again:?}");
}

/// A failure ends the claim at once, and so does whoever is responsible for the agent.
pub async fn claims_end_with_their_attempts(world: World) {
    let (ann, bot, chat, sent) = exclusive(&world, 1).await;
    let work = sent[0];
    step(&world, &bot, chat, work, DeliveryStep::Begin).await.unwrap();
    step_of(&world, &bot, (chat, work), fail(), 1).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, Some(work));
    step(&world, &bot, chat, work, DeliveryStep::Begin).await.unwrap();
    let scope = WorkScope::OwnedBy(ann.id);
    let reason = DeadLetterReason::new("no key".to_owned()).unwrap();
    world.work.change(scope, work, bot.id, WorkChange::DeadLetter(reason), None).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, None);
    world.work.change(scope, work, bot.id, WorkChange::Retry, None).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, Some(work));
    let third = step(&world, &bot, chat, work, DeliveryStep::Begin).await.unwrap();
    assert_eq!(third.attempt_number.get(), 3);
    // A stop leaves the claim and its end as they are.
    world.control.stop(ann.caller, chat).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, None);
    world.control.play(ann.caller, chat).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, None);
    world.clock.advance(LEASE);
    assert_eq!(next(&world, &bot, chat).await, Some(work));
}

/// What an agent does in a room renews its claims there; a worker that names its message or its attempt, that one.
pub async fn claims_are_renewed_by_signs_of_life(world: World) {
    let (ann, bot, chat, sent) = exclusive(&world, 2).await;
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    for message in &sent {
        step(&world, &bot, chat, *message, DeliveryStep::Begin).await.unwrap();
    }
    let think = async |chat, in_reply_to| {
        let event = PostEvent {
            kind: MessageKind::Thought,
            content: EventContent::new("hm".to_owned()).unwrap(),
            metadata: EventMetadata::default(),
            in_reply_to,
        };
        world.messages.post_event(bot.caller, chat, event).await.unwrap();
    };
    let is_claimed = async |message| {
        let refused = step(&world, &bot, chat, message, DeliveryStep::Begin).await;
        matches!(refused, Err(AdvanceError::AlreadyClaimed(_)))
    };
    let soon = Duration::from_secs(50);
    let ann_id = [ParticipantId::User(ann.id)];

    world.clock.advance(soon);
    assert!(world.activity.report(bot.caller, chat, true).await.unwrap());
    world.clock.advance(soon);
    world.send(bot.caller, chat, "so far", &ann_id).await;
    world.clock.advance(soon);
    think(chat, None).await;
    world.clock.advance(soon);
    assert_eq!(next(&world, &bot, chat).await, None);

    // None of these is a sign of work on both.
    assert!(!world.activity.report(bot.caller, chat, ReportedWork(None)).await.unwrap());
    world.activity.report(bot.caller, other, true).await.unwrap();
    world.send(ann.caller, chat, "well?", &[]).await;
    think(chat, Some(sent[1])).await;
    world.clock.advance(Duration::from_secs(20));
    assert!(is_claimed(sent[1]).await);
    assert_eq!(next(&world, &bot, chat).await, Some(sent[0]));
    // An ended claim is renewed by its own worker alone.
    think(chat, Some(sent[0])).await;
    assert_eq!(next(&world, &bot, chat).await, Some(sent[0]));
    world.publisher.take();
    let renewed = step_of(&world, &bot, (chat, sent[0]), DeliveryStep::Renew, 1).await.unwrap();
    assert_eq!(renewed.claimed_until, Some(world.clock.now().plus(LEASE)));
    assert_eq!((renewed.attempt_number, renewed.status), (AttemptNumber::FIRST, DeliveryStatus::Processing));
    assert_eq!(world.publisher.take().len(), 0, "nobody is told of a renewal");
    assert!(is_claimed(sent[0]).await);
}

/// A worker that crashed does not keep its message for as long as another one works in the room.
pub async fn claims_of_the_dead_are_not_renewed_for_ever(world: World) {
    let (_, bot, chat, sent) = exclusive(&world, 2).await;
    for message in &sent {
        step(&world, &bot, chat, *message, DeliveryStep::Begin).await.unwrap();
    }
    let mut lasted = Duration::ZERO;
    while lasted < LEASE * 20 && next(&world, &bot, chat).await.is_none() {
        let pause = LEASE / 2;
        world.clock.advance(pause);
        lasted += pause;
        assert!(world.activity.report(bot.caller, chat, true).await.unwrap());
        step_of(&world, &bot, (chat, sent[1]), DeliveryStep::Renew, 1).await.unwrap();
    }
    assert_eq!(next(&world, &bot, chat).await, Some(sent[0]), "the other one names its attempt");
    assert!((LEASE * 15..=LEASE * 16).contains(&lasted), "{lasted:?}");
}

/// Of many attempts at once, one is begun.
pub async fn one_of_many_workers_claims_a_message(world: World) {
    let (_, bot, chat, sent) = exclusive(&world, 1).await;
    let workers = (0..20).map(|_| {
        let (deliveries, agent, message) = (world.deliveries.clone(), bot.caller, sent[0]);
        tokio::spawn(async move { deliveries.advance(agent, chat, message, DeliveryStep::Begin).await })
    });
    let mut won = 0;
    for worker in workers.collect::<Vec<_>>() {
        match worker.await.unwrap() {
            Ok(_) => won += 1,
            Err(AdvanceError::AlreadyClaimed(claim)) => assert_eq!(claim.attempt, AttemptNumber::FIRST),
            refused => panic!("{refused:?}"),
        }
    }
    assert_eq!(won, 1);
    let updated = |event: &DomainEvent| matches!(event, DomainEvent::MessageUpdated { .. });
    assert_eq!(world.publisher.take().iter().filter(|event| updated(event)).count(), 1);
}

/// An agent with shared claims takes over as ever, and waits only for claims that it made before.
pub async fn shared_attempts_take_over(world: World) {
    let (ann, bot, chat, sent) = exclusive(&world, 1).await;
    step(&world, &bot, chat, sent[0], DeliveryStep::Begin).await.unwrap();
    set(&world, &ann, &bot, Claims::Shared).await;
    assert_eq!(next(&world, &bot, chat).await, None);
    world.clock.advance(LEASE);
    for number in 2..=4 {
        assert_eq!(next(&world, &bot, chat).await, Some(sent[0]));
        let begun = step(&world, &bot, chat, sent[0], DeliveryStep::Begin).await.unwrap();
        assert_eq!((begun.attempt_number.get(), begun.claimed_until), (number, None));
    }
    let named = step_of(&world, &bot, (chat, sent[0]), DeliveryStep::Renew, 4).await.unwrap();
    assert_eq!((named.attempt_number.get(), named.claimed_until), (4, None));
    step(&world, &bot, chat, sent[0], DeliveryStep::Succeed).await.unwrap();
    assert_eq!(step(&world, &bot, chat, sent[0], DeliveryStep::Begin).await.unwrap().attempt_number.get(), 5);
    set(&world, &ann, &bot, Claims::Exclusive).await;
    let claimed = step(&world, &bot, chat, sent[0], DeliveryStep::Begin).await.unwrap();
    assert_eq!((claimed.attempt_number.get(), claimed.claimed_until.is_some()), (6, true));
}
