//! The life of a memory: active, then superseded for good or archived for a while.

use crate::words::words;

words! {
    /// Where a memory stands.
    #[derive(Default)]
    MemoryStatus {
        /// In use.
        #[default]
        Active = "active",
        /// Something newer has taken its place; for good.
        Superseded = "superseded",
        /// Put aside.
        Archived = "archived",
    }
}

impl MemoryStatus {
    /// Where `step` leads; to take a step again changes nothing, so that a client may repeat it.
    pub const fn moved(self, step: MemoryStep) -> Result<Self, Unmovable> {
        match (self, step) {
            (Self::Active | Self::Superseded, MemoryStep::Supersede) => Ok(Self::Superseded),
            (Self::Active | Self::Archived, MemoryStep::Archive) => Ok(Self::Archived),
            (Self::Archived, MemoryStep::Restore) => Ok(Self::Active),
            (from, step) => Err(Unmovable { from, step }),
        }
    }
}

words! {
    /// What may be done with a memory.
    MemoryStep {
        /// Something newer takes its place.
        Supersede = "superseded",
        /// It is put aside.
        Archive = "archived",
        /// It is taken out again; only humans may.
        Restore = "restored",
    }
}

/// A step that does not lead anywhere from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a memory that is {} cannot be {}", from.as_str(), step.as_str())]
pub struct Unmovable {
    /// Where it stands.
    pub from: MemoryStatus,
    /// What was wanted.
    pub step: MemoryStep,
}

#[cfg(test)]
mod tests {
    use super::MemoryStatus::{Active, Archived, Superseded};
    use super::MemoryStep::{Archive, Restore, Supersede};

    #[test]
    fn every_step_from_every_state() {
        for (from, step, to) in [
            (Active, Supersede, Some(Superseded)),
            (Active, Archive, Some(Archived)),
            (Active, Restore, None),
            (Superseded, Supersede, Some(Superseded)),
            (Superseded, Archive, None),
            (Superseded, Restore, None),
            (Archived, Supersede, None),
            (Archived, Archive, Some(Archived)),
            (Archived, Restore, Some(Active)),
        ] {
            assert_eq!(from.moved(step).ok(), to, "{from:?} {step:?}");
        }
    }
}
