//! Memories: what is kept, who reads and changes it, and how lists are narrowed.

use domain::id::{AccountId, ParticipantId};
use domain::memory::{
    ChangeMemoryError, FindMemoryError, HumanScope, ListMemoriesError, MemoriesOfAgent, MemoriesOfHuman,
    Memory, MemoryContent, MemoryFilter, MemoryKind, MemoryMetadata, MemoryOwners, MemoryQuery, MemoryScope,
    MemorySegment, MemoryStatus, MemoryStep, MemorySystem, MemoryThought, StatusFilter, StoreMemory,
    StoreMemoryError,
};
use domain::page::{PAGE_BYTES, PageRequest, Slice};
use serde_json::json;

use crate::{TestAgent, TestUser, World};

const FIRST: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 50 }, count: true };

/// Something to be remembered, with nothing said but the content.
fn plain(content: &str) -> StoreMemory {
    StoreMemory {
        content: MemoryContent::new(content.to_owned()).unwrap(),
        system: None,
        kind: None,
        segment: None,
        scope: None,
        subject: None,
        thought: MemoryThought::default(),
        metadata: MemoryMetadata::default(),
    }
}

async fn remember(world: &World, agent: &TestAgent, command: StoreMemory) -> Memory {
    world.clock.advance(std::time::Duration::from_secs(1));
    world.memories.store(agent.caller, command).await.unwrap()
}

fn contents(rows: &[Memory]) -> Vec<&str> {
    rows.iter().map(|memory| memory.content.as_str()).collect()
}

async fn of_agent(world: &World, agent: &TestAgent, listing: MemoriesOfAgent) -> Vec<String> {
    let page = world.memories.list_for_agent(agent.caller, listing, FIRST).await.unwrap();
    assert_eq!(page.total, Some(page.rows.len() as u64));
    contents(&page.rows).into_iter().map(str::to_owned).collect()
}

async fn of_human(world: &World, user: &TestUser, listing: MemoriesOfHuman) -> Vec<String> {
    let page = world.memories.list_for_human(user.caller, listing, FIRST).await.unwrap();
    contents(&page.rows).into_iter().map(str::to_owned).collect()
}

/// Every field, and what follows where nothing is said.
pub async fn stored_memories_are_read_unchanged(world: World) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let metadata = json!({"tags": ["a"], "references": ["b"], "deep": {"c": [1, null]}});
    let command = StoreMemory {
        system: Some(MemorySystem::Sensory),
        kind: Some(MemoryKind::Echoic),
        segment: Some(MemorySegment::Tool),
        scope: Some(MemoryScope::Organization),
        subject: Some(ann.id.into()),
        thought: MemoryThought::new("because".to_owned()).unwrap(),
        metadata: MemoryMetadata::new(metadata.as_object().unwrap().clone()).unwrap(),
        ..plain("it rang")
    };
    let stored = remember(&world, &bot, command).await;
    assert_eq!(world.memories.find(bot.caller, stored.id).await.unwrap(), stored);
    assert_eq!(
        (stored.system, stored.kind, stored.segment),
        (MemorySystem::Sensory, MemoryKind::Echoic, MemorySegment::Tool)
    );
    assert_eq!(
        (stored.scope, stored.status, stored.thought.as_str()),
        (MemoryScope::Organization, MemoryStatus::Active, "because")
    );
    assert_eq!(
        (stored.subject, stored.subject_name.as_deref()),
        (Some(ParticipantId::User(ann.id)), Some("ann Example"))
    );
    assert_eq!((stored.source, stored.source_name.as_deref()), (Some(bot.id), Some("Bot")));
    assert_eq!(
        (serde_json::Value::Object(stored.metadata), stored.organization),
        (metadata, bot.caller.organization)
    );

    let bare = remember(&world, &bot, plain("bare")).await;
    assert_eq!(
        (bare.system, bare.kind, bare.segment, bare.scope),
        (MemorySystem::LongTerm, MemoryKind::Semantic, MemorySegment::Agent, MemoryScope::Agent)
    );
    let about = remember(&world, &bot, StoreMemory { subject: Some(ann.id.into()), ..plain("about") }).await;
    assert_eq!((about.segment, about.scope), (MemorySegment::User, MemoryScope::Subject));
    let itself = remember(&world, &bot, StoreMemory { subject: Some(bot.id.into()), ..plain("self") }).await;
    assert_eq!(itself.segment, MemorySegment::Agent);

    let store = async |command| world.memories.store(bot.caller, command).await;
    let odd =
        StoreMemory { system: Some(MemorySystem::Sensory), kind: Some(MemoryKind::Semantic), ..plain("x") };
    assert!(matches!(store(odd).await, Err(StoreMemoryError::KindDoesNotFit)));
    let nobody = StoreMemory { scope: Some(MemoryScope::Subject), ..plain("x") };
    assert!(matches!(store(nobody).await, Err(StoreMemoryError::SubjectMissing)));
    let stranger = world.user("zoe").await;
    for subject in [AccountId::NIL, stranger.id.into()] {
        let command = StoreMemory { subject: Some(subject), ..plain("x") };
        assert!(matches!(store(command).await, Err(StoreMemoryError::SubjectNotFound)));
    }
}

/// Agents of a house read what is shared and change their own; those of another find nothing.
pub async fn memories_stay_in_their_organization(world: World) {
    let (ann, zoe) = (world.user("ann").await, world.user("zoe").await);
    let (bot, sibling) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Sibling").await);
    let foreign = world.agent(&zoe, "Foreign").await;
    let private = remember(&world, &bot, plain("private")).await;
    let shared =
        remember(&world, &bot, StoreMemory { scope: Some(MemoryScope::Organization), ..plain("shared") })
            .await;
    let about = remember(&world, &bot, StoreMemory { subject: Some(ann.id.into()), ..plain("about") }).await;
    let all = MemoriesOfAgent::default;
    assert_eq!(of_agent(&world, &bot, all()).await, ["about", "shared", "private"]);
    assert_eq!(of_agent(&world, &sibling, all()).await, ["about", "shared"]);
    assert_eq!(of_agent(&world, &foreign, all()).await, Vec::<String>::new());
    for memory in [&shared, &about] {
        assert_eq!(world.memories.find(sibling.caller, memory.id).await.unwrap().id, memory.id);
        let refused = world.memories.change(sibling.caller, memory.id, MemoryStep::Supersede).await;
        assert!(matches!(refused, Err(ChangeMemoryError::Forbidden)), "{refused:?}");
    }
    let hidden = world.memories.find(sibling.caller, private.id).await;
    assert!(matches!(hidden, Err(FindMemoryError::NotFound)), "{hidden:?}");
    for memory in [&private, &shared, &about] {
        assert!(matches!(
            world.memories.find(foreign.caller, memory.id).await,
            Err(FindMemoryError::NotFound)
        ));
        let refused = world.memories.change(foreign.caller, memory.id, MemoryStep::Archive).await;
        assert!(matches!(refused, Err(ChangeMemoryError::NotFound)), "{refused:?}");
        assert!(matches!(world.memories.find(zoe.caller, memory.id).await, Err(FindMemoryError::NotFound)));
    }
    for _ in 0..2 {
        let changed = world.memories.change(bot.caller, shared.id, MemoryStep::Supersede).await.unwrap();
        assert_eq!(changed.status, MemoryStatus::Superseded);
    }
    let back = world.memories.change(bot.caller, shared.id, MemoryStep::Archive).await;
    assert!(matches!(back, Err(ChangeMemoryError::Unmovable(_))), "{back:?}");
    assert_eq!(of_agent(&world, &bot, all()).await, ["about", "private"]);
}

/// By every filter alone; by cursor to the end.
pub async fn lists_of_memories_are_narrowed(world: World) {
    let ann = world.user("ann").await;
    let (bot, other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    remember(&world, &bot, StoreMemory { kind: Some(MemoryKind::Episodic), ..plain("An ÄPFEL tree") }).await;
    remember(&world, &bot, StoreMemory { system: Some(MemorySystem::Working), ..plain("working 100%_") })
        .await;
    remember(&world, &bot, StoreMemory { segment: Some(MemorySegment::Guideline), ..plain("be kind") }).await;
    remember(&world, &bot, StoreMemory { subject: Some(ann.id.into()), ..plain("likes tea") }).await;
    remember(&world, &other, StoreMemory { scope: Some(MemoryScope::Organization), ..plain("of all") }).await;
    let aside = remember(&world, &bot, plain("aside")).await;
    world.memories.change(bot.caller, aside.id, MemoryStep::Archive).await.unwrap();
    let filter = |filter: MemoryFilter| MemoriesOfAgent { filter, ..MemoriesOfAgent::default() };
    let text = |text: &str| {
        filter(MemoryFilter { query: Some(MemoryQuery::new(text).unwrap()), ..MemoryFilter::default() })
    };
    for (listing, expected) in [
        (
            filter(MemoryFilter { kind: Some(MemoryKind::Episodic), ..MemoryFilter::default() }),
            vec!["An ÄPFEL tree"],
        ),
        (
            filter(MemoryFilter { system: Some(MemorySystem::Working), ..MemoryFilter::default() }),
            vec!["working 100%_"],
        ),
        (
            filter(MemoryFilter { segment: Some(MemorySegment::Guideline), ..MemoryFilter::default() }),
            vec!["be kind"],
        ),
        (text("äpfel"), vec!["An ÄPFEL tree"]),
        (text("100%_"), vec!["working 100%_"]),
        (text("%"), vec!["working 100%_"]),
        (text("nowhere"), vec![]),
        (
            filter(MemoryFilter {
                status: StatusFilter::Only(MemoryStatus::Archived),
                ..MemoryFilter::default()
            }),
            vec!["aside"],
        ),
        (MemoriesOfAgent { subject: Some(ann.id.into()), ..MemoriesOfAgent::default() }, vec!["likes tea"]),
        (
            MemoriesOfAgent { scope: Some(MemoryScope::Subject), ..MemoriesOfAgent::default() },
            vec!["likes tea"],
        ),
        (
            MemoriesOfAgent { owners: MemoryOwners::Organization, ..MemoriesOfAgent::default() },
            vec!["of all"],
        ),
        (
            MemoriesOfAgent {
                owners: MemoryOwners::Own,
                subject: Some(ann.id.into()),
                ..MemoriesOfAgent::default()
            },
            vec!["likes tea"],
        ),
    ] {
        assert_eq!(of_agent(&world, &bot, listing.clone()).await, expected, "{listing:?}");
    }
    let own = MemoriesOfAgent { owners: MemoryOwners::Own, ..MemoriesOfAgent::default() };
    assert_eq!(of_agent(&world, &bot, own).await.len(), 4);
    let everything = filter(MemoryFilter { status: StatusFilter::All, ..MemoryFilter::default() });
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.memories.list_for_agent(bot.caller, everything.clone(), page).await.unwrap();
        seen.extend(page.rows.into_iter().map(|memory| memory.content));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, of_agent(&world, &bot, everything).await);
    assert_eq!(seen.len(), 6);
}

/// About them, the organization's, of their agents, of those they share a room with.
pub async fn humans_read_what_concerns_them(world: World) {
    let (ann, ben) = (world.colleague("ann", "Acme").await, world.colleague("ben", "Acme").await);
    let (bot, bens) = (world.agent(&ann, "Bot").await, world.agent(&ben, "Bens").await);
    let private = remember(&world, &bot, plain("private")).await;
    let about =
        remember(&world, &bot, StoreMemory { subject: Some(ann.id.into()), ..plain("about ann") }).await;
    let shared =
        remember(&world, &bens, StoreMemory { scope: Some(MemoryScope::Organization), ..plain("of all") })
            .await;
    remember(&world, &bens, StoreMemory { subject: Some(bens.id.into()), ..plain("of ben's") }).await;
    remember(&world, &bens, plain("secret of ben's")).await;
    let of = |scope| MemoriesOfHuman { scope, ..MemoriesOfHuman::default() };
    assert_eq!(of_human(&world, &ann, of(HumanScope::All)).await, ["of all", "about ann", "private"]);
    assert_eq!(of_human(&world, &ann, of(HumanScope::AboutMe)).await, ["about ann"]);
    assert_eq!(of_human(&world, &ann, of(HumanScope::Organization)).await, ["of all"]);
    assert_eq!(of_human(&world, &ann, of(HumanScope::Chat)).await, Vec::<String>::new());
    let by_bot = MemoriesOfHuman { source: Some(bot.id), ..MemoriesOfHuman::default() };
    assert_eq!(of_human(&world, &ann, by_bot.clone()).await, ["about ann", "private"]);
    assert_eq!(of_human(&world, &ben, by_bot).await, Vec::<String>::new());
    // In a room together.
    let room = world.chat(ben.caller, &[bens.id.into(), ann.id.into()]).await;
    assert_eq!(of_human(&world, &ann, of(HumanScope::Chat)).await, ["of ben's", "of all", "about ann"]);
    let here = MemoriesOfHuman { chat: Some(room), scope: HumanScope::Chat, ..MemoriesOfHuman::default() };
    assert_eq!(of_human(&world, &ann, here.clone()).await, ["of ben's", "of all", "about ann"]);
    let stranger = world.user("zoe").await;
    let refused = world.memories.list_for_human(stranger.caller, here, FIRST).await;
    assert!(matches!(refused, Err(ListMemoriesError::ChatNotFound)), "{refused:?}");

    let refused = world.memories.find(ben.caller, private.id).await;
    assert!(matches!(refused, Err(FindMemoryError::Forbidden)), "{refused:?}");
    // Of what own agents stored a human changes what they keep private.
    for human in [ann.caller, ben.caller] {
        let refused = world.memories.change(human, shared.id, MemoryStep::Archive).await;
        assert!(matches!(refused, Err(ChangeMemoryError::Forbidden)), "{refused:?}");
        let refused = world.memories.delete(human, shared.id).await;
        assert!(matches!(refused, Err(ChangeMemoryError::Forbidden)), "{refused:?}");
    }
    let archived = world.memories.change(ann.caller, private.id, MemoryStep::Archive).await.unwrap();
    assert_eq!(archived.status, MemoryStatus::Archived);
    world.memories.change(ann.caller, about.id, MemoryStep::Archive).await.unwrap();
    let back = world.memories.change(ann.caller, about.id, MemoryStep::Restore).await.unwrap();
    assert_eq!(back.status, MemoryStatus::Active);
    world.memories.delete(ann.caller, about.id).await.unwrap();
    assert!(matches!(world.memories.find(ann.caller, about.id).await, Err(FindMemoryError::NotFound)));
    assert!(matches!(world.memories.find(bot.caller, about.id).await, Err(FindMemoryError::NotFound)));
    assert!(matches!(world.memories.delete(ann.caller, about.id).await, Err(ChangeMemoryError::NotFound)));
}

/// Private memories are deleted; the others stay, without a source.
pub async fn private_memories_are_deleted_with_their_agent(world: World) {
    let ann = world.user("ann").await;
    let (bot, sibling) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Sibling").await);
    let private = remember(&world, &bot, plain("private")).await;
    let shared =
        remember(&world, &bot, StoreMemory { scope: Some(MemoryScope::Organization), ..plain("shared") })
            .await;
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    assert!(matches!(world.memories.find(ann.caller, private.id).await, Err(FindMemoryError::NotFound)));
    let left = world.memories.find(sibling.caller, shared.id).await.unwrap();
    assert_eq!((left.source, left.content.as_str()), (None, "shared"));
    let gone = world.memories.store(bot.caller, plain("late")).await;
    assert!(matches!(gone, Err(StoreMemoryError::SourceGone)), "{gone:?}");
}

/// Memories count with their size in a response, for every reader and in every status.
pub async fn heavy_memories_end_a_page_early(world: World) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    world.remember_heavy_things(&bot, ann.id.into(), 60).await;
    let filter = MemoryFilter { status: StatusFilter::All, ..MemoryFilter::default() };
    let of_agent = MemoriesOfAgent { filter: filter.clone(), ..MemoriesOfAgent::default() };
    let of_human = MemoriesOfHuman { filter, ..MemoriesOfHuman::default() };
    for human in [false, true] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = PageRequest { slice: Slice::After { after, limit: 100 }, count: false };
            let page = if human {
                world.memories.list_for_human(ann.caller, of_human.clone(), page).await.unwrap()
            } else {
                world.memories.list_for_agent(bot.caller, of_agent.clone(), page).await.unwrap()
            };
            let texts = page.rows.iter().flat_map(|memory| [&memory.content, &memory.thought]);
            let bytes = texts.map(|text| serde_json::to_string(text).unwrap().len()).sum::<usize>();
            assert!(bytes <= PAGE_BYTES, "{bytes}");
            assert!(page.next.is_none() || bytes > PAGE_BYTES / 2, "{bytes}");
            seen.extend(page.rows.iter().map(|memory| memory.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let total = seen.len();
        seen.dedup();
        assert_eq!((seen.len(), total), (60, 60));
    }
}
