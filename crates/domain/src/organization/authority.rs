//! On whose word an organization is changed.

use super::role::{NotAdmin, OrganizationRole};
use crate::caller::UserCaller;
use crate::id::{OrganizationId, UserId};

/// On whose word an organization is changed. What it allows is looked at inside the write: roles change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Authority {
    /// One of its own people, who has to be an admin there.
    Admin(UserCaller),
    /// The operator, over any organization that is there.
    Operator(OrganizationId),
}

impl Authority {
    /// The organization.
    pub const fn organization(self) -> OrganizationId {
        match self {
            Self::Admin(caller) => caller.organization,
            Self::Operator(organization) => organization,
        }
    }

    /// Who it is, unless it is the operator.
    pub const fn user(self) -> Option<UserId> {
        match self {
            Self::Admin(caller) => Some(caller.user),
            Self::Operator(_) => None,
        }
    }

    /// Whether it holds; `standing` is where [`Self::user`] belongs now, and as what.
    ///
    /// # Errors
    /// [`NotAdmin`] also for somebody who was moved to another organization meanwhile, or is gone.
    pub fn check(self, standing: Option<(OrganizationId, OrganizationRole)>) -> Result<(), NotAdmin> {
        match self {
            Self::Operator(_) => Ok(()),
            Self::Admin(caller) if standing == Some((caller.organization, OrganizationRole::Admin)) => Ok(()),
            Self::Admin(_) => Err(NotAdmin),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn admins_rule_their_own_organization_only() {
        let house = |number| OrganizationId::new(Uuid::from_u128(number));
        let ann = UserCaller { user: UserId::new(Uuid::from_u128(9)), organization: house(1) };
        let check = |standing| Authority::Admin(ann).check(standing);
        assert_eq!(check(Some((house(1), OrganizationRole::Admin))), Ok(()));
        assert_eq!(check(Some((house(1), OrganizationRole::Member))), Err(NotAdmin));
        assert_eq!(check(Some((house(2), OrganizationRole::Admin))), Err(NotAdmin), "moved since");
        assert_eq!(check(None), Err(NotAdmin), "gone since");
        assert_eq!(Authority::Operator(house(2)).check(None), Ok(()));
    }
}
