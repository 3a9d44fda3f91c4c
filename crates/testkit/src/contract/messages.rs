//! Messages and events.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::chat::{ChatListing, ChatParts, Role};
use domain::delivery::{DeliveryFilter, DeliveryKey, DeliveryStep};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{
    Anchor, AppendRefused, EventContent, EventMetadata, HistoryFilter, Kinds, Mention, MentionKind, Message,
    MessageContent, MessageKind, NewMessage, PostEvent, RequestedMention, SendMessage,
};
use domain::page::{Order, PageRequest, Slice};
use domain::ports::Clock;
use domain::store::OnCommit;
use uuid::Uuid;

use super::redelivery::new_messages;
use crate::{TestAgent, TestUser, World};

pub(super) async fn ann_and_bot(world: &World) -> (TestUser, TestAgent, ChatId) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    (ann, bot, chat)
}

pub(super) fn first(limit: u32) -> PageRequest {
    PageRequest { slice: Slice::After { after: None, limit }, count: false }
}

fn mention(bot: &TestAgent) -> Mention {
    let id = ParticipantId::Agent(bot.id);
    Mention { id, handle: bot.handle.clone(), name: "Bot".to_owned(), kind: MentionKind::Mention }
}

fn text(
    world: &World,
    chat: ChatId,
    sender: ParticipantId,
    number: u128,
    mentions: Vec<Mention>,
) -> NewMessage {
    let id = MessageId::new(Uuid::from_u128(0x7000_0000 + number));
    NewMessage { id, mentions, ..world.new_text(chat, sender, &format!("message {number}")) }
}

async fn history(
    world: &World,
    ann: &TestUser,
    chat: ChatId,
    page: PageRequest,
) -> domain::page::Page<Message> {
    world.messages.history(ann.caller, chat, HistoryFilter::default(), page).await.unwrap()
}

/// Numbers 1 to 64, each announced once, in the order of the sequence, before it is answered.
pub async fn the_sequence_has_no_gaps_under_many_writers(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let published = Arc::new(Mutex::new(Vec::new()));
    let writes = (0..64).map(|number| {
        let new = text(&world, chat, ParticipantId::User(ann.id), number, vec![mention(&bot)]);
        let (messages, published, later) =
            (world.stores.messages.clone(), published.clone(), published.clone());
        tokio::spawn(async move {
            let on_commit = OnCommit::new(move |appended: &domain::message::Appended| {
                published.lock().unwrap().push(appended.message.sequence.get());
            });
            let appended = messages.append(new, on_commit).await.unwrap().unwrap();
            assert!(
                later.lock().unwrap().contains(&appended.message.sequence.get()),
                "announced before it is answered"
            );
            appended.message.sequence.get()
        })
    });
    let mut answered = Vec::new();
    for write in writes.collect::<Vec<_>>() {
        answered.push(write.await.unwrap());
    }
    answered.sort_unstable();
    let expected = (1..=64).collect::<Vec<_>>();
    assert_eq!(answered, expected);
    assert_eq!(*published.lock().unwrap(), expected);
    let mut stored = history(&world, &ann, chat, first(100)).await.rows;
    stored.reverse();
    assert_eq!(stored.iter().map(|message| message.sequence.get()).collect::<Vec<_>>(), expected);
    assert!(stored.iter().all(|message| message.deliveries.len() == 1));
}

/// No row, no number, no announcement.
pub async fn refused_messages_leave_no_trace(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let messages = &world.stores.messages;
    let never = || OnCommit::new(|_| panic!("a refusal was announced"));
    let stranger = text(&world, chat, ParticipantId::User(ben.id), 1, Vec::new());
    assert_eq!(messages.append(stranger, never()).await.unwrap(), Err(AppendRefused::NotParticipant));
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    let left = text(&world, chat, ParticipantId::Agent(bot.id), 2, Vec::new());
    assert_eq!(messages.append(left, never()).await.unwrap(), Err(AppendRefused::NotParticipant));
    let addressed = text(&world, chat, ParticipantId::User(ann.id), 3, vec![mention(&bot)]);
    let outcome = messages.append(addressed, never()).await.unwrap();
    assert_eq!(outcome, Err(AppendRefused::MentionLeft { index: 0 }));
    world.send(ann.caller, chat, "accepted", &[]).await;
    let stored = history(&world, &ann, chat, first(10)).await.rows;
    assert_eq!(stored.iter().map(|message| message.sequence.get()).collect::<Vec<_>>(), [1]);
}

/// A request that has begun is finished and announced, even if its caller disconnects.
pub async fn a_caller_that_has_gone_changes_nothing(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    let (sender, published) = tokio::sync::oneshot::channel();
    let new = text(&world, chat, ParticipantId::User(ann.id), 1, Vec::new());
    let on_commit = OnCommit::new(move |_| sender.send(()).unwrap());
    {
        let mut append = world.stores.messages.append(new, on_commit);
        // Polled once, so that it is on its way, and then dropped.
        let polled =
            std::future::poll_fn(|context| std::task::Poll::Ready(append.as_mut().poll(context))).await;
        drop(polled);
    }
    tokio::time::timeout(Duration::from_secs(10), published).await.unwrap().unwrap();
    assert_eq!(history(&world, &ann, chat, first(10)).await.rows.len(), 1);
}

/// A reader that follows the cursor while four write sees what was there when it began, once.
pub async fn a_cursor_sees_every_row_once_while_others_write(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    for number in 0..50 {
        world.send(ann.caller, chat, &format!("before {number}"), &[]).await;
    }
    let world = Arc::new(world);
    let writers = (0..4_u128).map(|writer| {
        let (world, sender) = (world.clone(), ParticipantId::User(ann.id));
        tokio::spawn(async move {
            for number in 0..40 {
                let new = text(&world, chat, sender, 1_000 * (writer + 1) + number, Vec::new());
                world.stores.messages.append(new, OnCommit::nothing()).await.unwrap().unwrap();
            }
        })
    });
    let writers = writers.collect::<Vec<_>>();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 7 }, count: false };
        let page = history(&world, &ann, chat, page).await;
        seen.extend(page.rows.iter().map(|message| message.sequence.get()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert!(seen.is_sorted_by(|a, b| *a == b + 1), "newest first, none left out, none twice: {seen:?}");
    assert_eq!(seen.last(), Some(&1));
    for writer in writers {
        writer.await.unwrap();
    }
}

/// By page number, counted; with and without a filter.
pub async fn pages_have_totals(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    for number in 0..5 {
        world.send(ann.caller, chat, &format!("m{number}"), &[ParticipantId::Agent(bot.id)]).await;
    }
    let page = |number| PageRequest { slice: Slice::Numbered { number, size: 2 }, count: true };
    let last = history(&world, &ann, chat, page(3)).await;
    assert_eq!((last.rows.len(), last.rows[0].content.ends_with("m0"), last.total), (1, true, Some(5)));
    assert_eq!(history(&world, &ann, chat, page(4)).await.rows, []);
    let filter = HistoryFilter { kinds: Kinds::of(&[MessageKind::Thought]), ..HistoryFilter::default() };
    let none = world.messages.history(ann.caller, chat, filter, page(1)).await.unwrap();
    assert_eq!((none.rows.len(), none.total), (0, Some(0)));
    let context = world.messages.context(bot.caller, chat, page(2)).await.unwrap();
    assert_eq!((context.rows[0].sequence.get(), context.rows.len(), context.total), (3, 2, Some(5)));
}

/// By kind, and by time, which excludes the instant itself.
pub async fn history_can_be_narrowed(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    world.send(ann.caller, chat, "early", &[]).await;
    let noon = world.clock.now();
    world.clock.advance(Duration::from_secs(1));
    thought(&world, &bot, chat).await;
    world.send(ann.caller, chat, "late", &[]).await;
    let narrowed = async |kind: Option<MessageKind>, since| {
        let kinds = kind.map_or(Kinds::ALL, |kind| Kinds::of(&[kind]));
        let filter = HistoryFilter { kinds, since, ..HistoryFilter::default() };
        let page = world.messages.history(ann.caller, chat, filter, first(10)).await.unwrap();
        page.rows.iter().map(|message| message.sequence.get()).collect::<Vec<_>>()
    };
    assert_eq!(narrowed(None, None).await, [3, 2, 1]);
    assert_eq!(narrowed(Some(MessageKind::Text), None).await, [3, 1]);
    assert_eq!(narrowed(Some(MessageKind::Thought), None).await, [2]);
    assert_eq!(narrowed(None, Some(noon)).await, [3, 2]);
    assert_eq!(narrowed(Some(MessageKind::Text), Some(noon)).await, [3]);
}

pub(super) async fn thought(world: &World, agent: &TestAgent, chat: ChatId) {
    let event = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    };
    world.messages.post_event(agent.caller, chat, event).await.unwrap();
}

/// Everything that an agent sent, and texts addressed to it, but not those that only refer to it.
pub async fn context_contains_only_the_callers_part(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    world
        .send(ann.caller, chat, "1 for both", &[ParticipantId::Agent(bot.id), ParticipantId::Agent(other.id)])
        .await;
    world.send(ann.caller, chat, "2 for the other", &[ParticipantId::Agent(other.id)]).await;
    thought(&world, &bot, chat).await;
    thought(&world, &other, chat).await;
    world.send(bot.caller, chat, "5 by the bot", &[ParticipantId::User(ann.id)]).await;
    let spoken_of =
        RequestedMention { id: Some(bot.id.to_string()), handle: None, kind: Some(MentionKind::Reference) };
    let command = SendMessage { mentions: vec![spoken_of], ..crate::world::text("6 about the bot", &[]) };
    world.messages.send(ann.caller, chat, command).await.unwrap();

    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.messages.context(bot.caller, chat, page).await.unwrap();
        seen.extend(page.rows.iter().map(|message| message.sequence.get()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, [1, 3, 5]);
    let distinct = seen.iter().collect::<HashSet<_>>();
    assert_eq!(distinct.len(), seen.len());
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().unwrap().sequence.get(), 1);
}

/// Wherever a message is read or announced; also when its sender is deleted, whose handle no other agent gets.
pub async fn every_message_has_the_handle_of_its_sender(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let to_other = [ParticipantId::Agent(other.id)];
    let sent = world.send(bot.caller, chat, "by the bot", &to_other).await.id;
    thought(&world, &bot, chat).await;
    let own = world.send(ann.caller, chat, "by ann", &to_other).await.id;

    let mut seen = new_messages(&world, &other, chat, [1, 3]).await;
    world.deliveries.mark_delivered(vec![DeliveryKey { message: sent, agent: other.id }]).await.unwrap();
    world.deliveries.advance(other.caller, chat, sent, DeliveryStep::Begin).await.unwrap();
    world.deliveries.advance(other.caller, chat, sent, DeliveryStep::Succeed).await.unwrap();
    seen.push(world.deliveries.next(other.caller, chat).await.unwrap().unwrap());
    let (all, order) = (DeliveryFilter::All, Order::Ascending);
    seen.extend(world.deliveries.list(other.caller, chat, all, order, first(10)).await.unwrap().rows);
    for reader in [&bot, &other] {
        seen.extend(world.messages.context(reader.caller, chat, first(10)).await.unwrap().rows);
    }
    let content = MessageContent::new("edited by ann".to_owned()).unwrap();
    seen.push(world.messages.edit(ann.caller, chat, own, content).await.unwrap());
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    assert_eq!(world.agent(&ann, "Bot").await.handle, "ann/bot-2");
    seen.extend(history(&world, &ann, chat, first(10)).await.rows);
    let around = Anchor::Around(sent);
    seen.extend(world.messages.surroundings(ann.caller, chat, around, Kinds::ALL, 10).await.unwrap().rows);
    let parts = ChatParts { last_message: true, ..ChatParts::default() };
    let listing = ChatListing { parts, ..ChatListing::default() };
    let listed = world.chats.list_chats(ann.caller, listing, first(10)).await.unwrap();
    seen.extend(listed.rows.into_iter().filter_map(|room| room.last_message));
    assert_eq!(seen.len(), 2 + 1 + 2 + 2 + 2 + 1 + 3 + 3 + 1);

    let published = world.publisher.take().into_iter().filter_map(|event| match event {
        DomainEvent::MessageCreated { message, .. }
        | DomainEvent::MessageUpdated { message }
        | DomainEvent::EventCreated { message } => Some(message),
        _ => None,
    });
    let published = published.collect::<Vec<_>>();
    assert_eq!(published.len(), 3 + 1 + 2 + 1);
    for message in seen.iter().chain(&published) {
        let handle = if message.sender.agent().is_some() { &bot.handle } else { &ann.handle };
        assert_eq!(message.sender_handle.as_ref(), Some(handle), "{message:?}");
    }
}
