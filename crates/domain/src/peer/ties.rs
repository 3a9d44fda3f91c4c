//! The ties between two accounts, and whether they make one a peer of the other. Pure; the stores'
//! lists of peers follow the same rule, which the store contract checks pair by pair.

use crate::caller::Caller;
use crate::id::{OrganizationId, ParticipantId, UserId};
use crate::words::words;

/// The ties between a caller and a user or agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ties {
    /// The owner, of an agent; `None` for a user.
    pub owner: Option<UserId>,
    /// The organization of the user, or of the agent's owner.
    pub organization: OrganizationId,
    /// Set for a global agent.
    pub is_global: bool,
    /// Set for an agent that its owner shares with the organization.
    pub is_shared: bool,
    /// Set if the other one is disabled, or the owner of that agent; always `false` for a caller.
    pub is_disabled: bool,
    /// Set if the two are contacts.
    pub is_contact: bool,
    /// Set if the caller may discover its owner's other agents; always set for a user.
    pub sees_siblings: bool,
}

words! {
    /// The source of a peer.
    #[derive(PartialOrd, Ord)]
    PeerSource {
        /// Ownership, organization, or being global.
        Registry = "registry",
        /// A contact and nothing else.
        Contact = "contact",
    }
}

impl Ties {
    /// The source that makes `who` a peer of `caller`, if there is one. A disabled account, and the
    /// caller itself, are no peers.
    pub fn source(&self, caller: Caller, who: ParticipantId) -> Option<PeerSource> {
        if caller.participant() == who || self.is_disabled {
            return None;
        }
        if self.in_registry(caller, who) {
            return Some(PeerSource::Registry);
        }
        self.is_contact.then_some(PeerSource::Contact)
    }

    fn in_registry(&self, caller: Caller, who: ParticipantId) -> bool {
        let same_organization = self.organization == caller.organization();
        match (caller, who) {
            (Caller::Agent(agent), ParticipantId::User(user)) => agent.owner == user,
            (Caller::User(_), ParticipantId::User(_)) => same_organization,
            (_, ParticipantId::Agent(_)) if self.is_global => true,
            (_, ParticipantId::Agent(_)) if self.owner == Some(caller.accountable_user()) => {
                self.sees_siblings
            }
            (_, ParticipantId::Agent(_)) => same_organization && self.is_shared,
        }
    }
}

#[cfg(test)]
mod tests;
