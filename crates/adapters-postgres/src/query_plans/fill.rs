//! A database as it is after years, filled with a few statements.

use domain::id::ChatId;
use testkit::{NOON, TestAgent, TestUser};
use tokio_postgres::Client;
use uuid::Uuid;

/// The size of the database.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Texts, half of them in one chat, with as many deliveries.
    pub(super) messages: i64,
    pub(super) rooms: i64,
    /// Users, each with ten agents.
    pub(super) users: i64,
}

/// The id of the nth item of a kind.
pub(super) fn id(kind: u32, number: i64) -> Uuid {
    Uuid::from_u128(u128::from(kind) << 96 | u128::from(number.cast_unsigned()))
}

const ID: &str = "CREATE FUNCTION pg_temp.id(kind int8, number int8) RETURNS uuid LANGUAGE sql IMMUTABLE AS \
     $$ SELECT (lpad(to_hex(kind), 8, '0') || lpad(to_hex(number), 24, '0'))::uuid $$;
     CREATE FUNCTION pg_temp.at(number int8) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS \
     $$ SELECT timestamptz '2026-07-01 12:00:00+00' + number * interval '1 microsecond' $$;";

pub(super) const ROOM: u32 = 3;
pub(super) const MESSAGE: u32 = 4;
pub(super) const TASK: u32 = 14;

impl Size {
    pub(super) fn wanted() -> Self {
        if std::env::var_os("PARLANCE_TEST_FULL").is_some() {
            Self { messages: 1_000_000, rooms: 10_000, users: 2000 }
        } else {
            Self { messages: 40_000, rooms: 1000, users: 1000 }
        }
    }

    /// Ann is in every tenth chat, her agent in every fifth; the deliveries of the agent in the
    /// large chat are processed except for the last thousand. Every second message of that chat follows from the first. Nothing is analysed.
    pub(super) async fn fill(self, client: &Client, ann: &TestUser, bot: &TestAgent, chat: ChatId) {
        client.batch_execute(ID).await.unwrap();
        let statements = [self.people(), self.rooms(), self.messages(), self.rest()];
        for statements in statements {
            let all = statements
                .replace("$ANN", &format!("'{}'::uuid", ann.id))
                .replace("$ORG", &format!("'{}'::uuid", ann.caller.organization))
                .replace("$BOT", &format!("'{}'::uuid", bot.id))
                .replace("$CHAT", &format!("'{chat}'::uuid"))
                .replace("$id", "pg_temp.id")
                .replace("$at", "pg_temp.at");
            client.batch_execute(&all).await.unwrap();
        }
        // The reads of this step must not be counted later.
        client.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
    }

    fn people(self) -> String {
        let Self { users, .. } = self;
        format!(
            "DO $do$ DECLARE name text; BEGIN \
               FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP \
                 EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', name); \
               END LOOP; END $do$;
             INSERT INTO organizations SELECT $id(9, n), 'org ' || n, $at(n), 'enterprise' \
               FROM generate_series(1, {users}) AS n;
             INSERT INTO users SELECT $id(1, n), $id(9, n), 'user' || n, 'user' || n || '@example.org', 'A', 'B', \
               $at(n), $at(n), 'user' FROM generate_series(1, {users}) AS n;
             INSERT INTO agents SELECT $id(2, n), $id(1, n / 10 + 1), 'agent ' || n, 'user/agent-' || n, 'works', \
               'external', NULL, NULL, '[]', n % 100 = 0, TRUE, n % 50 = 0, $at(n), $at(n), NULL, n % 1000 = 0 \
               FROM generate_series(1, {users} * 10 - 10) AS n;
             INSERT INTO agents SELECT $id(12, n), $ANN, 'own ' || n, 'ann/own-' || n, 'works', \
               'external', NULL, NULL, '[]', FALSE, TRUE, FALSE, $at(n), $at(n), NULL, FALSE \
               FROM generate_series(1, 200) AS n;
             INSERT INTO api_keys SELECT $id(8, n), sha256(n::text::bytea), NULL, $id(2, n), $at(n), NULL, NULL, NULL, NULL, NULL \
               FROM generate_series(1, {users} * 10 - 10) AS n;
             INSERT INTO audit SELECT $id(13, n), $at(n), CASE WHEN n % 10 = 0 THEN $ORG ELSE $id(9, n % {users}) END, \
               'User', $ANN, 'key.created', 'ApiKey', $id(8, n), 'Agent', $id(2, n), NULL \
               FROM generate_series(1, {users} * 10 - 10) AS n;"
        )
    }

    fn rooms(self) -> String {
        let Self { rooms, users, .. } = self;
        let stay = "'member', 'active', $at(n), $at(n), NULL";
        format!(
            "INSERT INTO chats SELECT $id(3, n), 'room ' || n, NULL, 'group', 'active', 0, $at(n), $at(n), $at(n), \
               NULL, $ORG, 0 FROM generate_series(1, {rooms}) AS n;
             INSERT INTO participants SELECT $id(3, n), $id(2, (n * 7 + k) % ({users} * 10 - 10) + 1), 'Agent', {stay}, \
               $id(1, ((n * 7 + k) % ({users} * 10 - 10) + 1) / 10 + 1) \
               FROM generate_series(1, {rooms}) AS n, generate_series(0, 4) AS k;
             INSERT INTO participants SELECT $id(3, n), $ANN, 'User', {stay}, $ANN \
               FROM generate_series(10, {rooms}, 10) AS n;
             INSERT INTO participants SELECT $id(3, n), $BOT, 'Agent', {stay}, $ANN \
               FROM generate_series(5, {rooms}, 5) AS n;"
        )
    }

    fn messages(self) -> String {
        let Self { messages, rooms, .. } = self;
        let half = messages / 2;
        let each = half / rooms;
        let text = |agent: &str| {
            format!(
                "'text', 'what people write to each other, ' || n || ' times', \
                 CASE WHEN n % 3 = 0 THEN $ANN ELSE $id(1, n % 50 + 1) END, 'User', 'Ann', \
                 json_build_array(json_build_object('id', {agent}, 'of', 'Agent', 'handle', 'ann/bot', 'name', 'Bot', \
                 'kind', 'mention'))::text, NULL, $at(n), $at(n)"
            )
        };
        let (to_bot, to_some) = (text("$BOT"), text("CASE WHEN n % 2 = 1 THEN $BOT ELSE $id(2, n * 7) END"));
        let done = "chat_id = $CHAT AND sequence <= {half} - 1000".replace("{half}", &half.to_string());
        format!(
            "INSERT INTO messages SELECT $id(4, n), $CHAT, n, {to_bot} FROM generate_series(1, {half}) AS n;
             UPDATE messages SET kind = CASE WHEN sequence % 1000 = 0 THEN 'thought' ELSE kind END, \
               cause_id = $id(4, 1), root_id = $id(4, 1), hop = 1, originator_id = $ANN, originator_kind = 'User' \
               WHERE sequence % 2 = 0;
             INSERT INTO messages SELECT $id(4, {half} + (room - 1) * {each} + n), $id(3, room), n, {to_some} \
               FROM generate_series(1, {rooms}) AS room, generate_series(1, {each}) AS n;
             INSERT INTO deliveries \
               SELECT CASE WHEN chat_id = $CHAT OR sequence % 2 = 1 THEN $BOT ELSE $id(2, sequence * 7) END, chat_id, \
               sequence, TRUE, CASE WHEN {done} THEN 2 ELSE 0 END, CASE WHEN chat_id = $CHAT THEN $at(1) END, \
               CASE WHEN {done} THEN $at(1) END, CASE WHEN {done} THEN $at(2) END, NULL, NULL FROM messages;
             INSERT INTO attempts SELECT agent_id, chat_id, sequence, 1, $at(1), $at(1), 'no' \
               FROM deliveries WHERE current_attempt > 0;
             UPDATE chats SET last_sequence = {each} WHERE id <> $CHAT;
             UPDATE chats SET last_sequence = {half}, last_message_at = $at({half}) WHERE id = $CHAT;"
        )
    }

    fn rest(self) -> String {
        let Self { users, messages, .. } = self;
        let some = messages / 4;
        format!(
            "INSERT INTO contact_requests SELECT $id(5, n), $id(1, n % {users} + 1), 'User', $id(1, n % {users} + 1), \
               $ANN, 'User', $ANN, NULL, 'approved', $at(n), $at(n) FROM generate_series(1, {some}) AS n;
             INSERT INTO contact_requests SELECT $id(6, n), $ANN, 'User', $ANN, $id(1, n), 'User', $id(1, n), \
               NULL, 'pending', $at(n), NULL FROM generate_series(1, {users}) AS n;
             INSERT INTO contacts SELECT $id(7, n), $ANN, 'User', $id(2, n * 10), 'Agent', NULL, $at(n) \
               FROM generate_series(1, {users} - 2) AS n;
             INSERT INTO contacts SELECT $id(17, n), $id(2, n * 10), 'Agent', $ANN, 'User', NULL, $at(n) \
               FROM generate_series(1, {users} - 2) AS n;
             INSERT INTO memories SELECT $id(10, n), $ORG, \
               CASE WHEN n % 2 = 0 THEN $BOT ELSE $id(12, n % 200 + 1) END, $ANN, 'User', 'long_term', 'semantic', 'user', \
               'subject', 'active', 'it rained ' || n, 'It rained ' || n, 'because', '{{}}', $at(n), $at(n) \
               FROM generate_series(1, {some}) AS n;
             INSERT INTO idempotency_records SELECT $ANN, 'send_message', $id(3, n % 1000), 'key ' || n, \
               sha256(n::text::bytea), $id(4, n), $at(n), NULL FROM generate_series(1, {some}) AS n;
             INSERT INTO boards (chat_id, last_task) SELECT id, 0 FROM chats;
             UPDATE boards SET last_task = 10000, last_entry = 10000 WHERE chat_id = $CHAT;
             INSERT INTO tasks SELECT $CHAT, n, $id(14, n), CASE WHEN n % 100 = 0 THEN 'active' ELSE 'archived' END, \
               'pending', $at(n), $at(n), NULL, NULL, NULL, 2, \
               json_build_object('id', json_build_object('user', replace($ANN::text, '-', '')), 'name', 'Ann', 'handle', 'ann'), \
               '[]', 'task ' || n, '' FROM generate_series(1, 10000) AS n;
             INSERT INTO board_entries SELECT $CHAT, task, n, $at(n), \
               json_build_object('id', json_build_object('user', replace($ANN::text, '-', '')), 'name', 'Ann', 'handle', 'ann'), \
               '{{\"event\":\"archived\"}}' \
               FROM (SELECT 0 AS task, n FROM generate_series(1, 10000) AS n \
                 UNION ALL SELECT 1, n FROM generate_series(1, 10000) AS n \
                 UNION ALL SELECT task, n FROM generate_series(2, 10000) AS task, generate_series(1, 2) AS n) AS all_of_them;"
        )
    }
}

/// The microsecond of `pg_temp.at`.
pub(super) const fn at(number: i64) -> i64 {
    NOON + number
}
