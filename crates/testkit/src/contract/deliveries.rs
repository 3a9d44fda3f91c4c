//! Deliveries and attempts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::chat::Role;
use domain::delivery::{
    AdvanceDelivery, AdvanceRefused, AttemptNumber, ClaimLease, Delivery, DeliveryFilter, DeliveryKey,
    DeliveryStatus, DeliveryStep, FailureText, Order, ReadDeliveriesError, SHOWN_ATTEMPTS,
};
use domain::file::File;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{HistoryFilter, Message, SendMessage};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::store::OnCommit;

use super::files::upload;
use super::messages::{ann_and_bot, first};
use crate::world::text;
use crate::{TestAgent, World};

fn failed() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("it did not work".to_owned()).unwrap())
}

/// The states of an agent's work on a message: none, begun, finished, failed.
fn histories() -> [Vec<DeliveryStep>; 4] {
    let begin = || DeliveryStep::Begin;
    [vec![], vec![begin()], vec![begin(), DeliveryStep::Succeed], vec![begin(), failed()]]
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
    let deliveries = world.deliveries.clone();
    let begun = (0..20).map(|_| {
        let deliveries = deliveries.clone();
        let begin = async move { deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await };
        tokio::spawn(begin)
    });
    let mut numbers = Vec::new();
    for begin in begun.collect::<Vec<_>>() {
        numbers.push(begin.await.unwrap().unwrap().attempt_number.get());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    let waiting = deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    let open =
        waiting.deliveries[0].attempts().iter().filter(|attempt| attempt.completed_at().is_none()).count();
    assert_eq!((open, waiting.deliveries[0].attempts().len()), (1, 20));
}

/// The same message, with the record of each agent and with its file; nothing for an agent that is not in the room.
pub async fn agents_that_ask_at_once_get_their_own_records(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (other, stranger) = (world.agent(&ann, "Other").await, world.agent(&ann, "Stranger").await);
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let file = File { expires_at: None, ..upload(&world, ann.caller, chat, "plan.txt", b"the plan").await };
    let to = [&bot, &other].map(|agent| ParticipantId::Agent(agent.id));
    let work = SendMessage { attachments: vec![file.id], ..text("work", &to) };
    let message = world.messages.send(ann.caller, chat, work).await.unwrap().id;
    take(&world, &bot, chat, message, &[DeliveryStep::Begin, failed(), DeliveryStep::Begin]).await;

    let next = async |agent: &TestAgent| world.deliveries.next(agent.caller, chat).await;
    let (one, same, others, refused) = tokio::join!(next(&bot), next(&bot), next(&other), next(&stranger));
    let [one, same, others] = [one, same, others].map(|found| found.unwrap().unwrap());
    assert_eq!(one, same);
    for (found, agent, attempts) in [(one, bot, 2), (others, other, 0)] {
        let [record] = &*found.deliveries else { panic!("{:?}", found.deliveries) };
        assert_eq!((found.id, record.agent(), record.attempts().len()), (message, agent.id, attempts));
        assert_eq!(found.attachments, std::slice::from_ref(&file));
    }
    assert!(matches!(refused, Err(ReadDeliveriesError::ChatNotFound)), "{refused:?}");
}

/// The table of filters, in both orders, by cursor and by page.
pub async fn states_choose_what_is_listed(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    for steps in histories() {
        let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
        take(&world, &bot, chat, message, &steps).await;
    }
    let listed = async |filter, order, page| {
        let page = world.deliveries.list(bot.caller, chat, filter, order, page).await.unwrap();
        (page.rows.iter().map(|message| message.sequence.get()).collect::<Vec<_>>(), page.next, page.total)
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
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().unwrap().sequence.get(), 1);
}

/// An agent can work on any message of the room; one that is not addressed to it is never offered.
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
    assert!(history.rows.iter().all(|message| message.deliveries[0].status() == DeliveryStatus::Processed));
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
    let attempts = shown.deliveries[0].attempts();
    assert_eq!(
        (attempts.len(), attempts[0].number.get()),
        (SHOWN_ATTEMPTS as usize, tries - SHOWN_ATTEMPTS + 1)
    );
    assert_eq!(shown.deliveries[0].current_attempt(), AttemptNumber::new(tries));
}

/// Agents see their own record, humans all.
pub async fn readers_see_the_records_that_are_theirs(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let both = [ParticipantId::Agent(bot.id), ParticipantId::Agent(other.id)];
    let message = world.send(ann.caller, chat, "for both", &both).await.id;
    take(&world, &bot, chat, message, &[DeliveryStep::Begin, failed()]).await;
    take(&world, &other, chat, message, &[DeliveryStep::Begin, DeliveryStep::Succeed]).await;
    let own = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(own.deliveries.iter().map(Delivery::agent).collect::<Vec<_>>(), [bot.id]);
    assert_eq!(own.deliveries[0].attempts()[0].error(), Some("it did not work"));
    assert_eq!(world.deliveries.next(other.caller, chat).await.unwrap(), None);
    let context = world.messages.context(other.caller, chat, first(1)).await.unwrap();
    assert_eq!(context.rows[0].deliveries.iter().map(Delivery::agent).collect::<Vec<_>>(), [other.id]);
    let history = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(1)).await.unwrap();
    let states =
        history.rows[0].deliveries.iter().map(|record| (record.agent(), record.status())).collect::<Vec<_>>();
    assert_eq!(states, [(bot.id, DeliveryStatus::Failed), (other.id, DeliveryStatus::Processed)]);
}

/// A refused step is neither kept nor announced.
pub async fn steps_are_refused_where_there_is_nothing_to_close(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let elsewhere = world.chat(ann.caller, &[bot.id.into()]).await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let refused = async |chat, step| {
        let command = AdvanceDelivery {
            agent: bot.id,
            chat,
            message,
            step,
            attempt: None,
            lease: ClaimLease::default(),
            now: world.clock.now(),
        };
        let never = OnCommit::new(|_| panic!("a refusal was announced"));
        world.stores.deliveries.advance(command, never).await.unwrap().unwrap_err()
    };
    assert_eq!(refused(chat, DeliveryStep::Succeed).await, AdvanceRefused::NoActiveAttempt);
    assert_eq!(refused(chat, failed()).await, AdvanceRefused::NoActiveAttempt);
    assert_eq!(refused(elsewhere, DeliveryStep::Begin).await, AdvanceRefused::NotFound);
    take(&world, &bot, chat, message, &[DeliveryStep::Begin, DeliveryStep::Succeed]).await;
    assert_eq!(refused(chat, DeliveryStep::Succeed).await, AdvanceRefused::NoActiveAttempt);
    take(&world, &bot, chat, message, &[DeliveryStep::Begin]).await;
    let reopened = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(
        reopened.deliveries[0].current_attempt(),
        AttemptNumber::new(2),
        "a processed message may be opened again"
    );
    assert_eq!(reopened.deliveries[0].processed_at(), None);
}

/// The announcements when these are marked: the messages, in their order.
async fn marked(world: &World, taken: &[DeliveryKey]) -> Vec<Message> {
    let published = Arc::new(Mutex::new(Vec::new()));
    let listening = published.clone();
    let on_commit =
        OnCommit::new(move |changed: &Vec<Message>| listening.lock().unwrap().extend(changed.clone()));
    world
        .stores
        .deliveries
        .mark_delivered(taken.to_vec(), world.clock.now(), Box::new(|_| true), on_commit)
        .await
        .unwrap();
    std::mem::take(&mut *published.lock().unwrap())
}

/// Only what is new becomes delivered, as the state machine says, and only once.
pub async fn what_a_socket_took_is_delivered_if_it_is_new(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut taken = Vec::new();
    for steps in histories() {
        let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
        take(&world, &bot, chat, message, &steps).await;
        taken.push(DeliveryKey { message, agent: bot.id });
    }
    let records = async || {
        let page = world.deliveries.list(bot.caller, chat, DeliveryFilter::All, Order::Ascending, first(10));
        let rows = page.await.unwrap().rows.into_iter();
        rows.map(|message| message.deliveries[0].clone()).collect::<Vec<_>>()
    };
    let before = records().await;
    assert_eq!(before[0].status(), DeliveryStatus::New);
    world.clock.advance(Duration::from_secs(3));
    let expected = before.into_iter().map(|record| record.delivered(world.clock.now())).collect::<Vec<_>>();
    assert_eq!(expected[0].status(), DeliveryStatus::Delivered);

    let published = marked(&world, &taken).await;
    assert_eq!(
        published.iter().map(|message| (message.id, &message.deliveries)).collect::<Vec<_>>(),
        [(taken[0].message, &expected[..1].to_vec())]
    );
    assert_eq!(records().await, expected);
    world.clock.advance(Duration::from_secs(3));
    assert_eq!(marked(&world, &taken).await, [], "said again, nothing changes");
    assert_eq!(records().await, expected);
    // It is delivered and still offered, and it can be worked on.
    let next = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(next.id, taken[0].message);
    take(&world, &bot, chat, next.id, &[DeliveryStep::Begin, DeliveryStep::Succeed]).await;
    let done = &records().await[0];
    assert_eq!((done.status(), done.delivered_at()), (DeliveryStatus::Processed, expected[0].delivered_at()));
}

/// A message with several deliveries is told once; what there is not is passed over, also of
/// agents that were never addressed, that are gone, or twice in the same breath.
pub async fn each_marked_message_is_announced_once_and_missing_deliveries_are_skipped(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (other, gone) = (world.agent(&ann, "Other").await, world.agent(&ann, "Gone").await);
    for agent in [&other, &gone] {
        world.add(ann.caller, chat, agent.id.into(), Role::Member).await;
    }
    let to = |agents: &[&TestAgent]| agents.iter().map(|a| ParticipantId::Agent(a.id)).collect::<Vec<_>>();
    let key = |message, agent: &TestAgent| DeliveryKey { message, agent: agent.id };
    let first = world.send(ann.caller, chat, "for all", &to(&[&bot, &other, &gone])).await.id;
    let second = world.send(ann.caller, chat, "for one", &to(&[&bot])).await.id;
    world.accounts.delete_agent(ann.caller, gone.id, true).await.unwrap();
    while world.accounts.erase_some().await.unwrap() {}
    let nothing = MessageId::new(uuid::Uuid::from_u128(7));
    let taken = [
        key(second, &bot),
        key(first, &other),
        key(nothing, &bot),
        key(first, &bot),
        key(first, &bot),
        key(second, &other),
        key(first, &gone),
    ];
    let published = marked(&world, &taken).await;
    assert_eq!(published.iter().map(|message| message.id).collect::<Vec<_>>(), [first, second]);
    let states =
        published[0].deliveries.iter().map(|record| (record.agent(), record.status())).collect::<Vec<_>>();
    assert_eq!(states, [(bot.id, DeliveryStatus::Delivered), (other.id, DeliveryStatus::Delivered)]);
    assert_eq!(published[1].deliveries.len(), 1, "no record is made for who was not addressed");
    let never = OnCommit::new(|_: &Vec<Message>| panic!("nothing was announced"));
    let none = vec![key(nothing, &bot), key(second, &other)];
    world.stores.deliveries.mark_delivered(none, world.clock.now(), Box::new(|_| true), never).await.unwrap();
    let none = Vec::new();
    world
        .stores
        .deliveries
        .mark_delivered(none, world.clock.now(), Box::new(|_| true), OnCommit::nothing())
        .await
        .unwrap();
}

/// Every change is stored, and announced where there is a subscriber.
pub async fn marks_are_announced_only_in_chats_with_subscribers(world: World) {
    let (ann, bot, loud) = ann_and_bot(&world).await;
    let quiet = world.chat(ann.caller, &[bot.id.into()]).await;
    let to = [ParticipantId::Agent(bot.id)];
    let mut taken = Vec::new();
    for chat in [quiet, loud, quiet] {
        let message = world.send(ann.caller, chat, "hello", &to).await.id;
        taken.push(DeliveryKey { message, agent: bot.id });
    }
    let published = Arc::new(Mutex::new(Vec::new()));
    let listening = published.clone();
    let on_commit =
        OnCommit::new(move |changed: &Vec<Message>| listening.lock().unwrap().extend(changed.clone()));
    let (deliveries, now) = (&world.stores.deliveries, world.clock.now());
    let heard = move |chat| chat == loud;
    deliveries.mark_delivered(taken.clone(), now, Box::new(heard), on_commit).await.unwrap();
    let published = published.lock().unwrap().iter().map(|message| message.id).collect::<Vec<_>>();
    assert_eq!(published, [taken[1].message]);
    for chat in [quiet, loud] {
        let waits = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
        assert_eq!(waits.deliveries[0].status(), DeliveryStatus::Delivered);
    }
    let message = world.send(ann.caller, quiet, "hello", &to).await.id;
    let (taken, never) = (vec![DeliveryKey { message, agent: bot.id }], |_: &Vec<Message>| panic!("told"));
    deliveries.mark_delivered(taken, now, Box::new(heard), OnCommit::new(never)).await.unwrap();
}

/// Told as they are now, in their order, and nothing where there is nothing to tell.
pub async fn a_mark_can_be_announced_later(world: World) {
    let (ann, bot, loud) = ann_and_bot(&world).await;
    let quiet = world.chat(ann.caller, &[bot.id.into()]).await;
    let to = [ParticipantId::Agent(bot.id)];
    let mut sent = vec![MessageId::new(uuid::Uuid::from_u128(7))];
    for chat in [loud, quiet, loud] {
        sent.insert(0, world.send(ann.caller, chat, "hello", &to).await.id);
    }
    let key = DeliveryKey { message: sent[0], agent: bot.id };
    marked(&world, &[key]).await;
    let published = Arc::new(Mutex::new(Vec::new()));
    let listening = published.clone();
    let on_commit = OnCommit::new(move |all: &Vec<Message>| listening.lock().unwrap().extend(all.clone()));
    let deliveries = &world.stores.deliveries;
    deliveries.announce_delivered(sent.clone(), Box::new(move |chat| chat == loud), on_commit).await.unwrap();
    let published =
        published.lock().unwrap().iter().map(|m| (m.id, m.deliveries[0].status())).collect::<Vec<_>>();
    assert_eq!(published, [(sent[2], DeliveryStatus::New), (sent[0], DeliveryStatus::Delivered)]);
    let never = OnCommit::new(|_: &Vec<Message>| panic!("nothing was told"));
    deliveries.announce_delivered(sent, Box::new(|_| false), never).await.unwrap();
}
