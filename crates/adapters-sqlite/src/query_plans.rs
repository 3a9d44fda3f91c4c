//! Query plans of frequent statements: every statement of the hot reads uses an index.
//!
//! The statements are those that the store really sends, captured on its own connection, so that a
//! changed query cannot escape.

mod attention;
mod boards;
mod budgets;
mod contacts;
mod hot;
mod lists;
mod memories;
mod million;
mod notifications;
mod operator;
mod pushes;
mod reminders;
mod search;
mod webhooks;

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{AgentListing, AgentRepository, CreateKey, Door, KeyDigest, KeyRepository};
use domain::change::{ChangePosition, ChangeRepository};
use domain::chat::{ChatListing, CreateChat, Role};
use domain::delivery::{
    AdvanceDelivery, ClaimLease, DeliveryFilter, DeliveryKey, DeliveryRepository, DeliveryStep, Listening,
    Order, SubscriptionId,
};
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, RecordId, Sequence};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotencyRepository, IdempotentRequest};
use domain::message::{Ageing, EraseOld, HistoryFilter, MessageRepository};
use domain::organization::Authority;
use domain::page::{PageRequest, Position, Slice};
use domain::peer::{ListPeers, PeerRepository};
use domain::store::OnCommit;
use domain::text::NamePart;
use domain::time::Timestamp;
use domain::work::{WorkRepository, WorkThresholds};
use testkit::{NOON, Stores, TestAgent, TestUser, World};
use uuid::Uuid;

use crate::{Location, SqliteStore};

type Statements = Arc<Mutex<Vec<String>>>;

thread_local! {
    /// Set while a test opens a store whose connections are captured.
    static OVERHEARD: RefCell<Option<(Statements, Statements)>> = const { RefCell::new(None) };
}

fn listener() -> Option<Box<dyn Instrumentation>> {
    let (statements, kept) = OVERHEARD.with_borrow(Clone::clone)?;
    Some(Box::new(move |event: InstrumentationEvent<'_>| match event {
        InstrumentationEvent::StartQuery { query, .. } => statements.lock().unwrap().push(query.to_string()),
        InstrumentationEvent::CacheQuery { sql, .. } => kept.lock().unwrap().push(sql.to_owned()),
        _ => (),
    }))
}

/// A fixture in a file, with all statements that its store sends to SQLite.
struct Overheard {
    world: World,
    store: Arc<SqliteStore>,
    statements: Statements,
    /// The prepared statements that a connection has kept.
    kept: Statements,
    explainer: SqliteConnection,
    _place: tempfile::TempDir,
}

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = diesel::sql_types::Text)]
    detail: String,
}

impl Overheard {
    fn open() -> Self {
        set_default_instrumentation(listener).unwrap();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("store.db");
        let (statements, kept) = (Statements::default(), Statements::default());
        OVERHEARD.set(Some((statements.clone(), kept.clone())));
        let store = Arc::new(SqliteStore::open(&Location::File(file.clone())).unwrap());
        OVERHEARD.set(None);
        let world = World::on(Stores::of(&store, SqliteStore::close));
        let explainer = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
        Self { world, store, statements, kept, explainer, _place: place }
    }

    /// The steps of every query since the last call, each with its query.
    fn steps(&mut self) -> Vec<(String, String)> {
        let statements = std::mem::take(&mut *self.statements.lock().unwrap());
        let is_query =
            |text: &String| ["SELECT", "UPDATE", "DELETE", "WITH"].iter().any(|verb| text.starts_with(verb));
        let mut steps = Vec::new();
        for text in statements.into_iter().filter(is_query) {
            let text = text.split(" -- binds").next().unwrap().to_owned();
            let plan = diesel::sql_query(format!("EXPLAIN QUERY PLAN {text}"));
            let plan =
                plan.load::<Step>(&mut self.explainer).unwrap_or_else(|fault| panic!("{text}: {fault}"));
            steps.extend(plan.into_iter().map(|step| (step.detail, text.clone())));
        }
        steps
    }

    /// Asserts that no table was scanned; temporary tables may be, and an index or a table that
    /// holds exactly the requested rows.
    fn expect_no_table_scans(&mut self, what: &str) {
        let steps = self.steps();
        assert!(!steps.is_empty(), "{what}: nothing was overheard");
        let made_up = [
            "SCAN CONSTANT ROW",
            "SCAN head",
            "SCAN wanted",
            "SCAN record",
            "SCAN found",
            "SCAN examined",
            "SCAN other",
            "SCAN used",
            "SCAN (subquery",
            "SCAN agents USING INDEX agents_",
            "SCAN deletion_jobs",
        ];
        for (step, query) in &steps {
            let is_made_up = made_up.iter().any(|start| step.starts_with(start)) || is_list(step);
            let fine = !step.starts_with("SCAN") || is_made_up;
            assert!(fine, "{what}: {step}\n{query}");
        }
    }

    /// Asserts that no table was scanned, that no list was sorted before its page was cut out (the
    /// rows of one page may be), and that each of `indexes` was used.
    fn expect(&mut self, what: &str, indexes: &[&str]) {
        let steps = self.steps();
        assert!(!steps.is_empty(), "{what}: nothing was overheard");
        for (step, query) in &steps {
            // Numbering the participants of a page's chats makes temporary tables. So do lists of
            // listeners, of messages, and of keys.
            let made_up = [
                "SCAN CONSTANT ROW",
                "SCAN head",
                "SCAN wanted",
                "SCAN record",
                "SCAN (subquery",
                "SCAN 3 CONSTANT ROWS",
                "SCAN listening",
                "SCAN boards USING COVERING INDEX boards_deleted",
            ];
            let is_made_up = made_up.iter().any(|start| step.starts_with(start)) || is_list(step);
            let is_scan = step.starts_with("SCAN") && !is_made_up;
            assert!(!is_scan, "{what}: {step}\n{query}");
            let sorts_all = step.contains("TEMP B-TREE") && query.contains("LIMIT");
            assert!(!sorts_all, "{what}: {step}\n{query}");
        }
        for index in indexes {
            let used = steps.iter().any(|(step, _)| step.contains(&format!("{index} ")));
            assert!(used, "{what}: {index} is not used in {steps:#?}");
        }
    }
}

/// Returns whether the step reads a list that is a value of the statement, or the full-text index: the store has no
/// other virtual tables.
fn is_list(step: &str) -> bool {
    step.starts_with("SCAN") && step.contains(" VIRTUAL TABLE ")
}

fn after(key: i64) -> PageRequest {
    let after = Some(Position::at(key, RecordId::MAX));
    PageRequest { slice: Slice::After { after, limit: 10 }, count: false }
}

const FIRST: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 10 }, count: false };

const NUMBERED: PageRequest = PageRequest { slice: Slice::Numbered { number: 1, size: 10 }, count: true };

/// Two messages for an agent, one of them in processing.
async fn at_work(heard: &Overheard) -> (TestUser, TestAgent, ChatId, MessageId) {
    let world = &heard.world;
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let to = [ParticipantId::Agent(bot.id)];
    let first = world.send(ann.caller, chat, "one", &to).await.id;
    world.send(ann.caller, chat, "two", &to).await;
    begin(heard, bot.id, chat, first).await;
    heard.statements.lock().unwrap().clear();
    (ann, bot, chat, first)
}

async fn begin(heard: &Overheard, agent: AgentId, chat: ChatId, message: MessageId) {
    let (step, now) = (DeliveryStep::Begin, Timestamp::from_micros(NOON));
    let command =
        AdvanceDelivery { agent, chat, message, step, attempt: None, lease: ClaimLease::default(), now };
    heard.store.advance(command, OnCommit::nothing()).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_agents_reads_run_along_indexes() {
    let mut heard = Overheard::open();
    let (_, bot, chat, message) = at_work(&heard).await;
    let store = heard.store.clone();

    store.next(bot.id, chat, Timestamp::from_micros(NOON)).await.unwrap().unwrap();
    heard.expect("next", &["deliveries_open", "messages_order"]);
    for (filter, index) in [
        (DeliveryFilter::Open, "deliveries_open"),
        (DeliveryFilter::Pending, "deliveries_open"),
        (DeliveryFilter::Failed, "deliveries_at_work"),
    ] {
        for (order, page) in [(Order::Ascending, after(0)), (Order::Descending, NUMBERED)] {
            store.list(bot.id, chat, filter, order, page.clone()).await.unwrap().unwrap();
            heard.expect(&format!("list {filter:?}"), &[index]);
        }
    }
    for filter in [DeliveryFilter::Processed, DeliveryFilter::All] {
        store.list(bot.id, chat, filter, Order::Ascending, NUMBERED).await.unwrap().unwrap();
        heard.expect(&format!("list {filter:?}"), &["deliveries USING PRIMARY KEY"]);
    }
    for page in [after(0), NUMBERED] {
        store.context(bot.id, chat, page.clone()).await.unwrap().unwrap();
        heard.expect("context", &["messages_by_sender", "deliveries USING PRIMARY KEY", "messages_order"]);
    }
    begin(&heard, bot.id, chat, message).await;
    heard.expect("advance", &["deliveries USING PRIMARY KEY", "attempts USING PRIMARY KEY"]);
    let listening = (0..3)
        .map(SubscriptionId::new)
        .map(|subscription| Listening {
            subscription,
            agent: bot.id,
            chat,
            since: Sequence::default(),
            joined_at: Timestamp::from_micros(0),
        })
        .collect();
    let new = store.unacknowledged(listening, 8).await.unwrap();
    assert_eq!(new.len(), 3);
    assert_eq!(heard.statements.lock().unwrap().iter().filter(|text| text.contains("SELECT")).count(), 1);
    heard.expect("what is still new", &["deliveries_open", "messages_order"]);
    store.backlog_work(bot.id, chat, Sequence::new(9)).await.unwrap();
    heard.expect(
        "work on a backlog",
        &["deliveries_at_work", "deliveries_open", "deliveries USING PRIMARY KEY"],
    );
    let (sender, announced) = std::sync::mpsc::channel();
    let on_commit = OnCommit::new(move |new: &Vec<_>| sender.send(new.len()).unwrap());
    store.new_messages(bot.id, chat, [1, 2].map(Sequence::new).to_vec(), on_commit).await.unwrap();
    assert_eq!(announced.recv(), Ok(1));
    heard.expect("messages that are still new", &["deliveries_open", "messages_order"]);
    let second = store.list(bot.id, chat, DeliveryFilter::Pending, Order::Ascending, after(0)).await.unwrap();
    let taken = DeliveryKey { message: second.unwrap().rows[0].id, agent: bot.id };
    heard.statements.lock().unwrap().clear();
    let now = Timestamp::from_micros(NOON);
    store.mark_delivered(vec![taken], now, Box::new(|_| true), OnCommit::nothing()).await.unwrap();
    heard.expect("mark delivered", &["deliveries USING PRIMARY KEY", "sqlite_autoindex_messages_1"]);
    store.announce_delivered(vec![taken.message], Box::new(|_| true), OnCommit::nothing()).await.unwrap();
    heard.expect("tell what was delivered", &["sqlite_autoindex_messages_1"]);
}

#[tokio::test]
async fn work_is_counted_along_indexes() {
    let mut heard = Overheard::open();
    let (_, bot, ..) = at_work(&heard).await;
    let (store, flags) = (heard.store.clone(), WorkThresholds::default().at(Timestamp::from_micros(NOON)));
    // The statements name the indexes of deliveries, which SQLite must then use.
    let large = ["messages", "participants", "chats", "api_keys", "attempts", "newest"];
    let expect = |steps: &[(String, String)], indexes: &[&str]| {
        for index in indexes {
            assert!(steps.iter().any(|(step, _)| step.contains(index)), "{index} is not in {steps:#?}");
        }
        for (step, _) in steps {
            let is_large = large.iter().any(|table| step.starts_with(&format!("SCAN {table}")));
            assert!(!is_large, "{step} in {steps:#?}");
        }
    };
    store.count_work(flags).await.unwrap();
    expect(&heard.steps(), &["deliveries_open", "deliveries_at_work", "deliveries_dead"]);
    store.work_of_agents(vec![bot.id], flags).await.unwrap();
    let of_agent = [
        "deliveries_open (agent_id=?)",
        "deliveries_at_work (agent_id=?)",
        "deliveries_dead (agent_id=?)",
        "participants_rooms (participant_id=?)",
        "newest USING PRIMARY KEY (agent_id=? AND chat_id=?)",
        "(agent_id=? AND chat_id=? AND sequence=?)",
        "api_keys_of_agent (agent_id=?)",
    ];
    expect(&heard.steps(), &of_agent);
}

#[tokio::test]
async fn a_humans_reads_run_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, _) = at_work(&heard).await;
    let (store, viewer) = (heard.store.clone(), ParticipantId::User(ann.id));

    for page in [FIRST, NUMBERED] {
        store.history(viewer, chat, HistoryFilter::default(), page.clone()).await.unwrap().unwrap();
        let indexes = ["messages_order", "deliveries USING PRIMARY KEY", "deliveries_unaddressed"];
        heard.expect("history", &indexes);
    }
    for page in [after(NOON + 1), NUMBERED] {
        domain::chat::ChatRepository::list(&*store, viewer, ChatListing::default(), page.clone())
            .await
            .unwrap();
        heard.expect("chats", &["participants_rooms"]);
        store.list_agents(ann.id, AgentListing::default(), page.clone()).await.unwrap();
        heard.expect("agents", &["agents_by_owner"]);
    }
    domain::chat::ParticipantRepository::roster(&*store, viewer, chat).await.unwrap().unwrap();
    heard.expect("roster", &[]);
    store.find_key(KeyDigest::new([1; 32])).await.unwrap();
    heard.expect("key", &[]);
    for page in [after(NOON + 1), NUMBERED] {
        store.list_keys(viewer, page.clone()).await.unwrap();
        heard.expect("keys", &["api_keys_of_user"]);
        store.list_keys(ParticipantId::Agent(bot.id), page).await.unwrap();
        heard.expect("keys of an agent", &["api_keys_current"]);
    }
    let accounts = &heard.world.accounts.clone();
    accounts.revoke_keys(accounts.keys_like("nothing")).await.unwrap();
    heard.expect("keys that begin like this", &["api_keys_by_prefix"]);
    let created = accounts.create_key(ann.id, CreateKey::default()).await.unwrap();
    accounts.rotate_key(ann.id, bot.id).await.unwrap();
    accounts.revoke_key(ann.caller, created.record.id).await.unwrap();
    accounts.authenticate_at("thnv_a_x", Some(Door::Rest)).await.unwrap_err();
    accounts.note_call(bot.id, Door::Rest);
    accounts.write_uses().await.unwrap();
    accounts.doors(&[bot.id]).await.unwrap();
    heard.expect_no_table_scans("changing keys, and noting uses");
    store.newest_change().await.unwrap();
    store.changes_after(ChangePosition(0), 10).await.unwrap();
    store.has_change(ChangePosition(1)).await.unwrap();
    store.forget_changes(ChangePosition(2), 10).await.unwrap();
    heard.expect("the change log", &["PRIMARY KEY"]);
    heard.world.send(ann.caller, chat, "three", &[]).await;
    heard.expect("append", &[]);
    let key = IdempotencyKey::new("k").unwrap();
    let once = || Some(IdempotentRequest { key: key.clone(), fingerprint: Fingerprint::new([1; 32]) });
    for _ in 0..2 {
        heard.world.chats.create_once(ann.caller, CreateChat::default(), once()).await.unwrap();
        heard.expect("a request that counts once", &["PRIMARY KEY"]);
    }
    heard.store.forget(Timestamp::from_micros(NOON), 10).await.unwrap();
    heard.expect("forgetting", &["idempotency_records_by_age"]);
}

#[tokio::test]
async fn a_text_is_changed_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, message) = at_work(&heard).await;
    begin(&heard, bot.id, chat, message).await;
    heard.statements.lock().unwrap().clear();
    let content = domain::message::MessageContent::new("changed".to_owned()).unwrap();
    heard.world.messages.edit(ann.caller, chat, message, content).await.unwrap();
    heard.expect("edit", &[]);
    heard.world.messages.delete(ann.caller, chat, message).await.unwrap();
    heard.expect("delete", &["idempotency_records_of_record", "deliveries_unaddressed"]);
    let (before, now, unattached) = (MessageId::new(Uuid::max()), Timestamp::from_micros(0), Duration::ZERO);
    let step = EraseOld { which: Ageing::Texts, after: None, before, now, unattached, limit: 10 };
    assert_eq!(heard.store.erase_old(step).await.unwrap().erased, 1);
    heard.expect_no_table_scans("erase old messages");
}

/// A page takes the same number of statements, however many rows and records it holds.
#[tokio::test]
async fn a_page_takes_a_fixed_number_of_statements() {
    let heard = Overheard::open();
    let (ann, bot, chat, _) = at_work(&heard).await;
    let (store, viewer) = (heard.store.clone(), ParticipantId::User(ann.id));
    let mut counts = Vec::new();
    for _ in 0..2 {
        for _ in 0..4 {
            let id = heard.world.send(ann.caller, chat, "more", &[ParticipantId::Agent(bot.id)]).await.id;
            begin(&heard, bot.id, chat, id).await;
        }
        heard.statements.lock().unwrap().clear();
        store.history(viewer, chat, HistoryFilter::default(), NUMBERED).await.unwrap().unwrap();
        store.context(bot.id, chat, NUMBERED).await.unwrap().unwrap();
        store.list(bot.id, chat, DeliveryFilter::All, Order::Ascending, NUMBERED).await.unwrap().unwrap();
        counts.push(heard.statements.lock().unwrap().len());
    }
    assert_eq!(counts[0], counts[1]);
}

/// A union over a caller's network costs in proportion to the network: each part is found by an
/// index, and only the result is scanned.
#[tokio::test]
async fn a_network_is_found_by_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, _) = at_work(&heard).await;
    let store = heard.store.clone();
    let all = ListPeers { not_in_chat: Some(chat), ..ListPeers::default() };
    let part = NamePart::new("bo");
    let named = ListPeers { name: part.clone(), ..all.clone() };
    for caller in [domain::caller::Caller::from(ann.caller), bot.caller.into()] {
        for (wanted, name) in [(&all, None), (&named, part.clone())] {
            for page in [NUMBERED, after(NOON)] {
                store.peers(caller, wanted.clone(), page.clone()).await.unwrap().unwrap();
                heard.expect_no_table_scans("peers");
                store.directory(caller, name.clone(), page).await.unwrap();
                heard.expect_no_table_scans("directory");
            }
        }
    }
    heard.world.add(ann.caller, chat, heard.world.agent(&ann, "New").await.id.into(), Role::default()).await;
    heard.expect_no_table_scans("add");
    heard.world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    heard.expect_no_table_scans("delete an agent");
    while heard.world.accounts.erase_some().await.unwrap() {}
    heard.expect_no_table_scans("erase");
}

/// However many chats the agent is in, whether it owns them or not.
#[tokio::test]
async fn an_agent_is_deleted_in_a_fixed_number_of_statements() {
    let mut heard = Overheard::open();
    let ann = heard.world.user("ann").await;
    let mut counts = Vec::new();
    for rooms in [2, 20] {
        let bot = heard.world.agent(&ann, "Bot").await;
        for _ in 0..rooms {
            heard.world.chat(bot.caller, &[ann.id.into()]).await;
            heard.world.chat(bot.caller, &[]).await;
            heard.world.chat(ann.caller, &[bot.id.into()]).await;
        }
        heard.statements.lock().unwrap().clear();
        heard.world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
        counts.push(heard.statements.lock().unwrap().len());
        heard.expect_no_table_scans("delete an agent");
    }
    assert_eq!(counts[0], counts[1]);
}

/// However many agents the owner has or had, including many that had the name.
#[tokio::test]
async fn an_agent_is_registered_along_indexes() {
    let mut heard = Overheard::open();
    let ann = heard.world.user("ann").await;
    let mut counts = Vec::new();
    for number in 1..=40 {
        heard.statements.lock().unwrap().clear();
        let bot = heard.world.agent(&ann, "Bot").await;
        assert_eq!(bot.handle, if number == 1 { "ann/bot".to_owned() } else { format!("ann/bot-{number}") });
        counts.push(heard.statements.lock().unwrap().len());
        heard.expect("register", &["sqlite_autoindex_agents_2"]);
        heard.world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    }
    assert!(counts[39] < counts[0] + 15, "{counts:?}");
}
