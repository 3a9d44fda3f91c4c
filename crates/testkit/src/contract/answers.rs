//! Requests that are sent twice and count once.

use std::sync::Arc;
use std::time::Duration;

use domain::chat::{ChatTitle, CreateChat, CreateChatError};
use domain::id::{ChatId, ParticipantId, TaskId};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest, LIFETIME, forget_old_answers};
use domain::message::{
    EventContent, EventMetadata, HistoryFilter, MessageKind, PostEvent, PostEventError, RequestedMention,
    SendMessage, SendMessageError, SentMessage,
};
use domain::ports::Clock;

use super::messages::{ann_and_bot, first};
use crate::world::text;
use crate::{TestAgent, TestUser, World};

/// The request `says` under this key.
#[expect(clippy::unnecessary_wraps, reason = "this is how the use cases take it")]
pub(super) fn once(key: &str, says: u8) -> Option<IdempotentRequest> {
    Some(IdempotentRequest {
        key: IdempotencyKey::new(key).unwrap(),
        fingerprint: Fingerprint::new([says; 32]),
    })
}

fn hello(to: &TestAgent) -> SendMessage {
    text("hello", &[ParticipantId::Agent(to.id)])
}

fn thought() -> PostEvent {
    PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    }
}

async fn count(world: &World, ann: &TestUser, chat: ChatId) -> usize {
    let page = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(100)).await;
    page.unwrap().rows.len()
}

async fn say(
    world: &World,
    ann: &TestUser,
    chat: ChatId,
    to: &TestAgent,
    once: Option<IdempotentRequest>,
) -> Result<SentMessage, SendMessageError> {
    world.messages.send_once(ann.caller, chat, hello(to), once).await
}

/// The answer to a repetition of the request that was answered with `first`: what may have changed is left out.
pub(super) fn repeated(first: &SentMessage) -> SentMessage {
    let mut sent = first.clone();
    for recipient in &mut sent.recipients {
        assert!(recipient.state.take().is_some());
    }
    sent
}

/// However many send it at once, there is one message, told once, and all learn of it.
pub async fn one_key_makes_one_message_under_many_senders(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    world.publisher.take();
    let world = Arc::new(world);
    let sends = (0..32).map(|_| {
        let (world, ann, bot) = (world.clone(), ann.clone(), bot.clone());
        tokio::spawn(async move { say(&world, &ann, chat, &bot, once("k", 1)).await.unwrap() })
    });
    let mut answers = Vec::new();
    for send in sends.collect::<Vec<_>>() {
        answers.push(send.await.unwrap());
    }
    let first = answers.iter().position(|answer| answer.recipients[0].state.is_some()).unwrap();
    let first = repeated(&answers.swap_remove(first));
    assert!(answers.iter().all(|answer| *answer == first), "{answers:?}");
    assert_eq!(first.recipients.len(), 1);
    assert_eq!(count(&world, &ann, chat).await, 1);
    // The message, the room's title, and its row.
    assert_eq!(world.publisher.take().len(), 3);
}

/// The same for an agent's events.
pub async fn one_key_makes_one_event(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let post = |once| world.messages.post_event_once(bot.caller, chat, thought(), once);
    let event = post(once("k", 1)).await.unwrap();
    assert_eq!(post(once("k", 1)).await.unwrap(), event);
    assert!(matches!(post(once("k", 2)).await, Err(PostEventError::KeyReused)));
    assert_eq!(count(&world, &ann, chat).await, 1);
    // The agent is answered as then, though it has left the room.
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert_eq!(post(once("k", 1)).await.unwrap().id, event.id);
    assert!(matches!(post(once("k", 2)).await, Err(PostEventError::KeyReused)));
    assert!(matches!(post(once("l", 1)).await, Err(PostEventError::ChatNotFound)));
}

/// A key that was given to another request is refused for a day, and until its record is removed: a clock that
/// is wrong makes no message twice.
pub async fn a_key_is_remembered_until_it_is_forgotten(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let sent = say(&world, &ann, chat, &bot, once("k", 1)).await.unwrap();
    let answers = world.stores.idempotency.clone();
    for passed in [LIFETIME.saturating_sub(Duration::from_secs(1)), Duration::from_secs(1)] {
        assert_eq!(forget_old_answers(&*answers, world.clock.now(), 2).await.unwrap(), 0);
        world.clock.advance(passed);
        assert_eq!(say(&world, &ann, chat, &bot, once("k", 1)).await.unwrap(), repeated(&sent));
        let reused = say(&world, &ann, chat, &bot, once("k", 2)).await;
        assert!(matches!(reused, Err(SendMessageError::KeyReused)), "{reused:?}");
    }
    assert_eq!(forget_old_answers(&*answers, world.clock.now(), 2).await.unwrap(), 1);
    let second = say(&world, &ann, chat, &bot, once("k", 2)).await.unwrap();
    assert_ne!(second.id, sent.id);
    let again = say(&world, &ann, chat, &bot, once("k", 2)).await.unwrap();
    assert_eq!(again, repeated(&second), "the key stands for the second message now");
    assert_eq!(count(&world, &ann, chat).await, 2);
}

/// A request that was refused has not used its key, whatever it said.
pub async fn a_refused_request_leaves_its_key_free(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    let refused = say(&world, &ann, chat, &other, once("k", 1)).await;
    assert!(matches!(refused, Err(SendMessageError::Mention(_))), "{refused:?}");
    let sent = say(&world, &ann, chat, &bot, once("k", 2)).await.unwrap();
    assert_eq!(say(&world, &ann, chat, &bot, once("k", 2)).await.unwrap(), repeated(&sent));
}

/// A repeated request gets its first response, even if it would be refused now.
pub async fn a_first_answer_outlives_a_change_of_the_room(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let sent = say(&world, &ann, chat, &bot, once("k", 1)).await.unwrap();
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert_eq!(say(&world, &ann, chat, &bot, once("k", 1)).await.unwrap(), repeated(&sent));
    let reused = say(&world, &ann, chat, &bot, once("k", 2)).await;
    assert!(matches!(reused, Err(SendMessageError::KeyReused)), "{reused:?}");
    assert!(matches!(say(&world, &ann, chat, &bot, None).await, Err(SendMessageError::Mention(_))));
    world.chats.delete(ann.caller, chat).await.unwrap();
    assert_eq!(say(&world, &ann, chat, &bot, once("k", 1)).await.unwrap(), repeated(&sent));
}

/// Another sender, another room or another operation has keys of its own.
pub async fn a_key_belongs_to_sender_operation_and_room(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let second = world.chat(ann.caller, &[bot.id.into()]).await;
    let key = || once("k", 1);
    let mut ids = vec![
        say(&world, &ann, chat, &bot, key()).await.unwrap().id.uuid(),
        say(&world, &ann, second, &bot, key()).await.unwrap().id.uuid(),
        world.messages.post_event_once(bot.caller, chat, thought(), key()).await.unwrap().id.uuid(),
        world.chats.create_once(ann.caller, CreateChat::default(), key()).await.unwrap().id.uuid(),
        world.chats.create_once(bot.caller, CreateChat::default(), key()).await.unwrap().id.uuid(),
    ];
    let answer = hello(&bot);
    let to_ann = RequestedMention { id: Some(ann.id.to_string()), ..answer.mentions[0].clone() };
    let answer = SendMessage { mentions: vec![to_ann], ..answer };
    ids.push(world.messages.send_once(bot.caller, chat, answer, key()).await.unwrap().id.uuid());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

/// One room, and the answer shows it as it was then.
pub async fn one_key_makes_one_room(world: World) {
    let (ann, bot, _) = ann_and_bot(&world).await;
    let (world, caller) = (Arc::new(world), ann.caller);
    let creations = (0..16).map(|_| {
        let world = world.clone();
        let command =
            CreateChat { task_id: Some(TaskId::new(uuid::Uuid::from_u128(7))), ..CreateChat::default() };
        tokio::spawn(async move { world.chats.create_once(caller, command, once("k", 1)).await.unwrap() })
    });
    let mut rooms = Vec::new();
    for creation in creations.collect::<Vec<_>>() {
        rooms.push(creation.await.unwrap());
    }
    assert!(rooms.iter().all(|room| *room == rooms[0]), "{rooms:?}");
    let room = rooms.remove(0);
    assert_eq!(world.chats.list(caller, first(100)).await.unwrap().rows.len(), 2);
    world.clock.advance(Duration::from_secs(60));
    world.add(caller, room.id, bot.id.into(), domain::chat::Role::Member).await;
    world.send(caller, room.id, "a title", &[ParticipantId::Agent(bot.id)]).await;
    let command = || CreateChat { task_id: room.task_id, ..CreateChat::default() };
    assert_eq!(world.chats.create_once(caller, command(), once("k", 1)).await.unwrap(), room);
    let titled = CreateChat { title: ChatTitle::from_message("T"), ..CreateChat::default() };
    let reused = world.chats.create_once(caller, titled, once("k", 2)).await;
    assert!(matches!(reused, Err(CreateChatError::KeyReused)), "{reused:?}");
}

/// Only what is a day old goes, a few at a time.
pub async fn old_answers_are_forgotten_in_batches(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    for number in 0..5 {
        say(&world, &ann, chat, &bot, once(&format!("old-{number}"), 1)).await.unwrap();
    }
    world.clock.advance(Duration::from_secs(1));
    let kept = say(&world, &ann, chat, &bot, once("new", 1)).await.unwrap();
    let answers = world.stores.idempotency.clone();
    assert_eq!(forget_old_answers(&*answers, world.clock.now(), 2).await.unwrap(), 0);
    world.clock.advance(LIFETIME.saturating_sub(Duration::from_secs(1)));
    let before = world.clock.now().minus(LIFETIME);
    assert_eq!(answers.forget(before, 2).await.unwrap(), 2, "no more than asked for");
    assert_eq!(forget_old_answers(&*answers, world.clock.now(), 2).await.unwrap(), 3);
    assert_eq!(forget_old_answers(&*answers, world.clock.now(), 2).await.unwrap(), 0);
    assert_eq!(say(&world, &ann, chat, &bot, once("new", 1)).await.unwrap(), repeated(&kept));
}
