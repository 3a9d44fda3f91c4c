//! Limits of attempts, retries, and dead letters.

use std::time::Duration;

use domain::account::AgentChanges;
use domain::audit::{AuditAction, AuditObject};
use domain::change::{Change, ChangePosition};
use domain::delivery::{
    AdvanceError, AttemptNumber, DeadLetterReason, DeliveryFilter, DeliveryKey, DeliveryStatus, DeliveryStep,
    FailureText, MaxAttempts, Order,
};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::organization::{Authority, OrganizationRole};
use domain::work::{
    ChangeAllError, ChangeWorkError, ChangeWorkRefused, FindWorkError, WorkChange, WorkFilter, WorkFlag,
    WorkScope,
};

use super::audit::log_of;
use super::messages::{ann_and_bot, first};
use crate::{TestAgent, TestUser, World};

/// Longer than what is shown of an error.
const LONG: usize = 2_000;

fn failed() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("ü".repeat(LONG) + "end").unwrap())
}

fn dead_letter() -> WorkChange {
    WorkChange::DeadLetter(DeadLetterReason::new("no key".to_owned()).unwrap())
}

fn of_state(state: DeliveryStatus) -> WorkFilter {
    WorkFilter { state: Some(state), ..WorkFilter::default() }
}

async fn limit(world: &World, ann: &TestUser, bot: &TestAgent, max: u32) {
    let max_attempts = Some(MaxAttempts::new(max));
    let changes = AgentChanges { max_attempts, ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, bot.id, changes).await.unwrap();
}

async fn send(world: &World, ann: &TestUser, chat: ChatId, bot: &TestAgent) -> MessageId {
    world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id
}

async fn take(world: &World, bot: &TestAgent, chat: ChatId, message: MessageId, steps: &[DeliveryStep]) {
    for step in steps {
        world.deliveries.advance(bot.caller, chat, message, step.clone()).await.unwrap();
    }
}

async fn next(world: &World, bot: &TestAgent, chat: ChatId) -> Option<MessageId> {
    world.deliveries.next(bot.caller, chat).await.unwrap().map(|message| message.id)
}

async fn open(world: &World, bot: &TestAgent, chat: ChatId) -> Vec<MessageId> {
    let filter = DeliveryFilter::Open;
    let page = world.deliveries.list(bot.caller, chat, filter, Order::Ascending, first(50)).await.unwrap();
    page.rows.iter().map(|message| message.id).collect()
}

async fn listed(world: &World, scope: WorkScope, filter: WorkFilter) -> Vec<MessageId> {
    let page = world.work.list(scope, filter, first(50)).await.unwrap();
    page.rows.iter().map(|item| item.message).collect()
}

/// The last allowed attempt that fails ends the delivery; what waits behind it is offered.
pub async fn a_message_is_dead_after_the_last_attempt(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    limit(&world, &ann, &bot, 2).await;
    let poisoned = send(&world, &ann, chat, &bot).await;
    let waiting = send(&world, &ann, chat, &bot).await;
    take(&world, &bot, chat, poisoned, &[DeliveryStep::Begin, failed(), DeliveryStep::Begin]).await;
    assert_eq!(next(&world, &bot, chat).await, Some(poisoned));
    let step = world.deliveries.advance(bot.caller, chat, poisoned, failed()).await.unwrap();
    assert_eq!((step.status, step.attempt_number.get()), (DeliveryStatus::Dead, 2));
    assert_eq!(next(&world, &bot, chat).await, Some(waiting));
    assert_eq!(open(&world, &bot, chat).await, [waiting]);
    for (step, is_dead) in [(DeliveryStep::Begin, true), (DeliveryStep::Succeed, false), (failed(), false)] {
        let refused = world.deliveries.advance(bot.caller, chat, poisoned, step).await;
        let as_expected = match refused {
            Err(AdvanceError::Dead) => is_dead,
            Err(AdvanceError::NoActiveAttempt) => !is_dead,
            _ => false,
        };
        assert!(as_expected, "{refused:?}");
    }
    let mine = WorkScope::OwnedBy(ann.id);
    assert_eq!(listed(&world, mine, WorkFilter::default()).await, [waiting]);
    assert_eq!(listed(&world, mine, of_state(DeliveryStatus::Failed)).await, []);
    let dead_flag = WorkFilter { flag: Some(WorkFlag::Dead), ..WorkFilter::default() };
    for filter in [of_state(DeliveryStatus::Dead), dead_flag.clone()] {
        assert_eq!(listed(&world, mine, filter).await, [poisoned]);
    }
    let with_error = WorkFilter { error: Some("END".to_owned()), ..dead_flag };
    assert_eq!(listed(&world, mine, with_error).await, [poisoned]);
    let item = world.work.find(mine, poisoned, bot.id).await.unwrap();
    assert_eq!(item.delivery.attempts().len(), 2);
    assert_eq!(item.delivery.dead().unwrap().reason, "not processed after 2 attempts");
    assert_eq!(world.work.flags(&item, world.work.now()), [WorkFlag::Dead]);
    let totals = world.work.totals().await.unwrap();
    assert_eq!((totals.open(), totals.new, totals.dead), (1, 1, 1), "dead work is not open");
    let of_bot = world.work.of_agents(vec![bot.id]).await.unwrap();
    assert_eq!(of_bot[0].totals, totals);
}

/// An agent that crashes at a message never closes its attempt.
pub async fn a_crash_in_the_last_attempt_ends_in_a_dead_letter(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    limit(&world, &ann, &bot, 2).await;
    let poisoned = send(&world, &ann, chat, &bot).await;
    take(&world, &bot, chat, poisoned, &[DeliveryStep::Begin, DeliveryStep::Begin]).await;
    assert_eq!(next(&world, &bot, chat).await, Some(poisoned), "it is offered to the restarted agent");
    let refused = world.deliveries.advance(bot.caller, chat, poisoned, DeliveryStep::Begin).await;
    assert!(matches!(refused, Err(AdvanceError::Dead)), "{refused:?}");
    assert_eq!(next(&world, &bot, chat).await, None);
    let item = world.work.find(WorkScope::Everything, poisoned, bot.id).await.unwrap();
    assert_eq!((item.delivery.status(), item.delivery.attempts().len()), (DeliveryStatus::Dead, 2));
}

/// A limit that is lowered ends what has used it up, and keeps the whole error of the last attempt.
pub async fn a_lower_limit_holds_from_the_next_attempt(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = send(&world, &ann, chat, &bot).await;
    take(&world, &bot, chat, message, &[DeliveryStep::Begin, failed()]).await;
    limit(&world, &ann, &bot, 1).await;
    let refused = world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await;
    assert!(matches!(refused, Err(AdvanceError::Dead)), "{refused:?}");
    let all = WorkScope::Everything;
    let ends_with = |state| WorkFilter { error: Some("end".to_owned()), ..of_state(state) };
    assert_eq!(listed(&world, all, ends_with(DeliveryStatus::Dead)).await, [message]);
    world.work.change(all, message, bot.id, WorkChange::Retry, None).await.unwrap();
    assert_eq!(listed(&world, all, ends_with(DeliveryStatus::New)).await, []);
    take(&world, &bot, chat, message, &[DeliveryStep::Begin]).await;
    assert_eq!(listed(&world, all, ends_with(DeliveryStatus::Processing)).await, [message]);
}

/// Retried work is offered as if it were new, keeps its attempts, and gets as many again.
pub async fn retried_work_is_offered_as_if_it_were_new(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    limit(&world, &ann, &bot, 1).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let poisoned = send(&world, &ann, chat, &bot).await;
    take(&world, &bot, chat, poisoned, &[DeliveryStep::Begin, failed()]).await;
    assert_eq!(next(&world, &bot, chat).await, None);
    let log = &world.stores.changes;
    let before = log.newest_change().await.unwrap();
    let item = world.work.change(mine, poisoned, bot.id, WorkChange::Retry, None).await.unwrap();
    assert_eq!((item.delivery.status(), item.delivery.attempts().len()), (DeliveryStatus::New, 1));
    assert_eq!(changes_after(&world, before).await, [Change::WorkRetried(chat)]);
    assert_eq!(next(&world, &bot, chat).await, Some(poisoned));
    assert_eq!(listed(&world, mine, of_state(DeliveryStatus::New)).await, [poisoned]);
    assert_eq!(listed(&world, mine, of_state(DeliveryStatus::Failed)).await, []);
    let key = DeliveryKey { message: poisoned, agent: bot.id };
    world.deliveries.mark_delivered(vec![key]).await.unwrap();
    assert_eq!(listed(&world, mine, of_state(DeliveryStatus::Delivered)).await, [poisoned]);
    let step = world.deliveries.advance(bot.caller, chat, poisoned, DeliveryStep::Begin).await.unwrap();
    assert_eq!((step.status, step.attempt_number.get()), (DeliveryStatus::Processing, 2));
    assert_eq!(listed(&world, mine, of_state(DeliveryStatus::Processing)).await, [poisoned]);
    let step = world.deliveries.advance(bot.caller, chat, poisoned, failed()).await.unwrap();
    assert_eq!(step.status, DeliveryStatus::Dead);
    world.work.change(mine, poisoned, bot.id, WorkChange::Retry, None).await.unwrap();
    take(&world, &bot, chat, poisoned, &[DeliveryStep::Begin, DeliveryStep::Succeed]).await;
    let done = world.work.find(mine, poisoned, bot.id).await.unwrap();
    assert_eq!(
        (done.delivery.status(), done.delivery.current_attempt()),
        (DeliveryStatus::Processed, AttemptNumber::new(3))
    );
}

async fn changes_after(world: &World, position: ChangePosition) -> Vec<Change> {
    let entries = world.stores.changes.changes_after(position, 50).await.unwrap();
    entries.into_iter().filter_map(|entry| entry.change).collect()
}

/// A verb on an item that has moved on changes nothing.
pub async fn work_that_has_moved_on_is_not_changed(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let message = send(&world, &ann, chat, &bot).await;
    let change = async |change: WorkChange, if_state| {
        world.clock.advance(Duration::from_micros(1));
        match world.work.change(mine, message, bot.id, change, if_state).await {
            Ok(item) => Ok(item.delivery.status()),
            Err(ChangeWorkError::Refused(refused)) => Err(refused),
            Err(ChangeWorkError::Store(error)) => panic!("{error}"),
        }
    };
    let state = ChangeWorkRefused::State;
    assert_eq!(change(WorkChange::Retry, None).await, Err(state(DeliveryStatus::New)));
    take(&world, &bot, chat, message, &[DeliveryStep::Begin]).await;
    assert_eq!(change(WorkChange::Retry, None).await, Err(ChangeWorkRefused::InProgress));
    let refused = change(dead_letter(), Some(DeliveryStatus::Failed)).await;
    assert_eq!(refused, Err(state(DeliveryStatus::Processing)));
    take(&world, &bot, chat, message, &[failed()]).await;
    assert_eq!(change(dead_letter(), Some(DeliveryStatus::Failed)).await, Ok(DeliveryStatus::Dead));
    assert_eq!(change(dead_letter(), None).await, Err(state(DeliveryStatus::Dead)));
    assert_eq!(change(WorkChange::Retry, Some(DeliveryStatus::Dead)).await, Ok(DeliveryStatus::New));
    take(&world, &bot, chat, message, &[DeliveryStep::Begin, DeliveryStep::Succeed]).await;
    for verb in [WorkChange::Retry, dead_letter()] {
        assert_eq!(change(verb, None).await, Err(state(DeliveryStatus::Processed)));
    }
    assert_eq!(actions(&world, &ann).await, [AuditAction::WorkDeadLettered, AuditAction::WorkRetried]);
}

/// The entries of the audit log about work, oldest first.
async fn actions(world: &World, admin: &TestUser) -> Vec<AuditAction> {
    let log = log_of(world, Some(admin.caller.organization), None).await;
    let of_work = [AuditAction::WorkRetried, AuditAction::WorkDeadLettered];
    log.iter().map(|entry| entry.action).filter(|action| of_work.contains(action)).collect()
}

/// Only those who are responsible for the agent change its work, and the humans in the room see it.
pub async fn only_the_responsible_change_work(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let cai = world.colleague("cai", "ann").await;
    let message = send(&world, &ann, chat, &bot).await;
    let other = world.chat(ann.caller, &[]).await;
    let admin = |user: &TestUser| WorkScope::Of(Authority::Admin(user.caller));
    for scope in [WorkScope::OwnedBy(ben.id), WorkScope::OwnedBy(cai.id), admin(&ben)] {
        let refused = world.work.change(scope, message, bot.id, dead_letter(), None).await;
        assert!(
            matches!(refused, Err(ChangeWorkError::Refused(ChangeWorkRefused::NotFound))),
            "{scope:?}: {refused:?}"
        );
    }
    let refused = world.work.change(admin(&cai), message, bot.id, dead_letter(), None).await;
    assert!(matches!(refused, Err(ChangeWorkError::Refused(ChangeWorkRefused::NotAdmin(_)))), "{refused:?}");
    let refused = world.work.change_all(admin(&cai), WorkFilter::default(), true, dead_letter(), None).await;
    assert!(matches!(refused, Err(ChangeAllError::NotAdmin(_))), "{refused:?}");
    assert_eq!(next(&world, &bot, chat).await, Some(message), "nothing has changed");

    world.publisher.take();
    world
        .organizations
        .set_role(Authority::Admin(ann.caller), cai.id, OrganizationRole::Admin)
        .await
        .unwrap();
    world.publisher.take();
    let item = world.work.change(admin(&cai), message, bot.id, dead_letter(), None).await.unwrap();
    assert_eq!(item.delivery.dead().unwrap().reason, "no key");
    let updated = world.publisher.take().into_iter().filter_map(|event| match event {
        DomainEvent::MessageUpdated { message } => Some((message.id, message.deliveries[0].status())),
        _ => None,
    });
    assert_eq!(updated.collect::<Vec<_>>(), [(message, DeliveryStatus::Dead)]);

    // An agent that has left the chat owes nothing there.
    world.work.change(WorkScope::Everything, message, bot.id, WorkChange::Retry, None).await.unwrap();
    world.chats.remove_participant(ann.caller, chat, ParticipantId::Agent(bot.id)).await.unwrap();
    let gone = world.work.change(WorkScope::Everything, message, bot.id, dead_letter(), None).await;
    assert!(matches!(gone, Err(ChangeWorkError::Refused(ChangeWorkRefused::NotFound))), "{gone:?}");
    let unknown =
        world.work.find(WorkScope::Everything, MessageId::parse(&other.to_string()).unwrap(), bot.id);
    assert!(matches!(unknown.await, Err(FindWorkError::NotFound)));
}

/// The sender of a message takes it out of the queue, and does nothing else with the work of an agent of others.
pub async fn senders_take_back_what_they_have_sent(world: World) {
    let (ann, bot, _) = ann_and_bot(&world).await;
    let cai = world.colleague("cai", "ann").await;
    let scout = world.agent(&ann, "Scout").await;
    let chat = world.chat(ann.caller, &[cai.id.into(), bot.id.into(), scout.id.into()]).await;
    let to = [ParticipantId::Agent(bot.id)];
    let of_ann = send(&world, &ann, chat, &bot).await;
    let of_cai = world.send(cai.caller, chat, "work", &to).await.id;
    let of_scout = world.send(scout.caller, chat, "work", &to).await.id;
    let (by_cai, by_scout) =
        (WorkScope::SentBy(ParticipantId::User(cai.id)), WorkScope::SentBy(ParticipantId::Agent(scout.id)));
    let change = async |scope, message, change| {
        let changed = world.work.change(scope, message, bot.id, change, None).await;
        changed.map(|item| item.delivery.status()).map_err(|error| match error {
            ChangeWorkError::Refused(refused) => refused,
            ChangeWorkError::Store(error) => panic!("{error}"),
        })
    };
    for (scope, message) in [(by_cai, of_ann), (by_cai, of_scout), (by_scout, of_cai)] {
        let refused = change(scope, message, dead_letter()).await;
        assert_eq!(refused, Err(ChangeWorkRefused::NotFound), "{scope:?}");
    }
    let filter = WorkFilter::default();
    assert_eq!(world.work.list(by_cai, filter, first(9)).await.unwrap().rows, [], "nothing is listed");

    take(&world, &bot, chat, of_cai, &[DeliveryStep::Begin]).await;
    assert_eq!(change(by_cai, of_cai, dead_letter()).await, Ok(DeliveryStatus::Dead));
    let late = world.deliveries.advance(bot.caller, chat, of_cai, DeliveryStep::Succeed).await;
    assert!(matches!(late, Err(AdvanceError::NoActiveAttempt)), "{late:?}");
    assert_eq!(change(by_cai, of_cai, WorkChange::Retry).await, Err(ChangeWorkRefused::NotFound));
    let again = change(by_cai, of_cai, dead_letter()).await;
    assert_eq!(again, Err(ChangeWorkRefused::State(DeliveryStatus::Dead)));
    assert_eq!(change(by_scout, of_scout, dead_letter()).await, Ok(DeliveryStatus::Dead));
    assert_eq!(open(&world, &bot, chat).await, [of_ann]);
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let log = log.iter().filter(|entry| entry.action == AuditAction::WorkDeadLettered);
    let mut actors = log.map(|entry| entry.actor.known().unwrap().object).collect::<Vec<_>>();
    // Both are of the same time.
    actors.sort_by_key(|actor| matches!(actor, AuditObject::Agent(_)));
    assert_eq!(actors, [AuditObject::User(cai.id), AuditObject::Agent(scout.id)]);
}

/// Several items at once, each with its audit entry; a filter is required.
pub async fn work_is_changed_by_filter(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    let room = world.chat(ann.caller, &[scout.id.into()]).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let mut failing = Vec::new();
    for _ in 0..3 {
        let message = send(&world, &ann, chat, &bot).await;
        take(&world, &bot, chat, message, &[DeliveryStep::Begin, failed()]).await;
        failing.push(message);
    }
    let waiting = send(&world, &ann, chat, &bot).await;
    let kept = send(&world, &ann, room, &scout).await;
    let refused = world.work.change_all(mine, WorkFilter::default(), false, dead_letter(), None).await;
    assert!(matches!(refused, Err(ChangeAllError::NoFilter)), "{refused:?}");
    for filter in [WorkFilter { agent: Some(bot.id), ..WorkFilter::default() }, of_state(DeliveryStatus::New)]
    {
        let refused = world.work.change_all(mine, filter, true, WorkChange::Retry, None).await;
        assert!(matches!(refused, Err(ChangeAllError::NotRetryable)), "{refused:?}");
    }
    let of_bot = WorkFilter { agent: Some(bot.id), ..WorkFilter::default() };
    let changed = world.work.change_all(mine, of_bot.clone(), false, dead_letter(), None).await.unwrap();
    assert_eq!((changed.changed, changed.refused.len(), changed.next), (4, 0, None));
    assert_eq!(open(&world, &bot, chat).await, []);
    assert_eq!(listed(&world, mine, WorkFilter::default()).await, [kept]);
    assert_eq!(actions(&world, &ann).await, [AuditAction::WorkDeadLettered; 4]);
    let again = world.work.change_all(mine, of_bot, false, dead_letter(), None).await.unwrap();
    assert_eq!((again.changed, again.next), (0, None));
    let dead = of_state(DeliveryStatus::Dead);
    let changed = world.work.change_all(mine, dead.clone(), false, WorkChange::Retry, None).await.unwrap();
    assert_eq!(changed.changed, 4);
    assert_eq!(listed(&world, mine, dead).await, []);
    failing.push(waiting);
    assert_eq!(open(&world, &bot, chat).await, failing, "in the order of the room");
}

/// A command has no sockets: every server announces what it changes.
pub async fn what_the_operator_changes_is_announced(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = send(&world, &ann, chat, &bot).await;
    let announced = async || {
        world.publisher.take();
        world.deliveries.announce_updated(message, world.publisher.clone()).await.unwrap();
        let events = world.publisher.take().into_iter().map(|event| match event {
            DomainEvent::MessageUpdated { message } => (message.id, message.deliveries[0].status()),
            other => panic!("{other:?}"),
        });
        events.collect::<Vec<_>>()
    };
    for (change, more, status) in [
        (dead_letter(), None, DeliveryStatus::Dead),
        (WorkChange::Retry, Some(Change::WorkRetried(chat)), DeliveryStatus::New),
    ] {
        let before = world.stores.changes.newest_change().await.unwrap();
        world.work.change(WorkScope::Everything, message, bot.id, change, None).await.unwrap();
        let logged = changes_after(&world, before).await;
        assert!(logged.iter().eq([Change::MessageUpdated(message)].iter().chain(&more)), "{logged:?}");
        assert_eq!(announced().await, [(message, status)]);
    }
    world.messages.delete(ann.caller, chat, message).await.unwrap();
    assert_eq!(announced().await, []);
}
