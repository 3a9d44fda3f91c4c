//! Strangers: what follows from a message of another organization.
//!
//! The originator of a tree ([`crate::message::Place`]) is whoever wrote its first message. A message is *foreign* to a
//! chat if the originator belongs to another organization than the chat. It is foreign to an agent if the originator
//! belongs to another one than the agent, or if it is foreign to a chat of the agent's organization. Each
//! organization has a policy for that:
//!
//! - With [`ForeignPolicy::Label`], readers see that a message is foreign to a chat of the organization. The label is
//!   made when the message is stored ([`Origin`]).
//! - With [`ForeignPolicy::Hold`], the deliveries to its agents that are foreign to them are held as well.
//! - With both, its agents have fewer rights while they work on what is foreign to them ([`OpenWork::check`]), unless
//!   their owners allow it.
//!
//! Organizations are compared as they are at the time of a request or message.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::id::{AgentId, OrganizationId};
use crate::store::StoreError;
use crate::words::words;

words! {
    /// What holds for messages that follow from those of other organizations.
    #[derive(Default)]
    ForeignPolicy {
        /// The same as for all others.
        Allow = "allow",
        /// They are labeled.
        #[default]
        Label = "label",
        /// They are labeled, and held for the agents of the organization.
        Hold = "hold",
    }
}

impl ForeignPolicy {
    /// Returns whether nothing is different for them.
    pub const fn allows(self) -> bool {
        matches!(self, Self::Allow)
    }

    /// Returns whether a message from there is held for an agent of the organization `own`. What a human of this
    /// organization sends is not held, whatever it answers.
    pub fn holds(self, own: OrganizationId, source: Source, human: Option<OrganizationId>) -> bool {
        self == Self::Hold && source.is_foreign_to(own) && human != Some(own)
    }
}

/// Where a message comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The organization of the originator; `None` if the originator is gone.
    pub originator: Option<OrganizationId>,
    /// The organization of its chat, if it is foreign to the chat. The originator of what has an ambiguous cause is its
    /// sender, so this alone may tell that a stranger is behind it.
    pub foreign_to: Option<OrganizationId>,
}

impl Source {
    /// Returns whether the message is foreign to an agent of this organization.
    pub fn is_foreign_to(&self, own: OrganizationId) -> bool {
        self.originator != Some(own) || self.foreign_to == Some(own)
    }
}

/// Whether a message is foreign to its chat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is not.
    #[default]
    Own,
    /// It is, and readers do not see that: the organization of the chat allows it.
    Allowed,
    /// It is, and readers see that.
    Labeled,
}

impl Origin {
    /// That of a message in a chat of an organization with this policy.
    pub const fn of(is_foreign: bool, policy: ForeignPolicy) -> Self {
        match (is_foreign, policy) {
            (false, _) => Self::Own,
            (true, ForeignPolicy::Allow) => Self::Allowed,
            (true, ForeignPolicy::Label | ForeignPolicy::Hold) => Self::Labeled,
        }
    }

    /// Returns whether the message is foreign to its chat.
    pub const fn is_foreign(&self) -> bool {
        !self.is_own()
    }

    /// Returns whether it is not.
    pub const fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }
}

/// The call is refused, because the agent works for somebody of another organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the agent works for another organization")]
pub struct ForeignCause;

/// For whom an agent works.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenWork {
    /// The organization of its owner.
    pub own: OrganizationId,
    /// The policy of this organization.
    pub policy: ForeignPolicy,
    /// Set if its owner allows it to work for others with all of its rights.
    pub foreign_access: bool,
    /// Where all that it works on comes from, in any order.
    pub sources: Vec<Source>,
}

impl OpenWork {
    /// Refuses what an agent may do for its own organization only. If it works on several messages, it is not known for
    /// which of them it acts, so one that is foreign to it is enough.
    pub fn check(&self) -> Result<(), ForeignCause> {
        let is_allowed = self.policy.allows() || self.foreign_access;
        let is_foreign = || self.sources.iter().any(|source| source.is_foreign_to(self.own));
        if !is_allowed && is_foreign() { Err(ForeignCause) } else { Ok(()) }
    }
}

/// The store's part.
#[async_trait]
pub trait ForeignRepository: Send + Sync {
    /// For whom an agent works: the sources of the messages on which it has open attempts, in the chats in which it
    /// still is, whatever organization they belong to. `None` if there is no such agent.
    async fn open_work(&self, agent: AgentId) -> Result<Option<OpenWork>, StoreError>;
}

/// Refuses a caller that is an agent and works for another organization, as [`OpenWork::check`] decides.
pub(crate) async fn check<E>(store: &dyn ForeignRepository, caller: Caller) -> Result<(), E>
where
    E: From<StoreError> + From<ForeignCause>,
{
    let Caller::Agent(caller) = caller else { return Ok(()) };
    if let Some(work) = store.open_work(caller.agent).await? {
        work.check()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn organization(number: u128) -> OrganizationId {
        OrganizationId::new(Uuid::from_u128(number))
    }

    #[test]
    fn an_agent_that_works_for_others_has_fewer_rights() {
        use ForeignPolicy::{Allow, Hold, Label};
        for (policy, foreign_access, sources, is_refused) in [
            (Label, false, &[][..], false),
            (Label, false, &[(1, None)], false),
            (Label, false, &[(2, None)], true),
            (Hold, false, &[(2, None)], true),
            (Allow, false, &[(2, None)], false),
            (Label, true, &[(2, None)], false),
            (Hold, true, &[(2, None)], false),
            (Label, false, &[(1, None), (1, None), (2, None)], true),
            (Label, false, &[(2, None), (3, None)], true),
            (Label, false, &[(1, Some(1))], true),
            (Label, false, &[(1, Some(2))], false),
        ] {
            let source = |(originator, foreign_to): &(u128, Option<u128>)| Source {
                originator: Some(organization(*originator)),
                foreign_to: foreign_to.map(organization),
            };
            let sources = sources.iter().map(source).collect();
            let work = OpenWork { own: organization(1), policy, foreign_access, sources };
            assert_eq!(work.check().is_err(), is_refused, "{work:?}");
        }
    }

    #[test]
    fn only_what_others_ask_for_is_held() {
        let [own, other] = [1, 2].map(organization);
        for (originator, foreign_to, human, holds) in [
            (Some(other), None, None, true),
            (Some(other), None, Some(other), true),
            (Some(other), None, Some(own), false),
            (None, None, None, true),
            (Some(own), None, None, false),
            (Some(own), None, Some(other), false),
            (Some(own), Some(own), None, true),
            (Some(own), Some(own), Some(own), false),
            (Some(own), Some(other), None, false),
        ] {
            let source = Source { originator, foreign_to };
            assert_eq!(ForeignPolicy::Hold.holds(own, source, human), holds, "{source:?} {human:?}");
            for policy in [ForeignPolicy::Allow, ForeignPolicy::Label] {
                assert!(!policy.holds(own, source, human));
            }
        }
    }

    #[test]
    fn only_what_is_foreign_is_labeled() {
        for (is_foreign, policy, origin) in [
            (false, ForeignPolicy::Hold, Origin::Own),
            (true, ForeignPolicy::Allow, Origin::Allowed),
            (true, ForeignPolicy::Label, Origin::Labeled),
            (true, ForeignPolicy::Hold, Origin::Labeled),
        ] {
            assert_eq!(Origin::of(is_foreign, policy), origin);
            assert_eq!(origin.is_foreign(), is_foreign);
        }
    }
}
