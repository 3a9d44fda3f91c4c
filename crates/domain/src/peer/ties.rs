//! What ties two parties together, and whether it makes one a peer of the other. Pure; a store that lists peers keeps
//! to the same rule, which the store contract shows pair by pair.

use crate::caller::Caller;
use crate::id::{OrganizationId, ParticipantId, UserId};
use crate::words::words;

/// What lies between a caller and a user or agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ties {
    /// The owner, of an agent; `None` for a user.
    pub owner: Option<UserId>,
    /// The organization of the user, or of the agent's owner.
    pub organization: OrganizationId,
    /// Whether it is an agent that everybody may work with.
    pub is_global: bool,
    /// Whether it is an agent that its owner lets the organization see.
    pub is_shared: bool,
    /// Whether the operator keeps the other one out, or the owner of that agent; always `false` of a caller.
    pub is_disabled: bool,
    /// Whether the two are contacts.
    pub is_contact: bool,
    /// Whether the caller may discover its owner's other agents; always so for a user.
    pub sees_siblings: bool,
}

words! {
    /// Where a peer comes from.
    #[derive(PartialOrd, Ord)]
    PeerSource {
        /// Ownership, organization, or being global.
        Registry = "registry",
        /// A contact and nothing else.
        Contact = "contact",
    }
}

impl Ties {
    /// Whether they make `who` a peer of `caller`, and where from. Nobody is a peer of themselves,
    /// and who is disabled is nobody's.
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
        let same_house = self.organization == caller.organization();
        match (caller, who) {
            (Caller::Agent(agent), ParticipantId::User(user)) => agent.owner == user,
            (Caller::User(_), ParticipantId::User(_)) => same_house,
            (_, ParticipantId::Agent(_)) if self.is_global => true,
            (_, ParticipantId::Agent(_)) if self.owner == Some(caller.accountable_user()) => {
                self.sees_siblings
            }
            (_, ParticipantId::Agent(_)) => same_house && self.is_shared,
        }
    }
}

#[cfg(test)]
mod tests;
