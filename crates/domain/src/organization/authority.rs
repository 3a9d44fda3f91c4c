//! The authority to change an organization.

use super::role::{NotAdmin, OrganizationRole};
use crate::caller::UserCaller;
use crate::id::{OrganizationId, UserId};

/// The authority to change an organization. It is checked inside the write, since roles change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Authority {
    /// A user, who must be an admin of the organization.
    Admin(UserCaller),
    /// The operator, over any existing organization.
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

    /// The user, unless it is the operator.
    pub const fn user(self) -> Option<UserId> {
        match self {
            Self::Admin(caller) => Some(caller.user),
            Self::Operator(_) => None,
        }
    }

    /// Checks it; `current` is the current organization of [`Self::user`], and the role there.
    ///
    /// # Errors
    /// [`NotAdmin`] also if the user has moved to another organization meanwhile, or was deleted.
    pub fn check(self, current: Option<(OrganizationId, OrganizationRole)>) -> Result<(), NotAdmin> {
        match self {
            Self::Operator(_) => Ok(()),
            Self::Admin(caller) if current == Some((caller.organization, OrganizationRole::Admin)) => Ok(()),
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
        let check = |current| Authority::Admin(ann).check(current);
        assert_eq!(check(Some((house(1), OrganizationRole::Admin))), Ok(()));
        assert_eq!(check(Some((house(1), OrganizationRole::Member))), Err(NotAdmin));
        assert_eq!(check(Some((house(2), OrganizationRole::Admin))), Err(NotAdmin), "moved since");
        assert_eq!(check(None), Err(NotAdmin), "gone since");
        assert_eq!(Authority::Operator(house(2)).check(None), Ok(()));
    }
}
