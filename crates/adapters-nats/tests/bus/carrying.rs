//! Which events the bus carries, and to which nodes.

use std::cell::RefCell;
use std::time::Duration;

use domain::bus::known_nodes::BEAT;
use domain::bus::{EventBus, Interest, RunningBus};
use domain::contact::{ContactRequest, Party, RequestStatus};
use domain::event::DomainEvent;
use domain::id::{ApiKeyId, ContactRequestId, ParticipantId, UserId};
use domain::ports::EventPublisher;
use domain::time::Timestamp;
use testkit::elapse;
use testkit::nats::Nats;
use uuid::Uuid;

use crate::nodes::{Node, acquainted, activity, agent, message, room, text, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_reach_the_nodes_that_listen_and_no_others() {
    let nats = Nats::start();
    let spy = nats.spy();
    let [one, two, three] =
        [Node::at(&nats.url()).await, Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[Interest::Room(room(1)), Interest::RoomAsHuman(room(1))]).await;
    three.listen(&[Interest::Room(room(2))]).await;
    one.listen(&[Interest::Room(room(1))]).await;
    acquainted(&[&one, &two, &three]).await;
    spy.heard("");

    one.events.publish(text(room(1), "first"));
    one.events.publish(text(room(2), "second"));
    one.events.publish(text(room(3), "third"));
    one.events.publish(text(room(1), "fourth"));
    two.hears(&["first", "fourth"]).await;
    three.hears(&["second"]).await;
    assert!(one.published.contents().is_empty(), "nothing comes back");
    let subject = |number: u128| format!("test.chat.t.room.{}", room(number));
    let sent = RefCell::new(Vec::new());
    let is_sent = |count| {
        sent.borrow_mut().extend(spy.heard("test.chat.t.").into_iter().map(|(subject, _)| subject));
        sent.borrow().len() >= count
    };
    until(|| is_sent(3), || "too little was sent".to_owned()).await;
    assert_eq!(sent.take(), [subject(1), subject(2), subject(1)], "the third is wanted nowhere");

    // Of room 2 only agents hear elsewhere, who are not told of this.
    one.events.publish(activity(room(2)));
    one.events.publish(DomainEvent::EventCreated { message: message(room(2), "thought") });
    one.events.publish(DomainEvent::EventCreated { message: message(room(1), "thought") });
    two.hears(&["first", "fourth", "thought"]).await;
    until(|| is_sent(1), || "the thought was not sent".to_owned()).await;
    assert_eq!(sent.take().len(), 1);
    assert!(one.events.has_human_subscribers(room(1)) && !one.events.has_human_subscribers(room(2)));
    three.hears(&["second"]).await;
}

fn party(user: UserId) -> Party {
    Party { id: ParticipantId::User(user), handle: "ann".to_owned(), name: "Ann".to_owned() }
}

/// Events that every node needs arrive whatever its sockets have joined. An event for two sides is sent once.
/// Of an event for several users, each is sent a copy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_everybody_has_to_know_reaches_all_once() {
    let nats = Nats::start();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    acquainted(&[&one, &two]).await;
    one.events.publish(DomainEvent::KeyRevoked { key: ApiKeyId::new(Uuid::from_u128(5)) });
    until(|| two.published.all().len() == 1, || format!("{:?}", two.published.all())).await;
    assert!(two.published.all()[0].starts_with("KeyRevoked"), "{:?}", two.published.all());

    let users = [UserId::new(Uuid::from_u128(1)), UserId::new(Uuid::from_u128(2))];
    two.listen(&users.map(Interest::User)).await;
    until(|| one.bus.is_wanted(Interest::User(users[1])), String::new).await;
    let chat = testkit::bus::chat(room(1));
    let details = domain::chat::ChatDetails::default();
    one.events.publish(DomainEvent::RoomUpdated { to: users.to_vec(), chat, details });
    one.events.publish(DomainEvent::UserMoved { user: users[0] });
    let [requester, recipient] = users.map(party);
    let (id, at) = (ContactRequestId::new(Uuid::from_u128(7)), Timestamp::from_micros(0));
    let (message, status, created_at) = (None, RequestStatus::Pending, at);
    let request =
        ContactRequest { id, requester, recipient, message, status, created_at, responded_at: None };
    one.events.publish(DomainEvent::ContactRequestUpdated { request });
    until(|| two.published.all().len() >= 5, || format!("{:?}", two.published.all())).await;
    // Events come in their order at each address, so that nothing from before is on its way after these.
    one.events.publish(DomainEvent::KeyRevoked { key: ApiKeyId::new(Uuid::from_u128(6)) });
    let (chat, details) = (testkit::bus::chat(room(2)), domain::chat::ChatDetails::default());
    one.events.publish(DomainEvent::RoomUpdated { to: users.to_vec(), chat, details });
    until(|| two.published.all().len() >= 8, || format!("{:?}", two.published.all())).await;
    let published = two.published.all();
    let count = |what: &str| published.iter().filter(|event| event.starts_with(what)).count();
    let counts = ["KeyRevoked", "RoomUpdated", "UserMoved", "ContactRequestUpdated"].map(count);
    assert_eq!((published.len(), counts), (8, [2, 4, 1, 1]), "{published:?}");
    for user in users {
        let for_one = |event: &&String| event.contains(&format!("to: [{user:?}]"));
        assert_eq!(published.iter().filter(for_one).count(), 2, "{published:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_subscribed_to_what_its_sockets_listen_to() {
    let nats = Nats::start();
    let node = Node::at(&nats.url()).await;
    let own = ["test.chat.all".to_owned(), "test.chat.nodes".to_owned()];
    until(|| nats.subjects() == own, || format!("{:?}", nats.subjects())).await;
    let interests = [
        Interest::Room(room(1)),
        Interest::RoomAsHuman(room(1)),
        Interest::User(UserId::new(Uuid::from_u128(2))),
        Interest::Agent(agent(3)),
    ];
    node.listen(&interests).await;
    let named = |kind: &str, number: u128| format!("test.chat.t.{kind}.{}", Uuid::from_u128(number));
    let expected = [&own[..], &[named("agent", 3), named("room", 1), named("user", 2)]].concat();
    assert_eq!(nats.subjects(), expected, "before anybody is told that they listen");
    for interest in interests {
        node.bus.end(interest);
    }
    assert_eq!(nats.subjects(), expected, "most come back in a moment");
    until(|| nats.subjects() == own, || format!("{:?}", nats.subjects())).await;
}

/// A node that is killed says nothing, one that ends in order does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_gone_is_sent_nothing() {
    let nats = Nats::start();
    let [one, two, three] =
        [Node::at(&nats.url()).await, Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[Interest::Room(room(2))]).await;
    three.listen(&[Interest::Room(room(3))]).await;
    acquainted(&[&one, &two, &three]).await;
    let wanted = || [2, 3].map(|number| one.bus.is_wanted(Interest::Room(room(number))));
    assert_eq!(wanted(), [true, true]);
    two.bus.announce_shutdown().await;
    drop(two.tasks);
    until(|| wanted() == [false, true], || format!("{:?}", wanted())).await;
    drop(three.tasks);
    until(|| wanted() == [false, false], || format!("{:?}", wanted())).await;
    assert!(!one.bus.has_others());
}

/// All that it has told is heard, and nothing after it has said that it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_ends_in_order_has_told_all() {
    const TOLD: usize = 3_000;
    let nats = Nats::start();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[Interest::Room(room(1))]).await;
    acquainted(&[&one, &two]).await;
    // More than the way there takes at once.
    nats.pause();
    let content = "x".repeat(4_000);
    for _ in 0..TOLD {
        one.events.publish(text(room(1), &content));
    }
    let goes_on = async {
        // The end begins while NATS hangs.
        elapse(Duration::from_millis(50)).await;
        nats.resume();
    };
    tokio::join!(one.bus.announce_shutdown(), goes_on);
    drop(one.tasks);
    until(|| two.published.contents().len() == TOLD, || two.published.contents().len().to_string()).await;
    until(|| !two.bus.has_others(), || "it counts as there".to_owned()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_has_said_that_it_ends_says_nothing_more() {
    let nats = Nats::start();
    let spy = nats.spy();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    acquainted(&[&one, &two]).await;
    one.bus.announce_shutdown().await;
    until(|| !two.bus.has_others(), || "it counts as there".to_owned()).await;
    // What others ask for, its beat, and what its sockets begin is not told any more.
    one.bus.begin(Interest::Room(room(1)));
    let _newcomer = Node::at(&nats.url()).await;
    // Longer than from one beat to the next.
    elapse(BEAT * 3 / 2).await;
    let published = spy.heard("test.chat.nodes").into_iter();
    let kinds = published.filter(|(_, body)| body[3..19] == *one.id.as_bytes()).map(|(_, body)| body[2]);
    let (said, gone) = (kinds.collect::<Vec<_>>(), 205);
    assert_eq!(said.iter().position(|kind| *kind == gone), Some(said.len() - 1), "{said:?}");
}

/// In one room one after the other, though another room comes between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_tells_in_a_room_comes_in_its_order() {
    const EACH: usize = 500;
    let nats = Nats::start();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[1, 2].map(|number| Interest::Room(room(number)))).await;
    acquainted(&[&one, &two]).await;
    for number in 0..EACH {
        one.events.publish(text(room(1), &format!("1 {number:04}")));
        one.events.publish(text(room(2), &format!("2 {number:04}")));
    }
    until(|| two.published.contents().len() == 2 * EACH, || two.published.contents().len().to_string()).await;
    for room in ["1 ", "2 "] {
        let heard = two.published.contents().into_iter().filter(|content| content.starts_with(room));
        assert!(heard.collect::<Vec<_>>().is_sorted());
    }
}
