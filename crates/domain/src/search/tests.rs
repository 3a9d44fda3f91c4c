//! Tokens, queries, snippets, and pages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use uuid::Uuid;

use super::*;
use crate::foreign::Origin;
use crate::id::{AgentId, ChatId, MessageId, ParticipantId, ParticipantKind, Sequence, UserId};
use crate::message::MessageKind;
use crate::page::{Page, Position};
use crate::ports::Clock;
use crate::store::StoreError;
use crate::time::Timestamp;

const ANN: ParticipantId = ParticipantId::User(UserId::new(Uuid::from_u128(1)));
const BOT: AgentId = AgentId::new(Uuid::from_u128(2));
const ROOM: ChatId = ChatId::new(Uuid::from_u128(3));

fn message(text: &str) -> SearchedMessage {
    SearchedMessage {
        id: MessageId::new(Uuid::from_u128(4)),
        chat: ROOM,
        sequence: Sequence::new(7),
        kind: MessageKind::Text,
        sender: ANN,
        sender_name: "Ann".to_owned(),
        sender_handle: Some("ann".to_owned()),
        addressed: vec![BOT],
        text: text.to_owned(),
        origin: Origin::Own,
        originator: ParticipantKind::User,
        created_at: Timestamp::parse("2026-07-01T12:00:00Z").unwrap(),
    }
}

/// The tokens of single parts, and those of joined ones.
fn split(text: &str) -> (Vec<String>, BTreeSet<String>) {
    let (single, joined) = tokens(text).into_iter().partition::<Vec<_>, _>(|token| token.parts == 1);
    let texts = |tokens: Vec<Token>| tokens.into_iter().map(|token| token.text);
    (texts(single).collect(), texts(joined).collect())
}

#[test]
fn texts_are_split_into_words() {
    for (text, words) in [
        ("", vec![]),
        (" !? … 🚀 -- ", vec![]),
        ("Deploy the Parser!", vec!["deploy", "the", "parser"]),
        ("src/main.rs:42", vec!["src", "main", "rs", "42"]),
        ("parseHttpRequest", vec!["parse", "http", "request"]),
        ("HTTPServer2Beta v10 s3Client", vec!["http", "server2", "beta", "v10", "s3", "client"]),
        ("__init__ a-b.c_d", vec!["init", "a", "b", "c", "d"]),
        ("don\u{2019}t", vec!["don", "t"]),
        ("CAFÉ cafe\u{301} Ｆｕｌｌ ﬁne", vec!["cafe", "cafe", "full", "fine"]),
        ("Привет, МИР мой моё", vec!["привет", "мир", "мой", "мое"]),
        ("Straße STRASSE Łódź", vec!["strasse", "strasse", "lodz"]),
        ("Ὀδυσσεύς", vec!["οδυσσευσ"]),
        ("שָׁלוֹם עולם", vec!["שלום", "עולם"]),
        ("مُحَمَّد العـــربية", vec!["محمد", "العربية"]),
        ("नमस्ते दुनिया", vec!["नमस्ते", "दुनिया"]),
        ("東京 tower", vec!["東", "京", "tower"]),
        ("ｶﾞギ", vec!["ガ", "ギ"]),
        ("한국어", vec!["한", "국", "어"]),
        ("สวัสดี", vec!["ส", "วั", "ส", "ดี"]),
    ] {
        assert_eq!(split(text).0, words, "{text}");
    }
}

#[test]
fn parts_of_identifiers_and_dense_scripts_are_joined() {
    let set = |joined: &[&str]| joined.iter().map(|text| (*text).to_owned()).collect::<BTreeSet<_>>();
    for (text, joined) in [
        ("two words", set(&[])),
        ("parseHttp_request", set(&["parsehttp", "httprequest", "parsehttprequest"])),
        ("iPhone", set(&["iphone"])),
        ("10.0.1 on 2026-11-29", set(&["10.0", "0.1", "10.0.1", "2026-11", "11-29", "2026-11-29"])),
        ("a--b", set(&[])),
        ("東京都", set(&["東京", "京都"])),
        ("東京 都", set(&["東京"])),
    ] {
        assert_eq!(split(text).1, joined, "{text}");
    }
    assert!(tokens(&"aB".repeat(9_999)).iter().all(|token| token.parts <= 6));
    assert_eq!(tokens(&"aB".repeat(9_999)).len(), SEARCHED_TOKENS);
    assert_eq!(tokens(&"x".repeat(9_999))[0].text.len(), 64);
}

/// The ranges of a token are those of the text as it was written.
#[test]
fn tokens_know_their_places() {
    let text = "Ünïted parseHttp 東京";
    for token in tokens(text) {
        assert!(text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
    }
    let found = tokens(text).into_iter().find(|token| token.text == "parsehttp").unwrap();
    assert_eq!((&text[found.start..found.end], found.at, found.parts), ("parseHttp", 1, 2));
}

#[test]
fn queries_find_what_they_say() {
    for (query, text, is_found) in [
        ("deploy", "We DEPLOY today", true),
        ("deploy", "deployed", false),
        ("today deploy", "We deploy today", true),
        ("today never", "We deploy today", false),
        ("\"deploy today\"", "We deploy — today", true),
        ("\"today deploy\"", "We deploy today", false),
        ("\"deploy tod", "We deploy tod", true),
        ("\u{201c}deploy today\u{201d}", "deploy today", true),
        ("parseHttpRequest", "see parse_http_request()", true),
        ("httpRequest", "parseHttpRequest", true),
        ("parsehttprequest", "parseHttpRequest", true),
        ("request", "parseHttpRequest", true),
        ("iphone", "my iPhone", true),
        ("iPhone", "my iphone", true),
        ("src/main.rs", "in src/main.rs:42", true),
        ("main/src", "in src/main.rs", false),
        ("3.14", "about 3.14159 or 3.14", true),
        ("3.14", "about 314", false),
        ("0190c5a4-0000-7000-8000-0000000000a1", "id 0190C5A4-0000-7000-8000-0000000000A1.", true),
        ("a-b-c-d-e-f-g-h", "x a-b-c-d-e-f-g-h y", true),
        ("a-b-c-d-e-f-g-h", "x a-b-c-d-e-f-h-g y", false),
        ("東", "東京都", true),
        ("京都", "東京都", true),
        ("東京都", "東京都", true),
        ("東京都", "東京と京都", false),
        ("東京都", "東京 都", false),
        ("東京都庁", "新東京都庁舎", true),
        ("\"東京 2020\"", "東京2020年", true),
        ("カナ", "ｶﾅ", true),
        ("국어", "한국어로", true),
        ("http://example.org/x", "see http://example.org/x", true),
        ("std::vec", "use std::vec;", true),
        ("@ann/bot", "hello @ann/bot", true),
    ] {
        let parsed = SearchQuery::parse(query).unwrap();
        assert_eq!(parsed.find_in(&message(text), None).is_some(), is_found, "{query} in {text}");
        // The index is never narrower than the query.
        let keys = message(text).keys();
        let is_candidate = parsed.keys(ANN, &[ROOM]).all.iter().all(|key| keys.contains(key));
        assert!(is_candidate || !is_found, "{query} in {text}");
    }
}

#[test]
fn filters_narrow_a_query() {
    let text = message("hello world");
    for (query, is_found) in [
        ("from:ann", true),
        ("from:@Ann hello", true),
        ("FROM:ben hello", false),
        ("kind:text", true),
        ("kind:thought hello", false),
        ("in:00000000-0000-0000-0000-000000000003", true),
        ("in:00000000-0000-0000-0000-000000000009", false),
        ("in:\"release Room\" hello", true),
        ("in:release hello", false),
        ("hello before:2026-07-02", true),
        ("hello before:2026-07-01", false),
        ("hello after:2026-07-01", true),
        ("hello after:2026-07-02", false),
        ("hello after:2026-07-01T12:00:00Z before:2026-07-01T12:00:00.000001Z", true),
        ("hello before:2026-07-01T12:00:00Z", false),
        ("hello \"from:ann\"", false),
    ] {
        let parsed = SearchQuery::parse(query).unwrap();
        assert_eq!(parsed.find_in(&text, Some("Release room ")).is_some(), is_found, "{query}");
        let (from, to) = parsed.span();
        assert!(!is_found || (from..to).contains(&text.place()), "{query}");
    }
}

#[test]
fn faults_of_queries_are_told() {
    let long = "x ".repeat(251);
    let many = (0..17).map(|number| format!("w{number} ")).collect::<Vec<_>>().concat();
    let phrase = "\"".to_owned() + &"word ".repeat(33);
    for (query, fault) in [
        ("", QueryFault::Blank),
        ("  ?! \"\" \"-\" ", QueryFault::Blank),
        ("before:2026-07-01", QueryFault::Blank),
        (long.as_str(), QueryFault::TooLong),
        (many.as_str(), QueryFault::TooManyTerms),
        (phrase.as_str(), QueryFault::TooManyTerms),
        ("a from:", QueryFault::NoValue(SearchFilter::From)),
        ("in:\"\" a", QueryFault::NoValue(SearchFilter::In)),
        ("from:a from:b", QueryFault::Repeated(SearchFilter::From)),
        ("kind:song", QueryFault::UnknownKind),
        ("a before:yesterday", QueryFault::MalformedTime(SearchFilter::Before)),
        ("a after:2026-13-01", QueryFault::MalformedTime(SearchFilter::After)),
    ] {
        assert_eq!(SearchQuery::parse(query), Err(fault), "{query}");
        assert!(!fault.to_string().is_empty());
    }
}

/// Whatever is sent as a query is read or refused, and read in the same way each time.
#[test]
fn odd_queries_are_harmless() {
    let quotes = "\"".repeat(500);
    let operators = "AND OR NOT NEAR(a b, 2) * ^ + - ( ) { } : ' ; -- /* */ \\ % _ \u{0}".to_owned();
    for query in [quotes, operators, "\u{301}".repeat(500), "from:".repeat(100), "(".repeat(500)] {
        let parsed = SearchQuery::parse(&query);
        assert_eq!(parsed, SearchQuery::parse(&query));
        if let Ok(parsed) = parsed {
            parsed.find_in(&message(&query), None);
            assert_eq!(parsed.as_str(), query);
        }
    }
}

#[test]
fn a_snippet_shows_the_first_match() {
    let find = |query: &str, text: &str| {
        let ranges = SearchQuery::parse(query).unwrap().find_in(&message(text), None).unwrap();
        Snippet::of(text, &ranges)
    };
    let marked = |snippet: &Snippet| {
        let chars = snippet.text.chars().collect::<Vec<_>>();
        let of = |range: &Highlight| chars[range.start..range.end].iter().collect::<String>();
        snippet.highlights.iter().map(of).collect::<Vec<_>>()
    };
    let short = find("Größe world", "Hello\nworld, die GRÖSSE: Größe");
    assert_eq!(short.text, "Hello world, die GRÖSSE: Größe");
    assert_eq!(marked(&short), ["world", "GRÖSSE", "Größe"]);
    let long = format!("{}needle {}", "hay ".repeat(200), "stack ".repeat(200));
    let cut = find("needle", &long);
    assert!(cut.text.starts_with("…hay ") && cut.text.ends_with('…'), "{}", cut.text);
    assert_eq!((cut.text.chars().count(), marked(&cut)), (SNIPPET_CHARS + 2, vec!["needle".to_owned()]));
    let overlapping = find("\"a b\" \"b c\"", "a b c");
    assert_eq!(marked(&overlapping), ["a b c"]);
    assert_eq!(find("from:ann", "any").highlights, []);
    let dense = "東京都".repeat(200);
    assert_eq!(find("京都", &dense).text.chars().count(), SNIPPET_CHARS + 1);
}

fn walk(limit: u32) -> SearchWalk {
    let query = SearchQuery::parse("hello").unwrap();
    SearchWalk::begin(MessageSearch { viewer: ANN, query, after: None, limit })
}

#[test]
fn a_page_ends_when_it_is_full_or_enough_was_examined() {
    let place = |number: i64| SearchPlace::new(number);
    let key = |walk: SearchWalk| {
        let page = walk.end();
        (page.rows.len(), page.next.map(|next| next.key))
    };
    let mut full = walk(2);
    for number in (1..=9).rev() {
        full.examine(place(number), Some((message("hello"), None)));
    }
    assert_eq!((full.wanted(), key(full)), (None, (2, Some(8))), "the third hit shows that there are more");
    let mut last = walk(2);
    last.examine(place(9), Some((message("hello"), None)));
    last.examine(place(8), None);
    last.examine(place(7), Some((message("goodbye"), None)));
    last.exhaust();
    assert_eq!(key(last), (1, None));
    let mut long = walk(2);
    let mut number = 10_000;
    while long.wanted().is_some() {
        number -= 1;
        long.examine(place(number), None);
    }
    assert_eq!(key(long), (0, Some(number)), "an empty page that goes on");
    let mut heavy = walk(100);
    for number in (1..=100).rev() {
        heavy.examine(place(number), Some((message(&"x ".repeat(100_000)), None)));
    }
    assert_eq!(key(heavy), (0, Some(90)));
}

#[test]
fn more_is_read_at_a_time_if_little_of_it_matches() {
    for (text, parts) in [("goodbye", 17), (&*"goodbye ".repeat(200), 41), ("hello", 1)] {
        let (mut walk, mut read) = (walk(20), 0);
        while let Some(wanted) = walk.wanted() {
            for number in 0..wanted {
                let place = SearchPlace::new(10_000 - i64::try_from(number).unwrap());
                walk.examine(place, Some((message(text), None)));
            }
            read += 1;
        }
        assert_eq!(read, parts, "{text}");
    }
}

#[test]
fn a_walk_goes_on_where_a_page_ended() {
    let query = SearchQuery::parse("hello before:2026-07-01").unwrap();
    let before = query.span().1;
    for (after, place) in [(None, before), (Some(5), SearchPlace::new(5)), (Some(i64::MAX), before)] {
        let after = after.map(|key| Position::at(key, crate::id::RecordId::NIL));
        let search = MessageSearch { viewer: ANN, query: query.clone(), after, limit: 2 };
        assert_eq!(SearchWalk::begin(search).place(), place);
    }
}

#[test]
fn agents_find_only_what_they_were_shown() {
    let addressed = message("hello");
    assert!(addressed.is_readable_by(ANN) && addressed.is_readable_by(ParticipantId::Agent(BOT)));
    let other = AgentId::new(Uuid::from_u128(9));
    assert!(!addressed.is_readable_by(ParticipantId::Agent(other)));
    let own = SearchedMessage { sender: ParticipantId::Agent(other), ..message("hello") };
    assert!(own.is_readable_by(ParticipantId::Agent(other)));
    let keys = SearchQuery::parse("hello").unwrap().keys(ParticipantId::Agent(BOT), &[]);
    assert!(keys.all.contains(&SearchKey::reader(BOT)) && addressed.keys().contains(&SearchKey::reader(BOT)));
}

#[test]
fn places_follow_time_and_then_sequence() {
    let at = |micros| Timestamp::from_micros(micros);
    let place = |micros, sequence| SearchPlace::of(at(micros), Sequence::new(sequence));
    assert!(place(5, 1) < place(5, 2) && place(5, 2_047) < place(6, 1));
    assert!(SearchPlace::at(at(6)) <= place(6, 2_048) && place(6, 1) < SearchPlace::at(at(7)));
    assert!(place(i64::MAX, i64::MAX) <= SearchPlace::END && place(-9, 1) >= SearchPlace::new(0));
}

#[test]
fn a_batch_is_bounded_and_goes_on() {
    let numbered = |from: i64, count: i64, text: &str| {
        let one = |number| SearchedMessage { sequence: Sequence::new(number), ..message(text) };
        (from..from + count).map(one).collect::<Vec<_>>()
    };
    let mut batch = IndexBatch::up_to(usize::MAX);
    batch.add(ROOM, Sequence::new(9), numbered(1, 3, "short"), false);
    assert_eq!((batch.wanted(), &batch.rooms[..]), (INDEXED_AT_ONCE - 3, &[(ROOM, Sequence::new(9))][..]));
    batch.add(ROOM, Sequence::new(99), numbered(10, 125, "short"), true);
    assert_eq!((batch.wanted(), batch.rooms[1].1, batch.unfinished.len()), (0, Sequence::new(134), 1));
    assert_eq!(batch.step().messages, INDEXED_AT_ONCE as u64);
    assert_eq!(IndexBatch::up_to(2).wanted(), 2);
    let long = (0..5_000).map(|number| format!("w{number} ")).collect::<Vec<_>>().concat();
    let mut heavy = IndexBatch::up_to(usize::MAX);
    heavy.add(ROOM, Sequence::new(9), numbered(1, 9, &long), false);
    assert_eq!((heavy.wanted(), heavy.rooms[0].1, heavy.unfinished.len()), (0, Sequence::new(2), 1));
}

#[test]
fn rooms_with_new_messages_come_first() {
    let room = |number| ChatId::new(Uuid::from_u128(number));
    let queue = IndexQueue::default();
    queue.add([room(1), room(2), room(1)]);
    queue.note_room(room(9));
    queue.note_room(room(8));
    assert_eq!(queue.len(), 4);
    let taken = queue.take(3);
    assert_eq!(taken.rooms, [room(9), room(8), room(1)]);
    queue.put_back(&taken, &[room(1), room(9)]);
    queue.note_room(room(7));
    assert_eq!(queue.take(9).rooms, [room(9), room(7), room(2), room(1)]);
    assert_eq!((queue.take(9).rooms, queue.len()), (vec![], 0));
}

/// A store that takes too long to index more than this number of messages, of a room that always has more.
struct SlowStore {
    bearable: usize,
    indexed: AtomicUsize,
}

#[async_trait]
impl SearchRepository for SlowStore {
    async fn search_messages(&self, _: MessageSearch) -> Result<Page<Hit>, StoreError> {
        Ok(Page { rows: Vec::new(), next: None, total: None })
    }

    async fn index_rooms(&self, rooms: Vec<ChatId>, most: usize) -> Result<IndexStep, StoreError> {
        if most > self.bearable {
            return Err(StoreError::Unavailable("took too long".into()));
        }
        self.indexed.fetch_add(most, Ordering::Relaxed);
        Ok(IndexStep { messages: most as u64, unfinished: rooms })
    }

    async fn rooms_behind(&self, _: Option<ChatId>) -> Result<RoomsBehind, StoreError> {
        Ok(RoomsBehind::default())
    }

    async fn erase_entries(&self) -> Result<bool, StoreError> {
        Ok(false)
    }
}

impl Clock for SlowStore {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }

    fn steady(&self) -> Timestamp {
        self.now()
    }
}

#[tokio::test]
async fn a_store_that_takes_too_long_gets_smaller_batches() {
    for bearable in [1, 10] {
        let store = Arc::new(SlowStore { bearable, indexed: AtomicUsize::new(0) });
        let queue = Arc::new(IndexQueue::default());
        queue.note_room(ROOM);
        let service = SearchService::new(store.clone(), queue, store.clone());
        let mut done = 0;
        for _ in 0..100 {
            done += service.index_some().await.map_or(0, |progress| progress.messages);
        }
        assert_eq!(done, store.indexed.load(Ordering::Relaxed) as u64);
        // Some attempts are too large again.
        assert!(done >= 40 * bearable as u64 / 2, "{done} with {bearable} at once");
    }
}
