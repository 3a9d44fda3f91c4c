//! The ends of holds: a human releases or ends what a limit holds.

use domain::audit::AuditAction;
use domain::chat::Role;
use domain::delivery::{DeadLetterReason, DeliveryStatus, DeliveryStep, HeldBy};
use domain::id::ParticipantId;
use domain::work::{WorkChange, WorkFilter, WorkScope};

use super::audit::log_of;
use super::control::{next, take};
use super::holds::{held, listed, pair, status};
use crate::World;

/// From the released text, as many hops again; then the humans are told again.
pub async fn a_release_lets_a_tree_go_on(world: World) {
    let pair = pair(&world, 2).await;
    let (root, other) = (pair.root(&world).await, pair.root(&world).await);
    let sent = pair.talk(&world, 0, root, 50).await;
    assert_eq!(sent.len(), 3);
    world.messages.notice_holds().await.unwrap();
    let held_at_3 = sent[2].id;
    world.publisher.take();
    let all = async |root| {
        let retry = world.work.change_all(pair.scope(), held(Some(root)), false, WorkChange::Retry, None);
        retry.await.unwrap().changed
    };
    assert_eq!((all(other).await, all(root).await, all(root).await), (0, 1, 0));
    let scout = &pair.agents[1];
    assert_eq!(next(&world, scout, pair.chat).await, Some(held_at_3));
    let more = pair.talk(&world, 1, held_at_3, 50).await;
    assert_eq!(more.iter().map(status).collect::<Vec<_>>().len(), 3, "hops 4, 5, and 6: {more:?}");
    assert_eq!(pair.stored(&world, more[2].id).await.deliveries[0].held_by(), Some(HeldBy::MaxHops));
    assert_eq!(pair.events(&world).await.len(), 1);
    world.messages.notice_holds().await.unwrap();
    assert_eq!(pair.events(&world).await.len(), 2);

    let log = log_of(&world, None, None).await;
    assert!(log.iter().any(|entry| entry.action == AuditAction::WorkRetried), "{log:?}");
}

/// Texts of other trees stay as they are.
pub async fn work_is_held_and_ended_by_tree(world: World) {
    let pair = pair(&world, 1).await;
    let (one, two) = (pair.root(&world).await, pair.root(&world).await);
    let of_one = pair.talk(&world, 0, one, 50).await[1].id;
    let of_two = pair.talk(&world, 0, two, 50).await[1].id;
    let scope = pair.scope();
    assert_eq!(listed(&world, scope, held(Some(one))).await, [of_one]);
    let of_tree = WorkFilter { root: Some(two), ..WorkFilter::default() };
    assert_eq!(listed(&world, scope, of_tree).await, [], "it is held");
    let waiting = pair.root(&world).await;
    let of_tree = WorkFilter { root: Some(waiting), ..WorkFilter::default() };
    assert_eq!(listed(&world, scope, of_tree).await, [waiting], "the root itself");
    let end = WorkChange::DeadLetter(DeadLetterReason::new("a loop".to_owned()).unwrap());
    let ended = world.work.change_all(scope, held(Some(one)), false, end, None).await.unwrap();
    assert_eq!(ended.changed, 1);
    assert_eq!(listed(&world, scope, held(None)).await, [of_two]);
    let dead = WorkFilter { state: Some(DeliveryStatus::Dead), ..WorkFilter::default() };
    assert_eq!(listed(&world, scope, dead).await, [of_one]);
    let delivery = pair.stored(&world, of_one).await.deliveries.remove(0);
    assert_eq!((delivery.held_by(), delivery.dead().unwrap().reason.as_str()), (None, "a loop"));
    let retried = world.work.change(scope, of_one, pair.agents[0].id, WorkChange::Retry, None).await.unwrap();
    assert_eq!(retried.delivery.status(), DeliveryStatus::New);
}

/// Else a loop that begins later would stop in silence.
pub async fn what_is_held_after_an_end_is_told_again(world: World) {
    let pair = pair(&world, 1).await;
    let root = pair.root(&world).await;
    let first = pair.talk(&world, 0, root, 1).await[0].id;
    let [bot, scout] = &pair.agents;
    take(&world, scout, pair.chat, first, DeliveryStep::Begin).await;
    for number in 1..=3 {
        let sent = world.send(scout.caller, pair.chat, "and you?", &[ParticipantId::Agent(bot.id)]).await;
        assert_eq!(status(&sent), Some(DeliveryStatus::Held));
        world.messages.notice_holds().await.unwrap();
        assert_eq!(pair.events(&world).await.len(), number);
        let end = WorkChange::DeadLetter(DeadLetterReason::new("a loop".to_owned()).unwrap());
        let ended = world.work.change_all(pair.scope(), held(None), false, end, None).await.unwrap();
        assert_eq!(ended.changed, 1);
    }
}

/// The owner of an addressed agent, of another organization, releases what the agent is asked and no more.
pub async fn strangers_lift_no_limit(world: World) {
    let pair = pair(&world, 1).await;
    let ben = world.user("ben").await;
    let guest = world.agent(&ben, "Guest").await;
    world.make_global(&guest).await;
    world.add(pair.ann.caller, pair.chat, guest.id.into(), Role::Member).await;
    let root = pair.root(&world).await;
    let first = pair.talk(&world, 0, root, 1).await[0].id;
    let scout = &pair.agents[1];
    take(&world, scout, pair.chat, first, DeliveryStep::Begin).await;
    let ask = async || {
        let sent = world.send(scout.caller, pair.chat, "and you?", &[ParticipantId::Agent(guest.id)]).await;
        (sent.id, status(&sent))
    };
    for scope in [WorkScope::OwnedBy(ben.id), WorkScope::OwnedBy(ben.id), WorkScope::Everything] {
        let (sent, status) = ask().await;
        assert_eq!(status, Some(DeliveryStatus::Held), "{scope:?}");
        let retried = world.work.change(scope, sent, guest.id, WorkChange::Retry, None).await.unwrap();
        assert_eq!(retried.delivery.status(), DeliveryStatus::New, "{scope:?}");
    }
    assert_eq!(ask().await.1, Some(DeliveryStatus::New), "the operator lifts it");
}
