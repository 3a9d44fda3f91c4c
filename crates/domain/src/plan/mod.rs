//! Plans: what an organization may use.
//!
//! A *plan* limits how many of a *resource* there may be and says whether humans may call the
//! interface of their own and whether memories may be kept. Every organization has one. Plans are
//! the operator's configuration, written to the store at every start, so that a limit is looked at
//! where it counts: inside the write that would exceed it. A room counts for the organization of
//! whoever made it, for good, wherever its maker belongs later. The rule stands in [`quota`].

mod port;
pub mod quota;
mod service;

pub use port::{
    AssignPlan, AssignRefused, Organization, OrganizationName, PlanInUse, PlanRepository, WhichOrganization,
};
pub use quota::{LimitReached, Resource, check, check_more};
pub use service::PlanService;

use crate::text::{TextFault, single_line};

/// The plan that is always there: everything allowed, and no limit but that of bytes.
pub const DEFAULT_PLAN: &str = "enterprise";

/// How many bytes of messages and memories an organization may keep unless its plan or the configuration says otherwise:
/// 100 GiB, more than a server on one disk serves well and far more than conversations need.
pub const DEFAULT_BYTES: u64 = 100 << 30;

/// A plan's name: 1 to 40 of `a-z`, `0-9` and `-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlanName(String);

impl PlanName {
    /// Checks a name.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        let name = single_line(text, 40)?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.bytes().all(plain) {
            Ok(Self(name))
        } else {
            Err(TextFault::Malformed { expected: "must contain only a-z, 0-9, and hyphens" })
        }
    }

    /// Wraps what a store holds.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The plan that is always there.
    pub fn enterprise() -> Self {
        Self(DEFAULT_PLAN.to_owned())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an organization may use; `None` is no limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Its name.
    pub name: PlanName,
    /// Agents of all its users, not deleted.
    pub agents: Option<u32>,
    /// Active rooms that its users and their agents have made.
    pub chats: Option<u32>,
    /// Participants of one room.
    pub participants: Option<u32>,
    /// Texts and events of one room.
    pub messages: Option<u32>,
    /// Bytes of the messages and memories of the organization, with their metadata.
    pub bytes: Option<u64>,
    /// Whether humans may call the interface of their own.
    pub human_interface: bool,
    /// Whether memories may be kept.
    pub memories: bool,
}

impl Plan {
    /// Everything allowed, and no limit but that of bytes.
    pub fn enterprise() -> Self {
        Self {
            name: PlanName::enterprise(),
            agents: None,
            chats: None,
            participants: None,
            messages: None,
            bytes: Some(DEFAULT_BYTES),
            human_interface: true,
            memories: true,
        }
    }
}

/// What a caller's plan allows beside quotas; known from authentication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Permits {
    /// Whether humans may call the interface of their own.
    pub human_interface: bool,
    /// Whether memories may be kept.
    pub memories: bool,
}

impl Permits {
    /// Everything.
    pub const ALL: Self = Self { human_interface: true, memories: true };
}
