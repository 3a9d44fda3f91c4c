//! Reads on a store with a million messages read a page's worth of rows: every step of their plans
//! is bounded by the terms of an index.
//!
//! The short form has fewer messages; the assertions are the same.

use super::*;
use diesel::connection::SimpleConnection;
use domain::chat::{ChatParts, ChatRepository};
use domain::message::{Anchor, Kinds, MessageKind};

/// The number of messages in the chat.
fn many() -> i64 {
    if std::env::var_os("PARLANCE_TEST_FULL").is_some() { 1_000_000 } else { 100_000 }
}

/// Adds `many` messages to the chat: texts of the user, every tenth for the agent and processed,
/// and one thought near the beginning. Every tenth follows from the first of them.
fn fill(heard: &mut Overheard, chat: ChatId, sender: ParticipantId, agent: AgentId, many: i64) {
    let mention =
        format!(r#"[{{"id":"{agent}","of":"Agent","handle":"ann/bot","name":"Bot","kind":"mention"}}]"#);
    let (chat, sender, agent) = (hex(chat.uuid()), hex(sender.uuid()), hex(agent.uuid()));
    let numbers = format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM numbers WHERE n < {many})"
    );
    let id = "CAST(printf('%016d', n) AS BLOB)";
    let statements = format!(
        "PRAGMA synchronous = OFF; BEGIN;
         {numbers} INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind,
             sender_name, mentions, created_at, updated_at)
         SELECT {id}, {chat}, n, CASE n WHEN 10 THEN 'thought' ELSE 'text' END, 'message ' || n,
             {sender}, 'User', 'Ann', iif(n % 10, '[]', '{mention}'), {NOON} + n, {NOON} + n FROM numbers;
         {numbers} INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt,
             started_at, processed_at)
         SELECT {agent}, {chat}, n, 1, 1, {NOON}, {NOON} FROM numbers WHERE n % 10 = 0;
         UPDATE messages SET root_id = (SELECT id FROM messages WHERE chat_id = {chat} AND sequence = 3), hop = 1,
             originator_id = {sender}, originator_kind = 'User' WHERE chat_id = {chat} AND sequence % 10 = 5;
         UPDATE chats SET last_sequence = {many}, last_message_at = {NOON} + {many} WHERE id = {chat};
         COMMIT;"
    );
    heard.explainer.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
    heard.explainer.batch_execute(&statements).unwrap();
}

fn hex(id: Uuid) -> String {
    format!("x'{}'", id.simple())
}

/// The id of a message that `fill` made.
fn made(number: i64) -> MessageId {
    let digits = format!("{number:016}");
    MessageId::new(Uuid::from_slice(digits.as_bytes()).unwrap())
}

impl Overheard {
    /// Runs a read; asserts that every step on the large tables is a search, with all of `terms`
    /// among them, and that no page is sorted.
    async fn bounded(&mut self, what: &str, read: impl AsyncFn(&SqliteStore), terms: &[&str]) {
        self.statements.lock().unwrap().clear();
        read(&self.store).await;
        let steps = self.steps();
        for (step, query) in &steps {
            let large = ["messages", "deliveries"].iter().any(|table| step.contains(&format!(" {table} ")));
            assert!(!large || step.starts_with("SEARCH"), "{what}: {step}\n{query}");
            assert!(!step.contains("TEMP B-TREE") || !query.contains("LIMIT"), "{what}: {step}\n{query}");
        }
        for term in terms {
            assert!(steps.iter().any(|(step, _)| step.contains(term)), "{what}: {term} is not in {steps:#?}");
        }
    }
}

fn part(after: Option<i64>) -> PageRequest {
    let after = after.map(|key| Position::at(key, RecordId::NIL));
    PageRequest { slice: Slice::After { after, limit: 100 }, count: false }
}

#[tokio::test]
async fn reads_of_a_long_room_cost_what_their_page_holds() {
    let many = many();
    let mut heard = Overheard::open();
    let (ann, bot, chat, _) = at_work(&heard).await;
    let viewer = ParticipantId::User(ann.id);
    fill(&mut heard, chat, viewer, bot.id, many);

    let (by_place, by_kind) =
        ("(chat_id=? AND sequence>? AND sequence<?)", "(chat_id=? AND kind=? AND sequence>? AND sequence<?)");
    let (text, thought) = (Kinds::of(&[MessageKind::Text]), Kinds::of(&[MessageKind::Thought]));
    let late = Some(Timestamp::from_micros(NOON + many - 5));
    for (kinds, since, behind, rows, terms) in [
        (Kinds::ALL, None, None, 100, vec![by_place]),
        (Kinds::ALL, None, Some(many / 2), 100, vec![by_place]),
        (text, None, Some(many / 2), 100, vec![by_place]),
        (thought, None, None, 1, vec![by_kind]),
        (Kinds::ALL.without(text), None, None, 1, vec![by_kind]),
        (Kinds::ALL, late, None, 5, vec![by_place, "(chat_id=? AND sequence>?)"]),
        (text, late, None, 5, vec![by_place, "(chat_id=? AND sequence>?)"]),
    ] {
        let filter = HistoryFilter { kinds, since, ..HistoryFilter::default() };
        let read = async |store: &SqliteStore| {
            let page = store.history(viewer, chat, filter, part(behind)).await.unwrap().unwrap();
            assert_eq!(page.rows.len(), rows);
        };
        heard.bounded(&format!("history {filter:?} {behind:?}"), read, &terms).await;
    }
    let middle = made(many / 2);
    let anchors = [Anchor::After(middle), Anchor::Before(middle), Anchor::Around(middle)];
    for anchor in anchors.into_iter().chain(late.map(Anchor::At)) {
        for (kinds, term) in [(Kinds::ALL, by_place), (thought, by_kind)] {
            let read = async |store: &SqliteStore| {
                store.surroundings(viewer, chat, anchor, kinds, 100).await.unwrap().unwrap();
            };
            heard.bounded(&format!("{anchor:?}"), read, &[term]).await;
        }
    }
    for (oldest_first, behind) in [(true, None), (true, Some(many / 2)), (false, Some(many / 2))] {
        let filter = HistoryFilter { root: Some(made(3)), oldest_first, ..HistoryFilter::default() };
        let read = async |store: &SqliteStore| {
            let page = store.history(viewer, chat, filter, part(behind)).await.unwrap().unwrap();
            assert_eq!(page.rows.len(), 100);
        };
        let term = "messages_of_tree (root_id=? AND chat_id=? AND sequence>? AND sequence<?)";
        heard.bounded("tree", read, &[term]).await;
    }
    for behind in [None, Some(many / 2)] {
        let read = async |store: &SqliteStore| {
            let page = store.context(bot.id, chat, part(behind)).await.unwrap().unwrap();
            assert_eq!(page.rows.len(), 100);
        };
        heard.bounded("context", read, &["(chat_id=? AND sender_id=? AND sequence>?)"]).await;
        for filter in [DeliveryFilter::All, DeliveryFilter::Processed, DeliveryFilter::Open] {
            let read = async |store: &SqliteStore| {
                let page = part(behind);
                DeliveryRepository::list(store, bot.id, chat, filter, Order::Ascending, page).await.unwrap();
            };
            heard.bounded(&format!("{filter:?}"), read, &["(agent_id=? AND chat_id=? AND sequence>?)"]).await;
        }
    }
    let read = async |store: &SqliteStore| {
        assert!(
            store.next(bot.id, chat, Timestamp::from_micros(NOON)).await.unwrap().unwrap().message.is_some()
        );
    };
    heard.bounded("next", read, &["deliveries_open"]).await;
    let read = async |store: &SqliteStore| {
        let listing = ChatListing { agent_rooms: true, parts: ChatParts::ALL, ..ChatListing::default() };
        let page = ChatRepository::list(store, viewer, listing, part(None)).await.unwrap();
        assert!(page.rows[0].last_message.is_some());
    };
    heard.bounded("rooms", read, &["deliveries_at_work"]).await;
}
