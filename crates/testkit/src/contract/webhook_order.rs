//! Which message of a room a webhook is sent, depending on what its agent does.

use std::collections::BTreeSet;

use domain::account::AgentChanges;
use domain::caller::AgentCaller;
use domain::delivery::{Claims, DeadLetterReason, DeliveryKey, DeliveryStep};
use domain::id::AgentId;
use domain::organization::PauseReason;
use domain::ports::Clock;
use domain::webhook::{
    DISABLED_AFTER, HALTED_PAUSE, Notice, ROOMS_OF_AGENT, RoomSearch, WebhookOutcome, WebhookRoom,
};
use domain::work::{WorkChange, WorkScope, WorkThresholds};

use super::messages::ann_and_bot;
use super::webhooks::{answer, due, hook, outcomes, room, rooms, seconds, send, settle, silence, take};
use crate::World;

/// Agents ask for their oldest open message, so they are sent this one, whatever has happened to it before.
pub async fn a_room_waits_for_its_oldest_open_message(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (one, two) = (send(&world, &ann, chat, &bot).await, send(&world, &ann, chat, &bot).await);
    let three = send(&world, &ann, chat, &bot).await;
    let step = async |message, step| {
        world.deliveries.advance(bot.caller, chat, message, step).await.unwrap();
    };
    let key = DeliveryKey { message: one, agent: bot.id };
    world.deliveries.mark_delivered(vec![key]).await.unwrap();
    step(two, DeliveryStep::Begin).await;
    world.clock.advance(seconds(60));
    hook(&world, &ann, &bot).await;
    let first = due(&world, &bot, chat).await;
    assert_eq!(first.message.id, one, "a socket had it");
    step(one, DeliveryStep::Begin).await;
    let early = settle(&world, &first, answer(200)).await.delivery;
    assert_eq!((early.ended, early.status), (None, Some(200)), "the agent has an attempt open");
    assert!(take(&world, &bot, chat).await.is_none());
    step(one, DeliveryStep::Succeed).await;
    assert_eq!(rooms(&world, RoomSearch::New).await, [room(&bot, chat)], "it does not wait any more");
    assert!(take(&world, &bot, chat).await.is_none(), "an attempt at the second one is open");
    world.clock.advance(WorkThresholds::default().stuck_after);
    let second = due(&world, &bot, chat).await;
    assert_eq!(second.message.id, two, "the attempt is stuck");
    step(two, DeliveryStep::Begin).await;
    settle(&world, &second, answer(504)).await;
    world.clock.advance(seconds(60));
    assert!(take(&world, &bot, chat).await.is_none(), "only a gateway has answered");
    step(two, DeliveryStep::Succeed).await;
    assert_eq!(due(&world, &bot, chat).await.message.id, three);
    let delivered = Some(WebhookOutcome::Delivered);
    assert_eq!(outcomes(&world, &ann, &bot).await, [None, delivered, delivered]);
}

/// A message that a worker claims is passed over by others, so a request would find nothing to do.
pub async fn a_claimed_message_is_not_sent(world: World) {
    let (ann, mut bot, chat) = ann_and_bot(&world).await;
    let changes = AgentChanges { claims: Some(Claims::Exclusive), ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, bot.id, changes).await.unwrap();
    bot.caller = AgentCaller { claims: Claims::Exclusive, ..bot.caller };
    let message = send(&world, &ann, chat, &bot).await;
    hook(&world, &ann, &bot).await;
    let lost = due(&world, &bot, chat).await;
    let begun = world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    assert_eq!(begun.claimed_until, Some(world.clock.now().plus(seconds(60))));
    settle(&world, &lost, silence()).await;
    world.clock.advance(seconds(59));
    assert!(take(&world, &bot, chat).await.is_none());
    world.clock.advance(seconds(1));
    let again = due(&world, &bot, chat).await;
    assert_eq!((again.message.id, again.delivery.attempts), (message, 2), "sooner than it counts as stuck");
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    settle(&world, &again, answer(500)).await;
    world.clock.advance(seconds(50));
    assert!(take(&world, &bot, chat).await.is_none(), "another worker claims it");
}

/// Only the current address tells something about the webhook.
pub async fn an_earlier_address_disables_nothing(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    send(&world, &ann, chat, &bot).await;
    let taken = due(&world, &bot, chat).await;
    world.webhooks.set_url(ann.id.into(), ann.id, bot.id, "https://other.example/").await.unwrap();
    let settled = settle(&world, &taken, answer(410)).await;
    assert_eq!(settled.notice, None);
    let hook = world.webhooks.find(ann.id, bot.id).await.unwrap();
    assert_eq!((hook.disabled, hook.failing_since), (None, None));
    let again = due(&world, &bot, chat).await;
    assert_eq!(
        (again.delivery.attempts, again.webhook.url.as_str()),
        (2, "https://other.example/"),
        "at once"
    );
}

/// Whoever offers a message again may have a clock that is ahead. The pauses hold, and a success ends the delivery.
pub async fn a_clock_that_is_ahead_repeats_nothing(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let one = send(&world, &ann, chat, &bot).await;
    let (first, now) = (due(&world, &bot, chat).await, world.clock.now());
    settle(&world, &first, answer(200)).await;
    world.clock.advance(seconds(7_200));
    for change in
        [WorkChange::DeadLetter(DeadLetterReason::new("too much".to_owned()).unwrap()), WorkChange::Retry]
    {
        world.work.change(WorkScope::OwnedBy(ann.id), one, bot.id, change, None).await.unwrap();
    }
    world.clock.jump(now);
    for (attempts, reply) in [(1, answer(500)), (2, answer(200))] {
        world.clock.advance(seconds(6));
        let again = due(&world, &bot, chat).await;
        assert_eq!((again.message.id, again.delivery.attempts), (one, attempts));
        settle(&world, &again, reply).await;
        assert!(take(&world, &bot, chat).await.is_none(), "{attempts}");
    }
    assert_eq!(outcomes(&world, &ann, &bot).await, [Some(WebhookOutcome::Delivered)]);
}

/// Agents ask for their oldest open message, also if it was taken out of the queue while a later one was sent.
pub async fn what_is_offered_again_comes_before_later_messages(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let (one, two) = (send(&world, &ann, chat, &bot).await, send(&world, &ann, chat, &bot).await);
    let change = async |change| {
        world.work.change(WorkScope::OwnedBy(ann.id), one, bot.id, change, None).await.unwrap();
        world.clock.advance(seconds(1));
    };
    let dead = || WorkChange::DeadLetter(DeadLetterReason::new("too much".to_owned()).unwrap());
    let first = due(&world, &bot, chat).await;
    settle(&world, &first, answer(500)).await;
    change(dead()).await;
    let later = due(&world, &bot, chat).await;
    assert_eq!(later.message.id, two);
    change(WorkChange::Retry).await;
    assert_eq!(rooms(&world, RoomSearch::New).await, [], "one at a time");
    settle(&world, &later, answer(500)).await;
    assert_eq!(rooms(&world, RoomSearch::New).await, [room(&bot, chat)], "at once");
    let again = due(&world, &bot, chat).await;
    assert_eq!((again.message.id, again.delivery.attempts), (one, 1));
    settle(&world, &again, answer(200)).await;
    let later = due(&world, &bot, chat).await;
    assert_eq!((later.message.id, later.delivery.attempts), (two, 1), "it gave way");

    // Not while the agent may work on the later one.
    world.deliveries.advance(bot.caller, chat, two, DeliveryStep::Begin).await.unwrap();
    settle(&world, &later, silence()).await;
    world.clock.advance(seconds(1));
    change(WorkChange::Retry).await;
    assert!(take(&world, &bot, chat).await.is_none());
    world.deliveries.advance(bot.caller, chat, two, DeliveryStep::Succeed).await.unwrap();
    assert_eq!(due(&world, &bot, chat).await.message.id, one);
}

/// What could not be sent meanwhile is sent when the agent goes on, and as often as before.
pub async fn a_pause_ends_no_delivery_and_no_webhook(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    send(&world, &ann, chat, &bot).await;
    let taken = due(&world, &bot, chat).await;
    settle(&world, &taken, answer(500)).await;
    let reason = PauseReason::new("wrong".to_owned()).unwrap();
    world.control.pause_agent(ann.id.into(), bot.id, reason).await.unwrap();
    world.clock.advance(DISABLED_AFTER * 2);
    assert!(take(&world, &bot, chat).await.is_none());
    world.control.resume_agent(ann.id.into(), bot.id).await.unwrap();
    world.clock.advance(HALTED_PAUSE);
    for attempt in 2..6 {
        let again = due(&world, &bot, chat).await;
        assert_eq!((again.delivery.id, again.delivery.attempts), (taken.delivery.id, attempt));
        let settled = settle(&world, &again, answer(500)).await;
        assert!(!matches!(settled.notice, Some(Notice::Disabled(_))), "{settled:?}");
        world.clock.advance(settled.delivery.next_attempt_at.since(world.clock.now()));
    }
}

/// A search finds some rooms of each agent, and one that does not find all is continued.
pub async fn agents_with_many_rooms_leave_places_to_others(world: World) {
    let (ann, bot, first) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    let mut chats = vec![first];
    for _ in 0..=ROOMS_OF_AGENT {
        chats.push(world.chat(ann.caller, &[bot.id.into()]).await);
    }
    for chat in &chats {
        send(&world, &ann, *chat, &bot).await;
    }
    let elsewhere = world.chat(ann.caller, &[other.id.into()]).await;
    send(&world, &ann, elsewhere, &other).await;
    hook(&world, &ann, &bot).await;
    hook(&world, &ann, &other).await;
    let search = async |search, after, limit| {
        world.stores.all.webhook_rooms(search, after, world.clock.now(), limit).await.unwrap()
    };
    let some = ROOMS_OF_AGENT as usize;
    let is_shared = |rooms: &[WebhookRoom]| {
        rooms.iter().filter(|room| room.agent == bot.id).count() == some
            && rooms.contains(&room(&other, elsewhere))
    };
    assert!(is_shared(&search(RoomSearch::New, AgentId::NIL, 100).await));
    let few = search(RoomSearch::New, AgentId::NIL, 2).await;
    assert!(few.len() == 2 && few.contains(&room(&other, elsewhere)), "one of each");
    for chat in &chats {
        let taken = due(&world, &bot, *chat).await;
        settle(&world, &taken, silence()).await;
    }
    let taken = due(&world, &other, elsewhere).await;
    settle(&world, &taken, silence()).await;
    world.clock.advance(seconds(60));
    let found = search(RoomSearch::Due, AgentId::NIL, 100).await;
    assert!(is_shared(&found));
    let mut pages = search(RoomSearch::Due, AgentId::NIL, 1).await;
    pages.extend(search(RoomSearch::Due, pages[0].agent, 100).await);
    let agents = |rooms: &[WebhookRoom]| rooms.iter().map(|room| room.agent).collect::<BTreeSet<_>>();
    assert_eq!(agents(&pages), [bot.id, other.id].into());
    let last = *agents(&found).last().unwrap();
    assert_eq!(search(RoomSearch::Due, last, 100).await, []);
}
