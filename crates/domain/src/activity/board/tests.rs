//! The lease, second by second.

use super::*;
use uuid::Uuid;

const CHAT: ChatId = ChatId::new(Uuid::from_u128(1));
const BOT: AgentId = AgentId::new(Uuid::from_u128(11));
const OTHER: AgentId = AgentId::new(Uuid::from_u128(12));

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

#[test]
fn goes_on_once_and_stays_on_while_renewed() {
    let mut board = ActivityBoard::default();
    assert!(board.report(CHAT, BOT, true, at(0)));
    assert!(!board.report(CHAT, BOT, true, at(9)));
    assert_eq!(board.expire(at(18)), vec![]);
    assert_eq!(board.working_in(CHAT, at(18)), vec![BOT]);
}

#[test]
fn ends_ten_seconds_after_the_last_renewal() {
    let mut board = ActivityBoard::default();
    board.report(CHAT, BOT, true, at(0));
    board.report(CHAT, OTHER, true, at(5));
    assert_eq!(board.working_in(CHAT, at(9)), vec![BOT, OTHER]);
    assert_eq!(board.working_in(CHAT, at(10)), vec![OTHER]);
    assert_eq!(board.expire(at(10)), vec![(CHAT, BOT)]);
    assert_eq!(board.expire(at(10)), vec![]);
    assert_eq!(board.expire(at(15)), vec![(CHAT, OTHER)]);
}

#[test]
fn goes_off_once() {
    let mut board = ActivityBoard::default();
    assert!(!board.report(CHAT, BOT, false, at(0)));
    board.report(CHAT, BOT, true, at(0));
    assert!(board.report(CHAT, BOT, false, at(1)));
    assert!(!board.report(CHAT, BOT, false, at(1)));
    assert_eq!(board.expire(at(20)), vec![]);
}

#[test]
fn a_report_after_the_lease_ended_is_a_new_start() {
    let mut board = ActivityBoard::default();
    board.report(CHAT, BOT, true, at(0));
    assert!(board.report(CHAT, BOT, true, at(11)));
}
