//! Who may add and remove whom. Pure; the stores call these inside the write,
//! on the rows they have locked.

use super::participant::Role;
use crate::caller::Caller;
use crate::id::ParticipantId;
use crate::peer::Ties;
use crate::plan::LimitReached;

/// Why somebody was not added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddRefused {
    /// The room has as many participants as the plan of its organization allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The caller is not in the room, or there is no such room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// No such user or agent, or none that the caller may see.
    #[error("there is no such peer for the caller")]
    PeerNotFound,
    /// They are in the room already; the role stays as it is.
    #[error("the participant is already in the chat")]
    AlreadyParticipant,
    /// The caller may not give this role.
    #[error("the caller may not give this role")]
    RoleTooLow,
}

/// Why somebody was not removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RemoveRefused {
    /// The caller is not in the room, or there is no such room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// They are not in the room.
    #[error("there is no such participant in the chat")]
    ParticipantNotFound,
    /// The caller's role does not reach them.
    #[error("the caller may not remove this participant")]
    RoleTooLow,
    /// An agent never removes a human.
    #[error("an agent may not remove a user")]
    AgentRemovesUser,
    /// The room would be without an owner.
    #[error("the only owner cannot leave the chat")]
    SoleOwner,
}

/// What the store knows of the one who is to be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Who it is.
    pub id: ParticipantId,
    /// What lies between them and the caller.
    pub ties: Ties,
    /// Whether they are in the room now.
    pub is_participant: bool,
}

/// Decides on adding `candidate` (`None`: no such user or agent) as `role`.
///
/// `caller_role` is `None` when the caller is not in the room.
pub fn decide_add(
    caller: Caller,
    caller_role: Option<Role>,
    candidate: Option<&Candidate>,
    role: Role,
) -> Result<(), AddRefused> {
    let caller_role = caller_role.ok_or(AddRefused::ChatNotFound)?;
    if role > caller_role {
        return Err(AddRefused::RoleTooLow);
    }
    let candidate = candidate.ok_or(AddRefused::PeerNotFound)?;
    if candidate.is_participant {
        return Err(AddRefused::AlreadyParticipant);
    }
    candidate.ties.source(caller, candidate.id).map(|_| ()).ok_or(AddRefused::PeerNotFound)
}

/// Decides on removing `target` who holds `target_role` (`None`: not in the room).
///
/// `owners` is how many owners the room has.
pub fn decide_remove(
    caller: Caller,
    caller_role: Option<Role>,
    target: ParticipantId,
    target_role: Option<Role>,
    owners: usize,
) -> Result<(), RemoveRefused> {
    let caller_role = caller_role.ok_or(RemoveRefused::ChatNotFound)?;
    let target_role = target_role.ok_or(RemoveRefused::ParticipantNotFound)?;
    if target == caller.participant() {
        let sole_owner = target_role == Role::Owner && owners <= 1;
        return if sole_owner { Err(RemoveRefused::SoleOwner) } else { Ok(()) };
    }
    if matches!((caller, target), (Caller::Agent(_), ParticipantId::User(_))) {
        return Err(RemoveRefused::AgentRemovesUser);
    }
    let allowed = match caller_role {
        Role::Owner => true,
        Role::Admin => target_role == Role::Member,
        Role::Member => false,
    };
    if allowed { Ok(()) } else { Err(RemoveRefused::RoleTooLow) }
}

#[cfg(test)]
mod tests;
