//! The checker finds anomalies: each of these histories is broken in one way.

use std::collections::BTreeMap;

use e2e::proof::{Call, Fault, History, LastRow, Operation, Outcome, Row, Work, check};

const HOUR: u64 = 3_600_000_000;

fn row(id: &str, text: &str) -> Row {
    Row { id: id.to_owned(), text: text.to_owned() }
}

/// A history of one room with one agent, made step by step.
#[derive(Default)]
struct Made(History);

impl Made {
    fn call(&mut self, (begin, end): (u64, u64), operation: Operation, outcome: Outcome) {
        self.0.calls.push(Call { actor: "somebody".to_owned(), begin, end, operation, outcome });
    }

    fn send_as(&mut self, time: (u64, u64), text: &str, outcome: Outcome) {
        self.call(
            time,
            Operation::Send { room: 0, text: text.to_owned(), agents: vec![0], key: None },
            outcome,
        );
    }

    /// An acknowledged message whose text is its id in capital letters.
    fn sent(&mut self, time: (u64, u64), id: &str) {
        self.send_as(time, &id.to_uppercase(), Outcome::Sent(id.to_owned()));
    }

    fn edit(&mut self, time: (u64, u64), id: &str, text: &str, outcome: Outcome) {
        self.call(time, Operation::Edit { id: id.to_owned(), text: text.to_owned() }, outcome);
    }

    fn delete(&mut self, time: (u64, u64), id: &str, outcome: Outcome) {
        self.call(time, Operation::Delete { id: id.to_owned() }, outcome);
    }

    /// The newest page, which begins with the room.
    fn read(&mut self, time: (u64, u64), rows: &[(&str, &str)]) {
        let rows = rows.iter().map(|(id, text)| row(id, text)).collect();
        let page = Outcome::Page { rows, newest: true, oldest: true };
        self.call(time, Operation::Read { room: 0, before: None }, page);
    }

    fn next(&mut self, time: (u64, u64), id: Option<&str>) {
        let offered = id.map(|id| row(id, &id.to_uppercase()));
        self.call(time, Operation::Next { agent: 0 }, Outcome::Offered(offered));
    }

    fn begin(&mut self, time: (u64, u64), id: &str, outcome: Outcome) {
        self.call(time, Operation::Begin { agent: 0, id: id.to_owned() }, outcome);
    }

    fn finish(&mut self, time: (u64, u64), id: &str, outcome: Outcome) {
        self.call(time, Operation::Finish { agent: 0, id: id.to_owned() }, outcome);
    }

    /// The final state; processed messages have had these attempts.
    fn found(mut self, rows: &[(&str, &str, &[u64])]) -> Vec<Fault> {
        let last = rows.iter().map(|(id, text, attempts)| {
            let work = Work { processed: !attempts.is_empty(), attempts: attempts.to_vec() };
            let work = if work.processed { BTreeMap::from([(0, work)]) } else { BTreeMap::new() };
            LastRow { row: row(id, text), work }
        });
        let waiting =
            rows.iter().filter(|(_, _, attempts)| attempts.is_empty()).map(|(id, ..)| (*id).to_owned());
        self.0.agents = vec![0];
        self.0.waiting = vec![waiting.collect()];
        self.0.rooms = vec![last.collect()];
        self.faults()
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = check(&self.0).into_iter().map(|anomaly| anomaly.fault).collect::<Vec<_>>();
        faults.sort();
        faults.dedup();
        faults
    }
}

#[test]
fn what_went_well_has_no_anomaly() {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.sent((5, 15), "b");
    made.send_as((20, 30), "C", Outcome::Unclear);
    made.send_as((20, 30), "D", Outcome::Unclear);
    made.read((40, 50), &[("b", "B"), ("a", "A")]);
    made.edit((60, 70), "a", "A2", Outcome::Done);
    made.edit((65, 75), "a", "A3", Outcome::Done);
    made.edit((66, 76), "a", "A4", Outcome::Unclear);
    made.read((80, 90), &[("b", "B"), ("a", "A2"), ("c", "C")]);
    made.next((100, 110), Some("b"));
    made.begin((120, 130), "b", Outcome::Attempt(1));
    made.finish((140, 150), "b", Outcome::Unclear);
    made.next((160, 170), Some("b"));
    made.begin((180, 190), "b", Outcome::Attempt(2));
    made.finish((200, 210), "b", Outcome::Attempt(2));
    made.sent((220, 230), "e");
    made.delete((240, 250), "e", Outcome::Done);
    made.delete((255, 260), "e", Outcome::Refused(404));
    assert_eq!(made.found(&[("b", "B", &[1, 2]), ("a", "A4", &[]), ("c", "C", &[])]), []);
}

#[test]
fn a_lost_acknowledgement_is_found() {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.sent((20, 30), "b");
    assert_eq!(made.found(&[("b", "B", &[])]), [Fault::Lost]);
}

#[test]
fn a_doubled_message_is_found_also_if_nobody_was_told_of_it() {
    let mut made = Made::default();
    made.send_as((0, 10), "A", Outcome::Unclear);
    assert_eq!(made.found(&[("a", "A", &[]), ("b", "A", &[])]), [Fault::Doubled]);

    let mut made = Made::default();
    made.sent((0, 10), "a");
    assert_eq!(made.found(&[("a", "A", &[]), ("a", "A", &[])])[0], Fault::Doubled);
}

#[test]
fn two_answers_under_one_key_are_found() {
    let mut made = Made::default();
    made.send_as((0, 10), "A", Outcome::Sent("a".to_owned()));
    made.send_as((20, 30), "A", Outcome::Sent("b".to_owned()));
    assert_eq!(made.found(&[("a", "A", &[])]), [Fault::Lost, Fault::Doubled]);
}

#[test]
fn what_nobody_wrote_is_found() {
    assert_eq!(Made::default().found(&[("a", "A", &[])]), [Fault::Phantom, Fault::WrongState]);
    let mut made = Made::default();
    made.send_as((0, 10), "A", Outcome::Refused(429));
    assert_eq!(made.found(&[("a", "A", &[])]), [Fault::Phantom, Fault::WronglyRefused]);
}

#[test]
fn a_swapped_order_is_found() {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.sent((20, 30), "b");
    assert_eq!(made.found(&[("b", "B", &[]), ("a", "A", &[])]), [Fault::Disordered]);
}

#[test]
fn two_readers_with_two_orders_are_found_also_if_one_message_was_deleted() {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.sent((0, 10), "b");
    made.read((20, 30), &[("a", "A"), ("b", "B")]);
    made.read((20, 30), &[("b", "B"), ("a", "A")]);
    made.delete((40, 50), "b", Outcome::Done);
    assert_eq!(made.found(&[("a", "A", &[])]), [Fault::Disordered]);
}

#[test]
fn a_vanished_read_is_found_though_its_sender_was_told_nothing() {
    let mut made = Made::default();
    made.send_as((0, 10), "A", Outcome::Unclear);
    made.read((20, 30), &[("a", "A")]);
    assert_eq!(made.found(&[]), [Fault::Vanished]);
}

#[test]
fn a_read_that_comes_and_goes_is_found() {
    let mut made = Made::default();
    made.send_as((0, 10), "A", Outcome::Unclear);
    made.read((20, 30), &[("a", "A")]);
    made.read((40, 50), &[]);
    assert_eq!(made.found(&[("a", "A", &[])]), [Fault::Stale]);
}

#[test]
fn a_hole_in_a_page_is_found() {
    let mut made = Made::default();
    for (time, id) in (0..).step_by(20).zip(["a", "b", "c"]) {
        made.send_as((time, HOUR), &id.to_uppercase(), Outcome::Sent(id.to_owned()));
    }
    made.read((100, 110), &[("a", "A"), ("c", "C")]);
    assert_eq!(made.found(&[("a", "A", &[]), ("b", "B", &[]), ("c", "C", &[])]), [Fault::Gap]);
}

#[test]
fn a_message_that_is_missing_before_its_deletion_is_found() {
    let mut made = Made::default();
    for (time, id) in (0..).step_by(20).zip(["a", "b", "c"]) {
        made.sent((time, time + 10), id);
    }
    made.read((100, 110), &[("a", "A"), ("b", "B"), ("c", "C")]);
    made.read((120, 130), &[("a", "A"), ("c", "C")]);
    made.delete((140, 150), "b", Outcome::Done);
    assert_eq!(made.found(&[("a", "A", &[]), ("c", "C", &[])]), [Fault::Gap]);
}

#[test]
fn a_stale_page_is_found() {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.sent((20, 30), "b");
    made.read((40, 50), &[("a", "A")]);
    assert_eq!(made.found(&[("a", "A", &[]), ("b", "B", &[])]), [Fault::Stale]);
}

#[test]
fn a_stale_edit_is_found() {
    let edited = || {
        let mut made = Made::default();
        made.sent((0, 10), "a");
        made.edit((20, 30), "a", "A2", Outcome::Done);
        made
    };
    assert_eq!(edited().found(&[("a", "A", &[])]), [Fault::StaleEdit], "the acknowledged edit is lost");

    let mut made = edited();
    made.read((40, 50), &[("a", "A")]);
    assert_eq!(made.found(&[("a", "A2", &[])]), [Fault::StaleEdit], "the old text is read once more");

    let mut made = edited();
    made.edit((25, 35), "a", "A3", Outcome::Unclear);
    made.read((40, 50), &[("a", "A3")]);
    made.read((60, 70), &[("a", "A2")]);
    made.read((80, 90), &[("a", "A3")]);
    assert_eq!(made.found(&[("a", "A3", &[])]), [Fault::StaleEdit], "two texts take turns");

    let mut made = edited();
    made.read((12, 15), &[("a", "A2")]);
    assert_eq!(made.found(&[("a", "A2", &[])]), [Fault::StaleEdit], "it is read before it is written");
}

#[test]
fn a_refused_edit_that_is_read_is_found() {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.edit((20, 30), "a", "A2", Outcome::Refused(404));
    assert_eq!(made.found(&[("a", "A2", &[])]), [Fault::Phantom, Fault::WronglyRefused]);
}

#[test]
fn what_was_deleted_and_comes_back_is_found() {
    let deleted = || {
        let mut made = Made::default();
        made.sent((0, 10), "a");
        made.delete((20, 30), "a", Outcome::Done);
        made
    };
    assert_eq!(deleted().found(&[]), []);
    assert_eq!(deleted().found(&[("a", "A", &[])]), [Fault::Resurrected]);
    let mut made = deleted();
    made.read((40, 50), &[("a", "A")]);
    assert_eq!(made.found(&[]), [Fault::Resurrected]);
    let mut made = deleted();
    made.next((40, 50), Some("a"));
    assert_eq!(made.found(&[]), [Fault::Resurrected]);
}

/// A message that is offered, begun and processed.
fn worked() -> Made {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.next((20, 30), Some("a"));
    made.begin((40, 50), "a", Outcome::Attempt(1));
    made.finish((60, 70), "a", Outcome::Attempt(1));
    made
}

#[test]
fn a_processed_message_that_is_offered_again_is_found() {
    let mut made = worked();
    made.next((80, 90), Some("a"));
    assert_eq!(made.found(&[("a", "A", &[1])]), [Fault::Reoffered]);
    // An attempt with an unknown start opens it again.
    let mut made = worked();
    made.begin((41, 51), "a", Outcome::Unclear);
    made.next((80, 90), Some("a"));
    assert_eq!(made.found(&[("a", "A", &[1])]), []);
}

#[test]
fn a_processed_message_that_waits_at_the_end_is_found() {
    assert_eq!(worked().found(&[("a", "A", &[])]), [Fault::Misnumbered, Fault::WrongState]);
}

#[test]
fn a_message_that_is_withheld_is_found() {
    for next in [None, Some("b")] {
        let mut made = Made::default();
        made.sent((0, 10), "a");
        made.sent((20, 30), "b");
        made.next((40, 50), next);
        assert_eq!(made.found(&[("a", "A", &[]), ("b", "B", &[])]), [Fault::Withheld], "{next:?}");
    }
    let mut made = worked();
    made.0.calls[1].outcome = Outcome::Offered(None);
    assert_eq!(made.found(&[("a", "A", &[1])]), [Fault::Withheld]);
}

#[test]
fn an_offer_to_somebody_who_was_not_mentioned_is_found() {
    let mut made = Made::default();
    made.call(
        (0, 10),
        Operation::Send { room: 0, text: "A".to_owned(), agents: vec![], key: None },
        Outcome::Sent("a".to_owned()),
    );
    made.next((20, 30), Some("a"));
    made.0.agents = vec![0];
    made.0.waiting = vec![vec![]];
    made.0.rooms = vec![vec![LastRow { row: row("a", "A"), work: BTreeMap::new() }]];
    assert_eq!(made.faults(), [Fault::Phantom]);
}

#[test]
fn attempts_with_gaps_or_twice_the_same_number_are_found() {
    let again = |number| {
        let mut made = worked();
        made.begin((80, 90), "a", Outcome::Attempt(number));
        made.finish((100, 110), "a", Outcome::Attempt(number));
        made
    };
    assert_eq!(again(2).found(&[("a", "A", &[1, 2])]), []);
    assert_eq!(again(1).found(&[("a", "A", &[1])]), [Fault::Misnumbered], "the same number");
    assert_eq!(again(3).found(&[("a", "A", &[1, 3])]), [Fault::Misnumbered], "a gap");
    assert_eq!(again(2).found(&[("a", "A", &[1])]), [Fault::Misnumbered], "one of them is lost");
    assert_eq!(again(2).found(&[("a", "A", &[1, 2, 3])]), [Fault::Misnumbered], "nobody began the third");
}

#[test]
fn a_refusal_without_a_reason_is_found() {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.begin((20, 30), "a", Outcome::Refused(404));
    assert_eq!(made.found(&[("a", "A", &[])]), [Fault::WronglyRefused]);
    let mut made = worked();
    made.finish((80, 90), "a", Outcome::Refused(422));
    assert_eq!(made.found(&[("a", "A", &[1])]), [Fault::WronglyRefused]);
}

#[test]
fn an_unprocessed_message_missing_from_the_queue_is_found() {
    let mut made = Made::default();
    made.sent((0, 10), "a");
    made.0.agents = vec![0];
    made.0.waiting = vec![vec![]];
    made.0.rooms = vec![vec![LastRow { row: row("a", "A"), work: BTreeMap::new() }]];
    assert_eq!(made.faults(), [Fault::WrongState]);
}
