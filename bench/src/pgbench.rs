//! PostgreSQL alone: pgbench sends with one statement what the server sends, on the same cluster, into tables of its own
//! with two indexes each, so that every further index of ours counts against us.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::postgres::programs;

use crate::places::{Place, Served};
use crate::process::cpu_of_ended_children;
use crate::seed::STORED_A_ROOM;
use crate::stats::{median, micros, quantile};

/// Rooms that there are.
const ROOMS: u32 = 1000;

/// Which room a transaction writes to.
#[derive(Clone, Copy)]
pub(crate) enum Rooms {
    /// Each client has its own.
    OfItsOwn,
    /// Any of a thousand.
    Any,
    /// All the same one, whose row is not locked.
    One,
}

/// What it did.
pub(crate) struct Ran {
    /// Transactions a second.
    pub(crate) rate: f64,
    /// The median of what a transaction took, in milliseconds.
    pub(crate) median: f64,
    /// What one of a hundred took longer than.
    pub(crate) p99: f64,
    /// Microseconds of the processor for each, of pgbench and PostgreSQL together.
    pub(crate) cpu: f64,
}

/// Which rows a transaction reads.
#[derive(Clone, Copy)]
pub(crate) enum Read {
    /// The oldest open delivery in a room where none is.
    NoNext,
    /// The oldest open delivery with its message.
    Next,
    /// The newest 50 messages for an agent in a room.
    Context,
}

/// The fewest tables and indexes with which a message and its open deliveries can be found.
const TABLES: &str = "CREATE TABLE bench_chats (
         id              uuid        NOT NULL PRIMARY KEY,
         last_sequence   bigint      NOT NULL,
         updated_at      timestamptz NOT NULL,
         last_message_at timestamptz
     ) WITH (fillfactor = 50);
     CREATE TABLE bench_messages (
         id          uuid             NOT NULL UNIQUE,
         chat_id     uuid             NOT NULL,
         sequence    bigint           NOT NULL,
         kind        text COLLATE \"C\" NOT NULL,
         content     text COLLATE \"C\" NOT NULL,
         sender_id   uuid             NOT NULL,
         sender_kind text COLLATE \"C\" NOT NULL,
         sender_name text COLLATE \"C\" NOT NULL,
         mentions    text COLLATE \"C\" NOT NULL,
         metadata    text COLLATE \"C\",
         created_at  timestamptz      NOT NULL,
         updated_at  timestamptz      NOT NULL,
         PRIMARY KEY (chat_id, sequence)
     );
     CREATE TABLE bench_deliveries (
         agent_id        uuid    NOT NULL,
         chat_id         uuid    NOT NULL,
         sequence        bigint  NOT NULL,
         addressed       boolean NOT NULL,
         current_attempt integer NOT NULL,
         delivered_at    timestamptz,
         processed_at    timestamptz,
         PRIMARY KEY (agent_id, chat_id, sequence)
     ) WITH (fillfactor = 80);
     CREATE SEQUENCE bench_sequence START 1000000;
     CREATE INDEX bench_deliveries_open ON bench_deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL;
";

/// A database to send into.
pub(crate) struct PgBench {
    place: Place,
    served: Served,
    scripts: TempDir,
}

impl PgBench {
    /// Makes the tables and the rooms.
    pub(crate) async fn start(place: &Place) -> Self {
        let mut served = place.serve().await;
        served.server.terminate().await;
        let bench = Self { place: place.clone(), served, scripts: TempDir::new().unwrap() };
        run_sql(
            &bench.url(),
            &format!(
                "{TABLES}INSERT INTO bench_chats (id, last_sequence, updated_at) \
                 SELECT ('00000003-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid, {STORED_A_ROOM}, now() \
                 FROM generate_series(1, {ROOMS}) AS n;\n\
                 INSERT INTO bench_messages SELECT gen_random_uuid(), id, n, 'text', \
                   'what was said, and it was this that was said, ' || n || ' times', id, 'Agent', 'Sender 1', '[]', NULL, \
                   now(), now() FROM bench_chats, generate_series(1, {STORED_A_ROOM}) AS n;\n\
                 INSERT INTO bench_deliveries SELECT chat_id, chat_id, sequence, TRUE, 1, now(), now() FROM bench_messages;\n\
                 UPDATE bench_deliveries SET processed_at = NULL \
                 WHERE chat_id = ('00000003-0000-0000-0000-000000000001')::uuid AND sequence = {STORED_A_ROOM};\n\
                 VACUUM ANALYZE bench_chats, bench_messages, bench_deliveries;\n"
            ),
        );
        bench
    }

    fn url(&self) -> String {
        self.served.database_url().unwrap()
    }

    /// Sends texts of this number of bytes for this number of seconds, with clients that each begin when they have their last
    /// answer.
    pub(crate) fn send(&self, rooms: Rooms, clients: u32, seconds: u32, bytes: usize) -> Ran {
        self.run(&statement(rooms, bytes), clients, seconds)
    }

    /// Reads for this number of seconds with this number of clients, each of which begins when it has its last answer.
    pub(crate) fn read(&self, read: Read, clients: u32, seconds: u32) -> Ran {
        self.run(&query(read), clients, seconds)
    }

    fn run(&self, text: &str, clients: u32, seconds: u32) -> Ran {
        let script = self.scripts.path().join("transaction.sql");
        fs::write(&script, text).unwrap();
        let cpu = || self.place.cpu() + cpu_of_ended_children();
        let before = cpu();
        let logs = TempDir::new_in(self.scripts.path()).unwrap();
        let output = Command::new(programs().join("pgbench"))
            .args(["--no-vacuum", "--protocol=prepared", "--log", "--log-prefix=log"])
            .arg(format!("--client={clients}"))
            .arg(format!("--jobs={}", clients.min(2)))
            .arg(format!("--time={seconds}"))
            .arg("--file")
            .arg(&script)
            .arg(self.url())
            .current_dir(logs.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")).expect("pgbench tells its rate");
        let rate = rate.split(' ').next().unwrap().parse().unwrap();
        let (mut waits, spent) = (waits(&logs), cpu().saturating_sub(before));
        #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
        let cpu = micros(spent) / waits.len() as f64;
        Ran { rate, median: median(&mut waits), p99: quantile(&mut waits, 0.99), cpu }
    }
}

/// What the transactions took, in milliseconds; the third word of a line says it in microseconds.
fn waits(logs: &TempDir) -> Vec<f64> {
    let mut waits = Vec::new();
    for file in fs::read_dir(logs.path()).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        waits.extend(
            text.lines().map(|line| line.split(' ').nth(2).unwrap().parse::<f64>().unwrap() / 1000.0),
        );
    }
    waits
}

/// A text with two mentions, and what is written for it: the room, the message, two deliveries.
fn statement(rooms: Rooms, bytes: usize) -> String {
    let room = match rooms {
        Rooms::OfItsOwn => "\\set room :client_id + 1".to_owned(),
        Rooms::Any => format!("\\set room random(1, {ROOMS})"),
        Rooms::One => "\\set room 1".to_owned(),
    };
    let (one, other) = ("00000002-0000-0000-0000-000000000001", "00000002-0000-0000-0000-000000000002");
    let mention = |id: &str| {
        format!(
            "{{\"id\":\"{id}\",\"of\":\"Agent\",\"handle\":\"ann/receiver-1\",\"name\":\"Receiver 1\",\"kind\":\"mention\"}}"
        )
    };
    let taken = match rooms {
        Rooms::OfItsOwn | Rooms::Any => {
            "UPDATE bench_chats SET last_sequence = last_sequence + 1, updated_at = now(), last_message_at = now() \
             WHERE id = $ID RETURNING id, last_sequence"
        }
        Rooms::One => "SELECT id, nextval('bench_sequence') AS last_sequence FROM bench_chats WHERE id = $ID",
    };
    let taken =
        taken.replace("$ID", "('00000003-0000-0000-0000-' || lpad(to_hex(:room::int), 12, '0'))::uuid");
    format!(
        "{room}\n\
         WITH room AS ({taken}), \
         message AS (INSERT INTO bench_messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, \
             mentions, metadata, created_at, updated_at) \
           SELECT gen_random_uuid(), id, last_sequence, 'text', '{}', '00000002-0000-0000-0000-000000000003'::uuid, \
             'Agent', 'Sender 1', '[{},{}]', NULL, now(), now() FROM room RETURNING chat_id, sequence) \
         INSERT INTO bench_deliveries (agent_id, chat_id, sequence, addressed, current_attempt) \
           SELECT agent, chat_id, sequence, TRUE, 0 \
           FROM message, unnest(ARRAY['{one}'::uuid, '{other}'::uuid]) AS agent;\n",
        "x".repeat(bytes),
        mention(one),
        mention(other),
    )
}

/// What is read, with the fewest columns that an answer needs.
fn query(read: Read) -> String {
    let (room, condition, order) = match read {
        Read::NoNext => (format!("random(2, {ROOMS})"), " AND processed_at IS NULL", "LIMIT 1"),
        Read::Next => ("1".to_owned(), " AND processed_at IS NULL", "LIMIT 1"),
        Read::Context => (format!("random(1, {ROOMS})"), "", "DESC LIMIT 50"),
    };
    let id = "('00000003-0000-0000-0000-' || lpad(to_hex(:room::int), 12, '0'))::uuid";
    format!(
        "\\set room {room}\n\
         SELECT id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, created_at, updated_at, \
           current_attempt, delivered_at, processed_at \
         FROM bench_deliveries JOIN bench_messages USING (chat_id, sequence) \
         WHERE agent_id = {id} AND chat_id = {id}{condition} ORDER BY sequence {order};\n"
    )
}

/// Runs a query that gives one number.
pub(crate) fn ask_sql(url: &str, query: &str) -> f64 {
    ask_sql_text(url, query).parse().expect("one number")
}

/// Runs a query that gives one value.
pub(crate) fn ask_sql_text(url: &str, query: &str) -> String {
    let psql = Command::new(programs().join("psql"))
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--set=ON_ERROR_STOP=1", "--command", query, url])
        .output()
        .unwrap();
    assert!(psql.status.success(), "psql failed: {}", String::from_utf8_lossy(&psql.stderr));
    String::from_utf8(psql.stdout).unwrap().trim().to_owned()
}

/// Runs statements.
pub(crate) fn run_sql(url: &str, statements: &str) {
    let mut psql = Command::new(programs().join("psql"))
        .args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    psql.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
    assert!(psql.wait().unwrap().success(), "psql failed");
}
