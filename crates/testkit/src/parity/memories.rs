//! Memories of agents.

use domain::caller::Caller;
use domain::id::MemoryId;
use domain::memory::{
    HumanScope, MemoriesOfAgent, MemoriesOfHuman, MemoryContent, MemoryFilter, MemoryKind, MemoryMetadata,
    MemoryOwners, MemoryQuery, MemoryScope, MemorySegment, MemoryStatus, MemoryStep, MemorySystem,
    MemoryThought, StatusFilter, StoreMemory,
};
use serde_json::json;
use uuid::Uuid;

use super::cast::{Cast, Made, next};
use super::{Act, nothing, played};

const SYSTEMS: [MemorySystem; 3] = [MemorySystem::Sensory, MemorySystem::Working, MemorySystem::LongTerm];
const KINDS: [MemoryKind; 3] = [MemoryKind::Iconic, MemoryKind::Episodic, MemoryKind::Semantic];
const SEGMENTS: [MemorySegment; 2] = [MemorySegment::User, MemorySegment::Guideline];
const SCOPES: [MemoryScope; 3] = [MemoryScope::Subject, MemoryScope::Organization, MemoryScope::Agent];

impl Cast {
    pub(super) fn memories(&mut self) -> Act {
        match self.rng.below(20) {
            0..7 => self.store_memory(),
            7 | 8 => {
                let (memory, caller) = self.memory();
                act!("find_memory", |world, caller, memory| {
                    played(world.memories.find(caller, memory).await, nothing)
                })
            }
            9..12 => {
                let (memory, caller) = self.memory();
                let step = self.rng.of(&[MemoryStep::Supersede, MemoryStep::Archive, MemoryStep::Restore]);
                act!("change_memory", |world, caller, memory, step| {
                    played(world.memories.change(caller, memory, step).await, nothing)
                })
            }
            12 => {
                let (caller, (memory, _)) = (self.user(), self.memory());
                act!("delete_memory", |world, caller, memory| {
                    played(world.memories.delete(caller, memory).await, nothing)
                })
            }
            13..17 => self.list_for_agent(),
            _ => self.list_for_human(),
        }
    }

    /// A memory, and who may know it.
    fn memory(&mut self) -> (MemoryId, Caller) {
        let caller = self.caller();
        if self.memories.is_empty() || self.rng.one_in(20) {
            return (MemoryId::new(Uuid::from_u128(15)), caller);
        }
        let (memory, source) = self.rng.of(&self.memories);
        (memory, self.rng.of(&[source.into(), caller]))
    }

    fn store_memory(&mut self) -> Act {
        let (caller, text, subject) = (self.agent(), self.text(), self.anybody());
        let thought = MemoryThought::new(self.text()).unwrap();
        let metadata = self.rng.of(&[json!({}), json!({"b": 1, "a": [true, {"ä": 0.1}]})]);
        let command = StoreMemory {
            content: MemoryContent::new(text).unwrap_or(MemoryContent::new("much".to_owned()).unwrap()),
            system: self.rng.maybe(&SYSTEMS),
            kind: self.rng.maybe(&KINDS),
            segment: self.rng.maybe(&SEGMENTS),
            scope: self.rng.maybe(&SCOPES),
            subject: self.rng.maybe(&[subject]),
            thought,
            metadata: MemoryMetadata::new(metadata.as_object().unwrap().clone()).unwrap(),
        };
        act!("store_memory", |world, caller, command| {
            played(world.memories.store(caller, command).await, |memory| {
                vec![Made::Memory(memory.id, caller)]
            })
        })
    }

    fn filter(&mut self) -> MemoryFilter {
        let query = self.rng.of(&["hello", "HELLO", "%", "_", "\\", "ß", "İ", "é", "'", "o w", "\u{1}"]);
        MemoryFilter {
            system: if self.rng.one_in(3) { self.rng.maybe(&SYSTEMS) } else { None },
            kind: if self.rng.one_in(3) { self.rng.maybe(&KINDS) } else { None },
            segment: if self.rng.one_in(3) { self.rng.maybe(&SEGMENTS) } else { None },
            query: if self.rng.one_in(3) { MemoryQuery::new(query).ok() } else { None },
            status: self.rng.of(&[
                StatusFilter::All,
                StatusFilter::All,
                StatusFilter::Only(MemoryStatus::Active),
                StatusFilter::Only(MemoryStatus::Superseded),
                StatusFilter::Only(MemoryStatus::Archived),
            ]),
        }
    }

    fn list_for_agent(&mut self) -> Act {
        let somebody = self.anybody();
        let listing = MemoriesOfAgent {
            filter: self.filter(),
            subject: if self.rng.one_in(3) { Some(somebody) } else { None },
            scope: if self.rng.one_in(3) { self.rng.maybe(&SCOPES) } else { None },
            owners: self.rng.of(&[MemoryOwners::Anybody, MemoryOwners::Own, MemoryOwners::Organization]),
        };
        let (caller, page) = (self.agent(), self.page("an agent's memories"));
        act!("memories_for_agent", |world, caller, listing, page| {
            played(world.memories.list_for_agent(caller, listing, page).await, next("an agent's memories"))
        })
    }

    fn list_for_human(&mut self) -> Act {
        let (chat, source) = (self.chat(), self.agent().agent);
        let listing = MemoriesOfHuman {
            filter: self.filter(),
            scope: self.rng.of(&[
                HumanScope::All,
                HumanScope::AboutMe,
                HumanScope::Organization,
                HumanScope::Chat,
            ]),
            chat: self.rng.maybe(&[chat]),
            source: if self.rng.one_in(3) { Some(source) } else { None },
        };
        let (caller, page) = (self.member_user(chat), self.page("a human's memories"));
        act!("memories_for_human", |world, caller, listing, page| {
            played(world.memories.list_for_human(caller, listing, page).await, next("a human's memories"))
        })
    }
}
