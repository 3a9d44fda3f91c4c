//! Reading messages: by kinds, since an instant, around a message, in pages that weigh little, and
//! exactly while others write.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::archive::{Table, Value};
use domain::audit::{AuditAction, AuditFilter, AuditScope, RecordedActor};
use domain::chat::Role;
use domain::delivery::{DeliveryFilter, DeliveryStep, FailureText, SHOWN_ERROR_BYTES};
use domain::id::{ChatId, MessageId, ParticipantId, RecordId, Sequence};
use domain::message::{
    Anchor, HistoryFilter, Kinds, Message, MessageKind, ReadMessagesError, Surroundings, SurroundingsRefused,
};
use domain::page::{Order, PAGE_BYTES, Page, PageRequest, Position, Slice};
use domain::ports::Clock;
use domain::transcript::{TranscriptFormat, TranscriptReader};

use super::messages::{ann_and_bot, first, thought};
use crate::{TestAgent, TestUser, World};

fn places(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.sequence.get()).collect()
}

fn part(after: Option<Position>, limit: u32) -> PageRequest {
    PageRequest { slice: Slice::After { after, limit }, count: false }
}

/// Texts at 1, 2, 4, 5, 7, 8 …, thoughts at 3, 6, 9 …; a second apart.
async fn mixed(world: &World, count: i64) -> (TestUser, TestAgent, ChatId, Vec<MessageId>) {
    let (ann, bot, chat) = ann_and_bot(world).await;
    for place in 1..=count {
        if place % 3 == 0 {
            thought(world, &bot, chat).await;
        } else {
            world.send(ann.caller, chat, &format!("text {place}"), &[]).await;
        }
        world.clock.advance(Duration::from_secs(1));
    }
    let page = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(100)).await.unwrap();
    let ids = page.rows.iter().rev().map(|message| message.id).collect();
    (ann, bot, chat, ids)
}

/// Any set of kinds, followed by cursor and counted.
pub async fn history_is_filtered_by_kind(world: World) {
    let (ann, _, chat, _) = mixed(&world, 12).await;
    let (texts, thoughts) = (Kinds::of(&[MessageKind::Text]), Kinds::of(&[MessageKind::Thought]));
    let errors = Kinds::of(&[MessageKind::Error]);
    for (kinds, expected) in [
        (Kinds::ALL, (1..=12).rev().collect::<Vec<_>>()),
        (texts, vec![11, 10, 8, 7, 5, 4, 2, 1]),
        (thoughts, vec![12, 9, 6, 3]),
        (Kinds::of(&[MessageKind::Text, MessageKind::Thought]), (1..=12).rev().collect()),
        (Kinds::ALL.without(texts), vec![12, 9, 6, 3]),
        (errors, vec![]),
        (Kinds::NONE, vec![]),
    ] {
        let filter = HistoryFilter { kinds, ..HistoryFilter::default() };
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = world.messages.history(ann.caller, chat, filter, part(after, 3)).await.unwrap();
            seen.extend(places(&page.rows));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected, "{kinds:?}");
        let counted = PageRequest { slice: Slice::Numbered { number: 2, size: 2 }, count: true };
        let page = world.messages.history(ann.caller, chat, filter, counted).await.unwrap();
        assert_eq!(page.total, Some(expected.len() as u64), "{kinds:?}");
        assert_eq!(places(&page.rows), expected.into_iter().skip(2).take(2).collect::<Vec<_>>());
    }
}

/// Since an instant, which itself is left out; a position keeps to it by itself.
pub async fn a_position_remembers_since_when(world: World) {
    let (ann, _, chat, _) = mixed(&world, 9).await;
    let all = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(100)).await.unwrap();
    let since = Some(all.rows[5].created_at); // Of the fourth message.
    for (kinds, expected) in
        [(Kinds::ALL, vec![9, 8, 7, 6, 5]), (Kinds::of(&[MessageKind::Text]), vec![8, 7, 5])]
    {
        let counted = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };
        let filter = HistoryFilter { kinds, since, ..HistoryFilter::default() };
        let page = world.messages.history(ann.caller, chat, filter, counted).await.unwrap();
        assert_eq!((places(&page.rows), page.total), (expected.clone(), Some(expected.len() as u64)));
        let begun = world.messages.history(ann.caller, chat, filter, part(None, 2)).await.unwrap();
        let unsaid = HistoryFilter { kinds, ..HistoryFilter::default() };
        let rest = world.messages.history(ann.caller, chat, unsaid, part(begun.next, 100)).await.unwrap();
        assert_eq!([places(&begun.rows), places(&rest.rows)].concat(), expected);
        assert_eq!(rest.next, None);
    }
    let future =
        HistoryFilter { kinds: Kinds::ALL, since: Some(world.clock.now()), ..HistoryFilter::default() };
    let counted = PageRequest { slice: Slice::Numbered { number: 1, size: 9 }, count: true };
    let none = world.messages.history(ann.caller, chat, future, counted).await.unwrap();
    assert_eq!((none.rows.len(), none.total), (0, Some(0)));
}

/// Each instant cuts a chat with deleted messages, and with messages of one instant, where its times say.
pub async fn an_instant_is_found_among_gaps(world: World) {
    let (ann, _, chat, ids) = mixed(&world, 22).await;
    for text in ["at once", "at once again"] {
        world.send(ann.caller, chat, text, &[]).await;
    }
    for place in [1, 2, 4, 5, 10, 11, 13, 14, 22] {
        world.messages.delete(ann.caller, chat, ids[place - 1]).await.unwrap();
    }
    let left = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(100)).await.unwrap();
    assert_eq!(left.rows.len(), 15);
    let half = Duration::from_millis(500);
    let begin = left.rows.last().unwrap().created_at.minus(Duration::from_secs(5));
    for step in 0..60 {
        let since = begin.plus(half * step);
        let after = left.rows.iter().filter(|message| message.created_at > since);
        let expected = after.map(|message| message.sequence.get()).collect::<Vec<_>>();
        let counted = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };
        let filter = HistoryFilter { kinds: Kinds::ALL, since: Some(since), ..HistoryFilter::default() };
        let page = world.messages.history(ann.caller, chat, filter, counted).await.unwrap();
        assert_eq!(
            (places(&page.rows), page.total),
            (expected.clone(), Some(expected.len() as u64)),
            "{step}"
        );
    }
}

/// Not of deleted rooms. A transcript is the same for the operator and for a member of the room.
pub async fn an_operator_reads_the_history_of_any_room(world: World) {
    let (ann, _, chat, ids) = mixed(&world, 7).await;
    for place in [2, 7] {
        world.messages.delete(ann.caller, chat, ids[place - 1]).await.unwrap();
    }
    let filter = HistoryFilter { oldest_first: true, ..HistoryFilter::default() };
    let viewer = ParticipantId::User(ann.id);
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let own = world.stores.messages.history(viewer, chat, filter, part(after.clone(), 2)).await.unwrap();
        let any = world.stores.messages.history_unchecked(chat, filter, part(after, 2)).await.unwrap();
        assert_eq!(any, own);
        let page = any.unwrap();
        seen.extend(places(&page.rows));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, [1, 3, 4, 5, 6]);

    let ben = world.user("ben").await;
    let (own, stranger) = (TranscriptReader::User(ann.caller), TranscriptReader::User(ben.caller));
    for format in TranscriptFormat::ALL {
        let operators = transcript(&world, TranscriptReader::Operator, chat, format).await.unwrap();
        assert_eq!(transcript(&world, own, chat, format).await, Some(operators));
        assert_eq!(transcript(&world, stranger, chat, format).await, None);
    }
    let exported =
        AuditFilter { action: Some(AuditAction::ChatExported), ..AuditFilter::of(AuditScope::Everything) };
    let entries = world.audit.list(exported, first(10)).await.unwrap().rows;
    assert_eq!(entries.len(), 6);
    assert_eq!(entries.iter().filter(|entry| entry.actor == RecordedActor::Operator).count(), 3);
    assert!(entries.iter().all(|entry| entry.organization == Some(ann.caller.organization)));
    let details = entries.iter().filter_map(|entry| entry.detail.as_deref()).collect::<BTreeSet<_>>();
    let formats = TranscriptFormat::ALL.map(|format| format!("{}, messages up to 7", format.as_str()));
    assert_eq!(details, formats.iter().map(String::as_str).collect());

    // A reader who loses access to the room gets no further pages.
    world.connect((ann.caller, "@ann"), (ben.caller, "@ben")).await;
    world.add(ann.caller, chat, ben.id.into(), Role::Member).await;
    let mut begun = world.transcripts.begin(stranger, chat, TranscriptFormat::Jsonl).await.unwrap();
    world.chats.remove_participant(ann.caller, chat, ben.id).await.unwrap();
    assert!(matches!(begun.next().await, Err(ReadMessagesError::ChatNotFound)));
    let left = world.stores.messages.history_unchecked(chat, filter, part(None, 9)).await.unwrap();
    assert_eq!(left.map(|page| page.rows.len()), Some(5));
    let gone = world.chat(ann.caller, &[]).await;
    world.chats.delete(ann.caller, gone).await.unwrap();
    assert_eq!(world.stores.messages.history_unchecked(gone, filter, part(None, 9)).await.unwrap(), None);
    assert_eq!(transcript(&world, TranscriptReader::Operator, gone, TranscriptFormat::Html).await, None);
}

/// All of a transcript; `None` if the room does not exist for the reader.
async fn transcript(
    world: &World,
    reader: TranscriptReader,
    chat: ChatId,
    format: TranscriptFormat,
) -> Option<String> {
    let mut transcript = world.transcripts.begin(reader, chat, format).await.ok()?;
    let mut all = String::new();
    while let Some(piece) = transcript.next().await.unwrap() {
        all.push_str(&piece);
    }
    assert_eq!((transcript.bytes(), transcript.messages()), (all.len() as u64, 5));
    Some(all)
}

/// Before, after, around; at both ends of the room; narrowed to kinds.
pub async fn surroundings_of_a_message(world: World) {
    let (ann, bot, chat, ids) = mixed(&world, 12).await;
    let viewer = ParticipantId::User(ann.id);
    let id = |place: usize| ids[place - 1];
    let read = async |anchor, kinds, limit| {
        let found = world.stores.messages.surroundings(viewer, chat, anchor, kinds, limit).await.unwrap();
        let Surroundings { rows, has_older, has_newer } = found.unwrap();
        (places(&rows), has_older, has_newer)
    };
    let all = Kinds::ALL;
    assert_eq!(read(Anchor::After(id(4)), all, 3).await, (vec![5, 6, 7], true, true));
    assert_eq!(read(Anchor::After(id(10)), all, 3).await, (vec![11, 12], true, false));
    assert_eq!(read(Anchor::After(id(12)), all, 3).await, (vec![], true, false));
    assert_eq!(read(Anchor::Before(id(4)), all, 2).await, (vec![3, 2], true, true));
    assert_eq!(read(Anchor::Before(id(4)), all, 3).await, (vec![3, 2, 1], false, true));
    assert_eq!(read(Anchor::Before(id(1)), all, 3).await, (vec![], false, true));
    assert_eq!(read(Anchor::Around(id(6)), all, 5).await, (vec![8, 7, 6, 5, 4], true, true));
    assert_eq!(read(Anchor::Around(id(6)), all, 1).await, (vec![6], true, true));
    assert_eq!(read(Anchor::Around(id(12)), all, 5).await, (vec![12, 11, 10, 9, 8], true, false));
    assert_eq!(read(Anchor::Around(id(1)), all, 100).await, ((1..=12).rev().collect(), false, false));
    let texts = Kinds::of(&[MessageKind::Text]);
    assert_eq!(read(Anchor::After(id(3)), texts, 3).await, (vec![4, 5, 7], true, true));
    assert_eq!(read(Anchor::Around(id(6)), texts, 3).await, (vec![7, 6, 5], true, true));
    assert_eq!(
        read(Anchor::Before(id(2)), Kinds::of(&[MessageKind::Thought]), 3).await,
        (vec![], false, true)
    );

    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    let elsewhere = world.send(ann.caller, other, "elsewhere", &[]).await.id;
    let asked = async |viewer, anchor| {
        world.stores.messages.surroundings(viewer, chat, anchor, all, 5).await.unwrap().err()
    };
    let foreign = Anchor::Around(elsewhere);
    assert_eq!(asked(viewer, foreign).await, Some(SurroundingsRefused::MessageNotFound));
    let ben = world.user("ben").await;
    let stranger = ParticipantId::User(ben.id);
    assert_eq!(asked(stranger, Anchor::After(id(1))).await, Some(SurroundingsRefused::ChatNotFound));
}

/// Around the first message at a time or later, whatever was deleted, or around the newest one.
pub async fn surroundings_of_an_instant(world: World) {
    let (ann, bot, chat, ids) = mixed(&world, 12).await;
    let viewer = ParticipantId::User(ann.id);
    let all = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(100)).await.unwrap();
    // The place is that of a second from 1 on; the messages are stored at its beginning.
    let begin = all.rows.last().unwrap().created_at;
    let at = |place: u64| begin.plus(Duration::from_secs(place)).minus(Duration::from_secs(1));
    world.messages.delete(ann.caller, chat, ids[4 - 1]).await.unwrap();
    let read_at = async |anchor, kinds, limit| {
        let found = world.stores.messages.surroundings(viewer, chat, anchor, kinds, limit).await.unwrap();
        let Surroundings { rows, has_older, has_newer } = found.unwrap();
        (places(&rows), has_older, has_newer)
    };
    let read = async |at, kinds, limit| read_at(Anchor::At(at), kinds, limit).await;
    let (every, texts) = (Kinds::ALL, Kinds::of(&[MessageKind::Text]));
    let soon = Duration::from_micros(1);
    assert_eq!(read(at(7), every, 3).await, (vec![8, 7, 6], true, true));
    assert_eq!(read(at(7).plus(soon), every, 3).await, (vec![9, 8, 7], true, true));
    assert_eq!(read(at(7).minus(soon), every, 3).await, (vec![8, 7, 6], true, true));
    assert_eq!(read(at(4), every, 1).await, (vec![5], true, true), "the one at that time is deleted");
    assert_eq!(read(at(6), texts, 3).await, (vec![8, 7, 5], true, true), "no thought is in between");
    assert_eq!(read(at(0), every, 3).await, (vec![3, 2, 1], false, true));
    assert_eq!(read(at(13), every, 3).await, (vec![12, 11, 10], true, false));
    assert_eq!(read(at(12), texts, 2).await, (vec![11, 10], true, false), "no text is that young");
    // The sequence is the place.
    for (sequence, kinds, limit, found) in [
        (7, every, 3, (vec![8, 7, 6], true, true)),
        (4, every, 1, (vec![5], true, true)),
        (6, texts, 3, (vec![8, 7, 5], true, true)),
        (1, every, 3, (vec![3, 2, 1], false, true)),
        (13, every, 3, (vec![12, 11, 10], true, false)),
    ] {
        assert_eq!(read_at(Anchor::From(Sequence::new(sequence)), kinds, limit).await, found, "{sequence}");
    }
    let errors = Kinds::of(&[MessageKind::Error]);
    for kinds in [errors, Kinds::NONE] {
        assert_eq!(read(at(3), kinds, 3).await, (vec![], false, false));
    }
    let empty = world.chat(ann.caller, &[bot.id.into()]).await;
    let asked = async |viewer, chat| {
        world.stores.messages.surroundings(viewer, chat, Anchor::At(at(3)), every, 5).await.unwrap()
    };
    assert_eq!(asked(viewer, empty).await.unwrap(), Surroundings::default());
    let ben = ParticipantId::User(world.user("ben").await.id);
    assert_eq!(asked(ben, chat).await, Err(SurroundingsRefused::ChatNotFound));
    let nowhere = ChatId::new(ann.id.uuid());
    assert_eq!(asked(viewer, nowhere).await, Err(SurroundingsRefused::ChatNotFound));
}

/// No page is heavier than it may be; who goes on where it ended misses nothing.
pub async fn heavy_messages_end_a_page_early(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let to = [ParticipantId::Agent(bot.id)];
    let large = "x".repeat(PAGE_BYTES / 11);
    for _ in 0..20 {
        world.send(ann.caller, chat, &large, &to).await;
    }
    let weighed = |page: &Page<Message>| {
        let bytes = page.rows.iter().map(|message| message.content.len()).sum::<usize>();
        assert!(bytes <= PAGE_BYTES, "{bytes} bytes");
        assert_eq!(page.rows.len(), 10, "as many as fit");
    };
    let filter = HistoryFilter::default();
    let one = world.messages.history(ann.caller, chat, filter, first(100)).await.unwrap();
    weighed(&one);
    assert!(one.is_cut(&first(100)));
    let two = world.messages.history(ann.caller, chat, filter, part(one.next, 100)).await.unwrap();
    assert_eq!([places(&one.rows), places(&two.rows)].concat(), (1..=20).rev().collect::<Vec<_>>());
    assert_eq!(two.next, None);
    // A page by number would lose what it leaves out, so it holds more; so does one that may go on by number.
    let counted = PageRequest { count: true, ..first(100) };
    let numbered = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };
    for request in [counted, numbered] {
        let whole = world.messages.history(ann.caller, chat, filter, request.clone()).await.unwrap();
        assert_eq!((whole.rows.len(), whole.total, whole.is_cut(&request)), (20, Some(20), false));
    }

    let one = world.messages.context(bot.caller, chat, first(100)).await.unwrap();
    weighed(&one);
    let two = world.messages.context(bot.caller, chat, part(one.next, 100)).await.unwrap();
    assert_eq!([places(&one.rows), places(&two.rows)].concat(), (1..=20).collect::<Vec<_>>());
    let list = async |after| {
        let (filter, order) = (DeliveryFilter::All, Order::Ascending);
        world.deliveries.list(bot.caller, chat, filter, order, part(after, 100)).await.unwrap()
    };
    let one = list(None).await;
    weighed(&one);
    let two = list(one.next).await;
    assert_eq!([places(&one.rows), places(&two.rows)].concat(), (1..=20).collect::<Vec<_>>());

    let middle = one.rows[9].id;
    let viewer = ParticipantId::User(ann.id);
    let messages = &world.stores.messages;
    let around = messages.surroundings(viewer, chat, Anchor::Around(middle), Kinds::ALL, 100).await.unwrap();
    let around = around.unwrap();
    assert!(around.rows.iter().map(|message| message.content.len()).sum::<usize>() <= PAGE_BYTES);
    assert!(around.has_older && around.has_newer && around.rows.iter().any(|one| one.id == middle));
}

/// Errors are shown with their first bytes, cut between characters; the store keeps all of them.
pub async fn long_errors_are_cut_where_they_are_shown(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let message = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let fitting = "ä".repeat(SHOWN_ERROR_BYTES / 2);
    let long = format!("x{}", "ä".repeat(5000));
    for text in [&long, &fitting, &long] {
        let failure = FailureText::new(text.clone()).unwrap();
        world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
        world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Fail(failure)).await.unwrap();
    }
    let next = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    let errors = next.deliveries[0].attempts().iter().map(|one| one.error().unwrap()).collect::<Vec<_>>();
    let cut = format!("x{}…", "ä".repeat((SHOWN_ERROR_BYTES - 1) / 2));
    assert_eq!(errors, [&cut, &fitting, &cut]);
    let mut stored = world.stores.archive.snapshot().await.unwrap();
    for table in ["attempts", "deliveries"] {
        let rows = stored.rows(Table::named(table).unwrap(), None, 10).await.unwrap();
        assert!(rows.iter().any(|row| row.contains(&Value::Text(long.clone()))), "{table}");
    }
}

/// A reader who follows a list to its end while eight write sees every row once.
pub async fn every_list_is_exact_while_eight_write(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let world = Arc::new(world);
    let (writers, each) = (8_u64, 30_u64);
    let (agent, caller) = (ParticipantId::Agent(bot.id), ann.caller);
    let writing = (0..writers).map(|_| {
        let world = world.clone();
        tokio::spawn(async move {
            for number in 0..each {
                world.send(caller, chat, &format!("message {number}"), &[agent]).await;
                world.chat(caller, &[]).await;
            }
        })
    });
    let writing = writing.collect::<Vec<_>>();
    let total = writers * each;
    let written = (1..=i64::try_from(total).unwrap()).collect::<Vec<_>>();

    // Oldest first: a reader who follows the growing list to its end sees everything that was written.
    let mut context = Follower::default();
    let mut list = Follower::default();
    while context.seen.len() < written.len() || list.seen.len() < written.len() {
        let page = world.messages.context(bot.caller, chat, part(context.after.clone(), 7)).await.unwrap();
        context.take(&page);
        let (filter, order) = (DeliveryFilter::All, Order::Ascending);
        let page = world
            .deliveries
            .list(bot.caller, chat, filter, order, part(list.after.clone(), 5))
            .await
            .unwrap();
        list.take(&page);
        // Newest first: from the moment at which the reader began, all of it, once.
        let mut after = None;
        let mut seen = Vec::new();
        loop {
            let filter = HistoryFilter::default();
            let page = world.messages.history(caller, chat, filter, part(after, 50)).await.unwrap();
            seen.extend(places(&page.rows));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert!(
            seen.is_sorted_by(|a, b| *a == b + 1) && seen.last().is_none_or(|last| *last == 1),
            "{seen:?}"
        );
        rooms_once(&world, &ann).await;
    }
    for writer in writing {
        writer.await.unwrap();
    }
    assert_eq!(context.seen, written);
    assert_eq!(list.seen, written);
    assert_eq!(rooms_once(&world, &ann).await as u64, total + 1);
}

/// A reader at the end of a growing list.
#[derive(Default)]
struct Follower {
    seen: Vec<i64>,
    after: Option<Position>,
}

impl Follower {
    fn take(&mut self, page: &Page<Message>) {
        self.seen.extend(places(&page.rows));
        let place = |message: &Message| Position::at(message.sequence.get(), RecordId::NIL);
        self.after = page.rows.last().map(place).or(self.after.take());
    }
}

/// Follows the list of rooms to its end; how many there were.
async fn rooms_once(world: &World, ann: &TestUser) -> usize {
    let (mut seen, mut count, mut after) = (BTreeSet::new(), 0, None);
    loop {
        let page = world.chats.list(ann.caller, part(after, 100)).await.unwrap();
        count += page.rows.len();
        seen.extend(page.rows.iter().map(|chat| chat.id));
        after = page.next;
        if after.is_none() {
            assert_eq!(seen.len(), count, "a room was listed twice");
            return count;
        }
    }
}
