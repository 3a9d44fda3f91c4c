//! Deadlines of texts: an event, once, if an agent has not processed a text by its deadline.

use std::sync::Arc;
use std::time::Duration;

use domain::audit::AuditAction;
use domain::chat::{ChatChanges, ChatTitle, RenameChatError, Role};
use domain::delivery::{DeadLetterReason, DeliveryStep};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{
    CheckDeadline, DeadlineFault, DeadlineOutcome, DeadlineWalk, HistoryFilter, Message, MessageKind,
    RespondWithin, SendMessage, SendMessageError, SentMessage,
};
use domain::plan::Plan;
use domain::ports::Clock;
use domain::store::OnCommit;
use domain::time::Timestamp;
use domain::work::{Resend, WorkChange, WorkScope};
use uuid::Uuid;

use super::answers::once;
use super::audit::log_of;
use super::messages::{ann_and_bot, first};
use super::plans::plan;
use crate::world::text;
use crate::{TestAgent, TestUser, World};

const MINUTE: Duration = Duration::from_secs(60);

/// Sends a text to agents that must respond within a minute.
async fn ask(world: &World, ann: &TestUser, chat: ChatId, agents: &[&TestAgent]) -> SentMessage {
    world.messages.send(ann.caller, chat, question(world, agents)).await.unwrap()
}

fn question(world: &World, agents: &[&TestAgent]) -> SendMessage {
    let mentions = agents.iter().map(|agent| ParticipantId::Agent(agent.id)).collect::<Vec<_>>();
    SendMessage { respond_by: Some(world.clock.now().plus(MINUTE)), ..text("well?", &mentions) }
}

/// Checks what is due, and returns the number of events.
async fn check(world: &World) -> u64 {
    let checked = world.messages.check_deadlines(&mut DeadlineWalk::default()).await.unwrap();
    assert!(checked.failed.is_empty(), "{:?}", checked.failed);
    checked.missed
}

async fn due(world: &World) -> Vec<MessageId> {
    let due = world.stores.messages.due_texts(world.clock.now(), None, 100).await.unwrap();
    due.into_iter().map(|text| text.message).collect()
}

/// The events of a chat, newest first.
async fn events(world: &World, reader: &TestUser, chat: ChatId) -> Vec<Message> {
    let all = world.messages.history(reader.caller, chat, HistoryFilter::default(), first(50)).await.unwrap();
    all.rows.into_iter().filter(|message| message.kind.is_event()).collect()
}

async fn process(world: &World, agent: &TestAgent, chat: ChatId, message: MessageId) {
    for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
        world.deliveries.advance(agent.caller, chat, message, step).await.unwrap();
    }
}

async fn leave(world: &World, ann: &TestUser, chat: ChatId, agent: &TestAgent) {
    world.chats.remove_participant(ann.caller, chat, agent.id).await.unwrap();
}

/// Not before its time; and it stays readable.
pub async fn a_missed_deadline_is_announced_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let deadline = world.clock.now().plus(MINUTE);
    let sent = ask(&world, &ann, chat, &[&bot, &scout]).await;
    assert_eq!(sent.respond_by, Some(deadline));
    process(&world, &bot, chat, sent.id).await;
    world.clock.advance(Duration::from_micros(59_999_999));
    assert_eq!((check(&world).await, due(&world).await), (0, vec![]), "there is a microsecond left");
    world.clock.advance(Duration::from_micros(1));
    assert_eq!(due(&world).await, [sent.id]);
    world.publisher.take();
    assert_eq!(check(&world).await, 1);
    let posted = events(&world, &ann, chat).await;
    let [event] = posted.as_slice() else { panic!("{posted:?}") };
    assert_eq!((event.kind, event.sender), (MessageKind::Attention, ParticipantId::User(ann.id)));
    assert!(event.content.ends_with("Not processed by then: @ann/scout."), "{}", event.content);
    let metadata = event.metadata.as_ref().unwrap();
    assert_eq!(metadata["message_id"], sent.id.to_string());
    assert_eq!(metadata["agents"].as_array().unwrap().len(), 1);
    let published = world.publisher.take();
    let [DomainEvent::EventCreated { message }] = published.as_slice() else { panic!("{published:?}") };
    assert_eq!(message, event);

    world.clock.advance(MINUTE);
    assert_eq!((check(&world).await, due(&world).await), (0, vec![]));
    assert_eq!(events(&world, &ann, chat).await.len(), 1);
    let context = world.messages.context(scout.caller, chat, first(50)).await.unwrap().rows;
    let context = context.into_iter().map(|message| (message.id, message.respond_by)).collect::<Vec<_>>();
    assert_eq!(context, [(sent.id, Some(deadline))], "no agent takes the event for its own");
    let next = world.deliveries.next(scout.caller, chat).await.unwrap().unwrap();
    assert_eq!(next.respond_by, Some(deadline), "the work is still to be done");
    let item = world.work.find(WorkScope::OwnedBy(ann.id), sent.id, scout.id).await.unwrap();
    assert_eq!(item.respond_by, Some(deadline));
    let receipts = world.deliveries.receipts(ann.caller, chat, sent.id).await.unwrap();
    assert!(receipts.iter().all(|receipt| receipt.respond_by == Some(deadline)));
}

/// Deadlines of deleted texts and chats are not announced either.
pub async fn a_deadline_that_is_met_is_not_announced(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let met = ask(&world, &ann, chat, &[&bot]).await.id;
    process(&world, &bot, chat, met).await;
    ask(&world, &ann, chat, &[&scout]).await;
    leave(&world, &ann, chat, &scout).await;
    let deleted = ask(&world, &ann, chat, &[&bot]).await.id;
    world.messages.delete(ann.caller, chat, deleted).await.unwrap();
    let gone = world.chat(ann.caller, &[bot.id.into()]).await;
    ask(&world, &ann, gone, &[&bot]).await;
    world.chats.delete(ann.caller, gone).await.unwrap();
    let dead = ask(&world, &ann, chat, &[&bot]).await.id;
    let mine = WorkScope::OwnedBy(ann.id);
    let reason = DeadLetterReason::new("no key".to_owned()).unwrap();
    let resend = WorkChange::Resend(Resend { to: None, reason: Some(reason) });
    let replaced = world.work.change(mine, dead, bot.id, resend, None).await.unwrap();
    let new = replaced.delivery.replaced_by().unwrap();
    world.clock.advance(MINUTE);
    assert_eq!(check(&world).await, 1, "the message that replaces another one keeps its deadline");
    let posted = events(&world, &ann, chat).await;
    assert_eq!(posted[0].metadata.as_ref().unwrap()["message_id"], new.to_string());
    assert_eq!((posted.len(), due(&world).await), (1, vec![]));

    // Work that is retried, or begun again, has no second deadline.
    process(&world, &bot, chat, new).await;
    world.deliveries.advance(bot.caller, chat, met, DeliveryStep::Begin).await.unwrap();
    world.clock.advance(MINUTE);
    assert_eq!(check(&world).await, 0);
}

/// Whoever checks first posts the event; all others find nothing.
pub async fn many_servers_announce_a_missed_deadline_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    for _ in 0..3 {
        ask(&world, &ann, chat, &[&bot]).await;
    }
    world.clock.advance(MINUTE);
    let now = world.clock.now();
    let due = world.stores.messages.due_texts(now, None, 100).await.unwrap();
    assert_eq!(due.len(), 3);
    let world = Arc::new(world);
    let mut checks = Vec::new();
    for number in 0..12_u32 {
        let (world, text) = (world.clone(), due[number as usize % 3]);
        let event = MessageId::new(Uuid::from_u128(7000 + u128::from(number)));
        checks.push(tokio::spawn(async move {
            let command = CheckDeadline { text, event, now };
            world.stores.messages.check_deadline(command, OnCommit::nothing()).await.unwrap()
        }));
    }
    let (mut missed, mut gone) = (0, 0);
    for check in checks {
        match check.await.unwrap() {
            DeadlineOutcome::Missed(_) => missed += 1,
            DeadlineOutcome::Gone => gone += 1,
            DeadlineOutcome::Settled => panic!("the agent has done nothing"),
        }
    }
    assert_eq!((missed, gone, events(&world, &ann, chat).await.len()), (3, 9, 3));
}

/// A page begins after a place, so that a text that cannot be checked holds up no other.
pub async fn texts_are_checked_by_deadline(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (mut sent, now) = (Vec::new(), world.clock.now());
    for seconds in [3_u64, 1, 2, 1] {
        let respond_by = Some(now.plus(Duration::from_secs(seconds)));
        let command = SendMessage { respond_by, ..question(&world, &[&bot]) };
        sent.push(world.messages.send(ann.caller, chat, command).await.unwrap().id);
    }
    let at = |seconds: u64| now.plus(Duration::from_secs(seconds));
    let due = async |by: Timestamp, after, limit| {
        let due = world.stores.messages.due_texts(by, after, limit).await.unwrap();
        due.into_iter().map(|text| text.message).collect::<Vec<_>>()
    };
    let mut first_two = [sent[1], sent[3]];
    first_two.sort_unstable();
    assert_eq!(due(at(1), None, 100).await, first_two);
    assert_eq!(due(at(3), None, 3).await, [first_two[0], first_two[1], sent[2]]);
    assert_eq!(due(at(3), Some((at(1), first_two[0])), 100).await, [first_two[1], sent[2], sent[0]]);
    assert_eq!(due(at(3), Some((at(3), sent[0])), 100).await, []);
}

/// Texts to agents only; and a deadline of their own comes first.
pub async fn a_room_gives_its_texts_a_deadline(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (ben, stranger) = (world.user("ben").await, world.user("eve").await);
    world.connect((ann.caller, "ann"), (ben.caller, "ben")).await;
    world.add(ann.caller, chat, ben.id.into(), Role::Member).await;
    let to_bot = [ParticipantId::Agent(bot.id)];
    let set = |within| ChatChanges { respond_within: Some(within), ..ChatChanges::default() };
    let seconds = |seconds| set(RespondWithin::new(seconds));
    world.publisher.take();
    let changed = world.chats.rename(ann.caller, chat, seconds(90)).await.unwrap().chat;
    assert_eq!(changed.respond_within, RespondWithin::new(90));
    let published = world.publisher.take();
    assert!(matches!(published.as_slice(), [DomainEvent::RoomUpdated { .. }]), "{published:?}");
    assert_eq!(world.chats.find(ann.caller, chat).await.unwrap(), changed);

    let now = world.clock.now();
    let by_default = world.send(ann.caller, chat, "hello", &to_bot).await;
    let newest = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(by_default.respond_by, Some(newest.created_at.plus(Duration::from_secs(90))));
    assert_eq!(newest.respond_by, by_default.respond_by);
    let own = ask(&world, &ann, chat, &[&bot]).await;
    assert_eq!(own.respond_by, Some(now.plus(MINUTE)));
    for mentions in [&[][..], &[ParticipantId::User(ben.id)]] {
        assert_eq!(world.send(ann.caller, chat, "humans", mentions).await.respond_by, None);
    }
    let title = ChatTitle::renamed("Plans").unwrap();
    let renamed = world.chats.rename(ann.caller, chat, title).await.unwrap().chat;
    assert_eq!(renamed.respond_within, RespondWithin::new(90), "a new title changes nothing else");
    let changed = world.chats.rename(ann.caller, chat, set(None)).await.unwrap().chat;
    assert_eq!((changed.title.as_deref(), changed.respond_within), (Some("Plans"), None));
    assert_eq!(world.send(ann.caller, chat, "hello", &to_bot).await.respond_by, None);
    for refused in [ben.caller, stranger.caller] {
        let refused = world.chats.rename(refused, chat, seconds(1)).await;
        assert!(matches!(refused, Err(RenameChatError::Refused(_))), "{refused:?}");
    }
    let log = log_of(&world, None, None).await;
    let details = log.iter().filter(|record| record.action == AuditAction::ChatDeadlineSet);
    let mut details = details.map(|record| record.detail.clone().unwrap()).collect::<Vec<_>>();
    details.sort_unstable();
    assert_eq!(details, ["90", "none"]);
}

/// The event is the server's: neither a plan nor a stop is in its way, and a sender who has left is replaced
/// by a human of the room.
pub async fn a_missed_deadline_is_announced_in_every_room(world: World) {
    let ann = world.user_with_plan("ann", Plan { messages: Some(1), ..plan("tiny") }).await;
    let bot = world.agent(&ann, "Bot").await;
    let full = world.chat(ann.caller, &[bot.id.into()]).await;
    ask(&world, &ann, full, &[&bot]).await;
    let ben = world.user("ben").await;
    let (asker, scout) = (world.agent(&ben, "Asker").await, world.agent(&ben, "Scout").await);
    let rooms = [
        world.chat(ben.caller, &[asker.id.into(), scout.id.into()]).await,
        world.chat(ben.caller, &[asker.id.into(), scout.id.into()]).await,
    ];
    for room in rooms {
        world.messages.send(asker.caller, room, question(&world, &[&scout])).await.unwrap();
    }
    world.control.stop(ben.caller, rooms[0]).await.unwrap();
    leave(&world, &ben, rooms[1], &asker).await;
    world.clock.advance(MINUTE);
    assert_eq!(check(&world).await, 3);
    assert_eq!(events(&world, &ann, full).await.len(), 1);
    let senders =
        [events(&world, &ben, rooms[0]).await[0].sender, events(&world, &ben, rooms[1]).await[0].sender];
    assert_eq!(senders, [ParticipantId::Agent(asker.id), ParticipantId::User(ben.id)]);
    world.control.play(ben.caller, rooms[0]).await.unwrap();
    let context = world.messages.context(asker.caller, rooms[0], first(50)).await.unwrap().rows;
    let kinds = context.iter().map(|message| message.kind).collect::<Vec<_>>();
    assert_eq!(kinds, [MessageKind::Text, MessageKind::Attention], "the agent that asked learns of it");
}

/// A deadline is checked before anything is stored, and a repeated request after it gets its first answer.
pub async fn a_deadline_must_be_possible(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let now = world.clock.now();
    for (by, mentions, expected) in [
        (now, vec![bot.id], DeadlineFault::Passed),
        (now.plus(Duration::from_secs(31 * 24 * 60 * 60)), vec![bot.id], DeadlineFault::TooFar),
        (now.plus(MINUTE), vec![], DeadlineFault::NoAgent),
    ] {
        let mentions = mentions.into_iter().map(ParticipantId::Agent).collect::<Vec<_>>();
        let command = SendMessage { respond_by: Some(by), ..text("well?", &mentions) };
        let refused = world.messages.send(ann.caller, chat, command).await;
        assert!(
            matches!(&refused, Err(SendMessageError::Deadline(fault)) if *fault == expected),
            "{refused:?}"
        );
    }
    let command = question(&world, &[&bot]);
    let ask_once = async |command| world.messages.send_once(ann.caller, chat, command, once("one", 1)).await;
    let sent = ask_once(command.clone()).await.unwrap();
    world.clock.advance(MINUTE);
    let repeated = ask_once(command).await.unwrap();
    assert_eq!((repeated.id, repeated.respond_by), (sent.id, sent.respond_by));
}
