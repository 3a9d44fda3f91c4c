//! Plans: the limits of an organization.
//!
//! A *plan* limits the number of each *resource*, and decides whether humans may use their
//! interface and whether memories may be stored. Every organization has one. Plans are the
//! operator's configuration, written to the store at every start, so that a limit is checked where
//! it counts: inside the write that would exceed it. A chat counts permanently for the organization
//! of its creator, whatever organization the creator belongs to later. The rule is in [`quota`].

mod port;
pub mod quota;
mod service;

pub use port::{
    AssignPlan, AssignRefused, Organization, OrganizationInUse, OrganizationName, PlanInUse, PlanRepository,
    WhichOrganization,
};
pub use quota::{LimitReached, Resource, check, check_more};
pub use service::{AssignError, PlanService};

use crate::text::{TextFault, single_line};

/// The plan that always exists: without limits except that of bytes.
pub const DEFAULT_PLAN: &str = "enterprise";

/// The default limit of bytes of messages and memories of an organization: 100 GiB, more than a
/// server on one disk serves well, and far more than conversations need.
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

    /// The plan that always exists.
    pub fn enterprise() -> Self {
        Self(DEFAULT_PLAN.to_owned())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The limits of an organization; `None` is no limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Its name.
    pub name: PlanName,
    /// Agents of all its users, without deleted ones.
    pub agents: Option<u32>,
    /// Active chats that its users and their agents have created.
    pub chats: Option<u32>,
    /// Participants of one chat.
    pub participants: Option<u32>,
    /// Texts and events of one chat.
    pub messages: Option<u32>,
    /// Bytes of the messages and memories of the organization, with their metadata.
    pub bytes: Option<u64>,
    /// Set if humans may use their interface.
    pub human_interface: bool,
    /// Set if memories may be stored.
    pub memories: bool,
}

impl Plan {
    /// A plan without limits except that of bytes.
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

/// The permissions of a caller's plan, apart from its quotas; known from authentication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Permits {
    /// Set if humans may use their interface.
    pub human_interface: bool,
    /// Set if memories may be stored.
    pub memories: bool,
}

impl Permits {
    /// Everything.
    pub const ALL: Self = Self { human_interface: true, memories: true };
}
