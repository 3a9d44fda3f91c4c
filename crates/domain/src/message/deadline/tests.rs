use uuid::Uuid;

use super::*;
use crate::chat::{ParticipantStatus, Role};
use crate::delivery::{Delivery, FailureText};
use crate::id::{AgentId, UserId};
use crate::message::{MentionKind, MessageKind, sample};

const fn agent(number: u128) -> ParticipantId {
    ParticipantId::Agent(AgentId::new(Uuid::from_u128(number)))
}

const fn user(number: u128) -> ParticipantId {
    ParticipantId::User(UserId::new(Uuid::from_u128(number)))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn participant(id: ParticipantId, handle: &str, role: Role) -> Participant {
    Participant {
        id,
        name: handle.to_uppercase(),
        handle: handle.to_owned(),
        description: None,
        is_external: None,
        owner: None,
        role,
        status: ParticipantStatus::Active,
        joined_at: at(0),
    }
}

fn mention(id: ParticipantId, kind: MentionKind) -> Mention {
    Mention { id, handle: String::new(), name: String::new(), kind }
}

/// A text of Ann's to agents 3 and 4, to be answered by 1,000.
fn text(deliveries: Vec<Delivery>) -> Message {
    let mentions = [3, 4].map(|number| mention(agent(number), MentionKind::Mention)).into();
    let respond_by = Some(at(1000));
    Message {
        mentions,
        created_at: at(900),
        updated_at: at(900),
        respond_by,
        deliveries,
        ..sample::text("hello")
    }
}

fn delivery(number: u128) -> Delivery {
    Delivery::new(AgentId::new(Uuid::from_u128(number)))
}

fn everybody() -> Vec<Participant> {
    vec![
        participant(user(1), "ann", Role::Owner),
        participant(agent(3), "ann/bot", Role::Member),
        participant(agent(4), "ann/scout", Role::Member),
    ]
}

fn event(text: &Message, participants: &[Participant]) -> Option<NewMessage> {
    let due = DueText { message: text.id, chat: text.chat_id, respond_by: at(1000) };
    let event = MessageId::new(Uuid::from_u128(20));
    CheckDeadline { text: due, event, now: at(1001) }.event(text, participants)
}

#[test]
fn a_deadline_is_ahead_but_not_too_far_and_for_an_agent() {
    let month = i64::from(RespondWithin::MAX);
    let to_agent = [mention(agent(3), MentionKind::Mention)];
    let to_nobody = [mention(agent(3), MentionKind::Reference), mention(user(1), MentionKind::Mention)];
    for (by, mentions, expected) in [
        (None, &to_nobody[..], Ok(())),
        (Some(at(99)), &to_agent[..], Err(DeadlineFault::Passed)),
        (Some(at(100)), &to_agent, Err(DeadlineFault::Passed)),
        (Some(at(101)), &to_agent, Ok(())),
        (Some(at(100 + month)), &to_agent, Ok(())),
        (Some(at(101 + month)), &to_agent, Err(DeadlineFault::TooFar)),
        (Some(at(101)), &to_nobody, Err(DeadlineFault::NoAgent)),
    ] {
        assert_eq!(check(by, mentions, at(100)), expected, "{by:?} {mentions:?}");
    }
}

#[test]
fn a_default_deadline_has_bounds() {
    assert_eq!(RespondWithin::new(0), None);
    assert_eq!(RespondWithin::new(RespondWithin::MAX + 1), None);
    let longest = RespondWithin::new(RespondWithin::MAX).unwrap();
    assert_eq!(longest.after(at(1)), at(1 + 30 * 24 * 60 * 60));
}

#[test]
fn agents_are_late_in_every_state_but_processed_in_time() {
    let error = FailureText::new("no model".to_owned()).unwrap();
    let new = delivery(4);
    let taken = new.clone().delivered(at(901));
    let begun = taken.clone().begin_attempt(at(902));
    let failed = begun.clone().fail(&error, at(903)).unwrap();
    let reason = "no key".to_owned();
    let replaced =
        failed.clone().replace(MessageId::new(Uuid::from_u128(30)), reason.clone(), at(0), at(904)).unwrap();
    let dead = crate::delivery::DeadLetterReason::new(reason).unwrap();
    let dead = failed.clone().dead_letter(&dead, at(904)).unwrap();
    let replaced_late = failed
        .clone()
        .replace(MessageId::new(Uuid::from_u128(30)), "no key".to_owned(), at(0), at(1001))
        .unwrap();
    let processed = begun.clone().succeed(at(1000)).unwrap();
    let processed_late = begun.clone().succeed(at(1001)).unwrap();
    let again = processed.clone().begin_attempt(at(904));
    for (delivery, is_late) in [
        (new, true),
        (taken, true),
        (begun, true),
        (failed, true),
        (dead, true),
        (again, true),
        (replaced, false),
        (replaced_late, true),
        (processed_late, true),
        (processed, false),
    ] {
        let state = delivery.status();
        let posted = event(&text(vec![delivery]), &everybody());
        assert_eq!(posted.is_some(), is_late, "{state:?}");
    }
    assert_eq!(
        event(&text(vec![Delivery::unaddressed(AgentId::new(Uuid::from_u128(4)))]), &everybody()),
        None
    );
    let without = Message { respond_by: None, ..text(vec![delivery(4)]) };
    assert_eq!(event(&without, &everybody()), None);
}

#[test]
fn the_event_names_who_is_late_and_has_left_nobody_out() {
    let both = text(vec![delivery(3), delivery(4)]);
    let posted = event(&both, &everybody()).unwrap();
    assert_eq!(
        posted.content,
        "The deadline of the message sent at 1970-01-01 00:15:00 UTC passed at 1970-01-01 00:16:40 UTC. \
         Not processed by then: @ann/bot, @ann/scout."
    );
    let metadata = json!({
        "kind": "failure",
        "blocking": false,
        "message_id": both.id.to_string(),
        "respond_by": "1970-01-01T00:16:40.000000Z",
        "agents": [agent(3).to_string(), agent(4).to_string()],
    });
    assert_eq!(posted.metadata, metadata.as_object().cloned());
    assert_eq!((posted.kind, posted.sender, posted.is_notice), (MessageKind::Attention, user(1), true));
    assert!(posted.mentions.is_empty());

    let one_left = everybody().into_iter().filter(|one| one.id != agent(3)).collect::<Vec<_>>();
    let posted = event(&both, &one_left).unwrap();
    assert!(posted.content.ends_with(" UTC. Not processed by then: @ann/scout."), "{}", posted.content);
    assert_eq!(event(&both, &one_left[..1]), None, "both have left");
}

#[test]
fn the_sender_or_the_first_of_the_highest_humans_says_so() {
    let humans = [
        participant(agent(3), "ann/bot", Role::Owner),
        participant(user(5), "eve", Role::Member),
        participant(user(6), "fay", Role::Admin),
        participant(user(7), "gus", Role::Admin),
    ];
    let left = text(vec![delivery(3)]);
    assert_eq!(event(&left, &humans).unwrap().sender, user(6));
    assert_eq!(event(&left, &humans[..2]).unwrap().sender, user(5));
    assert_eq!(event(&left, &humans[..1]), None, "nobody would read it");
    let of_agent = Message { sender: agent(4), ..left };
    assert_eq!(event(&of_agent, &everybody()).unwrap().sender, agent(4));
}
