//! Interests when messages arrive, are repeated, are late, or are lost.

use super::*;
use crate::id::ChatId;
use uuid::Uuid;

const OWN: NodeId = NodeId::new(Uuid::from_u128(100));
const ONE: NodeId = NodeId::new(Uuid::from_u128(1));
const TWO: NodeId = NodeId::new(Uuid::from_u128(2));

fn room(number: u128) -> Interest {
    Interest::Room(ChatId::new(Uuid::from_u128(number)))
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(millis * 1_000)
}

fn whole(revision: u64, interests: &[Interest]) -> PeerMessage {
    PeerMessage::AllInterests { revision, part: 0, parts: 1, interests: interests.to_vec() }
}

fn changed(revision: u64, begun: &[Interest], over: &[Interest]) -> PeerMessage {
    PeerMessage::InterestsChanged { revision, begun: begun.to_vec(), over: over.to_vec() }
}

/// No other nodes, for certain.
fn alone() -> KnownNodes {
    let mut peers = KnownNodes::new(OWN, at(0));
    peers.expire(at(2_000));
    peers
}

#[test]
fn everything_is_wanted_until_it_is_known_who_is_there() {
    let mut peers = KnownNodes::new(OWN, at(0));
    assert!(!peers.expire(at(1_999)), "there may be more");
    assert!(peers.want(room(1)) && peers.are_there());
    assert!(peers.expire(at(2_000)), "all are known");
    assert!(!peers.expire(at(2_500)), "it is reported once");
    assert!(!peers.want(room(1)) && !peers.are_there());
    peers.begin_again(at(10_000));
    assert!(peers.want(room(1)) && peers.are_there());
    assert!(peers.expire(at(12_000)), "and again after each start");
}

#[test]
fn a_newcomer_wants_everything_until_it_has_told_the_whole() {
    let mut peers = alone();
    assert_eq!(peers.hear(ONE, PeerMessage::Heartbeat { revision: 7 }, at(2_000)), Some(Answer::Ask(ONE)));
    assert!(peers.want(room(9)));
    assert_eq!(peers.hear(ONE, whole(7, &[room(1)]), at(2_001)), None);
    assert!(peers.want(room(1)) && !peers.want(room(9)));
    assert_eq!(peers.hear(ONE, PeerMessage::Heartbeat { revision: 7 }, at(3_000)), None);
    assert_eq!(peers.hear(ONE, changed(8, &[room(2)], &[room(1)]), at(3_001)), None);
    assert!(peers.want(room(2)) && !peers.want(room(1)));
}

#[test]
fn whoever_missed_a_change_asks_and_believes_nothing_meanwhile() {
    let mut peers = alone();
    peers.hear(ONE, whole(1, &[room(1)]), at(2_000));
    assert_eq!(peers.hear(ONE, changed(3, &[room(3)], &[]), at(2_100)), Some(Answer::Ask(ONE)));
    assert!(peers.want(room(2)), "what the second change told is not known");
    assert_eq!(peers.hear(ONE, changed(4, &[room(4)], &[]), at(2_200)), Some(Answer::Ask(ONE)));
    assert_eq!(peers.hear(ONE, whole(4, &[room(2), room(3), room(4)]), at(2_300)), None);
    assert!(!peers.want(room(1)) && peers.want(room(4)));
    // The heartbeat reveals the missed change as well.
    assert_eq!(peers.hear(ONE, PeerMessage::Heartbeat { revision: 5 }, at(2_400)), Some(Answer::Ask(ONE)));
}

#[test]
fn what_comes_twice_or_late_changes_nothing() {
    let mut peers = alone();
    peers.hear(ONE, whole(1, &[]), at(2_000));
    peers.hear(ONE, changed(2, &[room(1)], &[]), at(2_100));
    peers.hear(ONE, changed(3, &[], &[room(1)]), at(2_200));
    for late in [changed(2, &[room(1)], &[]), whole(1, &[room(7)]), whole(3, &[room(7)])] {
        assert_eq!(peers.hear(ONE, late, at(2_300)), None);
        assert!(!peers.want(room(1)) && !peers.want(room(7)));
    }
    assert_eq!(peers.hear(ONE, PeerMessage::Heartbeat { revision: 2 }, at(2_400)), None, "an older beat");
}

#[test]
fn the_whole_comes_in_parts_in_any_order() {
    let part = |revision, part, number| PeerMessage::AllInterests {
        revision,
        part,
        parts: 2,
        interests: vec![room(number)],
    };
    let mut peers = alone();
    peers.hear(ONE, part(5, 1, 1), at(2_000));
    peers.hear(ONE, part(5, 1, 1), at(2_000));
    assert!(peers.want(room(9)), "half of it is not all");
    // It has changed meanwhile, and the full list starts again.
    peers.hear(ONE, part(6, 0, 2), at(2_000));
    assert!(peers.want(room(9)));
    peers.hear(ONE, part(6, 1, 3), at(2_000));
    assert!(peers.want(room(2)) && peers.want(room(3)) && !peers.want(room(1)) && !peers.want(room(9)));
    peers.hear(
        TWO,
        PeerMessage::AllInterests { revision: 0, part: 3, parts: 2, interests: vec![] },
        at(2_000),
    );
    assert!(peers.want(room(9)), "nobody can make sense of that");
}

#[test]
fn whose_beat_is_not_heard_wants_nothing() {
    let mut peers = alone();
    peers.hear(ONE, whole(0, &[room(1)]), at(2_000));
    peers.hear(TWO, PeerMessage::Heartbeat { revision: 0 }, at(4_000));
    assert_eq!(peers.count(), 2);
    peers.expire(at(6_999));
    assert!(peers.want(room(1)));
    peers.expire(at(7_000));
    assert_eq!(peers.count(), 1);
    peers.hear(TWO, PeerMessage::Leaving, at(7_100));
    assert!(!peers.want(room(1)) && !peers.are_there());
    // A node that was only delayed is asked again.
    assert_eq!(peers.hear(ONE, PeerMessage::Heartbeat { revision: 0 }, at(8_000)), Some(Answer::Ask(ONE)));
    assert!(peers.want(room(1)));
}

#[test]
fn whoever_is_asked_tells() {
    let mut peers = alone();
    assert_eq!(peers.hear(ONE, PeerMessage::AskInterests { of: None }, at(2_000)), Some(Answer::Tell));
    assert_eq!(peers.hear(ONE, PeerMessage::AskInterests { of: Some(OWN) }, at(2_000)), Some(Answer::Tell));
    assert_eq!(peers.hear(ONE, PeerMessage::AskInterests { of: Some(TWO) }, at(2_000)), None);
    assert_eq!(
        peers.hear(OWN, PeerMessage::AskInterests { of: None }, at(2_000)),
        None,
        "what one has said oneself"
    );
    assert_eq!(peers.count(), 1);
}

/// Events between two nodes that did not hear each other may be lost, even if both were connected
/// to NATS.
#[test]
fn silence_is_a_loss_and_a_farewell_is_none() {
    let mut peers = alone();
    peers.hear(ONE, whole(0, &[room(1)]), at(2_000));
    peers.hear(TWO, whole(0, &[room(1)]), at(2_000));
    peers.hear(TWO, PeerMessage::Leaving, at(2_500));
    peers.expire(at(6_999));
    assert_eq!(peers.take_lost(), None);
    peers.expire(at(7_000));
    assert_eq!((peers.take_lost(), peers.take_lost()), (Some(at(2_000)), None));
    peers.expire(at(60_000));
    peers.hear(TWO, PeerMessage::Heartbeat { revision: 0 }, at(60_000));
    assert_eq!(peers.take_lost(), None);
    peers.hear(ONE, PeerMessage::Heartbeat { revision: 0 }, at(60_000));
    assert_eq!(peers.take_lost(), Some(at(2_000)), "also what was between");
}

/// A new node had no interests before; a missed change may have been an interest whose events were
/// not sent.
#[test]
fn a_change_that_was_missed_is_a_loss_and_a_newcomer_is_none() {
    let mut peers = alone();
    assert_eq!(peers.hear(ONE, PeerMessage::Heartbeat { revision: 3 }, at(2_000)), Some(Answer::Ask(ONE)));
    peers.hear(ONE, whole(3, &[room(1)]), at(2_100));
    assert_eq!(peers.take_lost(), None);
    assert_eq!(peers.hear(ONE, PeerMessage::Heartbeat { revision: 5 }, at(3_000)), Some(Answer::Ask(ONE)));
    assert_eq!(peers.take_lost(), Some(at(2_100)));
    assert_eq!(peers.hear(ONE, PeerMessage::Heartbeat { revision: 5 }, at(3_100)), Some(Answer::Ask(ONE)));
    assert_eq!(peers.take_lost(), None, "known already");
}
