//! Order of the frames, and the bytes that they count in the queue.

use std::sync::Arc;
use std::task::Waker;

use actix_web::body::BoxBody;
use domain::caller::{AgentCaller, Caller};
use domain::delivery::{Claims, DeliveryKey};
use domain::id::{AgentId, OrganizationId, UserId};
use testkit::until;
use uuid::Uuid;

use crate::acknowledgements::AcknowledgementBuffer;
use crate::frame::Version;
use crate::inbox::{Inbox, Payload};
use crate::machine::{Action, JoinDecision};
use crate::payload::MAX_AGENT_BYTES;
use crate::topic::Topic;

use super::*;

const BOT: AgentId = AgentId::new(Uuid::from_u128(1));
const ROOMS: Topic = Topic::AgentRooms(BOT);
const SUBSCRIPTION: SubscriptionId = SubscriptionId::new(7);

fn queue(limit: usize) -> (Outbox, OutboxBody, Inbox) {
    queue_of(limit, None)
}

/// The queue of an agent that has joined [`ROOMS`].
fn queue_of(limit: usize, acknowledgements: Option<AcknowledgementSink>) -> (Outbox, OutboxBody, Inbox) {
    let (owner, organization) = (UserId::new(Uuid::from_u128(2)), OrganizationId::new(Uuid::nil()));
    let caller = Caller::Agent(AgentCaller { agent: BOT, owner, organization, claims: Claims::Shared });
    let mut machine = Machine::new(Version::V2, caller, 10);
    let join = format!(r#"["1","1","agent_rooms:{BOT}","phx_join",{{}}]"#);
    let Some(Action::Authorize(join)) = machine.on_text(&join).pop() else { panic!("{join}") };
    machine
        .on_decision(join, JoinDecision::Granted { response: "{}".to_owned(), subscription: SUBSCRIPTION });
    let (inbox, reader) = Inbox::new(limit);
    let outbox = Outbox::new(machine, reader, acknowledgements);
    let body = outbox.body(BoxBody::new(()), None);
    (outbox, body, inbox)
}

fn event(json: &str, brings: Option<MessageId>) -> Arc<Payload> {
    Arc::new(Payload { brings, ..Payload::new("e", json.to_owned()) })
}

/// The frame of an event with this content.
fn frame(json: &str) -> String {
    format!(r#"["1",null,"agent_rooms:{BOT}","e",{json}]"#)
}

/// Everything that is available now, followed by `None` if the body has ended.
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

/// Lengths have three encodings; at their limits, frames equal those of the library.
#[test]
fn a_frame_is_headed_by_its_length() {
    for size in [0, 1, 125, 126, 127, 65_535, 65_536, 200_000] {
        let text = "x".repeat(size);
        let (start, end) = text.split_at(size / 3);
        let (mut ours, mut theirs) = (BytesMut::from("before"), BytesMut::from("before"));
        assert_eq!(write_text(&mut ours, [start, "", end, "", ""]), size);
        Parser::write_message(&mut theirs, &text, OpCode::Text, true, false);
        assert_eq!(ours, theirs, "{size}");
    }
}

#[test]
fn sent_bytes_do_not_count() {
    let (outbox, mut body, _) = queue(1000);
    for _ in 0..10 {
        assert!(outbox.text("x".repeat(900)));
        assert_eq!(drain(&mut body).len(), 1);
    }
    assert!(outbox.text("x".repeat(900)));
    assert!(!outbox.text("x".repeat(900)));
}

#[test]
fn empty_frames_have_a_cost() {
    let (outbox, _body, _) = queue(10_000);
    let waiting = (0..10_000).take_while(|_| outbox.pong(Bytes::new())).count();
    assert!(waiting < 1000, "{waiting}");
}

#[test]
fn a_cut_drops_what_waits_and_closes() {
    let (outbox, mut body, _inbox) = queue(2000);
    for _ in 0..3 {
        outbox.text("x".repeat(300));
    }
    outbox.cut(CloseCode::Again, "");
    assert_eq!(drain(&mut body), [Some(Bytes::from_static(b"\x88\x02\x03\xf5")), None]);
    assert!(outbox.0.borrow().inbox.budget().take(1_000_000), "nothing is left in the account");
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

/// The texts that are available now.
fn texts(body: &mut OutboxBody) -> Vec<String> {
    let bytes = drain(body).into_iter().flatten().flatten().collect::<Vec<_>>();
    let (mut bytes, mut all) = (bytes.as_slice(), Vec::new());
    while let [0x81, short @ 0..126, rest @ ..] = bytes {
        let (text, rest) = rest.split_at(usize::from(*short));
        all.push(String::from_utf8(text.to_vec()).unwrap());
        bytes = rest;
    }
    assert!(bytes.is_empty(), "{bytes:?}");
    all
}

#[test]
fn events_go_out_behind_the_answers_and_wait_for_a_join() {
    let (outbox, mut body, inbox) = queue(10_000);
    inbox.event(ROOMS, SUBSCRIPTION, &event("1", None));
    inbox.event(ROOMS, SubscriptionId::new(6), &event("\"another subscription\"", None));
    assert!(outbox.text(text("an answer")));
    assert_eq!(texts(&mut body), [text("an answer"), frame("1")]);
    outbox.hold();
    inbox.event(ROOMS, SUBSCRIPTION, &event("2", None));
    assert_eq!(texts(&mut body), Vec::<String>::new());
    assert!(outbox.text(text("the join's")));
    outbox.resume();
    assert_eq!(texts(&mut body), [text("the join's"), frame("2")]);
}

#[test]
fn events_behind_a_command_wait_for_the_task() {
    let (outbox, mut body, inbox) = queue(10_000);
    inbox.event(ROOMS, SUBSCRIPTION, &event("1", None));
    inbox.send_command(InboxItem::End { topic: ROOMS, subscription: SUBSCRIPTION });
    inbox.event(ROOMS, SUBSCRIPTION, &event("2", None));
    assert_eq!(texts(&mut body), [frame("1")]);
    assert!(matches!(outbox.next_command(), Some(InboxItem::End { .. })));
    assert_eq!(texts(&mut body), [frame("2")]);
    outbox.close(CloseCode::Restart, "");
    inbox.event(ROOMS, SUBSCRIPTION, &event("3", None));
    assert_eq!(drain(&mut body), [Some(Bytes::from_static(b"\x88\x02\x03\xf4")), None]);
}

/// Bytes that have left do not count, however they left.
#[test]
fn events_count_while_they_wait() {
    let (_outbox, mut body, inbox) = queue(1_000);
    for _ in 0..10 {
        inbox.event(ROOMS, SUBSCRIPTION, &event("1", None));
        inbox.event(ROOMS, SUBSCRIPTION, &event("2", None));
        assert_eq!(texts(&mut body), [frame("1"), frame("2")]);
    }
}

/// Moves an event to the queue, as the task does before it replies.
fn queue_event(outbox: &Outbox, inbox: &Inbox, payload: &Arc<Payload>) {
    inbox.event(ROOMS, SUBSCRIPTION, payload);
    let Some(InboxItem::Event(event)) = outbox.next_command() else { panic!("an event") };
    outbox.event(event);
}

/// However many sockets queue it, and whatever their clients do, a content exists once.
#[test]
fn a_content_is_shared_until_the_connection_takes_it() {
    let (outbox, mut body, inbox) = queue(1_000_000);
    let payload = event(r#""hello""#, None);
    queue_event(&outbox, &inbox, &payload);
    assert!(outbox.text(text("an answer")));
    inbox.event(ROOMS, SUBSCRIPTION, &payload);
    assert_eq!(Arc::strong_count(&payload), 3);
    assert_eq!(texts(&mut body), [frame(r#""hello""#), text("an answer"), frame(r#""hello""#)]);
    assert_eq!(Arc::strong_count(&payload), 1);
    assert!(inbox.is_idle());
}

/// Ten agents that work on one large text do not disconnect a human with a slow link: only the last
/// state of the text is queued, here or in the inbox.
#[test]
fn only_the_last_state_of_a_message_waits() {
    let size = 500_000;
    let (outbox, mut body, inbox) = queue(3 * (size + 1_000));
    let state = |number: usize| {
        let json = format!("\"{number}{}\"", "x".repeat(size));
        Arc::new(Payload { updates: Some(MessageId::new(Uuid::nil())), ..Payload::new("e", json) })
    };
    inbox.event(ROOMS, SUBSCRIPTION, &state(0));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut body).poll_next(&mut context).is_ready(), "the client takes its time to read it");
    for number in 1..10 {
        inbox.event(ROOMS, SUBSCRIPTION, &state(number));
        if number % 3 == 0 {
            // The client sends a frame.
            while let Some(command) = outbox.next_command() {
                let InboxItem::Event(event) = command else { panic!("{command:?}") };
                outbox.event(event);
            }
            assert!(outbox.text(text("an answer")));
        }
    }
    let sent = drain(&mut body).into_iter().flatten().flatten().collect::<Vec<_>>();
    let sent = String::from_utf8_lossy(&sent);
    assert!(sent.contains("\"9x") && sent.len() < size + 1_000, "{}", sent.len());
    assert!(inbox.is_idle());
}

/// Bytes that were handed to a connection count until it asks for more.
#[test]
fn bytes_handed_to_the_connection_count_until_it_asks_for_more() {
    let (_outbox, mut body, inbox) = queue(1_000);
    inbox.event(ROOMS, SUBSCRIPTION, &event("1", None));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut body).poll_next(&mut context).is_ready());
    assert!(!inbox.is_idle());
    assert!(Pin::new(&mut body).poll_next(&mut context).is_pending());
    assert!(inbox.is_idle());
}

/// A frame that is too large for an agent is dropped, and does not block others.
#[test]
fn dropped_frames_do_not_count() {
    let (_outbox, mut body, inbox) = queue(10_000_000);
    inbox.event(ROOMS, SUBSCRIPTION, &event(&"x".repeat(MAX_AGENT_BYTES), None));
    assert_eq!(drain(&mut body), []);
    assert!(inbox.is_idle());
}

/// A socket that has ended keeps only the frames that are still sent.
#[test]
fn the_end_forgets_what_is_in_the_inbox() {
    for cut in [true, false] {
        let (outbox, mut body, inbox) = queue(1_000_000);
        let payload = event("1", None);
        queue_event(&outbox, &inbox, &payload);
        inbox.event(ROOMS, SUBSCRIPTION, &payload);
        if cut {
            outbox.cut(CloseCode::Again, "");
        } else {
            outbox.close(CloseCode::Restart, "");
        }
        inbox.event(ROOMS, SUBSCRIPTION, &payload);
        assert_eq!(Arc::strong_count(&payload), if cut { 1 } else { 2 });
        drain(&mut body);
        assert_eq!(Arc::strong_count(&payload), 1);
    }
}

/// A client that reads slowly has some seconds to read the remaining frames.
#[actix_web::test]
async fn an_ended_socket_drops_unread_frames_after_some_seconds() {
    let (outbox, mut body, inbox) = queue(1_000_000);
    let large = event(&format!("\"{}\"", "x".repeat(CHUNK_BYTES)), None);
    for _ in 0..3 {
        queue_event(&outbox, &inbox, &large);
    }
    outbox.close(CloseCode::Restart, "");
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut body).poll_next(&mut context).is_ready());
    outbox.forget_after(Duration::from_millis(5));
    drop(outbox);
    assert_eq!(Arc::strong_count(&large), 3, "it has not been long");
    until("the queue is not forgotten", async || Arc::strong_count(&large) == 1).await;
    assert_eq!(drain(&mut body), [Some(Bytes::from_static(b"\x88\x02\x03\xf4")), None]);
}

#[test]
fn answers_take_a_part_of_what_may_wait() {
    let (outbox, mut body, inbox) = queue(40_000_000);
    let answers = || (0..10_000).take_while(|_| outbox.text("x".repeat(1024 - FRAME_OVERHEAD_BYTES))).count();
    assert_eq!(answers(), 128);
    let (outbox, mut other, _inbox) = queue(40_000_000);
    for _ in 0..10 {
        assert!(outbox.text("x".repeat(100_000)));
        drain(&mut other);
    }
    assert!(outbox.text("x".repeat(300_000)), "one answer may be as long as it is");
    drop(inbox);
    drain(&mut body);
}

#[test]
fn a_backlog_is_dropped_and_little_is_not() {
    let (outbox, mut body, inbox) = queue(10_000_000);
    queue_event(&outbox, &inbox, &event("1", None));
    outbox.drop_backlog();
    assert!(outbox.text("x".repeat(100)));
    assert_eq!(texts(&mut body), [frame("1"), "x".repeat(100)]);
    let large = format!("\"{}\"", "x".repeat(CHUNK_BYTES));
    queue_event(&outbox, &inbox, &event(&large, None));
    outbox.drop_backlog();
    assert!(outbox.text(text("the last")));
    assert_eq!(texts(&mut body), ["the last"]);
    assert!(inbox.is_idle());
}

/// A message is acknowledged when the connection took it, not when it was queued.
#[test]
fn a_message_is_taken_when_it_has_left_the_queue() {
    let taken = Arc::<AcknowledgementBuffer>::default();
    let (outbox, mut body, inbox) = queue_of(1_000_000, Some(AcknowledgementSink::new(BOT, taken.clone())));
    let messages = [1, 2, 3, 4].map(|number| MessageId::new(Uuid::from_u128(number)));
    let held = || messages.map(|message| taken.holds(DeliveryKey { message, agent: BOT }));
    // More than one chunk.
    let large = format!("\"{}\"", "x".repeat(CHUNK_BYTES));
    assert!(outbox.text(text("a reply")));
    queue_event(&outbox, &inbox, &event(&large, Some(messages[0])));
    queue_event(&outbox, &inbox, &event("{}", Some(messages[1])));
    inbox.event(ROOMS, SUBSCRIPTION, &event("{}", Some(messages[2])));
    assert_eq!(held(), [false; 4]);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut body).poll_next(&mut context).is_ready());
    assert_eq!(held(), [true, false, false, false]);
    assert!(Pin::new(&mut body).poll_next(&mut context).is_ready());
    assert_eq!(held(), [true, true, true, false]);
    queue_event(&outbox, &inbox, &event("{}", Some(messages[3])));
    outbox.cut(CloseCode::Again, "");
    drain(&mut body);
    assert_eq!(held(), [true, true, true, false]);
}
