//! Rules for adding and removing participants. Pure; the stores call these inside the write, on
//! locked rows.

use super::participant::{Participant, Role};
use super::standing::Standing;
use crate::caller::Caller;
use crate::id::ParticipantId;
use crate::peer::Ties;
use crate::plan::LimitReached;

/// The reason why a participant was not added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddRefused {
    /// The chat has as many participants as the plan of its organization allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The caller is not in the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The user or agent does not exist, or the caller cannot see it.
    #[error("there is no such peer for the caller")]
    PeerNotFound,
    /// The candidate is already a participant; the role does not change.
    #[error("the participant is already in the chat")]
    AlreadyParticipant,
    /// The caller may not assign this role.
    #[error("the caller may not give this role")]
    RoleTooLow,
}

/// The reason why a participant was not removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RemoveRefused {
    /// The caller is not in the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The target is not in the chat.
    #[error("there is no such participant in the chat")]
    ParticipantNotFound,
    /// The caller's role is too low to remove the target.
    #[error("the caller may not remove this participant")]
    RoleTooLow,
    /// An agent never removes a human.
    #[error("an agent may not remove a user")]
    AgentRemovesUser,
    /// The chat would be without an owner.
    #[error("the only owner cannot leave the chat")]
    SoleOwner,
}

/// The reason why the role of a participant was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetParticipantRoleRefused {
    /// The caller cannot see the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The target is not in the chat.
    #[error("there is no such participant in the chat")]
    ParticipantNotFound,
    /// The caller's role does not allow it.
    #[error("the caller may not give this participant this role")]
    RoleTooLow,
    /// The chat would be without an owner.
    #[error("the only owner cannot give up the role")]
    SoleOwner,
}

/// The candidate as the store finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The user or agent.
    pub id: ParticipantId,
    /// The ties between the candidate and the caller.
    pub ties: Ties,
    /// Set if the candidate is a participant now.
    pub is_participant: bool,
}

/// Decides on adding `candidate` (`None`: no such user or agent) as `role`, and returns it.
///
/// `caller_role` is `None` if the caller is not in the chat.
pub fn decide_add(
    caller: Caller,
    caller_role: Option<Role>,
    candidate: Option<Candidate>,
    role: Role,
) -> Result<Candidate, AddRefused> {
    let caller_role = caller_role.ok_or(AddRefused::ChatNotFound)?;
    if role > caller_role {
        return Err(AddRefused::RoleTooLow);
    }
    let candidate = candidate.ok_or(AddRefused::PeerNotFound)?;
    if candidate.is_participant {
        return Err(AddRefused::AlreadyParticipant);
    }
    candidate.ties.source(caller, candidate.id).map(|_| candidate).ok_or(AddRefused::PeerNotFound)
}

/// Decides on removing `target` (`None`: not in the chat), and returns it.
///
/// `caller_role` is `None` if the caller is not in the chat; `owners` is the number of the chat's owners.
pub fn decide_remove(
    caller: Caller,
    caller_role: Option<Role>,
    target: Option<Participant>,
    owners: usize,
) -> Result<Participant, RemoveRefused> {
    let caller_role = caller_role.ok_or(RemoveRefused::ChatNotFound)?;
    let target = target.ok_or(RemoveRefused::ParticipantNotFound)?;
    if target.id == caller.participant() {
        let sole_owner = target.role == Role::Owner && owners <= 1;
        return if sole_owner { Err(RemoveRefused::SoleOwner) } else { Ok(target) };
    }
    if matches!((caller, target.id), (Caller::Agent(_), ParticipantId::User(_))) {
        return Err(RemoveRefused::AgentRemovesUser);
    }
    let allowed = match caller_role {
        Role::Owner => true,
        Role::Admin => target.role == Role::Member,
        Role::Member => false,
    };
    if allowed { Ok(target) } else { Err(RemoveRefused::RoleTooLow) }
}

/// Decides on giving `target` (`None`: not in the chat) another role, and returns it. Owners change all roles; admins make
/// members admins, and may become members themselves. An observer has no role.
///
/// `owners` is the number of the chat's owners.
pub fn decide_set_role(
    caller: ParticipantId,
    standing: &Standing,
    target: Option<Participant>,
    role: Role,
    owners: usize,
) -> Result<Participant, SetParticipantRoleRefused> {
    if !standing.may_read() {
        return Err(SetParticipantRoleRefused::ChatNotFound);
    }
    let target = target.ok_or(SetParticipantRoleRefused::ParticipantNotFound)?;
    let allowed = match standing.own.map(|own| own.role) {
        Some(Role::Owner) => true,
        Some(Role::Admin) => role <= Role::Admin && (target.role == Role::Member || target.id == caller),
        Some(Role::Member) | None => false,
    };
    if !allowed {
        return Err(SetParticipantRoleRefused::RoleTooLow);
    }
    if target.role == Role::Owner && role != Role::Owner && owners <= 1 {
        return Err(SetParticipantRoleRefused::SoleOwner);
    }
    Ok(target)
}

/// The successor of the owner of a chat, among the participants who remain when one is deleted: `None` if one
/// of them is an owner; else the admin who joined first, else the user who did, else the agent. Of several who
/// joined at the same time, users come first, and then the lower ids.
///
/// The stores state this rule again in SQL, for all chats of the deleted one at once; the contract
/// compares them with this one, which nothing else calls.
pub fn successor(remaining: &[Participant]) -> Option<ParticipantId> {
    let rank = |who: &&Participant| {
        let precedence = match who.role {
            Role::Admin => 0,
            _ if matches!(who.id, ParticipantId::User(_)) => 1,
            _ => 2,
        };
        (precedence, who.joined_at, who.id)
    };
    let has_owner = remaining.iter().any(|who| who.role == Role::Owner);
    if has_owner { None } else { remaining.iter().min_by_key(rank).map(|who| who.id) }
}

#[cfg(test)]
mod tests;
