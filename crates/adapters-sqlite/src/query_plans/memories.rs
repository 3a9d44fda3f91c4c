//! Memories are read along indexes, for all callers and filters.

use super::*;
use domain::memory::{
    HumanScope, MemoriesOfAgent, MemoriesOfHuman, MemoryContent, MemoryFilter, MemoryKind, MemoryMetadata,
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
        subject: Some(ann.id.into()),
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
    /// Asserts that the memories are searched along `index`: only those of a requested state, and
    /// for a page from its place on; that no subquery runs per memory; and that counted and skipped
    /// memories are judged by the index alone, unless texts are searched.
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
            for subject in [None, Some(ann.id.into())] {
                for scope in [None, Some(MemoryScope::Subject)] {
                    let listing = MemoriesOfAgent { filter: filter.clone(), subject, scope, owners };
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
        for scope in [HumanScope::All, HumanScope::AboutMe, HumanScope::Organization, HumanScope::Chat] {
            for room in [None, Some(chat)] {
                for source in [None, Some(bot.id)] {
                    let listing = MemoriesOfHuman { filter: filter.clone(), scope, chat: room, source };
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
