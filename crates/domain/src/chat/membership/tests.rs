//! The rules for adding and removing participants, row by row.

use super::*;
use crate::caller::{AgentCaller, UserCaller};
use crate::chat::{Membership, ParticipantStatus};
use crate::id::{AgentId, OrganizationId, UserId};
use crate::time::Timestamp;
use uuid::Uuid;

const HOUSE: OrganizationId = OrganizationId::new(Uuid::from_u128(9));
const ABROAD: OrganizationId = OrganizationId::new(Uuid::from_u128(8));
const ANN: UserId = UserId::new(Uuid::from_u128(1));
const BEN: UserId = UserId::new(Uuid::from_u128(2));
const BOT: AgentId = AgentId::new(Uuid::from_u128(11));
const SIBLING: AgentId = AgentId::new(Uuid::from_u128(12));
const FOREIGN: AgentId = AgentId::new(Uuid::from_u128(13));

fn ann() -> Caller {
    Caller::User(UserCaller { user: ANN, organization: HOUSE })
}

fn bot() -> Caller {
    Caller::Agent(AgentCaller {
        agent: BOT,
        owner: ANN,
        organization: HOUSE,
        claims: crate::delivery::Claims::Shared,
    })
}

fn agent(id: AgentId, owner: UserId) -> Candidate {
    let ties = Ties {
        owner: Some(owner),
        organization: if owner == ANN { HOUSE } else { ABROAD },
        is_global: false,
        is_shared: false,
        is_disabled: false,
        is_contact: false,
        sees_siblings: true,
    };
    Candidate { id: ParticipantId::Agent(id), ties, is_participant: false }
}

#[test]
fn roles_that_may_be_given() {
    use Role::{Admin, Member, Owner};
    let candidate = agent(SIBLING, ANN);
    for caller in [ann(), bot()] {
        for (own, given, allowed) in [
            (Owner, Owner, true),
            (Owner, Admin, true),
            (Owner, Member, true),
            (Admin, Owner, false),
            (Admin, Admin, true),
            (Admin, Member, true),
            (Member, Owner, false),
            (Member, Admin, false),
            (Member, Member, true),
        ] {
            let expected = if allowed { Ok(candidate) } else { Err(AddRefused::RoleTooLow) };
            assert_eq!(decide_add(caller, Some(own), Some(candidate), given), expected, "{own:?} {given:?}");
        }
    }
}

#[test]
fn refusals_on_adding_in_their_order() {
    let present = Candidate { is_participant: true, ..agent(SIBLING, ANN) };
    let itself = Candidate { is_participant: true, ..agent(BOT, ANN) };
    let add = |role, candidate, given| decide_add(bot(), role, candidate, given);
    assert_eq!(add(None, Some(present), Role::Member), Err(AddRefused::ChatNotFound));
    assert_eq!(add(Some(Role::Member), None, Role::Admin), Err(AddRefused::RoleTooLow));
    assert_eq!(add(Some(Role::Member), None, Role::Member), Err(AddRefused::PeerNotFound));
    assert_eq!(add(Some(Role::Owner), Some(present), Role::Admin), Err(AddRefused::AlreadyParticipant));
    assert_eq!(add(Some(Role::Member), Some(itself), Role::Admin), Err(AddRefused::RoleTooLow));
    assert_eq!(add(Some(Role::Member), Some(itself), Role::Member), Err(AddRefused::AlreadyParticipant));
    let foreign = agent(FOREIGN, BEN);
    assert_eq!(add(Some(Role::Owner), Some(foreign), Role::Member), Err(AddRefused::PeerNotFound));
}

/// Removes a participant with this role, if there is one.
fn remove(
    caller: Caller,
    caller_role: Option<Role>,
    target: ParticipantId,
    role: Option<Role>,
    owners: usize,
) -> Result<(), RemoveRefused> {
    let target = role.map(|role| participant(target, role, 0));
    let expected = target.clone();
    decide_remove(caller, caller_role, target, owners).map(|removed| assert_eq!(Some(removed), expected))
}

fn participant(id: ParticipantId, role: Role, joined_at: i64) -> Participant {
    Participant {
        id,
        name: "One".to_owned(),
        handle: "one".to_owned(),
        description: None,
        is_external: None,
        owner: None,
        role,
        status: ParticipantStatus::Active,
        joined_at: Timestamp::from_micros(joined_at),
    }
}

#[test]
fn who_may_remove_whom() {
    use Role::{Admin, Member, Owner};
    let other = ParticipantId::Agent(SIBLING);
    for caller in [ann(), bot()] {
        for (own, target, allowed) in [
            (Owner, Owner, true),
            (Owner, Admin, true),
            (Owner, Member, true),
            (Admin, Owner, false),
            (Admin, Admin, false),
            (Admin, Member, true),
            (Member, Owner, false),
            (Member, Admin, false),
            (Member, Member, false),
        ] {
            let expected = if allowed { Ok(()) } else { Err(RemoveRefused::RoleTooLow) };
            assert_eq!(remove(caller, Some(own), other, Some(target), 2), expected, "{own:?} {target:?}");
        }
    }
}

#[test]
fn an_agent_never_removes_a_user() {
    let human = ParticipantId::User(BEN);
    for own in [Role::Owner, Role::Admin, Role::Member] {
        let refused = remove(bot(), Some(own), human, Some(Role::Member), 1);
        assert_eq!(refused, Err(RemoveRefused::AgentRemovesUser), "{own:?}");
    }
    assert_eq!(remove(ann(), Some(Role::Owner), human, Some(Role::Member), 1), Ok(()));
}

#[test]
fn the_only_owner_stays() {
    for (caller, own) in [(ann(), ParticipantId::User(ANN)), (bot(), ParticipantId::Agent(BOT))] {
        for role in [Role::Member, Role::Admin] {
            assert_eq!(remove(caller, Some(role), own, Some(role), 1), Ok(()), "{role:?}");
        }
        let owner = Some(Role::Owner);
        assert_eq!(remove(caller, owner, own, owner, 1), Err(RemoveRefused::SoleOwner));
        assert_eq!(remove(caller, owner, own, owner, 2), Ok(()));
    }
}

#[test]
fn strangers_and_missing_ones() {
    let other = ParticipantId::Agent(SIBLING);
    let member = Some(Role::Member);
    assert_eq!(remove(ann(), None, other, member, 1), Err(RemoveRefused::ChatNotFound));
    assert_eq!(remove(ann(), Some(Role::Owner), other, None, 1), Err(RemoveRefused::ParticipantNotFound));
}

#[test]
fn the_successor_is_an_admin_or_a_user_who_has_been_there_longest() {
    use Role::{Admin, Member, Owner};
    let (ben, bot, sibling) =
        (ParticipantId::User(BEN), ParticipantId::Agent(BOT), ParticipantId::Agent(SIBLING));
    let of = |remaining: &[(ParticipantId, Role, i64)]| {
        let remaining =
            remaining.iter().map(|(id, role, at)| participant(*id, *role, *at)).collect::<Vec<_>>();
        successor(&remaining)
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[(ben, Owner, 5), (bot, Admin, 1)]), None, "there is an owner");
    assert_eq!(of(&[(ben, Member, 1), (bot, Admin, 5), (sibling, Admin, 4)]), Some(sibling));
    assert_eq!(of(&[(bot, Member, 1), (ben, Member, 5)]), Some(ben), "users precede agents");
    assert_eq!(of(&[(sibling, Member, 2), (bot, Member, 2)]), Some(bot), "the lower id");
}

#[test]
fn owners_change_all_roles_and_admins_those_of_members() {
    use Role::{Admin, Member, Owner};
    let (me, bot) = (ParticipantId::User(ANN), ParticipantId::Agent(BOT));
    let standing = |own: Option<Role>, agents: &[Role]| Standing {
        own: own.map(|role| Membership { role, status: ParticipantStatus::Active }),
        agents: agents.iter().map(|role| (BOT, *role)).collect(),
    };
    let set = |own, target: ParticipantId, was, role, owners| {
        decide_set_role(me, &standing(own, &[]), Some(participant(target, was, 0)), role, owners).map(|_| ())
    };
    let (too_low, sole) =
        (Err(SetParticipantRoleRefused::RoleTooLow), Err(SetParticipantRoleRefused::SoleOwner));
    for (was, role) in [(Member, Admin), (Member, Owner), (Admin, Member), (Admin, Owner), (Member, Member)] {
        assert_eq!(set(Some(Owner), bot, was, role, 1), Ok(()), "{was:?} {role:?}");
        assert_eq!(set(Some(Member), bot, was, role, 1), too_low);
        let by_admin = if was == Member && role != Owner { Ok(()) } else { too_low };
        assert_eq!(set(Some(Admin), bot, was, role, 1), by_admin, "{was:?} {role:?}");
    }
    assert_eq!(set(Some(Owner), bot, Owner, Admin, 2), Ok(()));
    assert_eq!(set(Some(Owner), me, Owner, Member, 2), Ok(()));
    assert_eq!(set(Some(Owner), me, Owner, Admin, 1), sole);
    assert_eq!(set(Some(Owner), me, Owner, Owner, 1), Ok(()));
    assert_eq!(set(Some(Admin), bot, Owner, Member, 2), too_low);
    assert_eq!(set(Some(Admin), me, Admin, Member, 1), Ok(()), "an admin steps down");
    assert_eq!(set(Some(Member), me, Member, Admin, 1), too_low);

    let target = || Some(participant(bot, Member, 0));
    let decide = |standing: Standing, target| decide_set_role(me, &standing, target, Admin, 1).map(|_| ());
    assert_eq!(decide(standing(None, &[]), target()), Err(SetParticipantRoleRefused::ChatNotFound));
    assert_eq!(decide(standing(None, &[Owner]), target()), too_low, "an observer");
    let missing = decide(standing(Some(Owner), &[]), None);
    assert_eq!(missing, Err(SetParticipantRoleRefused::ParticipantNotFound));
}
