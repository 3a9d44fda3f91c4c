//! Finding out who has a handle.

use super::handle::Handle;
use super::record::Profile;
use super::service::ContactService;
use crate::caller::Caller;
use crate::id::{ParticipantId, UserId};
use crate::store::StoreError;

/// How somebody stands to the one who looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquaintance {
    /// Neither a contact nor known by ownership: id and address are not for the viewer.
    Stranger,
    /// The viewer itself, its owner, its own agent, or an agent of the same owner; the id is no
    /// secret there.
    Household,
    /// A contact.
    Contact,
}

impl Acquaintance {
    /// How whoever has the id `who`, for whom `owner` answers, stands to `viewer`.
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

/// Who has a handle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// Who it is.
    pub profile: Profile,
    /// How they stand to the one who asked.
    pub acquaintance: Acquaintance,
}

/// Why a handle leads to nobody.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// Nobody has it.
    #[error("nobody has the handle")]
    NotFound,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ContactService {
    /// Who has the handle.
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
        let agent = Caller::Agent(AgentCaller { agent: own, owner: ann, organization });
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
