//! What goes out, in which order, and what it counts while it waits.

use std::task::Waker;

use actix_web::body::BoxBody;
use domain::delivery::DeliveryKey;
use domain::id::AgentId;
use uuid::Uuid;

use crate::taken::Taken;

use super::*;

fn queue(limit: usize) -> (Outbox, OutboxBody, Arc<Budget>) {
    let budget = Budget::new(limit);
    let outbox = Outbox::new(budget.clone(), None);
    let body = outbox.body(BoxBody::new(()));
    (outbox, body, budget)
}

/// Everything that is there now; `None` in the end when nothing will follow.
fn drain(body: &mut OutboxBody) -> Vec<Option<Bytes>> {
    let mut context = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    while let Poll::Ready(next) = Pin::new(&mut *body).poll_next(&mut context) {
        let ended = next.is_none();
        all.push(next.map(Result::unwrap));
        if ended {
            break;
        }
    }
    all
}

fn text(content: &str) -> String {
    content.to_owned()
}

#[test]
fn frames_go_out_in_their_order_and_the_close_is_the_last() {
    let (outbox, mut body, _) = queue(1000);
    assert!(outbox.text(text("a")) && outbox.pong(Bytes::from_static(b"p")));
    outbox.close(CloseCode::Restart, "bye");
    outbox.close(CloseCode::Normal, "too late");
    assert!(outbox.text(text("after the close")), "ignored");
    let expected = Bytes::from_static(b"\x81\x01a\x8a\x01p\x88\x05\x03\xf4bye");
    assert_eq!(drain(&mut body), [Some(expected), None]);
}

#[test]
fn what_has_gone_out_does_not_count() {
    let (outbox, mut body, _) = queue(1000);
    for _ in 0..10 {
        assert!(outbox.text("x".repeat(900)));
        assert_eq!(drain(&mut body).len(), 1);
    }
    assert!(outbox.text("x".repeat(900)));
    assert!(!outbox.text("x".repeat(900)));
}

#[test]
fn empty_frames_are_not_for_nothing() {
    let (outbox, _body, _) = queue(10_000);
    let waiting = (0..10_000).take_while(|_| outbox.pong(Bytes::new())).count();
    assert!(waiting < 1000, "{waiting}");
}

#[test]
fn a_cut_drops_what_waits_and_closes() {
    let (outbox, mut body, budget) = queue(2000);
    for _ in 0..3 {
        outbox.text("x".repeat(300));
    }
    outbox.cut(CloseCode::Again, "");
    assert_eq!(drain(&mut body), [Some(Bytes::from_static(b"\x88\x02\x03\xf5")), None]);
    assert!(budget.take(1_000_000), "nothing is left in the account");
}

#[test]
fn a_task_that_breaks_down_ends_its_connection() {
    let (outbox, mut body, _) = queue(1000);
    assert_eq!(drain(&mut body), []);
    drop(outbox);
    assert_eq!(drain(&mut body), [Some(Bytes::from_static(b"\x88\x02\x03\xf3")), None]);
}

#[test]
fn much_is_handed_over_in_pieces() {
    let (outbox, mut body, _) = queue(10_000_000);
    for _ in 0..20 {
        outbox.text("x".repeat(30_000));
    }
    let pieces = drain(&mut body);
    assert!(pieces.len() > 5 && pieces.iter().flatten().all(|piece| piece.len() < CHUNK_BYTES + 31_000));
}

/// Not what was queued is delivered, but what the connection took.
#[test]
fn a_message_is_taken_when_it_has_left_the_queue() {
    let (taken, agent) = (Arc::<Taken>::default(), AgentId::new(Uuid::from_u128(1)));
    let budget = Budget::new(1_000_000);
    let outbox = Outbox::new(budget, Some(Receipts::new(agent, taken.clone())));
    let mut body = outbox.body(BoxBody::new(()));
    let messages = [1, 2, 3].map(|number| MessageId::new(Uuid::from_u128(number)));
    let held = || messages.map(|message| taken.holds(DeliveryKey { message, agent }));
    // More than is handed over at once.
    assert!(outbox.text(text("a reply")) && outbox.message("x".repeat(CHUNK_BYTES), messages[0]));
    assert!(outbox.message(text("waits"), messages[1]));
    assert_eq!(held(), [false, false, false]);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut body).poll_next(&mut context).is_ready());
    assert_eq!(held(), [true, false, false]);
    assert!(Pin::new(&mut body).poll_next(&mut context).is_ready());
    assert_eq!(held(), [true, true, false]);
    assert!(outbox.message(text("is cut off"), messages[2]));
    outbox.cut(CloseCode::Again, "");
    drain(&mut body);
    assert_eq!(held(), [true, true, false]);
}
