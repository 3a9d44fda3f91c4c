//! Resolving a handle.

use super::handle::Handle;
use super::record::Profile;
use super::service::ContactService;
use crate::caller::Caller;
use crate::id::{ParticipantId, UserId};
use crate::store::StoreError;

/// The relation of an account to the viewer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquaintance {
    /// Neither a contact nor related by ownership: the viewer does not see id and address.
    Stranger,
    /// The viewer itself, its owner, its own agent, or an agent of the same owner; the id is no
    /// secret to the viewer.
    Household,
    /// A contact.
    Contact,
}

impl Acquaintance {
    /// The relation of `who`, for whom `owner` is accountable, to `viewer`.
    pub fn between(viewer: Caller, who: ParticipantId, owner: UserId, is_contact: bool) -> Self {
        if is_contact {
            Self::Contact
        } else if viewer.participant() == who || viewer.accountable_user() == owner {
            Self::Household
        } else {
            Self::Stranger
        }
    }
}

/// The account with a handle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// Its profile.
    pub profile: Profile,
    /// Its relation to the viewer.
    pub acquaintance: Acquaintance,
}

/// The reason why a handle was not resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// No account has it.
    #[error("nobody has the handle")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ContactService {
    /// The account with the handle.
    pub async fn resolve(&self, caller: impl Into<Caller>, handle: Handle) -> Result<Resolved, ResolveError> {
        self.contacts.resolve(caller.into(), handle).await?.ok_or(ResolveError::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::{AgentCaller, UserCaller};
    use crate::id::{AgentId, OrganizationId};
    use uuid::Uuid;

    #[test]
    fn who_knows_whom() {
        let [ann, ben] = [1, 2].map(|number| UserId::new(Uuid::from_u128(number)));
        let [own, sibling] = [11, 12].map(|number| AgentId::new(Uuid::from_u128(number)));
        let organization = OrganizationId::new(Uuid::nil());
        let human = Caller::User(UserCaller { user: ann, organization });
        let agent = Caller::Agent(AgentCaller {
            agent: own,
            owner: ann,
            organization,
            claims: crate::delivery::Claims::Shared,
        });
        for viewer in [human, agent] {
            for who in [ParticipantId::User(ann), ParticipantId::Agent(own), ParticipantId::Agent(sibling)] {
                let stands = Acquaintance::between(viewer, who, ann, false);
                assert_eq!(stands, Acquaintance::Household, "{viewer:?} {who:?}");
            }
            let stands =
                |is_contact| Acquaintance::between(viewer, ParticipantId::User(ben), ben, is_contact);
            assert_eq!((stands(false), stands(true)), (Acquaintance::Stranger, Acquaintance::Contact));
        }
    }
}
