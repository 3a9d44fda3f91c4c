//! Memories are read along indexes, whoever asks and however the list is narrowed.

use super::*;
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
                    let what = format!("{listing:?}");
                    store.list_for_agent(bot.caller, listing, after(NOON)).await.unwrap();
                    heard.expect(&what, &[]);
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
                    let what = format!("{listing:?}");
                    store.list_for_human(ann.caller, listing, after(NOON)).await.unwrap().unwrap();
                    heard.expect(&what, &[]);
                }
            }
        }
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
