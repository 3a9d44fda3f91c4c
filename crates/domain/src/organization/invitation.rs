//! Invitations, and the conditions for accepting one. Pure; the stores call it inside the write.

use super::role::OrganizationRole;
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::time::Timestamp;
use crate::words::words;

/// An invitation to an organization. Its token was shown once; a store keeps the digest only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invitation {
    /// Identifier.
    pub id: InvitationId,
    /// The organization.
    pub organization: OrganizationId,
    /// The role of its guest.
    pub role: OrganizationRole,
    /// The only address that may accept it; `None` for any holder of the token.
    pub email: Option<String>,
    /// The creator; `None` for the operator.
    pub created_by: Option<UserId>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The expiry.
    pub expires_at: Timestamp,
    /// The time of acceptance, and the user.
    pub accepted: Option<(Timestamp, UserId)>,
    /// The time of its revocation.
    pub revoked_at: Option<Timestamp>,
}

words! {
    /// The status of an invitation.
    InvitationStatus {
        /// It may be accepted.
        Open = "open",
        /// It was accepted.
        Accepted = "accepted",
        /// It was revoked.
        Revoked = "revoked",
        /// It was not accepted in time.
        Expired = "expired",
    }
}

/// The reason why an invitation was not accepted. Except for [`Self::Unknown`], only holders of its
/// token get it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvitationRefused {
    /// No invitation has this token.
    #[error("there is no such invitation")]
    Unknown,
    /// It has expired.
    #[error("the invitation has expired; ask for another one")]
    Expired,
    /// It was revoked.
    #[error("the invitation was revoked; ask for another one")]
    Revoked,
    /// It was already accepted.
    #[error("the invitation was already accepted; ask for another one")]
    Accepted,
    /// It is meant for another email address.
    #[error("the invitation is for another email address")]
    OtherAddress,
}

impl Invitation {
    /// Its status.
    pub fn status(&self, now: Timestamp) -> InvitationStatus {
        if self.accepted.is_some() {
            InvitationStatus::Accepted
        } else if self.revoked_at.is_some() {
            InvitationStatus::Revoked
        } else if now < self.expires_at {
            InvitationStatus::Open
        } else {
            InvitationStatus::Expired
        }
    }

    /// Checks that a user with this email address, compared ignoring ASCII case, may accept it.
    pub fn check(&self, email: &str, now: Timestamp) -> Result<(), InvitationRefused> {
        match self.status(now) {
            InvitationStatus::Accepted => return Err(InvitationRefused::Accepted),
            InvitationStatus::Revoked => return Err(InvitationRefused::Revoked),
            InvitationStatus::Expired => return Err(InvitationRefused::Expired),
            InvitationStatus::Open => {}
        }
        match &self.email {
            Some(meant) if !meant.eq_ignore_ascii_case(email) => Err(InvitationRefused::OtherAddress),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    fn invitation() -> Invitation {
        Invitation {
            id: InvitationId::new(Uuid::from_u128(1)),
            organization: OrganizationId::new(Uuid::from_u128(2)),
            role: OrganizationRole::Member,
            email: None,
            created_by: None,
            created_at: at(0),
            expires_at: at(10),
            accepted: None,
            revoked_at: None,
        }
    }

    #[test]
    fn only_what_is_open_is_accepted() {
        let by = UserId::new(Uuid::from_u128(3));
        let cases = [
            (invitation(), 9, Ok(())),
            (invitation(), 10, Err(InvitationRefused::Expired)),
            (Invitation { revoked_at: Some(at(1)), ..invitation() }, 2, Err(InvitationRefused::Revoked)),
            (Invitation { accepted: Some((at(1), by)), ..invitation() }, 2, Err(InvitationRefused::Accepted)),
            (
                Invitation { accepted: Some((at(1), by)), ..invitation() },
                20,
                Err(InvitationRefused::Accepted),
            ),
        ];
        for (invitation, now, expected) in cases {
            assert_eq!(invitation.check("ann@example.org", at(now)), expected, "{invitation:?}");
        }
    }

    #[test]
    fn an_address_is_compared_without_case() {
        let bound = Invitation { email: Some("Ann@Example.org".to_owned()), ..invitation() };
        assert_eq!(bound.check("ann@example.ORG", at(1)), Ok(()));
        assert_eq!(bound.check("ben@example.org", at(1)), Err(InvitationRefused::OtherAddress));
    }
}
