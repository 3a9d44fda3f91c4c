//! The categories of memories.

use crate::words::words;

words! {
    /// The memory system.
    MemorySystem {
        /// Perceptions.
        Sensory = "sensory",
        /// Work in progress.
        Working = "working",
        /// Permanent knowledge.
        LongTerm = "long_term",
    }
    /// The type of a memory.
    MemoryKind {
        /// Something seen.
        Iconic = "iconic",
        /// Something heard.
        Echoic = "echoic",
        /// Something felt.
        Haptic = "haptic",
        /// Something that happened.
        Episodic = "episodic",
        /// Something known.
        Semantic = "semantic",
        /// How something is done.
        Procedural = "procedural",
    }
    /// The segment: what a memory concerns.
    MemorySegment {
        /// A human.
        User = "user",
        /// An agent.
        Agent = "agent",
        /// A tool.
        Tool = "tool",
        /// A rule of behaviour.
        Guideline = "guideline",
    }
    /// The readers of a memory besides the agent that stored it.
    MemoryScope {
        /// The organization's agents; the memory has a subject.
        Subject = "subject",
        /// The organization.
        Organization = "organization",
        /// No others.
        Agent = "agent",
    }
}

impl MemoryKind {
    /// Returns whether the system has this type: the sensory types belong to the sensory system,
    /// the others to the rest.
    pub const fn fits(self, system: MemorySystem) -> bool {
        let of_senses = matches!(self, Self::Iconic | Self::Echoic | Self::Haptic);
        matches!(system, MemorySystem::Sensory) == of_senses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_has_three_kinds() {
        for (system, kinds) in [
            (MemorySystem::Sensory, ["iconic", "echoic", "haptic"]),
            (MemorySystem::Working, ["episodic", "semantic", "procedural"]),
            (MemorySystem::LongTerm, ["episodic", "semantic", "procedural"]),
        ] {
            for word in MemoryKind::WORDS {
                let fits = MemoryKind::parse(word).unwrap().fits(system);
                assert_eq!(fits, kinds.contains(word), "{system:?} {word}");
            }
        }
        assert_eq!(MemoryKind::parse("dream"), None);
    }
}
