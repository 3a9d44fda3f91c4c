//! Roles in an organization, and the invariant that it has an admin. Pure; the stores call it
//! inside the write.

use crate::words::words;

words! {
    /// The role of a member.
    #[derive(Default)]
    OrganizationRole {
        /// Manages its name, its members and their roles, and its invitations.
        Admin = "admin",
        /// A plain member.
        #[default]
        Member = "member",
    }
}

impl OrganizationRole {
    /// The role of a user who enters with this one: the first member is an admin.
    #[must_use]
    pub const fn on_coming(self, members: u64) -> Self {
        if members == 0 { Self::Admin } else { self }
    }
}

/// The other members of an organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Others {
    /// The number of all others.
    pub members: u64,
    /// The number of admins among them.
    pub admins: u64,
}

impl Others {
    /// Checks that a member with this role may leave: not the last admin, while others stay.
    pub fn let_go(self, role: OrganizationRole) -> Result<(), LastAdmin> {
        let is_last = role == OrganizationRole::Admin && self.admins == 0 && self.members > 0;
        if is_last { Err(LastAdmin) } else { Ok(()) }
    }

    /// Checks that a member may change from the first role to the second: an admin must remain.
    pub fn let_change(self, role: OrganizationRole, next: OrganizationRole) -> Result<(), LastAdmin> {
        match (role, next) {
            (OrganizationRole::Admin, OrganizationRole::Member) if self.admins == 0 => Err(LastAdmin),
            _ => Ok(()),
        }
    }
}

/// The organization would be left without an admin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the last admin cannot leave or step down; make another member an admin first")]
pub struct LastAdmin;

/// Only an admin of the organization may do this.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("only an admin of the organization may do this")]
pub struct NotAdmin;

#[cfg(test)]
mod tests {
    use super::OrganizationRole::{Admin, Member};
    use super::*;

    #[test]
    fn the_first_to_come_is_an_admin() {
        for (wished, members, role) in
            [(Member, 0, Admin), (Member, 1, Member), (Admin, 0, Admin), (Admin, 3, Admin)]
        {
            assert_eq!(wished.on_coming(members), role);
        }
    }

    #[test]
    fn an_admin_is_always_left() {
        let others = |members, admins| Others { members, admins };
        for (role, others, goes) in [
            (Admin, others(0, 0), true),
            (Admin, others(1, 0), false),
            (Admin, others(2, 1), true),
            (Member, others(1, 1), true),
        ] {
            assert_eq!(others.let_go(role).is_ok(), goes, "{role:?} {others:?}");
        }
        for (from, to, others, changes) in [
            (Admin, Member, others(0, 0), false),
            (Admin, Member, others(3, 0), false),
            (Admin, Member, others(1, 1), true),
            (Admin, Admin, others(0, 0), true),
            (Member, Admin, others(1, 1), true),
            (Member, Member, others(1, 1), true),
        ] {
            assert_eq!(others.let_change(from, to).is_ok(), changes, "{from:?} {to:?} {others:?}");
        }
    }
}
