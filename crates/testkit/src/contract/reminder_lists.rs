//! Who sees texts that are sent later, and who cancels them.

use std::time::Duration;

use domain::audit::{AuditAction, AuditObject};
use domain::caller::Caller;
use domain::chat::Role;
use domain::id::{ParticipantId, ReminderId};
use domain::message::SendHeaders;
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::reminder::{
    CancelReminderError, ENDED_REMINDERS_ARE_KEPT, ReminderEnd, ReminderFilter, ReminderState, ScheduleText,
};

use super::audit::log_of;
use super::messages::{ann_and_bot, first};
use super::reminders::{HOUR, found, later, note, repeated, scheduled, send_due};
use crate::{TestAgent, World};

/// The ids of a list, read two at a time.
async fn listed(world: &World, caller: impl Into<Caller>, filter: ReminderFilter) -> Vec<ReminderId> {
    let (caller, mut all, mut after) = (caller.into(), Vec::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.reminders.list(caller, filter, page).await.unwrap();
        assert!(page.rows.len() <= 2);
        all.extend(page.rows.iter().map(|row| row.id));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// Humans see those of their rooms and agents, agents their own. The sender, the owner of that agent, and an owner of the
/// room cancel.
pub async fn reminders_are_seen_and_cancelled_by_those_who_may(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (ben, cai) = (world.user("ben").await, world.colleague("cai", "ann").await);
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, cai.id.into(), Role::Member).await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let alone = world.chat(bot.caller, &[]).await;
    let at = |hours: u32, to: &TestAgent| {
        let command = later(&world, "x", &[ParticipantId::Agent(to.id)]);
        ScheduleText { deliver_at: Some(world.clock.now().plus(hours * HOUR)), ..command }
    };
    let third = scheduled(&world, &bot, chat, at(3, &bot)).await.id;
    let first = scheduled(&world, &scout, chat, at(1, &scout)).await.id;
    let second = scheduled(&world, &bot, alone, at(2, &bot)).await.id;
    let of_cai =
        world.reminders.schedule(cai.caller, chat, at(4, &bot), SendHeaders::default()).await.unwrap().id;
    let open = ReminderFilter { state: Some(ReminderState::Scheduled), chat: None };
    let here = ReminderFilter { chat: Some(chat), ..open };
    assert_eq!(
        listed(&world, ann.caller, open).await,
        [first, second, third, of_cai],
        "of her rooms and agents"
    );
    assert_eq!(listed(&world, ann.caller, here).await, [first, third, of_cai]);
    assert_eq!(listed(&world, cai.caller, open).await, [first, third, of_cai]);
    assert_eq!(listed(&world, bot.caller, open).await, [second, third], "its own");
    assert_eq!(listed(&world, bot.caller, here).await, [third]);
    assert_eq!(listed(&world, ben.caller, open).await, []);
    let since = world.clock.now();

    let cancel = async |by: Caller, reminder| world.reminders.cancel(by, reminder).await;
    for (by, reminder) in
        [(Caller::from(ben.caller), first), (bot.caller.into(), of_cai), (scout.caller.into(), third)]
    {
        let refused = cancel(by, reminder).await;
        assert!(matches!(refused, Err(CancelReminderError::NotFound)), "{refused:?}");
        assert!(world.reminders.find(by, reminder).await.is_err());
    }
    let refused = cancel(cai.caller.into(), third).await;
    assert!(matches!(refused, Err(CancelReminderError::NotAllowed)), "{refused:?}");
    for (by, reminder) in [
        (Caller::from(scout.caller), first),
        (ann.caller.into(), second),
        (ann.caller.into(), of_cai),
        (bot.caller.into(), third),
    ] {
        world.clock.advance(Duration::from_secs(1));
        let cancelled = cancel(by, reminder).await.unwrap();
        assert_eq!(cancelled.ended, Some((ReminderEnd::Cancelled, world.clock.now())));
        assert_eq!(cancelled.cancelled_by, Some(by.participant().into()));
        world.clock.advance(Duration::from_secs(1));
        assert_eq!(cancel(by, reminder).await.unwrap(), cancelled, "again");
    }
    let log = log_of(&world, Some(ann.caller.organization), Some(since)).await;
    let log = log.iter().filter(|record| record.action == AuditAction::ReminderCancelled);
    let log = log.map(|record| (record.subject.object, record.detail.clone())).collect::<Vec<_>>();
    let entry = |chat, id: ReminderId| (AuditObject::Chat(chat), Some(id.to_string()));
    assert_eq!(log, [entry(alone, second), entry(chat, of_cai)], "what humans cancel");
    assert_eq!(listed(&world, ann.caller, open).await, []);
    let ended = ReminderFilter { state: Some(ReminderState::Ended), chat: None };
    for filter in [ended, ReminderFilter::default()] {
        assert_eq!(
            listed(&world, ann.caller, filter).await,
            [of_cai, third, second, first],
            "the last one first"
        );
    }
    world.clock.advance(5 * HOUR);
    assert_eq!(send_due(&world).await.sent, 0);
    let sent = scheduled(&world, &bot, chat, at(1, &bot)).await.id;
    world.clock.advance(HOUR);
    send_due(&world).await;
    let over = cancel(bot.caller.into(), sent).await;
    assert!(matches!(over, Err(CancelReminderError::Ended(ReminderEnd::Finished))), "{over:?}");
    world.chats.delete(ann.caller, chat).await.unwrap();
    assert_eq!(
        listed(&world, bot.caller, ReminderFilter::default()).await,
        [second],
        "none of a deleted room"
    );
}

/// A page is bounded in bytes.
pub async fn a_page_of_reminders_is_bounded(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    for _ in 0..20 {
        let large = later(&world, &"x".repeat(65_536), &[ParticipantId::Agent(bot.id)]);
        scheduled(&world, &bot, chat, large).await;
    }
    let page = world.reminders.list(ann.caller, ReminderFilter::default(), first(100)).await.unwrap();
    assert_eq!((page.rows.len(), page.next.is_some()), (15, true), "a mebibyte");
}

pub async fn ended_reminders_are_kept_for_a_month(world: World) {
    let (_, bot, chat) = ann_and_bot(&world).await;
    let ended = scheduled(&world, &bot, chat, note(&world, &bot)).await;
    let open = scheduled(&world, &bot, chat, repeated(note(&world, &bot), "FREQ=MONTHLY")).await;
    world.reminders.cancel(bot.caller, ended.id).await.unwrap();
    let moment = Duration::from_micros(1);
    world.clock.advance(ENDED_REMINDERS_ARE_KEPT.checked_sub(moment).unwrap());
    assert_eq!(world.reminders.forget_old(world.clock.now()).await.unwrap(), 0);
    world.clock.advance(moment);
    assert_eq!(world.reminders.forget_old(world.clock.now()).await.unwrap(), 1);
    assert!(world.reminders.find(bot.caller, ended.id).await.is_err());
    assert_eq!(found(&world, &bot, &open).await, open);
}
