//! Deliveries and attempts.

use std::sync::Arc;

use domain::chat::Role;
use domain::delivery::{
    AdvanceDelivery, AdvanceRefused, DeliveryFilter, DeliveryStatus, DeliveryStep, FailureText, Order,
    SHOWN_ATTEMPTS,
};
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::HistoryFilter;
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::store::Announce;

use super::messages::{ann_and_bot, first};
use crate::{TestAgent, World};

fn failed() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("it did not work".to_owned()).unwrap())
}

async fn take(world: &World, agent: &TestAgent, chat: ChatId, message: MessageId, steps: &[DeliveryStep]) {
    for step in steps {
        world.deliveries.advance(agent.caller, chat, message, step.clone()).await.unwrap();
    }
}

/// Twenty at once get the numbers 1 to 20, and one attempt is open in the end.
pub async fn attempts_are_numbered_without_gaps_under_many_workers(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let deliveries = Arc::new(world.deliveries);
    let begun = (0..20).map(|_| {
        let deliveries = deliveries.clone();
        let begin = async move { deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await };
        tokio::spawn(begin)
    });
    let mut numbers = Vec::new();
    for begin in begun.collect::<Vec<_>>() {
        numbers.push(begin.await.unwrap().unwrap().attempt_number);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    let waiting = deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    let open = waiting.deliveries[0].attempts.iter().filter(|attempt| attempt.completed_at.is_none()).count();
    assert_eq!((open, waiting.deliveries[0].attempts.len()), (1, 20));
}

/// The table of filters, in both orders, by cursor and by page.
pub async fn states_choose_what_is_listed(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let steps: [&[DeliveryStep]; 4] = [
        &[],
        &[DeliveryStep::Begin],
        &[DeliveryStep::Begin, DeliveryStep::Succeed],
        &[DeliveryStep::Begin, failed()],
    ];
    for steps in steps {
        let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
        take(&world, &bot, chat, message, steps).await;
    }
    let listed = async |filter, order, page| {
        let page = world.deliveries.list(bot.caller, chat, filter, order, page).await.unwrap();
        (page.rows.iter().map(|message| message.sequence).collect::<Vec<_>>(), page.next, page.total)
    };
    for (filter, expected) in [
        (DeliveryFilter::Open, vec![1, 2, 4]),
        (DeliveryFilter::Pending, vec![1, 4]),
        (DeliveryFilter::Processing, vec![2]),
        (DeliveryFilter::Processed, vec![3]),
        (DeliveryFilter::Failed, vec![4]),
        (DeliveryFilter::All, vec![1, 2, 3, 4]),
    ] {
        assert_eq!(listed(filter, Order::Ascending, first(10)).await.0, expected, "{filter:?}");
        let newest_first = expected.iter().rev().copied().collect::<Vec<_>>();
        assert_eq!(listed(filter, Order::Descending, first(10)).await.0, newest_first, "{filter:?}");
        let counted = PageRequest { slice: Slice::Numbered { number: 1, size: 1 }, count: true };
        let (rows, _, total) = listed(filter, Order::Ascending, counted).await;
        assert_eq!((rows.first(), total), (expected.first(), Some(expected.len() as u64)), "{filter:?}");
    }
    let (rows, next, _) = listed(DeliveryFilter::All, Order::Descending, first(3)).await;
    let rest = PageRequest { slice: Slice::After { after: next, limit: 3 }, count: false };
    assert_eq!(
        (rows, listed(DeliveryFilter::All, Order::Descending, rest).await.0),
        (vec![4, 3, 2], vec![1])
    );
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().unwrap().sequence, 1);
}

/// An agent may keep a record of its own or anybody's message; it never waits for it.
pub async fn work_on_what_is_not_addressed_is_never_offered(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let own = world.send(bot.caller, chat, "own", &[ParticipantId::User(ann.id)]).await.id;
    let others = world.send(ann.caller, chat, "for nobody", &[]).await.id;
    for message in [own, others] {
        take(&world, &bot, chat, message, &[DeliveryStep::Begin]).await;
        assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap(), None);
        for filter in [DeliveryFilter::Open, DeliveryFilter::Processing, DeliveryFilter::All] {
            let page =
                world.deliveries.list(bot.caller, chat, filter, Order::Ascending, first(10)).await.unwrap();
            assert_eq!(page.rows, [], "{filter:?}");
        }
        take(&world, &bot, chat, message, &[DeliveryStep::Succeed]).await;
    }
    let history =
        world.messages.history(ann.caller, chat, HistoryFilter::default(), first(10)).await.unwrap();
    assert!(history.rows.iter().all(|message| message.deliveries[0].status == DeliveryStatus::Processed));
}

/// However often it was tried, a reader gets the newest; the count goes on.
pub async fn only_the_newest_attempts_are_shown(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let tries = SHOWN_ATTEMPTS + 7;
    for _ in 0..tries {
        take(&world, &bot, chat, message, &[DeliveryStep::Begin]).await;
    }
    let shown = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    let attempts = &shown.deliveries[0].attempts;
    assert_eq!((attempts.len(), attempts[0].number.0), (SHOWN_ATTEMPTS as usize, tries - SHOWN_ATTEMPTS + 1));
    assert_eq!(shown.deliveries[0].current_attempt(), tries);
}

/// Agents see their own record, humans all.
pub async fn readers_see_the_records_that_are_theirs(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.uuid(), Role::Member).await;
    let both = [ParticipantId::Agent(bot.id), ParticipantId::Agent(other.id)];
    let message = world.send(ann.caller, chat, "for both", &both).await.id;
    take(&world, &bot, chat, message, &[DeliveryStep::Begin, failed()]).await;
    take(&world, &other, chat, message, &[DeliveryStep::Begin, DeliveryStep::Succeed]).await;
    let own = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(own.deliveries.iter().map(|record| record.agent).collect::<Vec<_>>(), [bot.id]);
    assert_eq!(own.deliveries[0].attempts[0].error.as_deref(), Some("it did not work"));
    assert_eq!(world.deliveries.next(other.caller, chat).await.unwrap(), None);
    let context = world.messages.context(other.caller, chat, first(1)).await.unwrap();
    assert_eq!(context.rows[0].deliveries.iter().map(|record| record.agent).collect::<Vec<_>>(), [other.id]);
    let history = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(1)).await.unwrap();
    let states =
        history.rows[0].deliveries.iter().map(|record| (record.agent, record.status)).collect::<Vec<_>>();
    assert_eq!(states, [(bot.id, DeliveryStatus::Failed), (other.id, DeliveryStatus::Processed)]);
}

/// A refused step is neither kept nor announced.
pub async fn steps_are_refused_where_there_is_nothing_to_close(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let elsewhere = world.chat(ann.caller, &[bot.id.uuid()]).await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let refused = async |chat, step| {
        let command = AdvanceDelivery { agent: bot.id, chat, message, step, now: world.clock.now() };
        let never = Announce::new(|_| panic!("a refusal was announced"));
        world.stores.deliveries.advance(command, never).await.unwrap().unwrap_err()
    };
    assert_eq!(refused(chat, DeliveryStep::Succeed).await, AdvanceRefused::NoActiveAttempt);
    assert_eq!(refused(chat, failed()).await, AdvanceRefused::NoActiveAttempt);
    assert_eq!(refused(elsewhere, DeliveryStep::Begin).await, AdvanceRefused::NotFound);
    take(&world, &bot, chat, message, &[DeliveryStep::Begin, DeliveryStep::Succeed]).await;
    assert_eq!(refused(chat, DeliveryStep::Succeed).await, AdvanceRefused::NoActiveAttempt);
    take(&world, &bot, chat, message, &[DeliveryStep::Begin]).await;
    let reopened = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(reopened.deliveries[0].current_attempt(), 2, "a processed message may be opened again");
    assert_eq!(reopened.deliveries[0].processed_at, None);
}
