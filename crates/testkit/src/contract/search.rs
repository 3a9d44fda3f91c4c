//! Searching: every store finds what a plain scan over all texts finds.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::caller::Caller;
use domain::chat::{ChatTitle, CreateChat, Role};
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{
    Ageing, EventContent, EventMetadata, HistoryFilter, Message, MessageContent, MessageKind, PostEvent,
    Retention,
};
use domain::page::{PageRequest, Slice};
use domain::search::{Hit, MAX_ROOM_KEYS, SearchQuery, SearchedMessage};

use super::messages::{ann_and_bot, first};
use crate::parity::rng::Rng;
use crate::{TestUser, World};

/// Words in several scripts.
const WORDS: [&str; 36] = [
    "deploy",
    "Deploying",
    "parser",
    "the",
    "of",
    "café",
    "Größe",
    "naïve",
    "parseHttpRequest",
    "parse_http_request",
    "HTTP_PORT",
    "v2.10.3",
    "привет",
    "МИР",
    "сервер",
    "Καλημέρα",
    "κόσμε",
    "Οδυσσεύς",
    "東京",
    "東京都",
    "京都",
    "大阪に行く",
    "データベース",
    "サーバー",
    "数据库",
    "服务器",
    "한국어",
    "서버가",
    "שלום",
    "עולם",
    "مرحبا",
    "بالعالم",
    "नमस्ते",
    "दुनिया",
    "สวัสดี",
    "ชาวโลก",
];

/// Indexes everything that was written.
pub(crate) async fn index(world: &World) {
    loop {
        let progress = world.search.index_some().await.unwrap();
        if progress.is_idle {
            return;
        }
    }
}

fn page_of(limit: u32, after: Option<domain::page::Position>) -> PageRequest {
    PageRequest { slice: Slice::After { after, limit }, count: false }
}

/// All hits, page by page; none may be there twice.
async fn found(world: &World, by: impl Into<Caller>, query: &str, limit: u32) -> Vec<Hit> {
    let (by, query) = (by.into(), SearchQuery::parse(query).unwrap());
    let (mut hits, mut after) = (Vec::<Hit>::new(), None);
    loop {
        let page = world.search.search(by, query.clone(), &page_of(limit, after)).await.unwrap();
        assert!(page.rows.len() <= limit as usize);
        hits.extend(page.rows);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let ids = hits.iter().map(|hit| hit.message.id).collect::<BTreeSet<_>>();
    assert_eq!(ids.len(), hits.len(), "{}", query.as_str());
    hits
}

async fn ids(world: &World, by: impl Into<Caller>, query: &str) -> Vec<MessageId> {
    found(world, by, query, 7).await.into_iter().map(|hit| hit.message.id).collect()
}

async fn history(world: &World, ann: &TestUser, chat: ChatId) -> Vec<Message> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page =
            world.messages.history(ann.caller, chat, HistoryFilter::default(), page_of(100, after)).await;
        let page = page.unwrap();
        all.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// Compares searches with a scan over the histories.
async fn compare(world: &World, ann: &TestUser, chats: &[ChatId], queries: &[String]) {
    let mut all = Vec::new();
    for chat in chats {
        all.extend(history(world, ann, *chat).await);
    }
    all.sort_by_key(|message| std::cmp::Reverse(message.created_at));
    let searched = all.iter().map(SearchedMessage::of).collect::<Vec<_>>();
    let mut matched = 0;
    for query in queries {
        let parsed = SearchQuery::parse(query).unwrap();
        let expected = searched.iter().filter(|message| parsed.find_in(message, None).is_some());
        let expected = expected.map(|message| message.id).collect::<Vec<_>>();
        assert_eq!(ids(world, ann.caller, query).await, expected, "{query}");
        matched += expected.len();
    }
    assert!(matched > queries.len(), "the queries match nearly nothing: {matched}");
}

/// Generated texts in several scripts, with edits and deletions, before and after they are indexed.
pub async fn a_search_finds_what_a_scan_finds(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let chats = [chat, world.chat(ann.caller, &[bot.id.into()]).await];
    let mut rng = Rng::new(0x5ea_2c4);
    let mut pick = |count: usize| rng.below(count);
    let mut sent = Vec::new();
    for number in 0..120 {
        world.clock.advance(Duration::from_millis(7));
        let words = (0..=pick(8)).map(|_| WORDS[pick(WORDS.len())]).collect::<Vec<_>>();
        let text = words.join([" ", " ", ", ", "", "-"][pick(5)]);
        let room = chats[pick(2)];
        let id = world.send(ann.caller, room, &text, &[ParticipantId::Agent(bot.id)]).await.id;
        sent.push((room, id));
        if number % 10 == 5 {
            index(&world).await;
        }
        if number % 7 == 3 {
            let (room, id) = sent[pick(sent.len())];
            let text = MessageContent::new(WORDS[pick(WORDS.len())].to_owned()).unwrap();
            world.messages.edit(ann.caller, room, id, text).await.unwrap();
        }
        if number % 9 == 4 {
            let (room, id) = sent.swap_remove(pick(sent.len()));
            world.messages.delete(ann.caller, room, id).await.unwrap();
        }
    }
    index(&world).await;
    let mut queries = WORDS.map(str::to_owned).to_vec();
    let more = ["京", "ス", "http request", "httpRequest", "cafe", "10.3", "kind:text", "@ann/bot"];
    queries.extend(more.map(str::to_owned));
    for _ in 0..60 {
        let (one, other) = (WORDS[pick(WORDS.len())], WORDS[pick(WORDS.len())]);
        let both = [format!("{one} {other}"), format!("\"{one} {other}\""), format!("{one}{other}")];
        queries.push(both[pick(3)].clone());
    }
    queries.push(format!("the in:{chat}"));
    compare(&world, &ann, &chats, &queries).await;
}

/// A text that was edited is found by its new words only, and one that is gone by none.
pub async fn what_changes_is_found_as_it_is(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let to = [ParticipantId::Agent(bot.id)];
    let mut sent = Vec::new();
    for text in ["alpha one", "alpha two", "alpha three", "alpha four"] {
        world.clock.advance(Duration::from_secs(1));
        sent.push(world.send(ann.caller, chat, text, &to).await.id);
    }
    assert_eq!(ids(&world, ann.caller, "alpha").await, [], "nothing is indexed while a message is sent");
    let edit = |text: &str| MessageContent::new(text.to_owned()).unwrap();
    world.messages.edit(ann.caller, chat, sent[0], edit("beta one")).await.unwrap();
    world.messages.delete(ann.caller, chat, sent[1]).await.unwrap();
    index(&world).await;
    assert_eq!(ids(&world, ann.caller, "alpha").await, [sent[3], sent[2]]);
    assert_eq!(ids(&world, ann.caller, "beta").await, [sent[0]]);
    world.messages.edit(ann.caller, chat, sent[2], edit("beta three")).await.unwrap();
    assert_eq!(ids(&world, ann.caller, "beta").await, [sent[2], sent[0]]);
    assert_eq!(ids(&world, ann.caller, "alpha").await, [sent[3]]);
    world.messages.delete(ann.caller, chat, sent[3]).await.unwrap();
    assert_eq!(ids(&world, ann.caller, "alpha").await, []);
    world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    let mut walk = Retention::days(Ageing::Texts, 2);
    let now = domain::ports::Clock::now(&*world.clock);
    while world.messages.erase_old(&mut walk, now).await.unwrap().is_some() {}
    assert_eq!(ids(&world, ann.caller, "kind:text").await, []);
    let after = world.send(ann.caller, chat, "alpha again", &to).await.id;
    index(&world).await;
    assert_eq!(ids(&world, ann.caller, "alpha").await, [after]);
}

/// Humans find everything in the rooms that they may read; agents only what they sent or were sent.
pub async fn a_search_shows_what_its_caller_may_read(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (ben, helper) = (world.user("ben").await, world.agent(&ann, "Helper").await);
    world.add(ann.caller, chat, helper.id.into(), Role::Member).await;
    let to_bot = world.send(ann.caller, chat, "needle for one", &[ParticipantId::Agent(bot.id)]).await.id;
    world.clock.advance(Duration::from_secs(1));
    let by_helper = world.send(helper.caller, chat, "needle back", &[ParticipantId::User(ann.id)]).await.id;
    world.clock.advance(Duration::from_secs(1));
    let thought = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("needle in mind".to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    };
    let thought = world.messages.post_event(bot.caller, chat, thought).await.unwrap().id;
    let hidden = world.chat(helper.caller, &[]).await;
    let foreign = world.chat(ben.caller, &[]).await;
    world.clock.advance(Duration::from_secs(1));
    let bens = world.send(ben.caller, foreign, "needle of ben", &[]).await.id;
    index(&world).await;
    assert_eq!(ids(&world, ann.caller, "needle").await, [thought, by_helper, to_bot]);
    assert_eq!(ids(&world, ann.caller, "needle kind:thought").await, [thought]);
    assert_eq!(ids(&world, ann.caller, "needle from:@ann/helper").await, [by_helper]);
    assert_eq!(ids(&world, bot.caller, "needle").await, [thought, to_bot]);
    assert_eq!(ids(&world, helper.caller, "needle").await, [by_helper]);
    assert_eq!(ids(&world, ben.caller, "needle").await, [bens]);
    assert_eq!(ids(&world, ben.caller, &format!("needle in:{chat}")).await, []);
    assert_eq!(ids(&world, helper.caller, &format!("needle in:{hidden}")).await, []);
    // Whoever has left finds nothing more there, and whoever deletes a room takes it from everybody.
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert_eq!(ids(&world, bot.caller, "needle").await, []);
    world.chats.delete(ben.caller, foreign).await.unwrap();
    assert_eq!(ids(&world, ben.caller, "needle").await, []);
    world.clock.advance(Duration::from_secs(120));
    index(&world).await;
    assert_eq!(ids(&world, ann.caller, "needle").await, [thought, by_helper, to_bot]);
}

/// Rooms are named by id or by title; times select a part.
pub async fn a_search_is_narrowed_by_room_and_time(world: World) {
    let (ann, bot, other) = ann_and_bot(&world).await;
    let title = ChatTitle::renamed("Release Größe").unwrap();
    let chat = world.chats.create(ann.caller, CreateChat::default()).await.unwrap().id;
    world.chats.rename(ann.caller, chat, title.clone()).await.unwrap();
    let start = domain::ports::Clock::now(&*world.clock);
    let mut sent = Vec::new();
    for (number, room) in [chat, other, chat, other].into_iter().enumerate() {
        world.clock.advance(Duration::from_secs(60));
        sent.push(world.send(ann.caller, room, &format!("note {number}"), &[]).await.id);
    }
    index(&world).await;
    let at = |minutes: u64| start.plus(Duration::from_secs(60 * minutes)).to_string();
    for (query, expected) in [
        (format!("note in:{chat}"), vec![2, 0]),
        ("note in:\"release grÖße\"".to_owned(), vec![2, 0]),
        ("note in:nowhere".to_owned(), vec![]),
        (format!("note after:{}", at(3)), vec![3, 2]),
        (format!("note before:{}", at(3)), vec![1, 0]),
        (format!("note after:{} before:{}", at(2), at(3)), vec![1]),
        (format!("in:{other}"), vec![3, 1]),
        ("from:ann".to_owned(), vec![3, 2, 1, 0]),
    ] {
        let expected = expected.into_iter().map(|index| sent[index]).collect::<Vec<_>>();
        assert_eq!(ids(&world, ann.caller, &query).await, expected, "{query}");
    }
    let hit = found(&world, ann.caller, "2", 5).await.remove(0);
    assert_eq!((hit.title.as_deref(), hit.snippet.text.as_str()), (Some("Release Größe"), "note 2"));
    assert_eq!(ids(&world, bot.caller, "note").await, [], "nothing was sent to the agent");
    // More rooms of that title than the index is asked for.
    for _ in 0..MAX_ROOM_KEYS {
        let another = world.chat(ann.caller, &[]).await;
        world.chats.rename(ann.caller, another, title.clone()).await.unwrap();
    }
    for query in ["in:\"release größe\"", "note in:\"release größe\""] {
        assert_eq!(ids(&world, ann.caller, query).await, [sent[2], sent[0]], "{query}");
    }
}

/// Pages of any size have the same hits, also while others write; messages at the same time are not lost.
pub async fn pages_of_a_search_are_exact(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[]).await;
    for number in 0..40 {
        let room = if number % 2 == 0 { chat } else { other };
        world.send(ann.caller, room, &format!("same moment {number}"), &[]).await;
    }
    index(&world).await;
    let all = found(&world, ann.caller, "moment", 100).await;
    assert_eq!(all.len(), 40);
    for limit in [1, 3, 39, 40] {
        assert_eq!(found(&world, ann.caller, "moment", limit).await, all, "{limit}");
    }
    let query = SearchQuery::parse("moment").unwrap();
    let page = world.search.search(ann.caller, query.clone(), &first(10)).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    world.send(ann.caller, chat, "another moment", &[]).await;
    index(&world).await;
    let rest = world.search.search(ann.caller, query, &page_of(100, page.next)).await.unwrap();
    assert_eq!([page.rows, rest.rows].concat(), all);
}

/// Several servers on one store index each message once.
pub async fn many_servers_index_a_message_once(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    for number in 0..150 {
        world.clock.advance(Duration::from_millis(1));
        world.send(ann.caller, chat, &format!("word{number} shared"), &[]).await;
    }
    let servers = (0..3).map(|_| domain::services::Services::new(world.ports.clone())).collect::<Vec<_>>();
    let working = servers.iter().map(|server| {
        let search = server.search.clone();
        tokio::spawn(async move {
            let mut indexed = 0;
            loop {
                let progress = search.index_some().await.unwrap();
                indexed += progress.messages;
                if progress.is_idle {
                    return indexed;
                }
            }
        })
    });
    let mut indexed = 0;
    for server in working.collect::<Vec<_>>() {
        indexed += server.await.unwrap();
    }
    index(&world).await;
    assert!(indexed <= 150, "{indexed}");
    assert_eq!(ids(&world, ann.caller, "shared").await.len(), 150);
    assert_eq!(ids(&world, ann.caller, "word7").await.len(), 1);
}

/// A change of a message comes before its indexing or after it.
pub async fn edits_race_with_the_index(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    for round in 0..12 {
        world.clock.advance(Duration::from_millis(1));
        let kept = world.send(ann.caller, chat, &format!("before{round}"), &[]).await.id;
        let gone = world.send(ann.caller, chat, &format!("gone{round}"), &[]).await.id;
        let content = MessageContent::new(format!("after{round}")).unwrap();
        let (edited, deleted, ()) = tokio::join!(
            world.messages.edit(ann.caller, chat, kept, content),
            world.messages.delete(ann.caller, chat, gone),
            index(&world),
        );
        edited.unwrap();
        deleted.unwrap();
        index(&world).await;
        assert_eq!(ids(&world, ann.caller, &format!("before{round}")).await, []);
        assert_eq!(ids(&world, ann.caller, &format!("gone{round}")).await, []);
        assert_eq!(ids(&world, ann.caller, &format!("after{round}")).await, [kept]);
    }
}
