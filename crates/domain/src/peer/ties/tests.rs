//! The peers of a caller, tie by tie.

use super::*;
use crate::caller::{AgentCaller, UserCaller};
use crate::id::AgentId;
use uuid::Uuid;

const HOUSE: OrganizationId = OrganizationId::new(Uuid::from_u128(1));
const ABROAD: OrganizationId = OrganizationId::new(Uuid::from_u128(2));
const ANN: UserId = UserId::new(Uuid::from_u128(10));
const BEN: UserId = UserId::new(Uuid::from_u128(11));
const BOT: AgentId = AgentId::new(Uuid::from_u128(20));
const OTHER: AgentId = AgentId::new(Uuid::from_u128(21));

const ANN_CALLS: Caller = Caller::User(UserCaller { user: ANN, organization: HOUSE });
const BOT_CALLS: Caller = Caller::Agent(AgentCaller {
    agent: BOT,
    owner: ANN,
    organization: HOUSE,
    claims: crate::delivery::Claims::Shared,
});

const fn user_of(organization: OrganizationId) -> Ties {
    Ties {
        owner: None,
        organization,
        is_global: false,
        is_shared: false,
        is_disabled: false,
        is_contact: false,
        sees_siblings: true,
    }
}

const fn agent_of(owner: UserId, organization: OrganizationId) -> Ties {
    Ties { owner: Some(owner), ..user_of(organization) }
}

#[test]
fn the_registry() {
    let (ann, ben) = (ParticipantId::User(ANN), ParticipantId::User(BEN));
    let other = ParticipantId::Agent(OTHER);
    let registry = Some(PeerSource::Registry);
    let cases = [
        ("an agent's owner", BOT_CALLS, ann, user_of(HOUSE), registry),
        ("an owner's colleague is none of the agent's", BOT_CALLS, ben, user_of(HOUSE), None),
        ("a sibling", BOT_CALLS, other, agent_of(ANN, HOUSE), registry),
        (
            "a sibling of one that may not discover",
            BOT_CALLS,
            other,
            Ties { sees_siblings: false, is_shared: true, ..agent_of(ANN, HOUSE) },
            None,
        ),
        ("a colleague's agent", BOT_CALLS, other, agent_of(BEN, HOUSE), None),
        (
            "a colleague's shared agent",
            BOT_CALLS,
            other,
            Ties { is_shared: true, sees_siblings: false, ..agent_of(BEN, HOUSE) },
            registry,
        ),
        (
            "a shared agent of elsewhere",
            BOT_CALLS,
            other,
            Ties { is_shared: true, ..agent_of(BEN, ABROAD) },
            None,
        ),
        (
            "a global agent",
            BOT_CALLS,
            other,
            Ties { is_global: true, sees_siblings: false, ..agent_of(BEN, ABROAD) },
            registry,
        ),
        ("one's own agent", ANN_CALLS, other, agent_of(ANN, HOUSE), registry),
        ("a colleague", ANN_CALLS, ben, user_of(HOUSE), registry),
        ("somebody of elsewhere", ANN_CALLS, ben, user_of(ABROAD), None),
        ("oneself", ANN_CALLS, ann, user_of(HOUSE), None),
        ("itself", BOT_CALLS, ParticipantId::Agent(BOT), agent_of(ANN, HOUSE), None),
    ];
    for (what, caller, who, ties, expected) in cases {
        assert_eq!(ties.source(caller, who), expected, "{what}");
    }
}

#[test]
fn contacts_reach_beyond_the_registry() {
    let friend = Ties { is_contact: true, ..agent_of(BEN, ABROAD) };
    assert_eq!(friend.source(BOT_CALLS, ParticipantId::Agent(OTHER)), Some(PeerSource::Contact));
    let hidden_sibling = Ties { is_contact: true, sees_siblings: false, ..agent_of(ANN, HOUSE) };
    assert_eq!(hidden_sibling.source(BOT_CALLS, ParticipantId::Agent(OTHER)), Some(PeerSource::Contact));
    let sibling = Ties { is_contact: true, ..agent_of(ANN, HOUSE) };
    assert_eq!(sibling.source(BOT_CALLS, ParticipantId::Agent(OTHER)), Some(PeerSource::Registry));
}
