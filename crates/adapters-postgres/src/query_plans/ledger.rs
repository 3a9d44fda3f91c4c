//! The work of an owner with a thousand agents, behind all that they have done.

use domain::delivery::DeliveryStatus;
use domain::id::{AgentId, ChatId, MessageId, UserId};
use domain::page::{PageRequest, Slice};
use domain::time::Timestamp;
use domain::work::{
    FindWork, FlagBounds, FlagCondition, WorkRepository, WorkScope, WorkSearch, WorkThresholds,
};

use super::fill::{Size, at, id};
use super::{FIRST, Watched};

/// The kinds of the ids of the owner, the agents, the chats, and the messages.
const OWNER: u32 = 20;
const AGENT: u32 = 21;
const CHAT: u32 = 22;
const TEXT: u32 = 23;

const OPEN: i64 = 500;

/// Processed messages before the open ones.
fn processed() -> i64 {
    if std::env::var_os("PARLANCE_TEST_FULL").is_some() { 10_000_000 } else { 60_000 }
}

impl Watched {
    /// Message n is for agent n % 1000 in chat n % 100. A third of the open ones waits, a third is in
    /// processing, and a third has failed. The first of each chat is dead.
    async fn fill_ledger(&self, all: i64) {
        let statements = format!(
            "INSERT INTO organizations SELECT $id(9, 999999), 'ledger', $at(1), 'enterprise';
             INSERT INTO users SELECT $id({OWNER}, 1), $id(9, 999999), 'olga', 'olga@example.org', 'O', 'L', \
               $at(1), $at(1), 'user';
             INSERT INTO agents SELECT $id({AGENT}, n), $id({OWNER}, 1), 'agent ' || n, 'olga/agent-' || n, 'works', \
               'external', NULL, NULL, '[]', FALSE, TRUE, FALSE, $at(n), $at(n), NULL, FALSE \
               FROM generate_series(0, 999) AS n;
             INSERT INTO chats SELECT $id({CHAT}, n), 'ledger ' || n, NULL, 'group', 'active', {all} / 100, $at(n), \
               $at(n), $at(n), NULL, $id(9, 999999), 0 FROM generate_series(0, 99) AS n;
             INSERT INTO participants SELECT $id({CHAT}, n % 100), $id({AGENT}, n), 'Agent', 'member', 'active', \
               $at(n), $at(n), NULL, $id({OWNER}, 1) FROM generate_series(0, 999) AS n;
             INSERT INTO messages SELECT $id({TEXT}, n), $id({CHAT}, n % 100), n / 100 + 1, 'text', 'work ' || n, \
               $id({OWNER}, 1), 'User', 'Olga', '[]', NULL, $at(n), $at(n) FROM generate_series(0, {all} - 1) AS n;
             INSERT INTO deliveries SELECT $id({AGENT}, n % 1000), $id({CHAT}, n % 100), n / 100 + 1, TRUE, \
               CASE WHEN open AND n % 3 = 0 THEN 0 ELSE 1 END, NULL, \
               CASE WHEN open AND n % 3 = 0 THEN NULL ELSE $at(n) END, CASE WHEN NOT open THEN $at(n) END, \
               CASE WHEN open AND n % 3 = 2 THEN $at(n) END, CASE WHEN open AND n % 3 = 2 THEN 'it broke' END \
               FROM (SELECT n, n >= {all} - {OPEN} AS open FROM generate_series(0, {all} - 1) AS n) AS all_of_them;
             UPDATE deliveries SET processed_at = NULL, failed_at = started_at, error = 'it broke', \
               dead_at = started_at, dead_reason = 'no key' \
               WHERE agent_id IN (SELECT $id({AGENT}, n) FROM generate_series(0, 99) AS n) AND sequence = 1;"
        );
        let statements = statements.replace("$id", "pg_temp.id").replace("$at", "pg_temp.at");
        self.client.batch_execute(&statements).await.unwrap();
        self.client.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
    }

    async fn reads_of_work(&mut self, all: i64) {
        let (store, owner) = (self.store.clone(), UserId::new(id(OWNER, 1)));
        let any = WorkSearch {
            scope: WorkScope::OwnedBy(owner),
            agent: None,
            chat: None,
            root: None,
            state: None,
            flag: None,
            written_by: None,
            min_attempts: 0,
            error: None,
        };
        let last = Timestamp::from_micros(at(all));
        // Each agent is read once for each part, each open item and the ten participants of its chat a few
        // times, and what is shown of a page, for each item of which the few organizations are read.
        let (both, waiting, begun) = (15_000, 9000, 8500);
        let search = |change: fn(&mut WorkSearch)| {
            let mut search = any.clone();
            change(&mut search);
            search
        };
        for (what, search, rows) in [
            ("all", any.clone(), both),
            ("new", search(|search| search.state = Some(DeliveryStatus::New)), waiting),
            ("failed", search(|search| search.state = Some(DeliveryStatus::Failed)), begun),
            ("attempts", search(|search| search.min_attempts = 1), begun),
            ("an error", search(|search| search.error = Some("BROKE".to_owned())), begun),
            ("failing", search(|search| search.flag = Some(FlagCondition::Failing(1))), begun),
            ("stuck", WorkSearch { flag: Some(FlagCondition::Stuck(last)), ..any.clone() }, begun),
            (
                "unanswered",
                WorkSearch { flag: Some(FlagCondition::Unanswered(last)), ..any.clone() },
                waiting,
            ),
            ("dead", search(|search| search.state = Some(DeliveryStatus::Dead)), begun),
            ("an agent", search(|search| search.agent = Some(AgentId::new(id(AGENT, 301)))), 150),
            ("a chat", search(|search| search.chat = Some(ChatId::new(id(CHAT, 7)))), both),
        ] {
            let page =
                self.costs(&format!("work, {what}"), rows, store.list_work(search.clone(), FIRST)).await;
            let page = page.unwrap().unwrap();
            assert!(!page.rows.is_empty(), "{what}");
            let Some(after) = page.next else { continue };
            let second = PageRequest { slice: Slice::After { after: Some(after), limit: 50 }, count: false };
            let reading = store.list_work(search, second);
            self.costs(&format!("more work, {what}"), rows, reading).await.unwrap().unwrap();
        }
        let flags = WorkThresholds::default().at(last);
        for (what, search, rows) in [
            ("all", any.clone(), 2 * both),
            ("failed", search(|search| search.state = Some(DeliveryStatus::Failed)), 2 * begun),
            ("an agent", search(|search| search.agent = Some(AgentId::new(id(AGENT, 301)))), 150),
        ] {
            let what = format!("a summary of work, {what}");
            let counts = self.costs(&what, rows, store.summarize_work(search, flags)).await.unwrap().unwrap();
            assert!(!counts.items.is_empty() && !counts.is_cut, "{what}");
        }
        self.counts_work(flags).await;
        let agents = (0..1000).map(|number| AgentId::new(id(AGENT, number))).collect::<Vec<_>>();
        let of_all = store.work_of_agents(agents.clone(), flags);
        let of_all = self.costs("the work of agents", 30_000, of_all).await.unwrap();
        let open = of_all.iter().map(|work| work.totals.open()).sum::<u64>();
        assert_eq!(open, OPEN.cast_unsigned());
        assert!(of_all.iter().all(|work| work.finished_at.is_some()));
        self.costs("the work of an agent", 100, store.work_of_agents(vec![agents[7]], flags)).await.unwrap();
        let wanted = FindWork {
            scope: WorkScope::OwnedBy(owner),
            message: MessageId::new(id(TEXT, 1)),
            agent: AgentId::new(id(AGENT, 1)),
        };
        assert!(self.costs("one item", 150, store.find_work(wanted)).await.unwrap().unwrap().is_some());
    }
}

impl Watched {
    /// The indexes of open and of dead work are read from end to end, and nothing else.
    async fn counts_work(&mut self, flags: FlagBounds) {
        self.plans().await;
        let before = self.read().await;
        let totals = self.store.count_work(flags).await.unwrap();
        assert!(totals.open() > OPEN.cast_unsigned() && totals.dead == 100, "{totals:?}");
        // An item is read with its message, its chat, and its participant, each along an index. The agents of others
        // have the rest.
        let (read, open) = (self.read().await - before, self.size.messages + OPEN + 100);
        let plans = self.plans().await;
        let along = ["deliveries_open", "deliveries_at_work", "deliveries_dead"];
        let is_along = plans.iter().any(|plan| along.iter().all(|index| plan.contains(index)));
        if !is_along || read > 10 * open {
            self.faults.push(format!("the totals read {read} rows:\n{}", plans.join("\n")));
        }
    }
}

#[tokio::test]
async fn a_page_of_work_costs_what_is_open() {
    let mut watched = Watched::open_with(Size { messages: 2000, rooms: 100, users: 100 }).await;
    let all = processed() + OPEN;
    watched.fill_ledger(all).await;
    for _ in ["before the tables are analysed", "after"] {
        watched.reads_of_work(all).await;
        watched.analyse().await;
    }
    watched.end();
}
