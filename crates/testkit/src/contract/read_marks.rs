//! Up to where humans have read, and what is unread.

use domain::chat::{
    ChatListing, ChatParts, EXAMINED_SEQUENCES, MarkReadError, MarkReadRefused, ReadMark, Role, Unread,
};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId, Sequence};
use domain::message::{EventContent, EventMetadata, MessageKind, PostEvent};
use uuid::Uuid;

use super::messages::first;
use crate::{TestAgent, TestUser, World};

/// Ann and her agent in a room with Ben.
async fn scene(world: &World) -> (TestUser, TestUser, TestAgent, ChatId) {
    let ann = world.colleague("ann", "acme").await;
    let ben = world.colleague("ben", "acme").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[ben.id.into(), bot.id.into()]).await;
    (ann, ben, bot, chat)
}

async fn listed(world: &World, of: &TestUser, chat: ChatId) -> Option<Unread> {
    let parts = ChatParts { unread: true, ..ChatParts::default() };
    let listing = ChatListing { agent_rooms: true, parts, ..ChatListing::default() };
    let page = world.chats.list_chats(of.caller, listing, first(100)).await.unwrap();
    page.rows.into_iter().find(|row| row.chat.id == chat).unwrap().unread
}

/// Count, mentions, and mark.
async fn unread(world: &World, of: &TestUser, chat: ChatId) -> (u64, u64, i64) {
    let found = listed(world, of, chat).await.unwrap();
    (found.count, found.mentions, found.read_sequence.get())
}

async fn think(world: &World, bot: &TestAgent, chat: ChatId) {
    let event = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    };
    world.messages.post_event_once(bot.caller, chat, event, None).await.unwrap();
}

/// Texts of others count; own texts and events do not.
pub async fn texts_of_others_are_unread_until_they_are_read(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    let to = [ParticipantId::Agent(bot.id)];
    let first = world.send(ann.caller, chat, "one", &to).await.id;
    think(&world, &bot, chat).await;
    world.send(bot.caller, chat, "two", &[ParticipantId::User(ben.id)]).await;
    assert_eq!(unread(&world, &ann, chat).await, (1, 0, 0));
    assert_eq!(unread(&world, &ben, chat).await, (2, 1, 0));

    let marked = world.chats.mark_read(ben.caller, chat, ReadMark::At(first)).await.unwrap();
    assert_eq!(marked, Unread { count: 1, mentions: 1, read_sequence: Sequence::new(1) });
    assert_eq!(listed(&world, &ben, chat).await, Some(marked));
    let all = world.chats.mark_read(ben.caller, chat, ReadMark::Newest).await.unwrap();
    assert_eq!(all, Unread { count: 0, mentions: 0, read_sequence: Sequence::new(3) });
    assert_eq!(unread(&world, &ann, chat).await, (1, 0, 0), "everybody reads alone");
    world.send(ann.caller, chat, "three", &to).await;
    assert_eq!(unread(&world, &ben, chat).await, (1, 0, 3));
}

/// A mark that did not move is not announced.
pub async fn a_mark_moves_backwards_on_demand_only(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    let to = [ParticipantId::Agent(bot.id)];
    let mut texts = Vec::new();
    for text in ["one", "two", "three"] {
        texts.push(world.send(ann.caller, chat, text, &to).await.id);
    }
    world.publisher.take();
    let mark = async |mark| {
        let unread = world.chats.mark_read(ben.caller, chat, mark).await.unwrap();
        let announced = world.publisher.take().into_iter().filter_map(|event| match event {
            DomainEvent::RoomRead { by, chat_id, unread } if (by, chat_id) == (ben.id, chat) => Some(unread),
            _ => None,
        });
        let announced = announced.collect::<Vec<_>>();
        assert!(announced.is_empty() || announced == [unread], "{announced:?}");
        (unread.count, unread.read_sequence.get(), !announced.is_empty())
    };
    assert_eq!(mark(ReadMark::Newest).await, (0, 3, true));
    assert_eq!(mark(ReadMark::At(texts[0])).await, (0, 3, false));
    assert_eq!(mark(ReadMark::Before(texts[1])).await, (2, 1, true));
    assert_eq!(mark(ReadMark::Before(texts[2])).await, (2, 1, false), "it is unread already");
    assert_eq!(mark(ReadMark::At(texts[1])).await, (1, 2, true));
    assert_eq!(mark(ReadMark::Before(texts[0])).await, (3, 0, true));
}

/// A deletion does not leave a count behind.
pub async fn deleted_texts_are_not_unread(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    let to = [ParticipantId::Agent(bot.id)];
    let text = world.send(ann.caller, chat, "one", &to).await.id;
    world.send(ann.caller, chat, "two", &to).await;
    world.messages.delete(ann.caller, chat, text).await.unwrap();
    assert_eq!(unread(&world, &ben, chat).await, (1, 0, 0));
}

/// Long work of agents hides no text.
pub async fn texts_before_many_events_are_unread(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    for _ in 0..2 {
        world.send(ann.caller, chat, "look", &[ParticipantId::Agent(bot.id)]).await;
    }
    for _ in 0..=EXAMINED_SEQUENCES {
        think(&world, &bot, chat).await;
    }
    assert_eq!(unread(&world, &ben, chat).await, (2, 0, 0));
    let last = world.send(bot.caller, chat, "done", &[ParticipantId::User(ben.id)]).await.id;
    assert_eq!(unread(&world, &ben, chat).await, (3, 1, 0));
    let marked = world.chats.mark_read(ben.caller, chat, ReadMark::Before(last)).await.unwrap();
    assert_eq!((marked.count, marked.read_sequence.get()), (3, 0), "the mark was further back");
    let marked = world.chats.mark_read(ben.caller, chat, ReadMark::At(last)).await.unwrap();
    assert_eq!((marked.count, marked.mentions), (0, 0));
    let marked = world.chats.mark_read(ben.caller, chat, ReadMark::Before(last)).await.unwrap();
    assert_eq!((marked.count, marked.mentions), (1, 1));
}

/// Newcomers do not begin with a wall of unread texts, nor do those who return.
pub async fn what_was_sent_before_a_human_joined_is_read(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    let to = [ParticipantId::Agent(bot.id)];
    let cai = world.colleague("cai", "acme").await;
    world.send(ann.caller, chat, "one", &to).await;
    world.add(ann.caller, chat, cai.id.into(), Role::Member).await;
    assert_eq!(unread(&world, &cai, chat).await, (0, 0, 1));
    world.chats.remove_participant(ann.caller, chat, ben.id).await.unwrap();
    world.send(ann.caller, chat, "two", &to).await;
    world.add(ann.caller, chat, ben.id.into(), Role::Member).await;
    assert_eq!(unread(&world, &ben, chat).await, (0, 0, 2));
    assert_eq!(unread(&world, &cai, chat).await, (1, 0, 1));
}

/// Observers have no marks, others do not learn of the room, and a message of another room is none of this one.
pub async fn only_participants_mark_rooms(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    let observed = world.chat(bot.caller, &[]).await;
    let scout = world.agent(&ben, "Scout").await;
    let elsewhere = world.chat(ben.caller, &[scout.id.into()]).await;
    let there = world.send(ben.caller, elsewhere, "hi", &[ParticipantId::Agent(scout.id)]).await.id;
    assert_eq!(listed(&world, &ann, observed).await, None);
    let unknown = MessageId::new(Uuid::from_u128(404));
    for (caller, chat, mark, expected) in [
        (ann.caller, observed, ReadMark::Newest, MarkReadRefused::NotParticipant),
        (ben.caller, observed, ReadMark::Newest, MarkReadRefused::ChatNotFound),
        (ben.caller, ChatId::new(Uuid::from_u128(404)), ReadMark::Newest, MarkReadRefused::ChatNotFound),
        (ann.caller, chat, ReadMark::At(unknown), MarkReadRefused::MessageNotFound),
        (ann.caller, chat, ReadMark::Before(there), MarkReadRefused::MessageNotFound),
    ] {
        let refused = world.chats.mark_read(caller, chat, mark).await;
        assert!(matches!(refused, Err(MarkReadError::Refused(found)) if found == expected), "{refused:?}");
    }
}
