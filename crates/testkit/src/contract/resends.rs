//! Work that is sent again as a new message, to another agent or to the same one.

use std::collections::HashSet;
use std::time::Duration;

use domain::audit::AuditAction;
use domain::change::Change;
use domain::chat::Role;
use domain::delivery::{DeadLetterReason, DeliveryStatus, DeliveryStep};
use domain::event::DomainEvent;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::message::{HistoryFilter, Message};
use domain::organization::Authority;
use domain::plan::Plan;
use domain::ports::Clock;
use domain::work::{
    ChangeAllError, ChangeWorkError, ChangeWorkRefused, EXAMINED_PER_QUEUE, Resend, WorkChange, WorkFilter,
    WorkFlag, WorkItem, WorkScope, WorkThresholds,
};

use super::audit::log_of;
use super::messages::{ann_and_bot, first};
use super::plans::plan;
use crate::{TestAgent, TestUser, World};

fn resend(to: Option<AgentId>) -> Resend {
    Resend { to, reason: Some(DeadLetterReason::new("no key".to_owned()).unwrap()) }
}

/// Sends an item again, and returns why not if it is refused. The new message is that of the item's record.
async fn try_resend(
    world: &World,
    scope: WorkScope,
    (message, agent): (MessageId, &TestAgent),
    to: Option<&TestAgent>,
    if_state: Option<DeliveryStatus>,
) -> Result<(WorkItem, MessageId), ChangeWorkRefused> {
    // The audit log is sorted by time.
    world.clock.advance(Duration::from_micros(1));
    let change = WorkChange::Resend(resend(to.map(|agent| agent.id)));
    match world.work.change(scope, message, agent.id, change, if_state).await {
        Ok(item) => {
            let new = item.delivery.replaced_by().unwrap();
            Ok((item, new))
        }
        Err(ChangeWorkError::Refused(refused)) => Err(refused),
        Err(ChangeWorkError::Store(error)) => panic!("{error}"),
    }
}

async fn next(world: &World, agent: &TestAgent, chat: ChatId) -> Option<MessageId> {
    world.deliveries.next(agent.caller, chat).await.unwrap().map(|message| message.id)
}

/// The texts of a room, newest first.
async fn texts(world: &World, reader: &TestUser, chat: ChatId) -> Vec<Message> {
    world.messages.history(reader.caller, chat, HistoryFilter::default(), first(50)).await.unwrap().rows
}

/// The item is dead, and the new message in the queue of the agent, or neither.
pub async fn work_is_sent_again_as_a_new_message(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let message = world.send(ann.caller, chat, "book a flight", &[ParticipantId::Agent(bot.id)]).await.id;
    let newest = world.stores.changes.newest_change().await.unwrap();
    let failed = Some(DeliveryStatus::Failed);
    let refused = try_resend(&world, mine, (message, &bot), Some(&scout), failed).await;
    assert_eq!(refused.unwrap_err(), ChangeWorkRefused::State(DeliveryStatus::New));
    assert_eq!(texts(&world, &ann, chat).await.len(), 1, "a refusal sends nothing");

    world.publisher.take();
    let (item, new) = try_resend(&world, mine, (message, &bot), Some(&scout), None).await.unwrap();
    assert_eq!(item.delivery.dead().unwrap().reason, "reassigned to @ann/scout: no key");
    assert_eq!((next(&world, &bot, chat).await, next(&world, &scout, chat).await), (None, Some(new)));
    let written = texts(&world, &ann, chat).await;
    let sent = &written[0];
    assert_eq!((sent.id, sent.sequence.get(), written.len()), (new, 2, 2));
    let by_ann = ParticipantId::User(ann.id);
    assert_eq!((sent.sender, sent.sender_handle.as_deref()), (by_ann, Some("ann")));
    assert_eq!(sent.addressed_agents(), [scout.id]);
    assert!(sent.content.starts_with(&format!("@[[{}]] ", scout.id)), "{}", sent.content);
    assert!(sent.content.ends_with("@ann wrote:\n> @ann/bot book a flight"), "{}", sent.content);
    let events = world.publisher.take().into_iter().filter_map(|event| match event {
        DomainEvent::MessageUpdated { message } => Some((message.id, Vec::new())),
        DomainEvent::MessageCreated { message, recipients } => Some((message.id, recipients)),
        _ => None,
    });
    assert_eq!(events.collect::<Vec<_>>(), [(message, Vec::new()), (new, vec![scout.id])]);
    let logged = world.stores.changes.newest_change().await.unwrap();
    assert_eq!(logged, newest, "its server has published it");

    for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
        world.deliveries.advance(scout.caller, chat, new, step).await.unwrap();
    }
    let refused = try_resend(&world, mine, (new, &scout), None, None).await;
    assert_eq!(refused.unwrap_err(), ChangeWorkRefused::State(DeliveryStatus::Processed));
    assert_eq!(texts(&world, &ann, chat).await.len(), 2);
}

/// What an agent works on is not taken from it; what is stuck is, and dead work too.
pub async fn work_in_progress_is_not_sent_again(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    let refused = try_resend(&world, mine, (message, &bot), None, None).await;
    assert_eq!(refused.unwrap_err(), ChangeWorkRefused::InProgress);
    assert_eq!(texts(&world, &ann, chat).await.len(), 1);
    world.clock.advance(WorkThresholds::default().stuck_after);
    let (item, new) = try_resend(&world, mine, (message, &bot), None, None).await.unwrap();
    assert_eq!(item.delivery.attempts()[0].error(), Some("dead-lettered: sent again: no key"));
    let reason = DeadLetterReason::new("over".to_owned()).unwrap();
    world.work.change(mine, new, bot.id, WorkChange::DeadLetter(reason), None).await.unwrap();
    let (item, again) = try_resend(&world, mine, (new, &bot), None, None).await.unwrap();
    assert_eq!(item.delivery.dead().unwrap().reason, "sent again: no key");
    assert_eq!(next(&world, &bot, chat).await, Some(again));
}

/// A replaced item is over: no request changes it, and nothing asks anybody to act on it.
pub async fn replaced_work_is_over(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let (_, new) = try_resend(&world, mine, (message, &bot), None, None).await.unwrap();
    let reason = || DeadLetterReason::new("over".to_owned()).unwrap();
    let changes = [WorkChange::Retry, WorkChange::DeadLetter(reason()), WorkChange::Resend(resend(None))];
    for change in changes {
        for if_state in [None, Some(DeliveryStatus::New), Some(DeliveryStatus::Dead)] {
            let refused = world.work.change(mine, message, bot.id, change.clone(), if_state).await;
            let Err(ChangeWorkError::Refused(refused)) = refused else { panic!("{change:?}: {refused:?}") };
            assert_eq!(refused, ChangeWorkRefused::Replaced(new), "{change:?}");
        }
    }
    assert_eq!(texts(&world, &ann, chat).await.len(), 2);
    let item = world.work.find(mine, message, bot.id).await.unwrap();
    assert_eq!(
        (item.delivery.status(), world.work.flags(&item, world.clock.now())),
        (DeliveryStatus::Dead, vec![])
    );
    let receipts = world.deliveries.receipts(ann.caller, chat, message).await.unwrap();
    assert_eq!(receipts[0].replaced_by, Some(new));
    let shown = texts(&world, &ann, chat).await.pop().unwrap();
    assert_eq!(shown.deliveries[0].replaced_by(), Some(new));

    // Another one that is dead, and not replaced.
    let dead = world.send(ann.caller, chat, "other", &[ParticipantId::Agent(bot.id)]).await.id;
    world.work.change(mine, dead, bot.id, WorkChange::DeadLetter(reason()), None).await.unwrap();
    assert_eq!(world.work.totals().await.unwrap().dead, 1);
    assert_eq!(world.work.of_agents(vec![bot.id]).await.unwrap()[0].totals.dead, 1);
    let of_state = WorkFilter { state: Some(DeliveryStatus::Dead), ..WorkFilter::default() };
    let of_flag = WorkFilter { flag: Some(WorkFlag::Dead), ..WorkFilter::default() };
    for (filter, expected) in [(&of_state, &[message, dead][..]), (&of_flag, &[dead])] {
        let listed = world.work.list(mine, filter.clone(), first(50)).await.unwrap().rows;
        assert_eq!(listed.iter().map(|item| item.message).collect::<Vec<_>>(), expected, "{filter:?}");
    }
    let retried = world.work.change_all(mine, of_state, false, WorkChange::Retry, None).await.unwrap();
    assert_eq!((retried.changed, retried.refused), (1, Vec::new()), "a replaced one is passed over");
    assert_eq!(world.work.totals().await.unwrap().dead, 0);
}

/// A command has no sockets: every server announces what it sends.
pub async fn what_the_operator_sends_again_is_announced(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let newest = world.stores.changes.newest_change().await.unwrap();
    let all = WorkScope::Everything;
    let (_, new) = try_resend(&world, all, (message, &bot), None, None).await.unwrap();
    let logged = world.stores.changes.changes_after(newest, 10).await.unwrap();
    let logged = logged.into_iter().map(|entry| entry.change).collect::<Vec<_>>();
    assert_eq!(logged, [Some(Change::MessageUpdated(message)), Some(Change::MessageSent(new))]);

    let announced = async |message| {
        world.publisher.take();
        world.deliveries.announce_sent(message, world.publisher.clone()).await.unwrap();
        let events = world.publisher.take().into_iter().map(|event| match event {
            DomainEvent::MessageCreated { message, recipients } => (message.id, recipients),
            other => panic!("{other:?}"),
        });
        events.collect::<Vec<_>>()
    };
    assert_eq!(announced(new).await, [(new, vec![bot.id])]);
    world.control.stop(ann.caller, chat).await.unwrap();
    assert_eq!(announced(new).await, [(new, Vec::new())], "it waits for a stopped agent");
    world.control.play(ann.caller, chat).await.unwrap();
    world.deliveries.advance(bot.caller, chat, new, DeliveryStep::Begin).await.unwrap();
    assert_eq!(announced(new).await, [(new, Vec::new())], "the agent has it");
    world.messages.delete(ann.caller, chat, new).await.unwrap();
    assert_eq!(announced(new).await, []);
}

/// Of two requests at the same moment, one sends the message.
pub async fn work_is_sent_again_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mine = WorkScope::OwnedBy(ann.id);
    for round in 1..=10 {
        let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
        let request = || try_resend(&world, mine, (message, &bot), None, None);
        let (one, other) = tokio::join!(request(), request());
        let (Ok((_, new)), Err(refused)) = (if one.is_ok() { (one, other) } else { (other, one) }) else {
            panic!("both or none were sent")
        };
        assert_eq!(refused, ChangeWorkRefused::Replaced(new));
        let written = texts(&world, &ann, chat).await;
        assert_eq!((written[0].id, written.len()), (new, 2 * round));
    }
}

/// Only humans in the room send, to agents in the room, within the plan; the operator does so for the owner.
pub async fn only_participants_send_work_again(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (scout, ben) = (world.agent(&ann, "Scout").await, world.user("ben").await);
    let cai = world.colleague("cai", "ann").await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let (mine, all) = (WorkScope::OwnedBy(ann.id), WorkScope::Everything);
    for (scope, to, expected) in [
        (WorkScope::OwnedBy(ben.id), None, ChangeWorkRefused::NotFound),
        (mine, Some(&bot), ChangeWorkRefused::SameAgent),
        (mine, Some(&scout), ChangeWorkRefused::AgentNotInChat),
        (all, Some(&scout), ChangeWorkRefused::AgentNotInChat),
    ] {
        let refused = try_resend(&world, scope, (message, &bot), to, None).await;
        assert_eq!(refused.unwrap_err(), expected, "{scope:?}");
    }
    let refused =
        try_resend(&world, WorkScope::Of(Authority::Admin(cai.caller)), (message, &bot), None, None);
    assert!(matches!(refused.await, Err(ChangeWorkRefused::NotAdmin(_))));

    // An owner who only observes the room, and an admin who cannot read it.
    let room = world.chat(cai.caller, &[]).await;
    let cais = world.agent(&cai, "Cais").await;
    world.add(cai.caller, room, cais.id.into(), Role::Member).await;
    let of_cais = world.send(cai.caller, room, "a secret", &[ParticipantId::Agent(cais.id)]).await.id;
    let admin = WorkScope::Of(Authority::Admin(ann.caller));
    let refused = try_resend(&world, admin, (of_cais, &cais), None, None).await;
    assert_eq!(refused.unwrap_err(), ChangeWorkRefused::NotInChat);
    world.add(cai.caller, room, ann.id.into(), Role::Owner).await;
    let (_, new) = try_resend(&world, admin, (of_cais, &cais), None, None).await.unwrap();
    let by_ann = ParticipantId::User(ann.id);
    assert_eq!(texts(&world, &ann, room).await[0].sender, by_ann);
    assert_eq!(next(&world, &cais, room).await, Some(new));
    world.chats.remove_participant(cai.caller, room, cai.id).await.unwrap();
    for scope in [WorkScope::OwnedBy(cai.id), all] {
        let refused = try_resend(&world, scope, (new, &cais), None, None).await;
        assert_eq!(refused.unwrap_err(), ChangeWorkRefused::NotInChat, "{scope:?}");
    }
    let (_, new) = try_resend(&world, all, (message, &bot), None, None).await.unwrap();
    let sent = &texts(&world, &ann, chat).await[0];
    assert_eq!((sent.id, sent.sender), (new, by_ann), "the operator acts for the owner");
}

/// A plan that allows no further message leaves the item as it is.
pub async fn work_is_not_sent_again_beyond_the_plan(world: World) {
    let ann = world.user_with_plan("ann", Plan { messages: Some(1), ..plan("tiny") }).await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let refused = try_resend(&world, WorkScope::OwnedBy(ann.id), (message, &bot), None, None).await;
    assert!(matches!(refused, Err(ChangeWorkRefused::Limit(_))), "{refused:?}");
    assert_eq!(next(&world, &bot, chat).await, Some(message), "it is still in the queue");
}

/// Several items at once, each with its audit entry; those of other rooms, and those of the agent itself, stay
/// as they are.
pub async fn work_is_reassigned_by_filter(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let elsewhere = world.chat(ann.caller, &[bot.id.into()]).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let mut sent = Vec::new();
    for (chat, text, to) in [
        (chat, "one", &bot),
        (chat, "two", &bot),
        (elsewhere, "three", &bot),
        (elsewhere, "four", &bot),
        (chat, "five", &scout),
    ] {
        world.clock.advance(Duration::from_secs(1));
        sent.push(world.send(ann.caller, chat, text, &[ParticipantId::Agent(to.id)]).await.id);
    }
    let reason = DeadLetterReason::new("over".to_owned()).unwrap();
    world.work.change(mine, sent[1], bot.id, WorkChange::DeadLetter(reason), None).await.unwrap();
    let change = |to| WorkChange::Resend(resend(to));
    let of_scout = WorkFilter { agent: Some(scout.id), ..WorkFilter::default() };
    for (filter, to) in [(of_scout, Some(scout.id)), (WorkFilter::default(), None)] {
        let refused = world.work.change_all(mine, filter, true, change(to), None).await;
        assert!(matches!(refused, Err(ChangeAllError::SameAgent)), "{refused:?}");
    }
    let no_age = WorkFilter { min_age: Some(Duration::ZERO), ..WorkFilter::default() };
    for filter in [WorkFilter::default(), no_age] {
        let refused = world.work.change_all(mine, filter, false, change(Some(scout.id)), None).await;
        assert!(matches!(refused, Err(ChangeAllError::NoFilter)), "{refused:?}");
    }
    let dead = WorkFilter { flag: Some(WorkFlag::Dead), ..WorkFilter::default() };
    for (filter, all, skipped) in
        [(WorkFilter::default(), true, 2), (dead.clone(), false, 0), (dead, false, 0)]
    {
        let changed = world.work.change_all(mine, filter, all, change(Some(scout.id)), None).await.unwrap();
        let expected = u32::from(changed.changed > 0);
        assert_eq!((changed.changed, changed.skipped, changed.next), (expected, skipped, None));
        assert_eq!(changed.refused, []);
    }
    let written = texts(&world, &ann, chat).await;
    assert_eq!(written.iter().filter(|text| text.content.contains("Please take over")).count(), 2);
    assert_eq!((next(&world, &bot, chat).await, next(&world, &scout, chat).await), (None, Some(sent[4])));
    assert_eq!(next(&world, &bot, elsewhere).await, Some(sent[2]));
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let details = log.iter().filter(|entry| entry.action == AuditAction::WorkReassigned);
    let details = details.filter_map(|entry| entry.detail.clone()).collect::<HashSet<_>>();
    let expected =
        written[..2].iter().map(|new| format!("reassigned to @ann/scout: no key (message {})", new.id));
    assert_eq!(details, expected.collect());
}

/// Items that are passed over do not hold up those behind them: each call goes on after the last one.
pub async fn a_change_of_several_goes_on_after_what_it_passed_over(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    let both = world.chat(ann.caller, &[bot.id.into(), scout.id.into()]).await;
    let mine = WorkScope::OwnedBy(ann.id);
    for _ in 0..EXAMINED_PER_QUEUE {
        world.send(ann.caller, chat, "elsewhere", &[ParticipantId::Agent(bot.id)]).await;
    }
    world.clock.advance(Duration::from_secs(1));
    let last = world.send(ann.caller, both, "here", &[ParticipantId::Agent(bot.id)]).await.id;
    let change = || WorkChange::Resend(resend(Some(scout.id)));
    let one = world.work.change_all(mine, WorkFilter::default(), true, change(), None).await.unwrap();
    assert_eq!((one.changed, one.skipped, one.next.is_some()), (0, EXAMINED_PER_QUEUE, true));
    let rest = world.work.change_all(mine, WorkFilter::default(), true, change(), one.next).await.unwrap();
    assert_eq!((rest.changed, rest.skipped, rest.next), (1, 0, None));
    assert!(world.work.find(mine, last, bot.id).await.unwrap().delivery.replaced_by().is_some());
}

/// A replacement that is gone, or whose agent has left without an answer, keeps nobody from trying again.
pub async fn a_replacement_that_is_gone_does_not_count(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let mine = WorkScope::OwnedBy(ann.id);
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let (_, deleted) = try_resend(&world, mine, (message, &bot), Some(&scout), None).await.unwrap();
    let refused = try_resend(&world, mine, (message, &bot), Some(&scout), None).await;
    assert_eq!(refused.unwrap_err(), ChangeWorkRefused::Replaced(deleted));
    world.messages.delete(ann.caller, chat, deleted).await.unwrap();
    let (_, left) = try_resend(&world, mine, (message, &bot), Some(&scout), None).await.unwrap();
    world.chats.remove_participant(ann.caller, chat, scout.id).await.unwrap();
    let (_, answered) = try_resend(&world, mine, (message, &bot), None, None).await.unwrap();
    assert_ne!(left, answered);
    for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
        world.deliveries.advance(bot.caller, chat, answered, step).await.unwrap();
    }
    let refused = try_resend(&world, mine, (message, &bot), None, None).await;
    assert_eq!(refused.unwrap_err(), ChangeWorkRefused::Replaced(answered));
}
