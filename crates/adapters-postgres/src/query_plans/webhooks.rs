//! Webhooks: what is sent, and what is forgotten, is found however much was sent before.

use testkit::webhook_walk::{PREPARED, walk, walk_events};

use super::fill::Size;
use super::hot::Heard;
use super::*;

/// 100,000 messages in the large chat that the agent's receiver took, and that the agent has not begun but for the first
/// thousand.
const SIZE: Size = Size { messages: 200_000, rooms: 100, users: 100 };

impl Watched {
    async fn fill_webhook(&self, world: &World) {
        let (ann, bot) = (&self.ann, self.bot.id);
        world.webhooks.set_url(ann.id.into(), ann.id, bot, "https://hooks.example/").await.unwrap();
        let statements = format!(
            "UPDATE deliveries SET current_attempt = 0, started_at = NULL, processed_at = NULL, failed_at = NULL, \
               error = NULL WHERE chat_id = '{chat}' AND sequence > 1000;
             INSERT INTO webhook_deliveries (id, agent_id, chat_id, sequence, message_id, created_at, attempts, \
               next_attempt_at, status, ended_at, outcome) \
               SELECT id, '{bot}', chat_id, sequence, id, created_at, 1, created_at, 200, created_at, 'delivered' \
               FROM messages WHERE chat_id = '{chat}';
             VACUUM deliveries",
            chat = self.chat,
        );
        for statement in statements.split(";\n") {
            self.client.batch_execute(statement).await.unwrap();
        }
        self.client.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
    }
}

impl Watched {
    /// A log of which a tenth is of the organization.
    async fn fill_log(&self) {
        let statements = format!(
            "INSERT INTO audit (at, organization_id, actor_kind, action, subject_kind, subject_id, number, digest) \
               SELECT now(), CASE WHEN n % 10 = 0 THEN '{organization}'::uuid ELSE gen_random_uuid() END, 'Operator', \
               'agent.updated', 'Installation', gen_random_uuid(), coalesce((SELECT max(number) FROM audit), 0) + n, \
               '\\x00' FROM generate_series(1, 100000) AS n; \
             INSERT INTO audit_chain (id, number, digest) SELECT 1, max(number), '\\x00' FROM audit \
               ON CONFLICT (id) DO UPDATE SET number = excluded.number, digest = excluded.digest",
            organization = self.ann.caller.organization,
        );
        self.client.batch_execute(&statements).await.unwrap();
    }
}

#[tokio::test]
async fn webhooks_are_sent_along_indexes() {
    let mut watched = Watched::open_with(SIZE).await;
    watched.fill_log().await;
    for _ in ["before the tables are analysed", "after"] {
        let world = World::on(Stores::of(&watched.store, PostgresStore::close));
        world.clock.advance(Duration::from_secs(if watched.is_analysed { 3000 } else { 2000 }));
        watched.fill_webhook(&world).await;
        if watched.is_analysed {
            watched.analyse().await;
        }
        let (ann, bot, chat) = (watched.ann.clone(), watched.bot.clone(), watched.chat);
        watched.plans().await;
        let mut before = watched.read().await;
        walk(&world, &ann, &bot, chat, async |what| {
            let rows = match what {
                PREPARED | "remove" => i64::MAX,
                "find rooms with new messages" => 3_000,
                // It reads the index of everything the agent was sent, every ten minutes.
                "find old deliveries" => 150_000,
                _ => 300,
            };
            watched.note(what, rows, &mut before).await;
        })
        .await;
        walk_events(&world, &ann, async |what| {
            if what == "set that of an organization" {
                watched
                    .client
                    .batch_execute("UPDATE organization_webhooks SET seen_number = 0")
                    .await
                    .unwrap();
            }
            let rows = match what {
                PREPARED => i64::MAX,
                // It passes over all entries of the organization, a tenth of the log.
                "take an event" => 25_000,
                _ => 300,
            };
            watched.note(what, rows, &mut before).await;
        })
        .await;
        watched.is_analysed = true;
    }
    watched.end();
}

/// The statements are those of `webhooks.sql`.
#[tokio::test]
async fn statements_of_webhooks_are_those_of_the_file() {
    let database = server().database();
    let mut heard = Heard::open(&database).await;
    let world = World::on(Stores::of(&heard.store, PostgresStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    world.webhooks.set_url(ann.id.into(), ann.id, bot.id, "https://hooks.example/").await.unwrap();
    heard.statements().await;
    let mut note = async |what: &'static str| {
        let mut statements = heard.statements().await;
        statements.retain(|text| text.contains("webhook"));
        if what != PREPARED {
            heard.sql.push((what, statements));
        }
    };
    walk(&world, &ann, &bot, chat, &mut note).await;
    walk_events(&world, &ann, &mut note).await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/query_plans/webhooks.sql");
    testkit::sql::compare(file.as_ref(), &heard.sql);
}
