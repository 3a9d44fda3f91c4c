use super::*;
use crate::caller::{AgentCaller, UserCaller};
use crate::id::{AgentId, OrganizationId};
use uuid::Uuid;

const fn user_id(number: u128) -> UserId {
    UserId::new(Uuid::from_u128(number))
}

const fn agent_id(number: u128) -> AgentId {
    AgentId::new(Uuid::from_u128(number))
}

fn user(number: u128) -> Caller {
    let organization = OrganizationId::new(Uuid::nil());
    Caller::User(UserCaller { user: user_id(number), organization })
}

fn agent(number: u128, owner: u128) -> Caller {
    let organization = OrganizationId::new(Uuid::nil());
    Caller::Agent(AgentCaller {
        agent: agent_id(number),
        owner: user_id(owner),
        organization,
        claims: crate::delivery::Claims::Shared,
    })
}

/// Agent 11 of user 1 asks agent 22 of user 2.
const SIDES: Sides = Sides {
    requester: ParticipantId::Agent(agent_id(11)),
    requester_user: user_id(1),
    recipient: ParticipantId::Agent(agent_id(22)),
    recipient_user: user_id(2),
};

const ACTIONS: [RequestAction; 3] = [RequestAction::Approve, RequestAction::Reject, RequestAction::Cancel];

const STATUSES: [RequestStatus; 5] = [
    RequestStatus::Pending,
    RequestStatus::Approved,
    RequestStatus::Rejected,
    RequestStatus::Cancelled,
    RequestStatus::Expired,
];

#[test]
fn each_side_and_its_owner_have_their_own_actions() {
    let answer = |caller, action| decide_answer(caller, SIDES, action, RequestStatus::Pending, false);
    for action in ACTIONS {
        let cancels = action == RequestAction::Cancel;
        let settled = Ok(Answering::Settle(action.outcome()));
        for asking in [user(1), agent(11, 1)] {
            let expected = if cancels { settled } else { Err(AnswerForbidden::OtherSide) };
            assert_eq!(answer(asking, action), expected, "{asking:?} {action:?}");
        }
        for asked in [user(2), agent(22, 2)] {
            let expected = if cancels { Err(AnswerForbidden::OtherSide) } else { settled };
            assert_eq!(answer(asked, action), expected, "{asked:?} {action:?}");
        }
        // A stranger, a sibling, or an agent with the id of a user.
        for stranger in [user(3), agent(33, 3), agent(12, 1), agent(23, 2), agent(1, 1), user(22)] {
            assert_eq!(answer(stranger, action), Err(AnswerForbidden::NotFound), "{stranger:?} {action:?}");
        }
    }
}

#[test]
fn an_owner_of_both_sides_may_do_everything() {
    let own = Sides { recipient_user: user_id(1), ..SIDES };
    for action in ACTIONS {
        let answer = decide_answer(user(1), own, action, RequestStatus::Pending, false);
        assert_eq!(answer, Ok(Answering::Settle(action.outcome())));
    }
}

#[test]
fn what_is_settled_stays_so() {
    for stored in STATUSES.into_iter().filter(|status| *status != RequestStatus::Pending) {
        for (caller, action) in [
            (user(2), RequestAction::Approve),
            (agent(22, 2), RequestAction::Reject),
            (agent(11, 1), RequestAction::Cancel),
        ] {
            for over_age in [false, true] {
                let answer = decide_answer(caller, SIDES, action, stored, over_age);
                assert_eq!(answer, Err(AnswerForbidden::Settled(stored)));
            }
        }
        // A caller without the permission learns only that, and a stranger nothing at all.
        let answer = decide_answer(agent(11, 1), SIDES, RequestAction::Approve, stored, false);
        assert_eq!(answer, Err(AnswerForbidden::OtherSide));
        let answer = decide_answer(user(3), SIDES, RequestAction::Approve, stored, false);
        assert_eq!(answer, Err(AnswerForbidden::NotFound));
    }
    let late = decide_answer(user(2), SIDES, RequestAction::Approve, RequestStatus::Pending, true);
    assert_eq!(late, Ok(Answering::Expire));
}

#[test]
fn sending() {
    let none = Relationship { same: false, contacts: false, asked: false, asked_back: false };
    assert_eq!(decide_send(none), Ok(Sending::Ask));
    assert_eq!(decide_send(Relationship { asked_back: true, ..none }), Ok(Sending::Approve));
    assert_eq!(decide_send(Relationship { same: true, ..none }), Err(SendRefused::Oneself));
    assert_eq!(decide_send(Relationship { contacts: true, ..none }), Err(SendRefused::AlreadyContact));
    assert_eq!(decide_send(Relationship { asked: true, ..none }), Err(SendRefused::AlreadyAsked));
    let both = Relationship { asked: true, asked_back: true, ..none };
    assert_eq!(decide_send(both), Err(SendRefused::AlreadyAsked));
}

#[test]
fn only_the_pending_grow_old() {
    let [before, limit, after] = [9, 10, 11].map(Timestamp::from_micros);
    for status in STATUSES {
        assert_eq!(RequestStatus::parse(status.as_str()), Some(status));
        assert_eq!(status.at(after, limit), status);
        for created_at in [before, limit] {
            let expected = if status == RequestStatus::Pending { RequestStatus::Expired } else { status };
            assert_eq!(status.at(created_at, limit), expected);
        }
    }
    assert_eq!(RequestStatus::parse("active"), None);
}

#[test]
fn messages_have_a_bound_and_blank_ones_are_none() {
    let given = |text: &str| RequestMessage::given(Some(text.to_owned()));
    assert_eq!(RequestMessage::given(None), Ok(None));
    for blank in ["", "  ", "\n"] {
        assert_eq!(given(blank), Ok(None));
    }
    let longest = "ü".repeat(500);
    assert_eq!(given(&longest).unwrap().unwrap().as_str(), longest);
    let too_long = Err(TextFault::TooManyChars { max: 500 });
    assert_eq!(given(&"ü".repeat(501)), too_long);
    assert_eq!(given(&" ".repeat(501)), too_long);
}
