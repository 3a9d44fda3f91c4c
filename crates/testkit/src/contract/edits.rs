//! Texts that are edited and deleted.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::chat::{ChatListing, ChatParts, ChatTitle, Role};
use domain::delivery::{AdvanceError, DeliveryFilter, DeliveryStatus, DeliveryStep, FailureText, Order};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest, LIFETIME, forget_old_answers};
use domain::message::{
    Anchor, ChangeMessageError, ChangeMessageRefused, EventContent, EventMetadata, HistoryFilter, Kinds,
    Message, MessageContent, MessageKind, PostEvent, ReadSurroundingsError, SendMessageError,
};
use domain::page::{PageRequest, Slice};
use domain::plan::Plan;
use domain::ports::Clock;

use super::answers::repeated;
use super::messages::{ann_and_bot, first};
use super::plans::plan;
use crate::world::text;
use crate::{TestAgent, TestUser, World};

fn words(text: &str) -> MessageContent {
    MessageContent::new(text.to_owned()).unwrap()
}

fn refusal<T: std::fmt::Debug>(outcome: Result<T, ChangeMessageError>) -> ChangeMessageRefused {
    match outcome.unwrap_err() {
        ChangeMessageError::Refused(refused) => refused,
        ChangeMessageError::Store(error) => panic!("{error}"),
    }
}

async fn history(world: &World, ann: &TestUser, chat: ChatId) -> Vec<Message> {
    world.messages.history(ann.caller, chat, HistoryFilter::default(), first(100)).await.unwrap().rows
}

async fn contents(world: &World, ann: &TestUser, chat: ChatId) -> Vec<String> {
    history(world, ann, chat).await.into_iter().map(|message| message.content).collect()
}

async fn send(world: &World, ann: &TestUser, chat: ChatId, bot: &TestAgent, text: &str) -> MessageId {
    world.send(ann.caller, chat, text, &[ParticipantId::Agent(bot.id)]).await.id
}

async fn thought(world: &World, bot: &TestAgent, chat: ChatId) -> MessageId {
    let event = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    };
    world.messages.post_event(bot.caller, chat, event).await.unwrap().id
}

/// All readers see the new text; its mentions and the work on it stay.
pub async fn an_edit_changes_the_text_and_nothing_else(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = send(&world, &ann, chat, &bot, "@Bot do this").await;
    send(&world, &ann, chat, &bot, "and that").await;
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    let failed = DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap());
    world.deliveries.advance(bot.caller, chat, message, failed).await.unwrap();
    // A title that was made from the text would follow it.
    world.chats.rename(ann.caller, chat, ChatTitle::renamed("Given").unwrap()).await.unwrap();
    let before = (history(&world, &ann, chat).await, world.chats.find(ann.caller, chat).await.unwrap());
    world.publisher.take();
    world.clock.advance(Duration::from_secs(5));

    let edited = world.messages.edit(ann.caller, chat, message, words("do @Bot less")).await.unwrap();
    let expected = Message {
        content: format!("do @[[{}]] less", bot.id),
        updated_at: world.clock.now(),
        ..before.0[1].clone()
    };
    assert_eq!(edited, expected);
    assert_eq!(edited.deliveries[0].status(), DeliveryStatus::Failed);
    let published = world.publisher.take();
    assert!(
        matches!(&published[..], [DomainEvent::MessageUpdated { message }] if *message == edited),
        "{published:?}"
    );

    let after = (history(&world, &ann, chat).await, world.chats.find(ann.caller, chat).await.unwrap());
    assert_eq!(after, (vec![before.0[0].clone(), expected.clone()], before.1));
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().unwrap(), expected);
    assert_eq!(world.messages.context(bot.caller, chat, first(1)).await.unwrap().rows, [expected]);
}

/// No read finds it, the newest and what lies between others alike; what it was is told once.
pub async fn a_deleted_text_is_nowhere(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut sent = Vec::new();
    for text in ["one", "two", "three", "four"] {
        world.clock.advance(Duration::from_secs(1));
        sent.push(send(&world, &ann, chat, &bot, text).await);
    }
    let since = world.clock.now().minus(Duration::from_secs(3));
    for (message, step) in [(1, DeliveryStep::Begin), (0, DeliveryStep::Begin), (0, DeliveryStep::Succeed)] {
        world.deliveries.advance(bot.caller, chat, sent[message], step).await.unwrap();
    }
    let (rows, before) =
        (history(&world, &ann, chat).await, world.chats.find(ann.caller, chat).await.unwrap());
    world.publisher.take();
    for (message, row) in [(1, 2), (3, 0)] {
        let deleted = world.messages.delete(ann.caller, chat, sent[message]).await.unwrap();
        assert_eq!(deleted, rows[row]);
        let published = world.publisher.take();
        let expected = |event: &DomainEvent| matches!(event, DomainEvent::MessageDeleted { chat_id, id } if (*chat_id, *id) == (chat, deleted.id));
        assert!(published.len() == 1 && published.iter().all(expected), "{published:?}");
    }

    let left = [rows[1].clone(), rows[3].clone()];
    assert_eq!(history(&world, &ann, chat).await, left);
    assert_eq!(world.chats.find(ann.caller, chat).await.unwrap(), before);
    let counted = PageRequest { slice: Slice::Numbered { number: 1, size: 1 }, count: true };
    for (since, total) in [(None, 2), (Some(since), 1)] {
        let filter = HistoryFilter { since, ..HistoryFilter::default() };
        let page = world.messages.history(ann.caller, chat, filter, counted.clone()).await.unwrap();
        assert_eq!((page.rows, page.total), (vec![left[0].clone()], Some(total)));
    }
    let around = |anchor| world.messages.surroundings(ann.caller, chat, anchor, Kinds::ALL, 10);
    let gone = around(Anchor::Around(sent[1])).await;
    assert!(matches!(gone, Err(ReadSurroundingsError::MessageNotFound)), "{gone:?}");
    let found = around(Anchor::Around(sent[2])).await.unwrap();
    assert_eq!((found.rows, found.has_older, found.has_newer), (left.to_vec(), false, false));
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().map(|next| next.id), Some(sent[2]));
    assert_eq!(world.messages.context(bot.caller, chat, counted.clone()).await.unwrap().total, Some(2));
    for (filter, expected) in [(DeliveryFilter::All, 2), (DeliveryFilter::Processing, 0)] {
        let page = world.deliveries.list(bot.caller, chat, filter, Order::Ascending, counted.clone()).await;
        assert_eq!(page.unwrap().total, Some(expected), "{filter:?}");
    }
    let room = world.chats.find_with_details(ann.caller, chat, ChatParts::default(), true).await.unwrap();
    assert_eq!(room.message_counts, Some(vec![(MessageKind::Text, 2)]));
    let listing = ChatListing {
        parts: ChatParts { last_message: true, ..ChatParts::default() },
        ..ChatListing::default()
    };
    let listed = world.chats.list_chats(ann.caller, listing, first(10)).await.unwrap();
    assert_eq!(listed.rows[0].last_message.as_ref(), Some(&left[0]));
    let next = send(&world, &ann, chat, &bot, "five").await;
    let newest = history(&world, &ann, chat).await.swap_remove(0);
    assert_eq!((newest.id, newest.sequence.get()), (next, 5), "the places of deleted texts stay empty");
}

/// An agent that works on it cannot finish it.
pub async fn work_on_a_deleted_text_is_not_found(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = send(&world, &ann, chat, &bot, "never mind").await;
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    world.messages.delete(ann.caller, chat, message).await.unwrap();
    world.publisher.take();
    let failed = DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap());
    for step in [DeliveryStep::Begin, DeliveryStep::Succeed, failed] {
        let outcome = world.deliveries.advance(bot.caller, chat, message, step).await;
        assert!(matches!(outcome, Err(AdvanceError::NotFound)), "{outcome:?}");
    }
    assert!(world.publisher.take().is_empty());
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap(), None);
}

/// A refused change is neither kept nor told.
pub async fn only_its_sender_changes_a_text(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let own = world.agent(&ben, "Own").await;
    world.make_global(&own).await;
    world.add(ann.caller, chat, own.id.into(), Role::Member).await;
    let text = send(&world, &ann, chat, &bot, "by Ann").await;
    let answer = world.send(bot.caller, chat, "by her agent", &[ParticipantId::User(ann.id)]).await.id;
    let event = thought(&world, &bot, chat).await;
    let elsewhere = world.chat(ann.caller, &[]).await;
    let left = world.chat(ann.caller, &[bot.id.into()]).await;
    let parting = send(&world, &ann, left, &bot, "a parting word").await;
    world.add(ann.caller, left, own.id.into(), Role::Owner).await;
    world.chats.remove_participant(ann.caller, left, ann.id).await.unwrap();
    let gone = world.chat(ann.caller, &[bot.id.into()]).await;
    let last = send(&world, &ann, gone, &bot, "a last word").await;
    world.chats.delete(ann.caller, gone).await.unwrap();
    let before = history(&world, &ann, chat).await;
    world.publisher.take();

    let (no_chat, no_message, not_hers) = (
        ChangeMessageRefused::ChatNotFound,
        ChangeMessageRefused::MessageNotFound,
        ChangeMessageRefused::NotSender,
    );
    for (by, room, message, expected) in [
        (&ann, chat, answer, &not_hers),
        (&ann, chat, event, &not_hers),
        (&ann, elsewhere, text, &no_message),
        // He sees the room through his agent, which is not being in it.
        (&ben, chat, text, &no_chat),
        (&ann, left, parting, &no_chat),
        (&ann, gone, last, &no_chat),
    ] {
        let edited = world.messages.edit(by.caller, room, message, words("changed")).await;
        assert_eq!(&refusal(edited), expected, "{message}");
        assert_eq!(&refusal(world.messages.delete(by.caller, room, message).await), expected, "{message}");
    }
    assert!(world.publisher.take().is_empty());
    assert_eq!(history(&world, &ann, chat).await, before);

    world.messages.delete(ann.caller, chat, text).await.unwrap();
    world.publisher.take();
    assert_eq!(refusal(world.messages.delete(ann.caller, chat, text).await), no_message, "once");
    assert_eq!(refusal(world.messages.edit(ann.caller, chat, text, words("again")).await), no_message);
    assert!(world.publisher.take().is_empty());
}

/// The plan counts what is there.
pub async fn a_deleted_text_makes_room_for_another(world: World) {
    let ann = world.user_with_plan("ann", Plan { messages: Some(2), ..plan("tiny") }).await;
    let chat = world.chat(ann.caller, &[]).await;
    let say = async |words| world.messages.send(ann.caller, chat, text(words, &[])).await.map(|sent| sent.id);
    let one = say("one").await.unwrap();
    say("two").await.unwrap();
    assert!(matches!(say("three").await, Err(SendMessageError::Limit(_))));
    world.messages.edit(ann.caller, chat, one, words("edited")).await.unwrap();
    assert!(matches!(say("three").await, Err(SendMessageError::Limit(_))));
    world.messages.delete(ann.caller, chat, one).await.unwrap();
    say("three").await.unwrap();
    let full = say("four").await;
    assert!(matches!(&full, Err(SendMessageError::Limit(reached)) if reached.current == 2), "{full:?}");
    assert_eq!(contents(&world, &ann, chat).await, ["three", "two"]);
}

/// A request whose answer was lost does not bring back what was deleted since.
pub async fn a_repeated_request_does_not_bring_a_text_back(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ask = async |says: u8| {
        let once = IdempotentRequest {
            key: IdempotencyKey::new("k").unwrap(),
            fingerprint: Fingerprint::new([says; 32]),
        };
        let command = text("once", &[ParticipantId::Agent(bot.id)]);
        world.messages.send_once(ann.caller, chat, command, Some(once)).await
    };
    let sent = ask(1).await.unwrap();
    assert_eq!(sent.recipients.len(), 1);
    world.messages.delete(ann.caller, chat, sent.id).await.unwrap();
    assert_eq!(ask(1).await.unwrap(), repeated(&sent));
    assert!(matches!(ask(2).await, Err(SendMessageError::KeyReused)));
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert_eq!(ask(1).await.unwrap(), repeated(&sent), "as then, though it would be refused now");
    assert_eq!(contents(&world, &ann, chat).await, Vec::<String>::new());
    world.clock.advance(LIFETIME);
    forget_old_answers(&*world.stores.idempotency, world.clock.now(), 10).await.unwrap();
    assert!(matches!(ask(1).await, Err(SendMessageError::Mention(_))), "forgotten after a day");
}

/// Sends, edits, work and deletions at the same moment: what is deleted is gone, and nothing is told of
/// it afterwards.
pub async fn a_deletion_wins_over_whatever_goes_on(world: World) {
    const TEXTS: usize = 24;
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut texts = Vec::new();
    for number in 0..TEXTS {
        texts.push(send(&world, &ann, chat, &bot, &format!("{number}")).await);
    }
    world.publisher.take();
    let world = Arc::new(world);
    let mut tasks = Vec::new();
    for message in texts {
        let (w, caller) = (world.clone(), bot.caller);
        tasks.push(tokio::spawn(async move {
            for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
                match w.deliveries.advance(caller, chat, message, step).await {
                    Ok(_) | Err(AdvanceError::NotFound) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }));
        let (w, sender) = (world.clone(), ann.caller);
        tasks.push(tokio::spawn(async move {
            match w.messages.edit(sender, chat, message, words("edited")).await {
                Ok(_) => {}
                Err(error) => assert_eq!(refusal(Err::<(), _>(error)), ChangeMessageRefused::MessageNotFound),
            }
        }));
        let (w, sender) = (world.clone(), ann.caller);
        tasks.push(tokio::spawn(async move {
            w.messages.delete(sender, chat, message).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let mut gone = HashSet::new();
    for event in world.publisher.take() {
        match event {
            DomainEvent::MessageDeleted { id, .. } => assert!(gone.insert(id), "told twice"),
            DomainEvent::MessageUpdated { message } => assert!(!gone.contains(&message.id), "told too late"),
            // Of the first text, from which the title was made.
            DomainEvent::RoomTitleChanged { .. } | DomainEvent::RoomUpdated { .. } => {}
            event => panic!("{event:?}"),
        }
    }
    assert_eq!(gone.len(), TEXTS);
    assert_eq!(contents(&world, &ann, chat).await, Vec::<String>::new());
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap(), None);
}
