//! Stop, play, interrupt, and executions.

use std::time::Duration;

use domain::audit::AuditAction;
use domain::caller::UserCaller;
use domain::change::Change;
use domain::chat::{ChatParts, Role, StopRefused, WorkStatus};
use domain::control::{
    ControlMode, Execution, ExecutionStatus, InterruptError, ListExecutionsError, StopError, StoppedChat,
};
use domain::delivery::{AdvanceError, DeliveryFilter, DeliveryStatus, DeliveryStep, FailureText, Order};
use domain::event::DomainEvent;
use domain::id::{AgentId, ChatId, ExecutionId, MessageId, ParticipantId};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest};
use domain::message::{
    EventContent, EventMetadata, HistoryFilter, MentionKind, MessageKind, PostEvent, PostEventError,
    RecipientState, RequestedMention, SendMessage, SendMessageError, SentMessage,
};
use domain::page::{PageRequest, Slice};
use domain::work::WorkScope;
use uuid::Uuid;

use super::audit::log_of;
use super::messages::{ann_and_bot, first};
use super::redelivery::{found, listening, new_messages};
use crate::world::text;
use crate::{TestAgent, TestUser, World};

pub(super) async fn send(world: &World, ann: &TestUser, chat: ChatId, bot: &TestAgent) -> MessageId {
    world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id
}

pub(super) async fn next(world: &World, bot: &TestAgent, chat: ChatId) -> Option<MessageId> {
    world.deliveries.next(bot.caller, chat).await.unwrap().map(|message| message.id)
}

pub(super) async fn take(
    world: &World,
    bot: &TestAgent,
    chat: ChatId,
    message: MessageId,
    step: DeliveryStep,
) {
    world.deliveries.advance(bot.caller, chat, message, step).await.unwrap();
}

fn failed() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap())
}

/// Whether receipts and the work ledger show the agent of a delivery as stopped, and as paused.
pub(super) async fn halts(
    world: &World,
    ann: &TestUser,
    agent: &TestAgent,
    chat: ChatId,
    message: MessageId,
) -> (bool, bool) {
    let receipts = world.deliveries.receipts(ann.caller, chat, message).await.unwrap();
    let of_receipt = receipts.into_iter().find(|receipt| receipt.agent.id == agent.id).unwrap().agent;
    let of_item = world.work.find(WorkScope::OwnedBy(ann.id), message, agent.id).await.unwrap().agent;
    let shown = (of_item.is_stopped, of_item.is_paused);
    assert_eq!((of_receipt.is_stopped, of_receipt.is_paused), shown);
    shown
}

/// What the answer to a send says of an agent: the status of its delivery, and whether it is stopped and paused.
pub(super) fn answered(sent: &SentMessage, agent: &TestAgent) -> (DeliveryStatus, bool, bool) {
    let recipient =
        sent.recipients.iter().find(|recipient| recipient.id == ParticipantId::Agent(agent.id)).unwrap();
    match recipient.state {
        Some(RecipientState::Agent { status, is_stopped, is_paused, .. }) => (status, is_stopped, is_paused),
        other => panic!("an agent's state: {other:?}"),
    }
}

async fn state(world: &World, bot: &TestAgent, chat: ChatId, message: MessageId) -> DeliveryStatus {
    let page =
        world.deliveries.list(bot.caller, chat, DeliveryFilter::All, Order::Ascending, first(50)).await;
    let found = page.unwrap().rows.into_iter().find(|row| row.id == message).unwrap();
    found.deliveries[0].status()
}

pub(super) async fn work(world: &World, caller: UserCaller, chat: ChatId) -> WorkStatus {
    world.chats.find_with_details(caller, chat, ChatParts::ALL, false).await.unwrap().listed.details().work
}

pub(super) fn to(ann: &TestUser) -> SendMessage {
    text("done", &[ParticipantId::User(ann.id)])
}

fn thought() -> PostEvent {
    PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    }
}

/// Neither by asking, nor by a mark; what was in work stays in work, and comes first afterwards.
pub async fn a_stopped_agent_is_offered_nothing_and_changes_nothing(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let begun = send(&world, &ann, chat, &bot).await;
    let waiting = send(&world, &ann, chat, &bot).await;
    take(&world, &bot, chat, begun, DeliveryStep::Begin).await;
    let stopped = world.control.stop(ann.caller, chat).await.unwrap();
    assert_eq!((stopped.details.work, stopped.has_changed), (WorkStatus::Stopped, true));
    assert_eq!(work(&world, ann.caller, chat).await, WorkStatus::Stopped);
    assert_eq!(next(&world, &bot, chat).await, None);
    let unknown = MessageId::new(Uuid::from_u128(404));
    for message in [begun, waiting, unknown] {
        for step in [DeliveryStep::Begin, DeliveryStep::Succeed, failed()] {
            let refused = world.deliveries.advance(bot.caller, chat, message, step).await;
            assert!(matches!(refused, Err(AdvanceError::Stopped)), "{refused:?}");
        }
    }
    assert!(!world.activity.report(bot.caller, chat, true).await.unwrap());
    assert_eq!(state(&world, &bot, chat, begun).await, DeliveryStatus::Processing);
    assert_eq!(state(&world, &bot, chat, waiting).await, DeliveryStatus::New);
    // Elsewhere, the agent goes on.
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    let elsewhere = send(&world, &ann, other, &bot).await;
    assert_eq!(next(&world, &bot, other).await, Some(elsewhere));
    take(&world, &bot, other, elsewhere, DeliveryStep::Begin).await;

    let playing = world.control.play(ann.caller, chat).await.unwrap();
    assert_eq!((playing.details.work, playing.has_changed), (WorkStatus::Working, true));
    assert_eq!(next(&world, &bot, chat).await, Some(begun));
    assert!(world.activity.report(bot.caller, chat, true).await.unwrap());
    take(&world, &bot, chat, begun, DeliveryStep::Succeed).await;
    assert_eq!(next(&world, &bot, chat).await, Some(waiting));
}

/// Neither texts nor events; a repeated request gets its first answer. Whoever else writes is not affected.
pub async fn a_stopped_agent_sends_nothing(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let once = |key: &str| {
        let (key, fingerprint) = (IdempotencyKey::new(key).unwrap(), Fingerprint::new([7; 32]));
        Some(IdempotentRequest { key, fingerprint })
    };
    let sent = world.messages.send_once(bot.caller, chat, to(&ann), once("text")).await.unwrap().id;
    let posted = world.messages.post_event_once(bot.caller, chat, thought(), once("event")).await.unwrap().id;
    world.control.stop(ann.caller, chat).await.unwrap();
    let mentions = vec![RequestedMention {
        id: Some("nobody".to_owned()),
        handle: None,
        kind: Some(MentionKind::Mention),
    }];
    for (text, key) in
        [(to(&ann), None), (to(&ann), once("new")), (SendMessage { mentions, ..to(&ann) }, None)]
    {
        let refused = world.messages.send_once(bot.caller, chat, text, key).await;
        assert!(matches!(refused, Err(SendMessageError::Stopped)), "{refused:?}");
    }
    for (kind, key) in
        [(MessageKind::Thought, None), (MessageKind::Thought, once("new-event")), (MessageKind::Text, None)]
    {
        let event = PostEvent { kind, ..thought() };
        let refused = world.messages.post_event_once(bot.caller, chat, event, key).await;
        assert!(matches!(refused, Err(PostEventError::Stopped)), "{refused:?}");
    }
    let again = world.messages.send_once(bot.caller, chat, to(&ann), once("text")).await.unwrap();
    assert_eq!(again.id, sent);
    let again = world.messages.post_event_once(bot.caller, chat, thought(), once("event")).await.unwrap();
    assert_eq!(again.id, posted);
    let count = async || {
        let page = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(50)).await;
        page.unwrap().rows.len()
    };
    assert_eq!(count().await, 2, "nothing was stored");
    world.send(ann.caller, chat, "I can", &[]).await;
    world.control.play(ann.caller, chat).await.unwrap();
    world.messages.send_once(bot.caller, chat, to(&ann), once("new")).await.unwrap();
    assert_eq!(count().await, 4, "the refused request left its key free");
    // The members of the chat may be remembered by now.
    for _ in 0..3 {
        world.messages.send(bot.caller, chat, to(&ann)).await.unwrap();
    }
    world.control.stop(ann.caller, chat).await.unwrap();
    let refused = world.messages.send(bot.caller, chat, to(&ann)).await;
    assert!(matches!(refused, Err(SendMessageError::Stopped)), "{refused:?}");
}

/// It is stored, and pushed to nobody who is stopped, neither at once nor again.
pub async fn what_is_written_to_a_stopped_agent_waits(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let before = send(&world, &ann, chat, &bot).await;
    world.control.stop(ann.caller, chat).await.unwrap();
    let late = world.agent(&ann, "Late").await;
    world.add(ann.caller, chat, late.id.into(), Role::Member).await;
    world.publisher.take();
    let both = [ParticipantId::Agent(bot.id), ParticipantId::Agent(late.id)];
    let sent = world.send(ann.caller, chat, "for both", &both).await;
    for (agent, is_stopped) in [(&bot, true), (&late, false)] {
        assert_eq!(halts(&world, &ann, agent, chat, sent.id).await, (is_stopped, false));
        assert_eq!(answered(&sent, agent), (DeliveryStatus::New, is_stopped, false));
    }
    let pushed = world.publisher.take().into_iter().filter_map(|event| match event {
        DomainEvent::MessageCreated { recipients, message } => Some((recipients, message.deliveries.len())),
        _ => None,
    });
    assert_eq!(pushed.collect::<Vec<_>>(), [(vec![late.id], 2)]);
    let listeners = [listening(&bot, chat, 0), listening(&late, chat, 0)];
    assert_eq!(found(&world, &listeners, 10).await, [(1, 2)]);
    assert_eq!(new_messages(&world, &bot, chat, [1, 2]).await, []);
    assert_eq!(new_messages(&world, &late, chat, [1, 2]).await.len(), 1);
    assert_eq!(next(&world, &late, chat).await, Some(sent.id), "who came later is not stopped");

    world.control.play(ann.caller, chat).await.unwrap();
    assert_eq!(halts(&world, &ann, &bot, chat, sent.id).await, (false, false));
    assert_eq!(found(&world, &listeners, 10).await, [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(new_messages(&world, &bot, chat, [1, 2]).await.len(), 2);
    assert_eq!(next(&world, &bot, chat).await, Some(before));
    world.publisher.take();
    send(&world, &ann, chat, &bot).await;
    let is_pushed = |event: &DomainEvent| match event {
        DomainEvent::MessageCreated { recipients, .. } => *recipients == [bot.id],
        _ => false,
    };
    assert!(world.publisher.take().iter().any(is_pushed));
}

/// Whoever comes back is not stopped, and has another execution.
pub async fn a_stop_ends_with_the_membership(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let waiting = send(&world, &ann, chat, &bot).await;
    let before = world.control.stop(ann.caller, chat).await.unwrap().agents;
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert_eq!(work(&world, ann.caller, chat).await, WorkStatus::Idle);
    let empty = world.control.stop(ann.caller, chat).await.unwrap();
    assert_eq!((empty.agents, empty.has_changed), (vec![], false), "a chat without agents can be stopped");
    world.clock.advance(Duration::from_micros(1));
    world.add(ann.caller, chat, bot.id.into(), Role::Member).await;
    assert_eq!(next(&world, &bot, chat).await, Some(waiting));
    let after = world.control.play(ann.caller, chat).await.unwrap().agents;
    assert_eq!((before[0].agent, after[0].agent), (bot.id, bot.id));
    assert_ne!(before[0].execution, after[0].execution);
}

/// Other participants and observers learn that they may not; for others there is no such chat.
pub async fn only_owners_stop_agents(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (ben, eve) = (world.colleague("ben", "ann").await, world.user("eve").await);
    world.add(ann.caller, chat, ben.id.into(), Role::Admin).await;
    let observed = world.chat(bot.caller, &[]).await;
    let refusals = [
        (ben.caller, chat, StopRefused::NotOwner),
        (ann.caller, observed, StopRefused::NotOwner),
        (eve.caller, chat, StopRefused::ChatNotFound),
        (ann.caller, ChatId::new(Uuid::from_u128(404)), StopRefused::ChatNotFound),
    ];
    for (caller, chat, expected) in refusals {
        for refused in [world.control.stop(caller, chat).await, world.control.play(caller, chat).await] {
            assert!(matches!(refused, Err(StopError::Refused(found)) if found == expected), "{refused:?}");
        }
    }
    assert_eq!(work(&world, ann.caller, chat).await, WorkStatus::Idle);
}

/// The modes and correlation ids of the signals since the last look, and the number of changed rows in lists.
fn signals(world: &World, agent: AgentId, execution: ExecutionId) -> (Vec<ControlMode>, Vec<Uuid>, usize) {
    let (mut modes, mut ids, mut rows) = (Vec::new(), Vec::new(), 0);
    for event in world.publisher.take() {
        match event {
            DomainEvent::AgentControlled { agent: to, signal } if to == agent => {
                assert_eq!(signal.execution, execution);
                modes.push(signal.mode);
                ids.push(signal.correlation_id.uuid());
            }
            DomainEvent::RoomUpdated { .. } => rows += 1,
            _ => {}
        }
    }
    (modes, ids, rows)
}

/// Signals are sent for every request, and have their own ids; entries are only written for changes.
pub async fn stops_are_recorded_and_signaled(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let log = &world.stores.changes;
    let before = log.newest_change().await.unwrap();
    world.activity.report(bot.caller, chat, true).await.unwrap();
    world.publisher.take();
    world.clock.advance(Duration::from_secs(1));
    let stopped = world.control.stop(ann.caller, chat).await.unwrap();
    let StoppedChat { agents, users, .. } = &stopped;
    assert_eq!((agents.len(), users.as_slice()), (2, &[ann.id][..]));
    let execution = |agent: &TestAgent| agents.iter().find(|one| one.agent == agent.id).unwrap().execution;
    let events = world.publisher.take();
    let off = |event: &DomainEvent| matches!(event, DomainEvent::ActivityChanged { activity, .. } if !activity.working && activity.execution == Some(execution(&bot)));
    assert!(events.iter().any(off), "the indicator goes off");
    assert!(world.activity.working_in(chat).is_empty());
    let to = events.iter().filter_map(|event| match event {
        DomainEvent::AgentControlled { agent, signal } => {
            Some((*agent, signal.mode, signal.chat, signal.execution))
        }
        _ => None,
    });
    let of = |agent: &TestAgent| (agent.id, ControlMode::Stop, Some(chat), execution(agent));
    let mut expected = [of(&bot), of(&scout)];
    expected.sort_unstable_by_key(|(agent, ..)| *agent);
    assert_eq!(to.collect::<Vec<_>>(), expected);

    let mut seen = Vec::new();
    for (stop, rows) in [(true, 0), (false, 1), (false, 0)] {
        world.clock.advance(Duration::from_millis(1));
        if stop {
            world.control.stop(ann.caller, chat).await.unwrap();
        } else {
            world.control.play(ann.caller, chat).await.unwrap();
        }
        let (modes, ids, updated) = signals(&world, bot.id, execution(&bot));
        let mode = if stop { ControlMode::Stop } else { ControlMode::Play };
        assert_eq!((modes, updated), (vec![mode], rows));
        seen.extend(ids);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 3, "each signal has its own id");
    let changes = log.changes_after(before, 100).await.unwrap();
    let changes = changes.into_iter().filter_map(|entry| entry.change).collect::<Vec<_>>();
    assert_eq!(changes, [Change::AgentsStopped(chat), Change::AgentsPlaying(chat)]);
    let actions = log_of(&world, Some(ann.caller.organization), None).await;
    let actions = actions.into_iter().map(|record| record.action);
    let of_control = [AuditAction::ChatStopped, AuditAction::ChatPlayed];
    assert_eq!(actions.filter(|action| of_control.contains(action)).collect::<Vec<_>>(), of_control);
}

pub(super) async fn executions(world: &World, owner: &TestUser, agent: &TestAgent) -> Vec<Execution> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.control.executions(owner.caller, agent.id, page).await.unwrap();
        all.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// One for each chat of the agent, the newest chat first, with what the agent does there.
pub async fn executions_show_the_work_of_an_agent(world: World) {
    use ExecutionStatus::{Completed, Failed, New, Processing, Waiting};
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut chats = vec![chat];
    for _ in 0..4 {
        world.clock.advance(Duration::from_secs(1));
        chats.push(world.chat(ann.caller, &[bot.id.into()]).await);
    }
    let left = world.chat(ann.caller, &[bot.id.into()]).await;
    world.chats.remove_participant(ann.caller, left, bot.id).await.unwrap();
    let steps = [
        vec![],
        vec![DeliveryStep::Begin],
        vec![DeliveryStep::Begin, DeliveryStep::Succeed],
        vec![DeliveryStep::Begin, failed()],
    ];
    for (chat, steps) in chats.iter().skip(1).zip(steps) {
        let message = send(&world, &ann, *chat, &bot).await;
        for step in steps {
            take(&world, &bot, *chat, message, step).await;
        }
    }
    let signaled = world.control.stop(ann.caller, chats[1]).await.unwrap().agents[0].execution;
    let mut found = executions(&world, &ann, &bot).await;
    found.reverse();
    assert_eq!(found.iter().map(|one| one.chat).collect::<Vec<_>>(), chats);
    let statuses = found.iter().map(|one| world.control.status(one)).collect::<Vec<_>>();
    assert_eq!(statuses, [New, Waiting, Processing, Completed, Failed]);
    assert_eq!(found[1].id(), signaled);
    let stopped = found.iter().map(|one| one.stopped_at.is_some()).collect::<Vec<_>>();
    assert_eq!(stopped, [false, true, false, false, false]);
    world.activity.report(bot.caller, chats[0], true).await.unwrap();
    assert_eq!(world.activity.working_in(chats[0])[0].execution, found[0].id());
    assert_eq!(world.control.status(&found[0]), Processing);
}

/// An interruption is signaled once, for all chats, and leaves the work as it is.
pub async fn executions_are_for_the_owner_of_the_agent(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (ben, scout) = (world.colleague("ben", "ann").await, world.agent(&ann, "Scout").await);
    world.add(ann.caller, chat, ben.id.into(), Role::Owner).await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let message = send(&world, &ann, chat, &bot).await;
    take(&world, &bot, chat, message, DeliveryStep::Begin).await;
    let [execution] = executions(&world, &ann, &bot).await[..] else { panic!("one chat") };
    let refused = world.control.executions(ben.caller, bot.id, first(10)).await;
    assert!(matches!(refused, Err(ListExecutionsError::AgentNotFound)), "{refused:?}");
    let unknown = ExecutionId::new(Uuid::from_u128(404));
    for (caller, agent, execution) in [
        (ben.caller, bot.id, execution.id()),
        (ann.caller, scout.id, execution.id()),
        (ann.caller, bot.id, unknown),
    ] {
        let refused = world.control.interrupt(caller, agent, execution).await;
        assert!(matches!(refused, Err(InterruptError::NotFound)), "{refused:?}");
    }
    world.publisher.take();
    world.clock.advance(Duration::from_millis(1));
    let interrupted = world.control.interrupt(ann.caller, bot.id, execution.id()).await.unwrap();
    assert_eq!(interrupted.chat, chat);
    let events = world.publisher.take();
    let [DomainEvent::AgentControlled { agent, signal }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((*agent, signal.mode, signal.chat), (bot.id, ControlMode::Interrupt, None));
    assert_eq!(signal.execution, execution.id());
    assert_eq!(state(&world, &bot, chat, message).await, DeliveryStatus::Processing);
    let actions = log_of(&world, Some(ann.caller.organization), None).await;
    assert_eq!(actions.last().unwrap().action, AuditAction::AgentInterrupted);
}
