//! A room as it is after a long time: written by a few statements, since sending so much would take too long.

use diesel::Connection;
use std::fmt::Write;

use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;
use e2e::Server;

use crate::pgbench::run_sql;
use crate::places::Served;

/// Texts of one sender to one agent, who has worked through all of them.
pub(crate) struct Past<'p> {
    pub(crate) chat: &'p str,
    pub(crate) sender: &'p str,
    pub(crate) agent: &'p str,
    pub(crate) messages: u32,
}

/// Messages that each of a thousand rooms holds before sends are measured.
pub(crate) const STORED_A_ROOM: u32 = 1000;

/// Noon of a day before this was written, in microseconds.
pub(crate) const NOON: u64 = 1_782_907_200_000_000;

/// Writes what these rooms have behind them; nothing was in them, and no server runs.
pub(crate) fn write(served: &Served, pasts: &[Past<'_>]) {
    if let Some(url) = served.database_url() {
        run_sql(&url, &statements(&POSTGRES, pasts));
    } else {
        run_sql_embedded(&served.server, &statements(&SQLITE, pasts));
    }
}

/// Runs statements on the embedded store of a server that does not run.
pub(crate) fn run_sql_embedded(server: &Server, statements: &str) {
    open_embedded(server).batch_execute(&format!("PRAGMA synchronous = OFF;\n{statements}")).unwrap();
}

/// The embedded store of a server.
pub(crate) fn open_embedded(server: &Server) -> SqliteConnection {
    let file = server.data().join("parlance.db");
    SqliteConnection::establish(file.to_str().unwrap()).unwrap()
}

/// How a store writes what the others write otherwise.
struct Dialect {
    /// The numbers 1 to `{count}` as `n`.
    numbers: &'static str,
    /// The id of message `n` of room `{room}`: a time, and then a number, as real ones.
    id: &'static str,
    /// When it was sent.
    at: String,
    uuid: fn(&str) -> String,
    after: &'static str,
}

static POSTGRES: std::sync::LazyLock<Dialect> = std::sync::LazyLock::new(|| Dialect {
    numbers: "generate_series(1, {count}) AS numbers (n)",
    id: "('0190' || lpad(to_hex(n), 8, '0') || '7000800000000000' || lpad(to_hex({room}), 4, '0'))::uuid",
    at: format!("to_timestamp({NOON} / 1000000) + n * interval '1 millisecond'"),
    uuid: |id| format!("'{id}'::uuid"),
    after: "VACUUM ANALYZE chats, messages, deliveries, attempts;",
});

static SQLITE: std::sync::LazyLock<Dialect> = std::sync::LazyLock::new(|| Dialect {
    numbers: "(WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}) \
         SELECT n FROM numbers)",
    id: "unhex('0190' || printf('%08x', n) || '7000800000000000' || printf('%04x', {room}))",
    at: format!("{NOON} + n * 1000"),
    uuid: |id| format!("x'{}'", id.replace('-', "")),
    after: "",
});

fn statements(dialect: &Dialect, pasts: &[Past<'_>]) -> String {
    let mut all = String::from("BEGIN;\n");
    for (room, past) in pasts.iter().enumerate() {
        let (chat, agent) = ((dialect.uuid)(past.chat), (dialect.uuid)(past.agent));
        let (sender, at) = ((dialect.uuid)(past.sender), &dialect.at);
        let id = dialect.id.replace("{room}", &room.to_string());
        let numbers = dialect.numbers.replace("{count}", &past.messages.to_string());
        let count = past.messages;
        let mentions = format!(
            "[{{\"id\":\"{}\",\"of\":\"Agent\",\"handle\":\"ann/bot\",\"name\":\"Bot\",\"kind\":\"mention\"}}]",
            past.agent
        );
        let _ = writeln!(
            all,
            "INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, \
               metadata, created_at, updated_at) \
               SELECT {id}, {chat}, n, 'text', 'what was said, and it was this that was said, ' || n || ' times', \
               {sender}, 'User', 'Ann', '{mentions}', NULL, {at}, {at} FROM {numbers};\n\
             INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, delivered_at, started_at, \
               processed_at) \
               SELECT {agent}, {chat}, n, TRUE, 1, {at}, {at}, {at} FROM {numbers};\n\
             UPDATE chats SET last_sequence = {count} WHERE id = {chat};"
        );
    }
    all.push_str("COMMIT;\n");
    all.push_str(dialect.after);
    all
}
