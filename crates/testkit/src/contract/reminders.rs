//! Texts that are sent later.

use std::time::Duration;

use domain::account::WhichKeys;
use domain::budget::{Amount, Budget};
use domain::chat::Role;
use domain::delivery::DeliveryStep;
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{
    Cause, HistoryFilter, MentionError, Message, NewText, Place, SendHeaders, SendMessage, SendMessageError,
};
use domain::organization::Authority;
use domain::page::PageRequest;
use domain::ports::Clock;
use domain::reminder::{
    DueReminder, MAX_OPEN_OF_SENDER, Recurrence, Reminder, ReminderEnd, ReminderFailure, ReminderOutcome,
    ScheduleFault, ScheduleText, ScheduleTextError, SendReminder, SentReminders,
};
use domain::store::OnCommit;

use super::answers::once;
use super::control::take;
use super::messages::{ann_and_bot, first};
use crate::world::text;
use crate::{TestAgent, TestUser, World};

pub(super) const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A text for these participants, an hour ahead.
pub(super) fn later(world: &World, content: &str, to: &[ParticipantId]) -> ScheduleText {
    ScheduleText { text: text(content, to), deliver_at: Some(world.clock.now().plus(HOUR)), every: None }
}

/// A note of an agent to itself, an hour ahead.
pub fn note(world: &World, bot: &TestAgent) -> ScheduleText {
    later(world, "look again", &[ParticipantId::Agent(bot.id)])
}

pub(super) fn repeated(command: ScheduleText, rule: &str) -> ScheduleText {
    ScheduleText { every: Some(Recurrence::parse(rule).unwrap()), ..command }
}

pub(super) async fn scheduled(
    world: &World,
    bot: &TestAgent,
    chat: ChatId,
    command: ScheduleText,
) -> Reminder {
    world.reminders.schedule(bot.caller, chat, command, SendHeaders::default()).await.unwrap()
}

/// Sends what is due.
pub(super) async fn send_due(world: &World) -> SentReminders {
    let sent = world.reminders.send_due(&mut None).await.unwrap();
    assert!(sent.failed.is_empty(), "{:?}", sent.failed);
    sent
}

pub(super) async fn found(world: &World, bot: &TestAgent, reminder: &Reminder) -> Reminder {
    world.reminders.find(bot.caller, reminder.id).await.unwrap()
}

/// The newest message of the room.
async fn newest(world: &World, ann: &TestUser, chat: ChatId) -> Message {
    let filter = HistoryFilter::default();
    world.messages.history(ann.caller, chat, filter, first(1)).await.unwrap().rows.remove(0)
}

async fn count(world: &World, ann: &TestUser, chat: ChatId) -> usize {
    let filter = HistoryFilter::default();
    world.messages.history(ann.caller, chat, filter, first(100)).await.unwrap().rows.len()
}

/// And reaches whom it mentions, which may be its sender, like any other text.
pub async fn a_text_is_sent_when_it_is_due(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let reminder = scheduled(&world, &bot, chat, note(&world, &bot)).await;
    let stored = format!("@[[{}]] look again", bot.id);
    assert_eq!((&reminder.sender_handle, &reminder.content), (&bot.handle, &stored));
    world.clock.advance(HOUR.checked_sub(Duration::from_micros(1)).unwrap());
    assert_eq!(send_due(&world).await.sent, 0);
    world.clock.advance(Duration::from_micros(1));
    world.publisher.take();
    let sent = send_due(&world).await;
    assert_eq!((sent.sent, sent.late), (1, vec![Duration::ZERO]));
    let told = world.publisher.take();
    let [DomainEvent::MessageCreated { message, recipients }, ..] = &told[..] else { panic!("{told:?}") };
    assert_eq!((message.sender, &recipients[..]), (ParticipantId::Agent(bot.id), &[bot.id][..]));
    assert_eq!((&message.content, message.created_at), (&stored, world.clock.now()));
    let next = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(next.id, message.id, "it has a delivery");
    let own =
        world.messages.send(bot.caller, chat, text("to Ann", &[ParticipantId::User(ann.id)])).await.unwrap();
    let context = world.messages.context(bot.caller, chat, first(100)).await.unwrap();
    let context = context.rows.iter().map(|message| message.id).collect::<Vec<_>>();
    assert_eq!(context, [next.id, own.id], "each once");
    let all = PageRequest { count: true, ..first(1) };
    assert_eq!(world.messages.context(bot.caller, chat, all).await.unwrap().total, Some(2));
    take(&world, &bot, chat, next.id, DeliveryStep::Begin).await;
    take(&world, &bot, chat, next.id, DeliveryStep::Succeed).await;
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap(), None);
    let done = found(&world, &bot, &reminder).await;
    assert_eq!(done.ended, Some((ReminderEnd::Finished, world.clock.now())));
    assert_eq!((done.sent, done.last_sent), (1, Some((next.id, world.clock.now()))));
    assert_eq!(send_due(&world).await.sent, 0, "once");
}

pub async fn what_is_scheduled_follows_the_rules_of_texts(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let (to_bot, now) = ([ParticipantId::Agent(bot.id)], world.clock.now());
    let refused = async |command: ScheduleText| {
        let refused = world.reminders.schedule(bot.caller, chat, command, SendHeaders::default()).await;
        refused.unwrap_err()
    };
    let at = |deliver_at| ScheduleText { deliver_at, ..note(&world, &bot) };
    let long = later(&world, &"x".repeat(65_537), &to_bot);
    let dated = SendMessage { respond_by: Some(now.plus(DAY)), ..text("x", &to_bot) };
    for (command, fault) in [
        (at(None), ScheduleFault::NoTime),
        (at(Some(now)), ScheduleFault::Passed),
        (at(Some(now.plus(367 * DAY))), ScheduleFault::TooFar),
        // 2026-07-01 is a Wednesday.
        (repeated(note(&world, &bot), "FREQ=WEEKLY;BYDAY=TU"), ScheduleFault::NoOccurrence),
        (repeated(note(&world, &bot), "FREQ=DAILY;UNTIL=20260701T120000Z"), ScheduleFault::NoOccurrence),
        (ScheduleText { text: dated, ..note(&world, &bot) }, ScheduleFault::HasDeadline),
        (long, ScheduleFault::TooLong),
    ] {
        let refused = refused(command).await;
        assert!(matches!(refused, ScheduleTextError::Fault(found) if found == fault), "{refused:?}");
    }
    let error = refused(later(&world, "x", &[])).await;
    let is_required = |error: &ScheduleTextError| {
        matches!(error, ScheduleTextError::Send(SendMessageError::Mention(MentionError::Required)))
    };
    assert!(is_required(&error), "{error:?}");
    let error = refused(later(&world, "x", &[ParticipantId::User(ben.id)])).await;
    assert!(matches!(
        error,
        ScheduleTextError::Send(SendMessageError::Mention(MentionError::NotInChat { .. }))
    ));
    let mut unknown = note(&world, &bot);
    unknown.text.in_reply_to = Some(MessageId::NIL);
    let error = refused(unknown).await;
    assert!(matches!(error, ScheduleTextError::Send(SendMessageError::CauseNotFound)), "{error:?}");
    let stranger =
        world.reminders.schedule(ben.caller, chat, later(&world, "x", &[]), SendHeaders::default()).await;
    assert!(matches!(stranger, Err(ScheduleTextError::Send(SendMessageError::ChatNotFound))), "{stranger:?}");
    world.control.stop(ann.caller, chat).await.unwrap();
    let error = refused(note(&world, &bot)).await;
    assert!(matches!(error, ScheduleTextError::Send(SendMessageError::Stopped)), "{error:?}");
    let own = world.messages.send(bot.caller, chat, text("x", &to_bot)).await;
    assert!(own.is_err(), "now, nobody mentions itself");
    world
        .reminders
        .schedule(ann.caller, chat, later(&world, "x", &[]), SendHeaders::default())
        .await
        .unwrap();
    assert_eq!(count(&world, &ann, chat).await, 0);
}

/// What passed while no server ran is sent once, and the rule goes on.
pub async fn a_text_repeats_until_its_rule_ends(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let daily = scheduled(&world, &bot, chat, repeated(note(&world, &bot), "FREQ=DAILY;COUNT=5")).await;
    world.clock.advance(HOUR);
    for (passed, sent, number) in [(0, 1, 2), (1, 2, 3), (2, 3, 5)] {
        world.clock.advance(passed * DAY);
        assert_eq!(send_due(&world).await.sent, 1);
        let now = found(&world, &bot, &daily).await;
        assert_eq!((now.sent, now.due.number, now.ended), (sent, number, None));
        assert_eq!(now.due.at, daily.first_at.plus((number - 1) * DAY));
    }
    world.clock.advance(DAY + HOUR);
    let last = send_due(&world).await;
    assert_eq!((last.sent, last.late), (1, vec![HOUR]));
    let done = found(&world, &bot, &daily).await;
    assert_eq!((done.sent, done.ended.map(|(end, _)| end)), (4, Some(ReminderEnd::Finished)));
    assert_eq!(count(&world, &ann, chat).await, 4);
}

/// However many servers look at the same moment, and even if one acts on what it has read before.
pub async fn an_occurrence_is_sent_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut reminders = Vec::new();
    for _ in 0..5 {
        reminders.push(scheduled(&world, &bot, chat, note(&world, &bot)).await);
    }
    let daily = scheduled(&world, &bot, chat, repeated(note(&world, &bot), "FREQ=DAILY")).await;
    world.clock.advance(HOUR);
    let read = world.stores.all.due_reminders(world.clock.now(), None, 100).await.unwrap();
    assert_eq!(read.len(), 6);
    let server = async || send_due(&world).await.sent;
    let (one, two, three) = tokio::join!(server(), server(), server());
    assert_eq!((one + two + three, count(&world, &ann, chat).await), (6, 6));
    for due in read {
        assert_eq!(send(&world, due).await, ReminderOutcome::Gone);
    }
    let cancelled = scheduled(&world, &bot, chat, note(&world, &bot)).await;
    let due = DueReminder { id: cancelled.id, chat, at: cancelled.due.at };
    assert_eq!(send(&world, due).await, ReminderOutcome::Gone, "not yet");
    world.clock.advance(HOUR);
    world.reminders.cancel(bot.caller, cancelled.id).await.unwrap();
    assert_eq!(send(&world, due).await, ReminderOutcome::Gone);
    assert_eq!(count(&world, &ann, chat).await, 6);
    assert_eq!(found(&world, &bot, &daily).await.due.number, 2);
}

/// Sends an occurrence as a server that has read it.
async fn send(world: &World, due: DueReminder) -> ReminderOutcome {
    let now = world.clock.now();
    let id = MessageId::new(world.ports.ids.generate(now));
    let text = NewText { id, begins_trace: None, max_hops: world.ports.max_hops, exceeded: None };
    let command = SendReminder { due, text, now };
    world.stores.all.send_reminder(command, OnCommit::nothing()).await.unwrap()
}

/// Not that of the time at which it is sent.
pub async fn a_reminder_keeps_its_cause(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ask = async || world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
    let originator = ParticipantId::User(ann.id);
    let below = |root| Cause::Known(Place { message: Some(root), root, hop: 1, originator });
    let causeless = scheduled(&world, &bot, chat, note(&world, &bot)).await;
    let (one, two) = (ask().await, ask().await);
    take(&world, &bot, chat, one, DeliveryStep::Begin).await;
    let known = scheduled(&world, &bot, chat, note(&world, &bot)).await;
    assert_eq!((causeless.cause, known.cause), (Cause::None, below(one)));
    take(&world, &bot, chat, two, DeliveryStep::Begin).await;
    let ambiguous = scheduled(&world, &bot, chat, note(&world, &bot)).await;
    assert_eq!(ambiguous.cause, Cause::Ambiguous { hop: 1 });
    take(&world, &bot, chat, one, DeliveryStep::Succeed).await;
    let mut of_human = later(&world, "and?", &[ParticipantId::Agent(bot.id)]);
    of_human.text.in_reply_to = Some(one);
    let of_human =
        world.reminders.schedule(ann.caller, chat, of_human, SendHeaders::default()).await.unwrap();
    assert_eq!(of_human.cause, Cause::Known(Place { message: Some(one), root: one, hop: 0, originator }));
    world.clock.advance(HOUR);
    assert_eq!(send_due(&world).await.sent, 4);
    let filter = HistoryFilter::default();
    let rows = world.messages.history(ann.caller, chat, filter, first(4)).await.unwrap().rows;
    for reminder in [&causeless, &known, &ambiguous, &of_human] {
        let (message, _) = world.reminders.find(ann.caller, reminder.id).await.unwrap().last_sent.unwrap();
        let message = rows.iter().find(|row| row.id == message).unwrap();
        assert_eq!(message.cause, reminder.cause, "the agent works on another message");
    }
}

pub async fn what_is_refused_is_noted(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let once = scheduled(&world, &bot, chat, note(&world, &bot)).await;
    let daily = scheduled(&world, &bot, chat, repeated(note(&world, &bot), "FREQ=DAILY")).await;
    let to_scout = later(&world, "you", &[ParticipantId::Agent(scout.id)]);
    let to_scout = scheduled(&world, &bot, chat, to_scout).await;
    world.clock.advance(HOUR);
    world.control.stop(ann.caller, chat).await.unwrap();
    world.chats.remove_participant(ann.caller, chat, scout.id).await.unwrap();
    let refused = send_due(&world).await;
    assert_eq!((refused.sent, refused.refused), (0, 3));
    let stopped = Some((ReminderFailure::Stopped, world.clock.now()));
    let retried = found(&world, &bot, &once).await;
    assert_eq!((retried.last_failure, retried.ended), (stopped, None));
    assert_eq!(retried.due.at, world.clock.now().plus(Duration::from_secs(60)));
    let next = found(&world, &bot, &daily).await;
    assert_eq!((next.last_failure, next.due.number, next.sent), (stopped, 2, 0));
    world.control.play(ann.caller, chat).await.unwrap();
    world.clock.advance(Duration::from_secs(60));
    let sent = send_due(&world).await;
    assert_eq!((sent.sent, sent.refused), (1, 1));
    assert_eq!(found(&world, &bot, &once).await.last_failure, None);
    let ended = found(&world, &bot, &to_scout).await;
    let now = world.clock.now();
    assert_eq!(ended.ended, Some((ReminderEnd::Refused, now)));
    assert_eq!(ended.last_failure, Some((ReminderFailure::RecipientLeft, now)));
}

/// It counts like a text that is sent now, and a budget holds it from whom it mentions.
pub async fn budgets_count_what_is_sent_later(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let changes = vec![(Budget::RoomMessages, Amount::new(1))];
    world.budgets.set(Authority::Admin(ann.caller), changes).await.unwrap();
    world.budgets.check().await.unwrap();
    let hourly = scheduled(&world, &bot, chat, repeated(note(&world, &bot), "FREQ=HOURLY")).await;
    for (sent, failure) in [(1, None), (2, Some(ReminderFailure::Held))] {
        world.clock.advance(HOUR);
        assert_eq!(send_due(&world).await.sent, 1);
        world.budgets.check().await.unwrap();
        let now = found(&world, &bot, &hourly).await;
        assert_eq!((now.sent, now.last_failure.map(|(failure, _)| failure)), (sent, failure));
    }
    let held = newest(&world, &ann, chat).await;
    assert!(held.deliveries[0].held_by().is_some(), "{held:?}");
}

pub async fn who_may_send_nothing_more_is_not_reminded(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let daily = async |agent: &TestAgent| {
        scheduled(&world, agent, chat, repeated(note(&world, agent), "FREQ=DAILY")).await
    };
    let more = async |name: &str| {
        let agent = world.agent(&ann, name).await;
        world.add(ann.caller, chat, agent.id.into(), Role::Member).await;
        agent
    };
    let (disabled, keyless, gone) = (more("Disabled").await, more("Keyless").await, more("Gone").await);
    let (left, off, no_key) = (daily(&bot).await, daily(&disabled).await, daily(&keyless).await);
    let erased = daily(&gone).await;
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    let end = (ReminderEnd::SenderLeft, world.clock.now());
    assert_eq!(found(&world, &bot, &left).await.ended, Some(end), "at once");
    world.add(ann.caller, chat, bot.id.into(), Role::Member).await;
    world.administration.set_disabled(ParticipantId::Agent(disabled.id), true).await.unwrap();
    world.accounts.revoke_keys(WhichKeys::AllOf(ParticipantId::Agent(keyless.id))).await.unwrap();
    world.accounts.delete_agent(ann.caller, gone.id, true).await.unwrap();
    let read = world.reminders.find(ann.caller, erased.id).await;
    assert!(read.is_err(), "{read:?}");
    world.clock.advance(HOUR);
    let refused = send_due(&world).await;
    assert_eq!((refused.sent, refused.refused), (0, 2), "who has come back begins again");
    for (reminder, end) in [(off, ReminderEnd::SenderDisabled), (no_key, ReminderEnd::NoKey)] {
        let ended = world.reminders.find(ann.caller, reminder.id).await.unwrap();
        assert_eq!(ended.ended, Some((end, world.clock.now())), "its owner can read why");
    }
    let of_ann = later(&world, "x", &[]);
    let of_ann = world.reminders.schedule(ann.caller, chat, of_ann, SendHeaders::default()).await.unwrap();
    world.administration.set_disabled(ParticipantId::User(ann.id), true).await.unwrap();
    world.clock.advance(HOUR);
    send_due(&world).await;
    let ended = world.reminders.find(ann.caller, of_ann.id).await.unwrap();
    assert_eq!(ended.ended.map(|(end, _)| end), Some(ReminderEnd::SenderDisabled));
}

/// A repeated request schedules nothing more, even if the time has passed since.
pub async fn a_key_schedules_one_text(world: World) {
    let (_, bot, chat) = ann_and_bot(&world).await;
    let command = note(&world, &bot);
    let ask = async |key: &str, says: u8| {
        let headers = SendHeaders { once: once(key, says), ..SendHeaders::default() };
        world.reminders.schedule(bot.caller, chat, command.clone(), headers).await
    };
    let one = ask("one", 1).await.unwrap();
    assert_eq!(ask("one", 1).await.unwrap(), one);
    world.clock.advance(HOUR);
    assert_eq!(send_due(&world).await.sent, 1);
    assert_eq!(ask("one", 1).await.unwrap(), found(&world, &bot, &one).await);
    let reused = ask("one", 2).await;
    assert!(matches!(reused, Err(ScheduleTextError::Send(SendMessageError::KeyReused))), "{reused:?}");
    let passed = ask("two", 1).await;
    assert!(matches!(passed, Err(ScheduleTextError::Fault(ScheduleFault::Passed))), "{passed:?}");
    let now = SendHeaders { once: once("one", 3), ..SendHeaders::default() };
    let sent = world.messages.send_once(bot.caller, chat, text("x", &[]), now).await;
    assert!(matches!(sent, Err(SendMessageError::KeyReused)), "{sent:?}");
}

pub async fn open_reminders_are_limited(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut last = None;
    for _ in 0..MAX_OPEN_OF_SENDER {
        last = Some(scheduled(&world, &bot, chat, note(&world, &bot)).await);
    }
    let more =
        async || world.reminders.schedule(bot.caller, chat, note(&world, &bot), SendHeaders::default()).await;
    let refused = more().await;
    let is_full =
        matches!(refused, Err(ScheduleTextError::TooMany { limit: MAX_OPEN_OF_SENDER, chat: None }));
    assert!(is_full, "{refused:?}");
    world
        .reminders
        .schedule(ann.caller, chat, later(&world, "x", &[]), SendHeaders::default())
        .await
        .unwrap();
    world.reminders.cancel(bot.caller, last.unwrap().id).await.unwrap();
    more().await.unwrap();
    world.clock.advance(HOUR);
    let mut after = None;
    let first = world.reminders.send_due(&mut after).await.unwrap();
    let second = world.reminders.send_due(&mut after).await.unwrap();
    assert_eq!((first.sent, first.has_more, second.sent, second.has_more), (100, true, 1, false));
}
