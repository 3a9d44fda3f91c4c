//! The words by which memories are sorted.

use crate::words::words;

words! {
    /// For how long something is kept in mind.
    MemorySystem {
        /// What was just perceived.
        Sensory = "sensory",
        /// What is being worked on.
        Working = "working",
        /// What stays.
        LongTerm = "long_term",
    }
    /// What sort of thing is remembered.
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
    /// What it concerns.
    MemorySegment {
        /// A human.
        User = "user",
        /// An agent.
        Agent = "agent",
        /// A tool.
        Tool = "tool",
        /// How to behave.
        Guideline = "guideline",
    }
    /// Who may read it beside the agent that stored it.
    MemoryScope {
        /// The organization's agents; it is about somebody.
        Subject = "subject",
        /// The organization.
        Organization = "organization",
        /// Nobody.
        Agent = "agent",
    }
}

impl MemoryKind {
    /// Whether the system keeps such things: the senses theirs, the others the rest.
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
