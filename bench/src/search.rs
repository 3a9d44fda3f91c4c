//! Searches among the messages that a large organization writes in a year, and the inbox of somebody with many rooms.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adapters_postgres::{PostgresConfig, PostgresStore};
use adapters_sqlite::{Location, SqliteStore};
use domain::id::ChatId;
use domain::search::{INDEXED_AT_ONCE, SearchRepository};
use domain::time::Timestamp;
use e2e::{Api, Server};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::http::{Connection, request};
use crate::load::{self, Asker};
use crate::pgbench::{ask_sql_text, run_sql};
use crate::places::{Place, Served};
use crate::report::{Row, Target, number};
use crate::scene;
use crate::seed::{NOON, run_sql_embedded};

/// Rooms, all of them of one user; each has one of the agents, and the first have a second user.
const ROOMS: usize = 1000;
const AGENTS: usize = 100;
const FEW_ROOMS: usize = 10;

/// Messages that are written by one statement, or one transaction.
const WRITTEN_AT_ONCE: u64 = 100_000;
const ROWS_A_STATEMENT: usize = 500;

/// The words of a text. Word n is as frequent as its number is small: 1 to 2^16 by the logarithm.
const WORDS_A_TEXT: u64 = 12;
const OCTAVES: u64 = 16;

/// The time in which all messages were written, until [`NOON`], in microseconds.
const YEAR: u64 = 365 * 24 * 3600 * 1_000_000;

/// How many different queries of each kind, and for how long they are asked.
const QUERIES: u64 = 50;
const TIME: Duration = Duration::from_secs(5);

/// How soon the first page must be there, in milliseconds; of a hundred requests, one may take longer.
const SOON: f64 = 100.0;

/// Who searches, and who asks.
struct People {
    ann: Api,
    bob: Api,
    agents: Vec<Api>,
    rooms: Vec<String>,
}

pub(crate) async fn run(place: &Place, messages: u64) -> Vec<Row> {
    let mut served = place.serve().await;
    let people = People::meet(&served.server).await;
    for (chat, agent) in people.rooms.iter().zip(people.agents.iter().cycle()) {
        let event =
            json!({"content": "Which key?", "message_type": "attention", "metadata": {"kind": "question"}});
        let posted = agent.post(&format!("/chats/{chat}/events"), json!({"event": event})).await;
        assert_eq!(posted.status, 201, "{:?}", posted.body);
    }
    served.server.terminate().await;
    let begun = Instant::now();
    write(&served, &people, messages);
    println!("{}: {messages} messages written in {:.0?}", place.name(), begun.elapsed());
    let begun = Instant::now();
    index(&served, &people.rooms).await;
    println!("{}: indexed in {:.0?}", place.name(), begun.elapsed());
    served.server.run().await;
    let mut rows = Vec::new();
    for (what, who, path) in questions(&people, messages) {
        let figures = ask_all(&served.server.address(), who, &path).await;
        rows.push(Row {
            store: place.name(),
            what: format!("{what}, {messages} messages"),
            figure: number(figures.median, "ms"),
            beside: format!("{} rows a page, 99 % within {}", figures.rows, number(figures.p99, "ms")),
            judged: figures.p99,
            unit: "ms",
            target: Some(Target::AtMost(SOON)),
        });
    }
    rows
}

impl People {
    async fn meet(server: &Server) -> Self {
        let ann = server.user("ann");
        let bob = server.colleague("bob", "ann");
        let agents = scene::agents(server, &ann, AGENTS).await;
        let owners = agents.iter().cycle().take(ROOMS).cloned().collect::<Vec<_>>();
        let rooms = scene::rooms(&ann, &owners, 1).await;
        for room in &rooms[..FEW_ROOMS] {
            assert_eq!(ann.add(room, &bob.id).await.status, 201);
        }
        Self { ann, bob, agents, rooms }
    }
}

/// What is asked: who asks it, and the paths.
fn questions(people: &People, messages: u64) -> Vec<(&'static str, &Api, Vec<String>)> {
    let search = |query: &dyn Fn(u64) -> String| {
        (0..QUERIES).map(|n| format!("/search?q={}", encoded(&query(n)))).collect::<Vec<_>>()
    };
    let common = |n: u64| word(1 + n % 16);
    let rare = |n: u64| word((1 << 15) + n * 601);
    // Spread over the year.
    let ticket = |n: u64| n * (messages / QUERIES);
    let early = Timestamp::from_micros((NOON - YEAR * 9 / 10).cast_signed());
    vec![
        ("a search for a word of one text", &people.ann, search(&|n| format!("T-{}", ticket(n)))),
        ("a search for a rare word", &people.ann, search(&rare)),
        ("a search for a common word", &people.ann, search(&common)),
        (
            "a search for two common words",
            &people.ann,
            search(&|n| format!("{} {}", common(n), common(n + 5))),
        ),
        (
            "a search for a common and a rare word",
            &people.ann,
            search(&|n| format!("{} {}", common(n), rare(n))),
        ),
        (
            "a search for a phrase of common words",
            &people.ann,
            search(&|n| format!("\"{} {}\"", common(n), common(n + 5))),
        ),
        (
            "a search for a phrase that nobody wrote",
            &people.ann,
            search(&|n| format!("\"{0} {0} {0} {0} {0}\"", common(n))),
        ),
        (
            "a search among the oldest tenth",
            &people.ann,
            search(&|n| format!("{} before:{early}", common(n))),
        ),
        ("a search by somebody with ten rooms", &people.bob, search(&common)),
        ("a search for a rare word in ten rooms", &people.bob, search(&rare)),
        ("a search by an agent", &people.agents[0], search(&common)),
        ("the inbox of somebody with a thousand rooms", &people.ann, vec!["/attention".to_owned()]),
    ]
}

struct Figures {
    median: f64,
    p99: f64,
    /// Of the page with the most rows.
    rows: usize,
}

/// Asks all of them, and then in turn, over one connection.
async fn ask_all(address: &str, who: &Api, paths: &[String]) -> Figures {
    let interface = if who.key.starts_with("thnv_u_") { "me" } else { "agent" };
    let requests =
        paths.iter().map(|path| request("GET", &format!("/api/v1/{interface}{path}"), &who.key, ""));
    let requests = requests.collect::<Vec<_>>();
    let mut connection = Connection::open(address).await;
    let mut rows = 0;
    for request in &requests {
        let answer = connection.ask(request).await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(answer.body));
        let page = serde_json::from_slice::<Value>(answer.body).unwrap();
        rows = rows.max(page["data"].as_array().unwrap().len());
    }
    let ran = load::closed(address, vec![Asker::of(requests)], Instant::now(), Duration::ZERO, TIME).await;
    Figures { median: ran.wait(0.5), p99: ran.wait(0.99), rows }
}

/// A query as a part of a path.
fn encoded(query: &str) -> String {
    query.replace('"', "%22").replace(' ', "%20").replace(':', "%3A")
}

/// Word `rank`: a syllable for each of its hexadecimal digits.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za"];
    format!("{rank:04x}")
        .bytes()
        .map(|digit| SYLLABLES[char::from(digit).to_digit(16).unwrap() as usize])
        .collect()
}

/// The same numbers in each run (`SplitMix64`).
const fn random(n: u64) -> u64 {
    let n = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ (n >> 31)
}

/// The text of message n.
fn text(n: u64) -> String {
    let mut text = String::with_capacity(128);
    for index in 0..WORDS_A_TEXT {
        let random = random(n * WORDS_A_TEXT + index);
        let first = 1 << (random % OCTAVES);
        text.push_str(&word(first + (random >> 8) % first));
        text.push(' ');
    }
    let _ = write!(text, "T-{n}");
    text
}

/// Writes the messages behind the questions of the agents, one room after the other in turn; no server runs.
fn write(served: &Served, people: &People, messages: u64) {
    let url = served.database_url();
    let rooms = ROOMS as u64;
    for begin in (0..messages).step_by(usize::try_from(WRITTEN_AT_ONCE).unwrap()) {
        let rows = (begin..messages.min(begin + WRITTEN_AT_ONCE)).map(|n| {
            let room = usize::try_from(n % rooms).unwrap();
            let (chat, agent) = (&people.rooms[room], &people.agents[room % AGENTS].id);
            let mentions = format!(
                "[{{\"id\":\"{agent}\",\"of\":\"Agent\",\"handle\":\"ann/agent\",\"name\":\"Agent\",\"kind\":\"mention\"}}]"
            );
            // The question was the first.
            let (sequence, at) = (n / rooms + 2, NOON - YEAR + YEAR / messages * n);
            let id = format!("0190{n:08x}70008000000000000000");
            (id, chat, sequence, text(n), mentions, at)
        });
        let sender = &people.ann.id;
        if let Some(url) = &url {
            let mut all = String::from(
                "COPY messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, \
                 created_at, updated_at) FROM STDIN;\n",
            );
            for (id, chat, sequence, content, mentions, at) in rows {
                let at = Timestamp::from_micros(at.cast_signed());
                let _ = writeln!(
                    all,
                    "{id}\t{chat}\t{sequence}\ttext\t{content}\t{sender}\tUser\tAnn\t{mentions}\t{at}\t{at}"
                );
            }
            all.push_str("\\.\n");
            run_sql(url, &all);
        } else {
            let blob = |id: &str| format!("x'{}'", id.replace('-', ""));
            let rows = rows.map(|(id, chat, sequence, content, mentions, at)| {
                format!(
                    "(x'{id}', {}, {sequence}, 'text', '{content}', {}, 'User', 'Ann', '{mentions}', {at}, {at})",
                    blob(chat),
                    blob(sender)
                )
            });
            let rows = rows.collect::<Vec<_>>();
            let statements = rows.chunks(ROWS_A_STATEMENT).map(|rows| {
                format!(
                    "INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, \
                     mentions, created_at, updated_at) VALUES {};\n",
                    rows.join(",")
                )
            });
            run_sql_embedded(&served.server, &format!("BEGIN;\n{}COMMIT;\n", statements.collect::<String>()));
        }
    }
    let last = "UPDATE chats SET last_sequence = \
         (SELECT max(sequence) FROM messages WHERE messages.chat_id = chats.id);\n";
    match &url {
        Some(url) => run_sql(url, &format!("{last}VACUUM ANALYZE chats, messages;\n")),
        None => run_sql_embedded(&served.server, last),
    }
}

/// Indexes all messages as the server does, but without its pauses. On PostgreSQL, the keys are indexed at the end, all at once.
async fn index(served: &Served, rooms: &[String]) {
    let url = served.database_url();
    let (store, workers): (Arc<dyn SearchRepository>, usize) = if let Some(url) = &url {
        (Arc::new(PostgresStore::open(&PostgresConfig::at(url)).await.unwrap()), 2)
    } else {
        let file = served.server.data().join("parlance.db");
        (Arc::new(SqliteStore::open(&Location::File(file)).unwrap()), 1)
    };
    let keys = url.as_ref().map(|url| {
        let keys = ask_sql_text(url, "SELECT pg_get_indexdef('search_texts_keys'::regclass)");
        run_sql(url, "DROP INDEX search_texts_keys;\n");
        keys
    });
    let shares = (0..workers).map(|worker| {
        let share = rooms.iter().skip(worker).step_by(workers).map(|room| ChatId::parse(room).unwrap());
        let (store, mut rooms) = (store.clone(), share.collect::<VecDeque<_>>());
        tokio::spawn(async move {
            while let Some(room) = rooms.pop_front() {
                rooms.extend(store.index_rooms(vec![room], INDEXED_AT_ONCE).await.unwrap().unfinished);
            }
        })
    });
    for ended in join_all(shares.collect::<Vec<_>>()).await {
        ended.unwrap();
    }
    if let (Some(url), Some(keys)) = (&url, keys) {
        run_sql(
            url,
            &format!(
                "SET maintenance_work_mem = '2GB';\n{keys};\nVACUUM ANALYZE search_texts, search_rooms;\n"
            ),
        );
    }
}
