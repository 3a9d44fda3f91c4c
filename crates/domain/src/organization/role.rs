//! What somebody is in an organization, and what an organization never lacks. Pure; the stores call it inside
//! the write.

/// What a member is in their organization.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OrganizationRole {
    /// Looks after it: its name, its members and their roles, its invitations.
    Admin,
    /// Is in it.
    #[default]
    Member,
}

impl OrganizationRole {
    /// The word that the wire and the stores use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }

    /// Reads [`Self::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Admin, Self::Member].into_iter().find(|role| role.as_str() == text)
    }

    /// What somebody becomes who comes in with this role: the first of all is an admin.
    #[must_use]
    pub const fn on_coming(self, members: u64) -> Self {
        if members == 0 { Self::Admin } else { self }
    }
}

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
    fn words_are_read_back() {
        for role in [Admin, Member] {
            assert_eq!(OrganizationRole::parse(role.as_str()), Some(role));
        }
        assert_eq!(OrganizationRole::parse("owner"), None);
    }
}
