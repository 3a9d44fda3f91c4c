//! Summaries of the work ledger.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::delivery::{DeliveryStatus, DeliveryStep};
use domain::id::ParticipantId;
use domain::organization::Authority;
use domain::ports::Clock;
use domain::time::Timestamp;
use domain::work::{
    EXAMINED_PER_QUEUE, ListWorkError, StateSums, WorkFilter, WorkFlag, WorkScope, WorkSummary,
};

use super::messages::ann_and_bot;
use super::work::{failed, items, minutes, work};
use crate::World;

/// The number of items in each state, and the time of the oldest.
type Sums = Vec<(DeliveryStatus, u64, Option<Timestamp>)>;

fn sums(states: &StateSums) -> Sums {
    states.all().iter().map(|sums| (sums.state, sums.number, sums.oldest)).collect()
}

/// The sums of the items that are listed.
async fn listed(world: &World, scope: WorkScope, filter: &WorkFilter) -> (Sums, BTreeMap<String, Sums>) {
    let (mut all, mut agents) = (Sums::new(), BTreeMap::<String, Sums>::new());
    for item in items(world, scope, filter).await {
        for sums in [&mut all, agents.entry(item.agent.handle.clone()).or_default()] {
            let state = item.delivery.status();
            match sums.iter_mut().find(|(other, ..)| *other == state) {
                Some((_, number, _)) => *number += 1,
                // The oldest is listed first.
                None => sums.push((state, 1, Some(item.written_at))),
            }
        }
    }
    let place = |state: DeliveryStatus| DeliveryStatus::ALL.iter().position(|other| *other == state);
    for sums in agents.values_mut().chain([&mut all]) {
        sums.sort_by_key(|(state, ..)| place(*state));
    }
    (all, agents)
}

/// Whatever the filter, a summary counts the items of the list.
pub async fn a_summary_counts_what_is_listed(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (scout, gone) = (world.agent(&ann, "Scout").await, world.agent(&ann, "Gone").await);
    let everybody = [scout.id.into(), bot.id.into(), gone.id.into()];
    let other = world.chat(ann.caller, &everybody).await;
    let begin = || DeliveryStep::Begin;
    let fails = |times: usize| vec![[begin(), failed("it broke")]; times].concat();
    work(&world, (&ann, chat), &bot, "new", &[]).await;
    minutes(&world, 1);
    let root = work(&world, (&ann, other), &bot, "also new", &[]).await;
    work(&world, (&ann, other), &scout, "begun", &[begin()]).await;
    work(&world, (&ann, other), &scout, "failing", &fails(3)).await;
    work(&world, (&ann, chat), &bot, "failed", &fails(1)).await;
    work(&world, (&ann, chat), &bot, "done", &[begin(), DeliveryStep::Succeed]).await;
    work(&world, (&ann, other), &gone, "not owed", &[]).await;
    world.chats.remove_participant(ann.caller, other, gone.id).await.unwrap();
    let dead = work(&world, (&ann, chat), &bot, "dead", &[]).await;
    let reason = domain::delivery::DeadLetterReason::new("no key".to_owned()).unwrap();
    let change = domain::work::WorkChange::DeadLetter(reason);
    world.work.change(WorkScope::OwnedBy(ann.id), dead, bot.id, change, None).await.unwrap();
    let any = WorkFilter::default;
    let mut filters = vec![
        any(),
        WorkFilter { agent: Some(bot.id), ..any() },
        WorkFilter { chat: Some(other), ..any() },
        WorkFilter { chat: Some(chat), agent: Some(scout.id), ..any() },
        WorkFilter { root: Some(root), ..any() },
        WorkFilter { min_age: Some(Duration::from_secs(6 * 60)), ..any() },
        WorkFilter { min_attempts: 2, ..any() },
        WorkFilter { error: Some("BROKE".to_owned()), ..any() },
        WorkFilter { error: Some("\0".to_owned()), ..any() },
    ];
    filters.extend(DeliveryStatus::ALL.map(|state| WorkFilter { state: Some(state), ..any() }));
    filters.extend(WorkFlag::ALL.map(|flag| WorkFilter { flag: Some(flag), ..any() }));
    let mut seen = 0;
    for filter in filters {
        let admin = WorkScope::Of(Authority::Admin(ann.caller));
        for scope in [WorkScope::OwnedBy(ann.id), admin, WorkScope::Everything] {
            let (all, agents) = listed(&world, scope, &filter).await;
            let summary = world.work.summary(scope, filter.clone()).await.unwrap();
            assert_eq!(sums(&summary.states), all, "{filter:?}");
            let counted = summary.agents.iter().map(|of| (of.handle.clone(), sums(&of.states)));
            assert_eq!(counted.collect::<BTreeMap<_, _>>(), agents, "{filter:?}");
            assert_eq!((summary.errors.is_some(), summary.is_cut), (scope != admin, false));
            seen += summary.states.number();
        }
    }
    assert!(seen > 50, "{seen}");
    let whole = world.work.summary(WorkScope::OwnedBy(ann.id), any()).await.unwrap();
    let flagged = whole.states.all().iter().map(|sums| (sums.state.as_str(), sums.unanswered, sums.failing));
    let expected = [("new", 2, 0), ("processing", 0, 0), ("failed", 0, 1)];
    assert_eq!(flagged.collect::<Vec<_>>(), expected);

    let ben = world.user("ben").await;
    let none = world.work.summary(WorkScope::OwnedBy(ben.id), any()).await.unwrap();
    assert_eq!((none.states.number(), none.agents.len(), none.errors), (0, 0, Some(Vec::new())));
    let colleague = world.colleague("cat", "ann").await;
    let refused = world.work.summary(WorkScope::Of(Authority::Admin(colleague.caller)), any()).await;
    assert!(matches!(refused, Err(ListWorkError::NotAdmin(_))), "{refused:?}");
}

/// The last error of work that was begun. Errors that differ in numbers only are one.
pub async fn errors_are_counted_without_their_numbers(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), domain::chat::Role::Member).await;
    let oldest = world.clock.now();
    let begin = || DeliveryStep::Begin;
    let long = format!("Error 529: busy{}\nrequest 1", " ".repeat(600));
    work(&world, (&ann, chat), &bot, "one", &[begin(), failed("KeyError"), begin(), failed(&long)]).await;
    let again = [begin(), failed("Error 530: busy\nrequest 2"), begin()];
    work(&world, (&ann, chat), &scout, "two", &again).await;
    work(&world, (&ann, chat), &bot, "three", &[begin(), failed("KeyError")]).await;
    work(&world, (&ann, chat), &bot, "four", &[begin()]).await;
    work(&world, (&ann, chat), &bot, "five", &[]).await;
    let retried = work(&world, (&ann, chat), &bot, "six", &[begin(), failed("retried since")]).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let retry = domain::work::WorkChange::Retry;
    world.work.change(mine, retried, bot.id, retry, None).await.unwrap();
    let errors = |summary: WorkSummary| {
        let errors = summary.errors.unwrap().into_iter();
        errors.map(|error| (error.text, error.filter.unwrap(), error.number, error.agents, error.oldest))
    };
    let summary = world.work.summary(mine, WorkFilter::default()).await.unwrap();
    assert_eq!(summary.states.number(), 6);
    let found = errors(summary).collect::<Vec<_>>();
    let mut both = vec![bot.id, scout.id];
    both.sort_unstable();
    assert_eq!(found.len(), 2, "{found:?}");
    let folded = ("Error #: busy".to_owned(), ": busy".to_owned(), 2, both, Some(oldest));
    assert_eq!(found[0], folded);
    assert_eq!((found[1].0.as_str(), found[1].2, &found[1].3), ("KeyError", 1, &vec![bot.id]));
    let filter = WorkFilter { error: Some(folded.1), ..WorkFilter::default() };
    assert_eq!(items(&world, mine, &filter).await.len(), 2);
    let found = errors(world.work.summary(mine, filter).await.unwrap());
    assert_eq!(found.map(|error| error.0).collect::<Vec<_>>(), ["Error #: busy"]);
}

/// A queue that is longer than what is examined of it.
pub async fn a_summary_tells_that_it_is_cut(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mine = WorkScope::OwnedBy(ann.id);
    for _ in 1..EXAMINED_PER_QUEUE {
        world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await;
    }
    let summary = world.work.summary(mine, WorkFilter::default()).await.unwrap();
    assert_eq!((summary.states.number(), summary.is_cut), (u64::from(EXAMINED_PER_QUEUE) - 1, false));
    for _ in 0..2 {
        world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await;
    }
    let summary = world.work.summary(mine, WorkFilter::default()).await.unwrap();
    assert_eq!((summary.states.number(), summary.is_cut), (u64::from(EXAMINED_PER_QUEUE), true));
    // That nothing matches among those that are examined says nothing about the others.
    let old = WorkFilter { min_age: Some(Duration::from_secs(3600)), ..WorkFilter::default() };
    let none = world.work.summary(mine, old).await.unwrap();
    assert_eq!((none.states.number(), none.is_cut), (0, true));
}
