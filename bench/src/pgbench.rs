//! PostgreSQL alone: pgbench sends with one statement what the server sends, on the same cluster, into tables of its own
//! with two indexes each, so that every further index of ours counts against us.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::postgres::programs;

use crate::places::{Place, Served};
use crate::seed::STORED_A_ROOM;
use crate::stats::{median, quantile};

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
    served: Served,
    scripts: TempDir,
}

impl PgBench {
    /// Makes the tables and the rooms.
    pub(crate) async fn start(place: &Place) -> Self {
        let mut served = place.serve().await;
        served.server.terminate().await;
        let bench = Self { served, scripts: TempDir::new().unwrap() };
        run_sql(
            &bench.url(),
            &format!(
                "{TABLES}INSERT INTO bench_chats (id, last_sequence, updated_at) \
                 SELECT ('00000003-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid, {STORED_A_ROOM}, now() \
                 FROM generate_series(1, {ROOMS}) AS n;\n\
                 INSERT INTO bench_messages SELECT gen_random_uuid(), id, n, 'text', \
                   'what was said, and it was this that was said, ' || n || ' times', id, 'Agent', 'Sender 1', '[]', NULL, \
                   now(), now() FROM bench_chats, generate_series(1, {STORED_A_ROOM}) AS n;\n\
                 INSERT INTO bench_deliveries SELECT id, chat_id, sequence, TRUE, 1, now(), now() FROM bench_messages;\n\
                 VACUUM ANALYZE bench_chats, bench_messages, bench_deliveries;\n"
            ),
        );
        bench
    }

    fn url(&self) -> String {
        self.served.database_url().unwrap()
    }

    /// So many clients send texts of so many bytes for so many seconds, as fast as they are answered.
    pub(crate) fn send(&self, rooms: Rooms, clients: u32, seconds: u32, bytes: usize) -> Ran {
        let script = self.scripts.path().join("send.sql");
        fs::write(&script, statement(rooms, bytes)).unwrap();
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
        let mut waits = waits(&logs);
        Ran { rate, median: median(&mut waits), p99: quantile(&mut waits, 0.99) }
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
