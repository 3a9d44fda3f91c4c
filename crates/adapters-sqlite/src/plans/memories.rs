//! Memories are read along indexes, whoever asks and however the list is narrowed.

use std::time::{Duration, Instant};

use super::*;
use diesel::connection::SimpleConnection;
use domain::memory::{
    AgentListing, HumanListing, HumanScope, MemoryContent, MemoryFilter, MemoryKind, MemoryMetadata,
    MemoryOwners, MemoryQuery, MemoryRepository, MemoryScope, MemoryStep, MemoryThought, StatusFilter,
    StoreMemory,
};

/// A memory of the agent, about its owner.
async fn remembered(heard: &Overheard, ann: &TestUser, bot: &TestAgent) -> domain::id::MemoryId {
    let command = StoreMemory {
        content: MemoryContent::new("it rained".to_owned()).unwrap(),
        system: None,
        kind: None,
        segment: None,
        scope: None,
        subject: Some(ann.id.uuid()),
        thought: MemoryThought::default(),
        metadata: MemoryMetadata::default(),
    };
    let memory = heard.world.memories.store(bot.caller, command).await.unwrap();
    heard.statements.lock().unwrap().clear();
    memory.id
}

fn filters() -> [MemoryFilter; 3] {
    let query = Some(MemoryQuery::new("rain").unwrap());
    [
        MemoryFilter::default(),
        MemoryFilter { kind: Some(MemoryKind::Echoic), query, ..MemoryFilter::default() },
        MemoryFilter { status: StatusFilter::All, ..MemoryFilter::default() },
    ]
}

impl Overheard {
    /// Asserts that the memories are looked at along `index`, those of a wanted state only and a
    /// page's from its place on; that nothing is asked anew for each of them; and that those
    /// which are counted or passed over are judged by the index alone, unless texts are searched.
    fn expect_narrow(&mut self, listing: &impl std::fmt::Debug, index: &str, searched: bool) {
        let of = match index {
            "memories_about" => "subject_id",
            "memories_of_source" => "source_id",
            _ => "organization_id",
        };
        let steps = self.steps();
        let looks = steps.iter().filter(|(step, _)| step.contains(" memory "));
        assert!(looks.clone().count() > 1, "{listing:?}: a count and a page, not {steps:#?}");
        for (step, query) in looks {
            let counts = query.contains("count(*)");
            let place = if counts { "" } else { " AND created_at<?" };
            let covering = if counts && !searched { "COVERING " } else { "" };
            let wanted = format!("SEARCH memory USING {covering}INDEX {index} ({of}=? AND status=?{place})");
            assert_eq!(*step, wanted, "{listing:?}\n{query}");
        }
        for (step, query) in &steps {
            assert!(!step.contains("CORRELATED"), "{listing:?}: {step}\n{query}");
            assert!(!step.starts_with("SCAN memory"), "{listing:?}: {step}\n{query}");
            assert!(!step.contains("TEMP B-TREE"), "{listing:?}: {step}\n{query}");
        }
    }
}

#[tokio::test]
async fn an_agents_memories_run_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, ..) = at_work(&heard).await;
    remembered(&heard, &ann, &bot).await;
    let store = heard.store.clone();
    for filter in filters() {
        for owners in [MemoryOwners::Anybody, MemoryOwners::Own, MemoryOwners::Organization] {
            for subject in [None, Some(ann.id.uuid())] {
                for scope in [None, Some(MemoryScope::Subject)] {
                    let listing = AgentListing { filter: filter.clone(), subject, scope, owners };
                    let index = match (subject, owners) {
                        (Some(_), _) => "memories_about",
                        (None, MemoryOwners::Own) => "memories_of_source",
                        (None, _) => "memories_of_organization",
                    };
                    for page in [counted(after(NOON)), NUMBERED] {
                        store.list_for_agent(bot.caller, listing.clone(), page).await.unwrap();
                        heard.expect_narrow(&listing, index, filter.query.is_some());
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_humans_memories_run_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, _) = at_work(&heard).await;
    remembered(&heard, &ann, &bot).await;
    let store = heard.store.clone();
    for filter in filters() {
        for scope in [HumanScope::All, HumanScope::AboutMe, HumanScope::Organization, HumanScope::Room] {
            for room in [None, Some(chat)] {
                for source in [None, Some(bot.id)] {
                    let listing = HumanListing { filter: filter.clone(), scope, room, source };
                    let index = match (source, scope) {
                        (Some(_), _) => "memories_of_source",
                        (None, HumanScope::AboutMe) => "memories_about",
                        (None, _) => "memories_of_organization",
                    };
                    for page in [counted(after(NOON)), NUMBERED] {
                        store.list_for_human(ann.caller, listing.clone(), page).await.unwrap().unwrap();
                        heard.expect_narrow(&listing, index, filter.query.is_some());
                    }
                }
            }
        }
    }
}

fn counted(page: PageRequest) -> PageRequest {
    PageRequest { count: true, ..page }
}

/// Puts a user into `rooms` rooms more, each with ten others, and remembers `many` things about
/// people that are in none of them.
fn fill(heard: &mut Overheard, user: &TestUser, agent: &TestAgent, rooms: u32, many: u32) {
    let hex = |id: Uuid| format!("x'{}'", id.simple());
    let (user, agent) = (user.caller, agent.id);
    let (organization, user, agent) =
        (hex(user.organization.uuid()), hex(user.user.uuid()), hex(agent.uuid()));
    let numbers = |first: u32, last: u32| {
        format!(
            "WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})"
        )
    };
    let (places, people, things) = (numbers(1, rooms), numbers(1, rooms * 10), numbers(1, many));
    let blob = |letter: char, number: &str| format!("CAST(printf('{letter}%015d', {number}) AS BLOB)");
    let (room, of_person) =
        (blob('r', "n"), blob('r', "1 + n % (SELECT count(*) FROM chats WHERE title = 'made')"));
    let (person, thing, unknown) = (blob('p', "n"), blob('t', "n"), blob('u', "n"));
    let member = |chat: &str, who: &str| {
        format!(
            "INSERT INTO participants (chat_id, participant_id, kind, role, status, chat_created_at, joined_at,
                 account_id)
             SELECT {chat}, {who}, 'User', 'member', 'active', {NOON}, {NOON}, {who} FROM numbers;"
        )
    };
    let statements = format!(
        "PRAGMA synchronous = OFF; BEGIN;
         {places} INSERT INTO chats (id, title, kind, status, last_sequence, created_at, updated_at)
         SELECT {room}, 'made', 'group', 'active', 0, {NOON}, {NOON} FROM numbers;
         {places} {}
         {people} {}
         {things} INSERT INTO memories (id, organization_id, source_id, subject_id, subject_kind, system,
             kind, segment, scope, status, content, folded, thought, metadata, created_at, updated_at)
         SELECT {thing}, {organization}, CASE n % 2 WHEN 0 THEN {agent} END, {unknown}, 'User', 'long_term',
             'semantic', 'user', 'subject', CASE n % 100 WHEN 7 THEN 'active' ELSE 'superseded' END,
             'thing ' || n, 'thing ' || n, '', '{{}}', {NOON} + n, {NOON} + n FROM numbers;
         COMMIT;",
        member(&room, &user),
        member(&of_person, &person),
    );
    heard.explainer.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
    heard.explainer.batch_execute(&statements).unwrap();
}

/// Memories that the caller may not read, or does not want, are passed over at little cost each,
/// in however many rooms the caller is.
#[tokio::test]
async fn lists_of_many_memories_are_quick() {
    let mut heard = Overheard::open();
    let (ann, ben) = (heard.world.colleague("ann", "Acme").await, heard.world.colleague("ben", "Acme").await);
    let (own, other) = (heard.world.agent(&ann, "Own").await, heard.world.agent(&ben, "Other").await);
    fill(&mut heard, &ann, &other, 200, 100_000);
    let store = heard.store.clone();
    let query = Some(MemoryQuery::new("nowhere").unwrap());
    for (filter, readable, limit_ms) in [
        (MemoryFilter { status: StatusFilter::All, ..MemoryFilter::default() }, 100_000, 1500),
        (MemoryFilter { status: StatusFilter::All, query, ..MemoryFilter::default() }, 0, 1500),
        (MemoryFilter::default(), 1000, 150),
    ] {
        let limit = Duration::from_millis(limit_ms);
        for scope in [HumanScope::All, HumanScope::Room] {
            let listing = HumanListing { filter: filter.clone(), scope, ..HumanListing::default() };
            let begun = Instant::now();
            let page = store.list_for_human(ann.caller, listing, NUMBERED).await.unwrap().unwrap();
            assert!(begun.elapsed() < limit, "{filter:?} {scope:?}: {:?}", begun.elapsed());
            assert_eq!(page.total, Some(0));
        }
        let listing = AgentListing { filter: filter.clone(), ..AgentListing::default() };
        let begun = Instant::now();
        let page = store.list_for_agent(own.caller, listing, NUMBERED).await.unwrap();
        assert!(begun.elapsed() < limit, "{filter:?}: {:?}", begun.elapsed());
        assert_eq!(page.total, Some(readable));
    }
}

#[tokio::test]
async fn one_memory_is_found_and_changed_by_its_key() {
    let mut heard = Overheard::open();
    let (ann, bot, ..) = at_work(&heard).await;
    let memory = remembered(&heard, &ann, &bot).await;
    heard.store.clone().find(bot.caller.into(), memory).await.unwrap().unwrap();
    heard.expect_no_table_scans("find");
    let memories = heard.world.memories.clone();
    memories.change(bot.caller, memory, MemoryStep::Archive).await.unwrap();
    heard.expect_no_table_scans("archive");
}
