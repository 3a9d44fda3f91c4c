//! Succession: the new owner of a chat whose only owner was deleted.

use std::cmp::Reverse;

use super::participant::Role;
use crate::id::{ParticipantId, ParticipantKind};
use crate::time::Timestamp;

/// A candidate for the succession.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heir {
    /// The user or agent.
    pub id: ParticipantId,
    /// The role.
    pub role: Role,
    /// The time of the join.
    pub joined_at: Timestamp,
}

/// The new owner among the remaining participants: `None` if one of them is owner already; else the
/// oldest admin, else the oldest human, else the oldest member.
pub fn heir(left: &[Heir]) -> Option<ParticipantId> {
    if left.iter().any(|standing| standing.role == Role::Owner) {
        return None;
    }
    let rank = |standing: &&Heir| {
        let human = standing.id.kind() == ParticipantKind::User;
        let precedence = if standing.role == Role::Admin { (true, false) } else { (false, human) };
        (Reverse(precedence), standing.joined_at, standing.id)
    };
    left.iter().min_by_key(rank).map(|standing| standing.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn standing(kind: ParticipantKind, number: u128, role: Role) -> Heir {
        let joined_at = Timestamp::from_micros(i64::try_from(number).unwrap());
        Heir { id: kind.with_uuid(Uuid::from_u128(number)), role, joined_at }
    }

    #[test]
    fn admins_before_humans_before_members_and_the_oldest_of_each() {
        use ParticipantKind::{Agent, User};
        let old_agent = standing(Agent, 1, Role::Member);
        let old_human = standing(User, 3, Role::Member);
        let young_human = standing(User, 4, Role::Member);
        let old_admin = standing(Agent, 8, Role::Admin);
        let young_admin = standing(User, 9, Role::Admin);
        let owner = standing(Agent, 10, Role::Owner);
        let everybody = [old_agent, young_human, old_human, young_admin, old_admin];
        assert_eq!(heir(&everybody), Some(old_admin.id));
        assert_eq!(heir(&everybody[..3]), Some(old_human.id));
        assert_eq!(heir(&everybody[..1]), Some(old_agent.id));
        assert_eq!(heir(&[old_agent, owner]), None);
        assert_eq!(heir(&[]), None);
    }
}
