//! The lease, second by second.

use super::*;
use uuid::Uuid;

const CHAT: ChatId = ChatId::new(Uuid::from_u128(1));
const BOT: WorkingAgent = working(11);
const OTHER: WorkingAgent = working(12);

const fn working(number: u128) -> WorkingAgent {
    let (agent, execution) = (Uuid::from_u128(number), Uuid::from_u128(number + 10));
    WorkingAgent { agent: AgentId::new(agent), execution: ExecutionId::new(execution) }
}

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

#[test]
fn all_indicators_of_a_chat_are_cleared() {
    let mut board = ActivityBoard::default();
    board.report(CHAT, BOT, true, at(0));
    board.report(CHAT, OTHER, true, at(5));
    let elsewhere = ChatId::new(Uuid::from_u128(2));
    board.report(elsewhere, BOT, true, at(5));
    assert_eq!(board.working(at(11)), vec![(CHAT, OTHER), (elsewhere, BOT)]);
    assert_eq!(board.clear(CHAT, at(11)), vec![OTHER], "the other lease has expired");
    assert_eq!(board.clear(CHAT, at(11)), vec![]);
    assert_eq!(board.working_in(elsewhere, at(11)), vec![BOT]);
}

/// A report that read its membership before a stop can tell, whether or not the indicator was on.
#[test]
fn every_stop_counts() {
    let mut board = ActivityBoard::default();
    assert_eq!(
        (board.stop(CHAT, BOT.agent, at(0)), board.clear(CHAT, at(0)), board.stops()),
        (None, vec![], 2)
    );
    board.report(CHAT, BOT, true, at(0));
    assert_eq!((board.stop(CHAT, BOT.agent, at(1)), board.stops()), (Some(BOT), 3));
    assert_eq!(board.working_in(CHAT, at(1)), vec![]);
}
