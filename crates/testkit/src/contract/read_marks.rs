//! Up to where humans have read, and what is unread.

use domain::chat::{
    ChatListing, ChatParts, EXAMINED_SEQUENCES, MarkReadError, MarkReadRefused, ReadMark, ReadingChange,
    Role, SEARCHED_SEQUENCES, Unread,
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
    assert_eq!(marked, Unread { count: 1, mentions: 1, read_sequence: Sequence::new(1), muted: false });
    assert_eq!(listed(&world, &ben, chat).await, Some(marked));
    let all = world.chats.mark_read(ben.caller, chat, ReadMark::Newest).await.unwrap();
    assert_eq!(all, Unread { read_sequence: Sequence::new(3), ..Unread::default() });
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

/// Muting keeps the mark, and is announced like it; who returns is not muted.
pub async fn rooms_are_muted_for_one_human(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    world.send(ann.caller, chat, "one", &[ParticipantId::Agent(bot.id)]).await;
    world.publisher.take();
    let mute = async |muted| {
        let change = ReadingChange { mark: None, muted: Some(muted) };
        let unread = world.chats.mark_read(ben.caller, chat, change).await.unwrap();
        assert_eq!((unread.count, unread.read_sequence.get()), (1, 0), "the mark stays");
        let is_announced = |event: &DomainEvent| matches!(event, DomainEvent::RoomRead { by, unread: told, .. } if (*by, *told) == (ben.id, unread));
        (unread.muted, world.publisher.take().iter().any(is_announced))
    };
    assert_eq!(mute(true).await, (true, true));
    assert_eq!(mute(true).await, (true, false), "nothing has changed");
    assert!(listed(&world, &ben, chat).await.unwrap().muted);
    assert!(!listed(&world, &ann, chat).await.unwrap().muted);
    let both = ReadingChange { mark: Some(ReadMark::Newest), muted: Some(false) };
    let unread = world.chats.mark_read(ben.caller, chat, both).await.unwrap();
    assert_eq!((unread.count, unread.muted), (0, false));
    assert_eq!(mute_of_returned(&world, &ann, &ben, chat).await, Some(false));
}

async fn mute_of_returned(world: &World, ann: &TestUser, ben: &TestUser, chat: ChatId) -> Option<bool> {
    let change = ReadingChange { mark: None, muted: Some(true) };
    world.chats.mark_read(ben.caller, chat, change).await.unwrap();
    world.chats.remove_participant(ann.caller, chat, ben.id).await.unwrap();
    world.add(ann.caller, chat, ben.id.into(), Role::Member).await;
    listed(world, ben, chat).await.map(|unread| unread.muted)
}

/// Each changed room is announced once; a repetition changes nothing.
pub async fn all_rooms_are_marked_at_once(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    let to = [ParticipantId::Agent(bot.id)];
    let other = world.chat(ann.caller, &[ben.id.into(), bot.id.into()]).await;
    let (left, read) =
        (world.chat(ann.caller, &[ben.id.into()]).await, world.chat(ben.caller, &[ann.id.into()]).await);
    for room in [chat, other] {
        world.send(ann.caller, room, "one", &to).await;
        think(&world, &bot, room).await;
    }
    world.send(ann.caller, left, "one", &[ParticipantId::User(ben.id)]).await;
    world.chats.remove_participant(ben.caller, left, ben.id).await.unwrap();
    let change = ReadingChange { mark: None, muted: Some(true) };
    world.chats.mark_read(ben.caller, other, change).await.unwrap();
    world.publisher.take();
    let marked = async || {
        let marked = world.chats.mark_all_read(ben.caller).await.unwrap();
        let announced = world.publisher.take().into_iter().filter_map(|event| match event {
            DomainEvent::RoomRead { by, chat_id, unread } if by == ben.id => Some((chat_id, unread)),
            _ => None,
        });
        assert_eq!(announced.collect::<Vec<_>>(), marked.rooms);
        assert!(!marked.has_more);
        marked.rooms
    };
    let now = |muted| Unread { read_sequence: Sequence::new(2), muted, ..Unread::default() };
    let mut expected = [(chat, now(false)), (other, now(true))];
    expected.sort_unstable_by_key(|(chat, _)| *chat);
    assert_eq!(marked().await, expected);
    assert_eq!(listed(&world, &ben, other).await, Some(now(true)));
    assert_eq!(unread(&world, &ann, chat).await, (0, 0, 0), "everybody reads alone");
    assert_eq!(marked().await, []);
    world.send(bot.caller, chat, "two", &[ParticipantId::User(ben.id)]).await;
    assert_eq!(unread(&world, &ben, chat).await, (1, 1, 2));
    assert_eq!(unread(&world, &ben, read).await, (0, 0, 0));
}

/// The row of a room is the same in every list, and is for those who see the room.
pub async fn some_rooms_are_listed_like_all(world: World) {
    let (ann, ben, bot, chat) = scene(&world).await;
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    world.send(ann.caller, chat, "one", &[ParticipantId::User(ben.id)]).await;
    let listing = ChatListing { agent_rooms: true, parts: ChatParts::ALL, ..ChatListing::default() };
    let mut all = world.chats.list_chats(ann.caller, listing, first(100)).await.unwrap().rows;
    all.sort_unstable_by_key(|listed| listed.chat.id);
    let rooms = vec![other, chat, ChatId::new(Uuid::from_u128(404))];
    let some =
        async |of: &TestUser| world.chats.list_some(of.id, rooms.clone(), ChatParts::ALL).await.unwrap();
    assert_eq!((some(&ann).await.rows, some(&ann).await.next), (all.clone(), None));
    let found = world.chats.find_with_details(ann.caller, chat, ChatParts::ALL, false).await.unwrap();
    assert!(all.contains(&found.listed));
    let of_ben = some(&ben).await.rows.into_iter().map(|listed| listed.chat.id).collect::<Vec<_>>();
    assert_eq!(of_ben, [chat]);
    world.chats.remove_participant(ben.caller, chat, ben.id).await.unwrap();
    assert_eq!(some(&ben).await.rows, []);
    assert_eq!(world.chats.newest_ids(ann.id, 1).await.unwrap().len(), 1);
    assert_eq!(world.chats.newest_ids(ben.id, 9).await.unwrap(), []);
}

/// Events do not hide the last text, unless there are very many.
pub async fn the_last_message_is_a_text(world: World) {
    let (ann, _, bot, chat) = scene(&world).await;
    let parts = ChatParts { last_message: true, ..ChatParts::default() };
    let last = async || {
        let found = world.chats.find_with_details(ann.caller, chat, parts, false).await.unwrap();
        found.listed.last_message.map(|message| message.content)
    };
    think(&world, &bot, chat).await;
    assert_eq!(last().await.as_deref(), Some("hm"), "there is no text");
    world.send(ann.caller, chat, "one", &[]).await;
    // Deleted messages count as well.
    for _ in 0..5 {
        let deleted = world.send(ann.caller, chat, "slip", &[]).await.id;
        world.messages.delete(ann.caller, chat, deleted).await.unwrap();
    }
    for _ in 0..SEARCHED_SEQUENCES - 6 {
        think(&world, &bot, chat).await;
    }
    assert_eq!(last().await.as_deref(), Some("one"));
    think(&world, &bot, chat).await;
    assert_eq!(last().await.as_deref(), Some("hm"));
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
