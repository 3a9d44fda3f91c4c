//! The states of a memory: active, then superseded permanently or archived temporarily.

use crate::words::words;

words! {
    /// The state of a memory.
    #[derive(Default)]
    MemoryStatus {
        /// In use.
        #[default]
        Active = "active",
        /// A newer memory has replaced it, permanently.
        Superseded = "superseded",
        /// Archived.
        Archived = "archived",
    }
}

impl MemoryStatus {
    /// The state after `step`; repeating a step changes nothing, so that a client may retry it.
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
    /// A step in the life of a memory.
    MemoryStep {
        /// A newer memory replaces it.
        Supersede = "superseded",
        /// It is archived.
        Archive = "archived",
        /// It is restored, which only humans may do.
        Restore = "restored",
    }
}

/// A step that is not possible from the current state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a memory that is {} cannot be {}", from.as_str(), step.as_str())]
pub struct Unmovable {
    /// The current state.
    pub from: MemoryStatus,
    /// The requested step.
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
