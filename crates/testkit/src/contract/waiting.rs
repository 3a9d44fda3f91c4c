//! What waits for a human, and what does not: odd texts, guests, answers that are held, and dead work.

use std::time::Duration;

use domain::account::AgentChanges;
use domain::attention::{
    AnswerAttentionError, AttentionId, AttentionLine, AttentionState, Decision, DismissAttentionError,
};
use domain::budget::{Amount, Budget};
use domain::chat::Role;
use domain::delivery::{DeadLetterReason, DeliveryStep, FailureText, MaxAttempts};
use domain::id::ParticipantId;
use domain::organization::Authority;
use domain::ports::Clock;
use domain::webhook::{DisabledReason, FailingWebhook, WARNED_AFTER};
use domain::work::{WorkChange, WorkFlag, WorkScope};
use serde_json::json;

use super::attention::{answer, ask, item, lines, said};
use super::control::take;
use super::messages::ann_and_bot;
use super::webhooks;
use crate::{TestUser, World};

/// PostgreSQL stores no U+0000. An approval that is not shown whole is not approved by the list.
pub async fn odd_texts_of_askers_are_harmless(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let metadata = json!({"kind": "assumption", "default": "a\u{0}b"});
    let asked = ask(&world, &bot, chat, "I go on.", metadata).await.id;
    assert_eq!(item(&world, &ann, asked).await.default, None);
    let long = format!(
        "Approval requested (Bash: {}). Token: `a-1`.\nReply `/approve a-1` or `/decline a-1`.\n\
         Use `/approvals` to list pending approvals.",
        "rm -rf build; ".repeat(1_000)
    );
    let long = world.send(bot.caller, chat, &long, &[ParticipantId::User(ann.id)]).await.id;
    let shown = item(&world, &ann, long).await;
    assert_eq!(shown.decisions(), [Decision::Decline]);
    assert!(shown.summary.chars().count() > 3_000, "{}", shown.summary.len());
    answer(&world, &ann, long, Decision::Decline.into()).await.unwrap();
}

/// A guest answers, as anybody in the room, and does not take from the list what others wait for.
pub async fn guests_dismiss_only_what_their_own_agents_ask(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let zoe = world.user("zoe").await;
    let guest = world.agent(&zoe, "Guest").await;
    world.make_global(&guest).await;
    world.connect((ann.caller, "ann"), (zoe.caller, "zoe")).await;
    for who in [zoe.id.into(), guest.id.into()] {
        world.add(ann.caller, chat, who, Role::Member).await;
    }
    let asked = ask(&world, &bot, chat, "Which key?", json!({"kind": "question"})).await.id;
    let own = ask(&world, &guest, chat, "And mine?", json!({"kind": "question"})).await.id;
    let refused = world.attention.dismiss(zoe.caller, AttentionId::Item(asked)).await.unwrap_err();
    assert!(matches!(refused, DismissAttentionError::Guest), "{refused}");
    assert_eq!(item(&world, &ann, asked).await.ended, None);
    world.attention.dismiss(zoe.caller, AttentionId::Item(own)).await.unwrap();
    world.attention.dismiss(ann.caller, AttentionId::Item(asked)).await.unwrap();
}

/// An answer that is held has not reached its asker.
pub async fn a_held_answer_ends_nothing(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let asked = ask(&world, &bot, chat, "Which key?", json!({"kind": "question"})).await.id;
    let budget = vec![(Budget::RoomMessages, Amount::new(1))];
    world.budgets.set(Authority::Admin(ann.caller), budget).await.unwrap();
    world.budgets.check().await.unwrap();
    world.send(ann.caller, chat, "the only one", &[ParticipantId::Agent(bot.id)]).await;
    world.budgets.check().await.unwrap();
    answer(&world, &ann, asked, said("the new one")).await.unwrap();
    assert_eq!(item(&world, &ann, asked).await.ended, None);
    let waiting = lines(&world, ann.caller, Some(AttentionState::Open)).await;
    assert!(waiting.iter().any(|line| line.id() == AttentionId::Item(asked)), "{waiting:?}");
}

/// A message whose agent has used up its attempts waits for a week; one that a human has ended waits for nobody.
pub async fn dead_work_waits_only_if_nobody_has_ended_it(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let to_bot = [ParticipantId::Agent(bot.id)];
    let ended = world.send(ann.caller, chat, "never mind", &to_bot).await.id;
    let reason = DeadLetterReason::new("not needed".to_owned()).unwrap();
    let scope = WorkScope::OwnedBy(ann.id);
    world.work.change(scope, ended, bot.id, WorkChange::DeadLetter(reason), None).await.unwrap();
    assert_eq!(lines(&world, ann.caller, Some(AttentionState::Open)).await, []);
    let changes = AgentChanges { max_attempts: Some(MaxAttempts::new(1)), ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, bot.id, changes).await.unwrap();
    let tried = world.send(ann.caller, chat, "try", &to_bot).await.id;
    let failed = DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap());
    for step in [DeliveryStep::Begin, failed] {
        take(&world, &bot, chat, tried, step).await;
    }
    let waiting = lines(&world, ann.caller, Some(AttentionState::Open)).await;
    let [AttentionLine::Work(work)] = &waiting[..] else { panic!("{waiting:?}") };
    assert_eq!((work.flags.as_slice(), work.count, work.is_dead()), (&[WorkFlag::Dead][..], 1, true));
    world.clock.advance(Duration::from_secs(7 * 24 * 60 * 60));
    assert_eq!(lines(&world, ann.caller, Some(AttentionState::Open)).await, []);
}

/// The webhooks on the attention list of a user.
async fn failing(world: &World, user: &TestUser) -> Vec<FailingWebhook> {
    let lines = lines(world, user.caller, Some(AttentionState::Open)).await.into_iter();
    let webhook = |line| if let AttentionLine::Webhook(webhook) = line { Some(webhook) } else { None };
    lines.filter_map(webhook).collect()
}

/// From the warning on, until it works again, or its owner changes it.
pub async fn owners_are_told_of_webhooks_that_fail(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let zoe = world.user("zoe").await;
    webhooks::hook(&world, &ann, &bot).await;
    webhooks::send(&world, &ann, chat, &bot).await;
    let answers = async |status| {
        let due = webhooks::due(&world, &bot, chat).await;
        webhooks::settle(&world, &due, webhooks::answer(status)).await;
    };
    answers(500).await;
    assert_eq!(failing(&world, &ann).await, []);
    world.clock.advance(WARNED_AFTER);
    answers(500).await;
    let told = failing(&world, &ann).await;
    let [one] = &told[..] else { panic!("{told:?}") };
    assert_eq!((one.agent, one.disabled, one.since), (bot.id, None, world.clock.now()));
    assert_eq!(one.summary(), "All requests to the webhook of @ann/bot have failed for a day.");
    assert_eq!(failing(&world, &zoe).await, []);
    let id = AttentionId::Webhook(bot.id);
    assert!(world.attention.find(ann.caller, id).await.unwrap().is_some());
    assert_eq!(world.attention.find(zoe.caller, id).await.unwrap(), None);
    let refused = world.attention.answer(ann.caller, id, said("yes")).await.unwrap_err();
    assert!(matches!(refused, AnswerAttentionError::TakesNone), "{refused}");
    let refused = world.attention.dismiss(ann.caller, id).await.unwrap_err();
    assert!(matches!(refused, DismissAttentionError::NotFound), "{refused}");
    world.clock.advance(webhooks::seconds(3_600));
    answers(200).await;
    assert_eq!(failing(&world, &ann).await, [], "it works again");

    webhooks::send(&world, &ann, chat, &bot).await;
    let disabled = async || {
        answers(410).await;
        let told = failing(&world, &ann).await;
        assert_eq!(told.iter().map(|one| one.disabled).collect::<Vec<_>>(), [Some(DisabledReason::Gone)]);
    };
    let (hooks, by) = (&world.webhooks, ann.id.into());
    disabled().await;
    hooks.enable(by, ann.id, bot.id).await.unwrap();
    assert_eq!(failing(&world, &ann).await, []);
    disabled().await;
    hooks.set_url(by, ann.id, bot.id, "https://other.example/").await.unwrap();
    assert_eq!(failing(&world, &ann).await, []);
    disabled().await;
    hooks.remove(by, ann.id, bot.id).await.unwrap();
    assert_eq!(failing(&world, &ann).await, []);
}
