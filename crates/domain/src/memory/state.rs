//! The life of a memory: active, then superseded for good or archived for a while.

/// Where a memory stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryStatus {
    /// In use.
    #[default]
    Active,
    /// Something newer has taken its place; for good.
    Superseded,
    /// Put aside.
    Archived,
}

impl MemoryStatus {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Active, Self::Superseded, Self::Archived];

    /// The word that the wire and the stores use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Superseded => "superseded",
            Self::Archived => "archived",
        }
    }

    /// Reads [`Self::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

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

/// What may be done with a memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryStep {
    /// Something newer takes its place.
    Supersede,
    /// It is put aside.
    Archive,
    /// It is taken out again; only humans may.
    Restore,
}

impl MemoryStep {
    /// The step in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supersede => "superseded",
            Self::Archive => "archived",
            Self::Restore => "restored",
        }
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
