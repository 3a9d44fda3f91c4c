//! Agents with keys in rooms of ten, written by a few statements. Their ids and keys follow from their numbers.

use std::fmt::Write;
use std::ops::Range;

use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::Text;
use e2e::sha256;

use super::installation::Installation;
use crate::pgbench::{ask_sql_text, run_sql};
use crate::seed::{open_embedded, run_sql_embedded};

/// Agents of a room, and of an owner, who is in the rooms of their agents.
pub(crate) const IN_ROOM: usize = 10;
const OF_OWNER: usize = 100;

/// The rows of one `INSERT`.
const AT_ONCE: usize = 500;

const AGENT: u8 = 1;
const ROOM: u8 = 2;
const OWNER: u8 = 3;
const AGENT_KEY: u8 = 4;
const OWNER_KEY: u8 = 5;

fn id(kind: u8, number: usize) -> String {
    format!("01900000-0000-7000-8{kind}00-{number:012x}")
}

pub(crate) fn agent_id(agent: usize) -> String {
    id(AGENT, agent)
}

/// The room of an agent.
pub(crate) fn room_id(agent: usize) -> String {
    id(ROOM, agent / IN_ROOM)
}

pub(crate) fn agent_key(agent: usize) -> String {
    format!("thnv_a_1782907200_{agent:043}")
}

/// The key of an agent's owner.
pub(crate) fn owner_key(agent: usize) -> String {
    let owner = agent / OF_OWNER;
    format!("thnv_u_1782907200_{owner:043}")
}

/// The agents of one room, by one of them.
pub(crate) fn roommates(agent: usize) -> Range<usize> {
    let first = agent - agent % IN_ROOM;
    first..first + IN_ROOM
}

/// What the stores write differently.
struct Dialect {
    /// The id of this kind with the number `{n}`.
    id: fn(u8, &str) -> String,
    bytes: fn(&str) -> String,
    after: &'static str,
}

const POSTGRES: Dialect = Dialect {
    id: |kind, n| format!("('01900000-0000-7000-8{kind}00-' || lpad(to_hex({n}), 12, '0'))::uuid"),
    bytes: |hex| format!("'\\x{hex}'"),
    after: "VACUUM ANALYZE;",
};

const SQLITE: Dialect = Dialect {
    id: |kind, n| format!("unhex('01900000000070008{kind}00' || printf('%012x', {n}))"),
    bytes: |hex| format!("x'{hex}'"),
    after: "",
};

/// Fills a new store with this number of agents. Every row is a copy of one that the server has written, under another name.
pub(crate) async fn fill(installation: &mut Installation, agents: usize) {
    let server = &installation.nodes[0];
    let ann = server.user("ann");
    let bot = ann.register(server, "Bot").await;
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    installation.stop().await;
    if let Some(url) = installation.database_url() {
        let statements = statements(&POSTGRES, agents, |table| {
            let query = "SELECT string_agg(column_name, ',' ORDER BY ordinal_position) FROM information_schema.columns";
            columns(&ask_sql_text(&url, &format!("{query} WHERE table_name = '{table}'")))
        });
        run_sql(&url, &statements);
    } else {
        let server = &installation.nodes[0];
        let mut connection = open_embedded(server);
        let statements = statements(&SQLITE, agents, |table| {
            let query = format!("SELECT group_concat(name) AS names FROM pragma_table_info('{table}')");
            columns(&sql_query(query).get_result::<Names>(&mut connection).unwrap().names)
        });
        run_sql_embedded(server, &statements);
    }
    installation.run().await;
}

#[derive(QueryableByName)]
struct Names {
    #[diesel(sql_type = Text)]
    names: String,
}

fn columns(names: &str) -> Vec<String> {
    names.split(',').map(str::to_owned).collect()
}

fn statements(dialect: &Dialect, agents: usize, mut columns: impl FnMut(&str) -> Vec<String>) -> String {
    let id = |kind, n: &str| (dialect.id)(kind, n);
    let rooms = agents / IN_ROOM;
    let owners = agents.div_ceil(OF_OWNER);
    let mut all =
        "BEGIN;\nCREATE TABLE bench_numbers (n bigint PRIMARY KEY, agent bytea, owner bytea);\n".to_owned();
    for first in (0..agents).step_by(AT_ONCE) {
        let digest = |key: String| (dialect.bytes)(&sha256(key.as_bytes()));
        let row = |n| format!("({n}, {}, {})", digest(agent_key(n)), digest(owner_key(n * OF_OWNER)));
        let rows = (first..agents.min(first + AT_ONCE)).map(row).collect::<Vec<_>>();
        let _ = writeln!(all, "INSERT INTO bench_numbers VALUES {};", rows.join(", "));
    }
    // One number is the agent's; the others follow from it.
    let owner = &id(OWNER, &format!("(n / {OF_OWNER})"));
    let room = &id(ROOM, &format!("(n / {IN_ROOM})"));
    let owner_of_room = &id(OWNER, &format!("(n / {})", OF_OWNER / IN_ROOM));
    let mut copy = |table: &str, which: &str, count: usize, changed: &[(&str, String)]| {
        let columns = columns(table);
        let value = |column: &String| {
            let changed = changed.iter().find(|(name, _)| name == column);
            changed.map_or_else(|| format!("one.{column}"), |(_, value)| value.clone())
        };
        let values = columns.iter().map(value).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            all,
            "INSERT INTO {table} ({}) SELECT {values} FROM {table} AS one, bench_numbers WHERE {which} AND n < {count};",
            columns.join(", ")
        );
    };
    copy(
        "users",
        "one.handle = 'ann'",
        owners,
        &[
            ("id", id(OWNER, "n")),
            ("handle", "'owner-' || n".to_owned()),
            ("email", "'owner-' || n || '@example.org'".to_owned()),
        ],
    );
    copy(
        "agents",
        "one.name = 'Bot'",
        agents,
        &[
            ("id", id(AGENT, "n")),
            ("owner_id", owner.clone()),
            ("name", "'Agent ' || n".to_owned()),
            ("handle", format!("'owner-' || (n / {OF_OWNER}) || '/agent-' || n")),
        ],
    );
    let none = || "NULL".to_owned();
    copy(
        "api_keys",
        "one.agent_id = (SELECT id FROM agents WHERE name = 'Bot')",
        agents,
        &[
            ("id", id(AGENT_KEY, "n")),
            ("digest", "agent".to_owned()),
            ("agent_id", id(AGENT, "n")),
            ("prefix", none()),
        ],
    );
    copy(
        "api_keys",
        "one.user_id = (SELECT id FROM users WHERE handle = 'ann')",
        owners,
        &[
            ("id", id(OWNER_KEY, "n")),
            ("digest", "owner".to_owned()),
            ("user_id", id(OWNER, "n")),
            ("prefix", none()),
        ],
    );
    copy("chats", "TRUE", rooms, &[("id", id(ROOM, "n"))]);
    copy(
        "participants",
        "one.kind = 'User'",
        rooms,
        &[
            ("chat_id", id(ROOM, "n")),
            ("participant_id", owner_of_room.clone()),
            ("account_id", owner_of_room.clone()),
        ],
    );
    copy(
        "participants",
        "one.kind = 'Agent'",
        agents,
        &[("chat_id", room.clone()), ("participant_id", id(AGENT, "n")), ("account_id", owner.clone())],
    );
    all.push_str("DROP TABLE bench_numbers;\nCOMMIT;\n");
    all.push_str(dialect.after);
    all
}
