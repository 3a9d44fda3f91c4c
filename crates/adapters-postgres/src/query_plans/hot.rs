//! Frequent statements, reviewed as text.

use domain::account::{KeyDigest, KeyRepository};
use domain::delivery::{AdvanceDelivery, ClaimLease, DeliveryKey, DeliveryRepository, DeliveryStep};
use domain::message::{HistoryFilter, MessageRepository};
use domain::store::OnCommit;
use domain::time::Timestamp;
use testkit::NOON;

use super::*;

/// A store with one connection, and what has run on it.
pub(super) struct Heard {
    pub(super) store: Arc<PostgresStore>,
    run: HashMap<String, i64>,
    pub(super) sql: Vec<(&'static str, Vec<String>)>,
}

impl Heard {
    pub(super) async fn open(database: &Database) -> Self {
        let config = PostgresConfig { connections: 1, ..PostgresConfig::at(&database.url()) };
        let store = Arc::new(PostgresStore::open(&config).await.unwrap());
        Self { store, run: HashMap::new(), sql: Vec::new() }
    }

    /// Records the prepared statements since the last call, in the order of their first preparation.
    pub(super) async fn statements(&mut self) -> Vec<String> {
        let connection = self.store.pool.acquire().await.unwrap();
        let mut db = connection.db();
        let all = statement::<(Text, Text, BigInt)>(
            "SELECT name, statement, generic_plans + custom_plans FROM pg_prepared_statements \
             WHERE statement NOT LIKE '%pg\\_prepared%' ORDER BY prepare_time, name",
        );
        let all = all.load::<(String, String, i64)>(&mut db).await.unwrap();
        connection.release();
        let is_new = |(name, text, times): (String, String, i64)| {
            (self.run.insert(name, times) != Some(times)).then_some(text)
        };
        all.into_iter().filter_map(is_new).collect()
    }

    async fn record(&mut self, operation: &'static str) {
        let statements = self.statements().await;
        self.sql.push((operation, statements));
    }
}

/// The statements are those of `hot.sql`.
#[tokio::test]
async fn frequent_statements_are_those_of_the_file() {
    let database = server().database();
    let mut heard = Heard::open(&database).await;
    let store = heard.store.clone();
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let to = [ParticipantId::Agent(bot.id)];
    let viewer = ParticipantId::User(ann.id);
    let now = Timestamp::from_micros(NOON);
    heard.statements().await;

    store.find_key(KeyDigest::new([1; 32])).await.unwrap();
    heard.record("find a key").await;
    let first = world.send(ann.caller, chat, "one", &to).await.id;
    heard.record("the first message of a chat").await;
    world.send(ann.caller, chat, "two", &to).await;
    heard.record("a message in a cached chat").await;
    let taken = vec![DeliveryKey { message: first, agent: bot.id }];
    store.mark_delivered(taken, now, Box::new(|_| true), OnCommit::nothing()).await.unwrap();
    heard.record("mark as delivered").await;
    world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    heard.record("next message").await;
    let step = DeliveryStep::Begin;
    let command = AdvanceDelivery {
        agent: bot.id,
        chat,
        message: first,
        step,
        attempt: None,
        lease: ClaimLease::default(),
        now,
    };
    store.advance(command, OnCommit::nothing()).await.unwrap().unwrap();
    heard.record("begin").await;
    world.send(bot.caller, chat, "three", &[viewer]).await;
    heard.record("a message of an agent at work, which tries the short statement first").await;
    world.send(bot.caller, chat, "four", &[viewer]).await;
    heard.record("the next one").await;
    store.context(bot.id, chat, FIRST).await.unwrap().unwrap();
    heard.record("context").await;
    store.history(viewer, chat, HistoryFilter::default(), FIRST).await.unwrap().unwrap();
    heard.record("a page of messages").await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/query_plans/hot.sql");
    testkit::sql::compare(file.as_ref(), &heard.sql);
}

/// Texts to an agent at work: sent, marked, asked for, begun, answered, and done; and what is read meanwhile.
async fn work_through(world: &World, ann: &TestUser, bot: &TestAgent, chat: ChatId) {
    let (to, viewer) = ([ParticipantId::Agent(bot.id)], ParticipantId::User(ann.id));
    for text in ["first", "second"] {
        let message = world.send(ann.caller, chat, text, &to).await.id;
        world.deliveries.mark_delivered(vec![DeliveryKey { message, agent: bot.id }]).await.unwrap();
        world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
        world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
        world.send(bot.caller, chat, "answer", &[viewer]).await;
        world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Succeed).await.unwrap();
    }
    world.accounts.authenticate("thnv_a_unknown").await.unwrap_err();
}

/// A server plans a statement when it first runs, which may be on empty tables, and keeps the plan until the tables are analysed.
#[tokio::test]
async fn what_was_planned_for_empty_tables_reads_little() {
    let mut watched = Watched::on_empty_tables(Size::wanted()).await;
    let work = async |watched: &Watched, chat| {
        work_through(&watched.world, &watched.ann, &watched.bot, chat).await;
    };
    let other = watched.world.chat(watched.ann.caller, &[watched.bot.id.into()]).await;
    work(&watched, other).await;
    // The tables are filled with deliveries of all messages.
    watched.client.batch_execute("DELETE FROM deliveries").await.unwrap();
    watched.fill().await;
    watched.world.clock.advance(Duration::from_secs(1000));
    let mut before = watched.read().await;
    work(&watched, watched.chat).await;
    watched.note("a text, its attempt, and its answer, twice", 1000, &mut before).await;
    watched.end();
}
