//! A bus that is unreachable, hangs, or returns.

use std::time::Duration;

use domain::bus::{EventBus, Interest, RunningBus};
use domain::ports::EventPublisher;
use testkit::nats::Nats;
use testkit::{elapse, pace};
use tokio::time::Instant;

use crate::nodes::{Node, acquainted, room, text, until};

/// How long handing an event over, or listening to a room, may take on a machine under load, whatever the bus does.
const AT_ONCE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_all_is_as_before() {
    let mut nats = Nats::start();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[Interest::Room(room(1))]).await;
    acquainted(&[&one, &two]).await;
    one.events.publish(text(room(1), "before"));
    two.hears(&["before"]).await;

    nats.kill();
    until(|| !one.bus.is_connected() && !two.bus.is_connected(), || "it is not noticed".to_owned()).await;
    let begun = Instant::now();
    for _ in 0..1_000 {
        one.events.publish(text(room(1), "lost"));
    }
    two.listen(&[Interest::Room(room(2))]).await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());

    nats.run();
    acquainted(&[&one, &two]).await;
    assert!(one.bus.is_wanted(Interest::Room(room(2))), "what began meanwhile is known");
    one.events.publish(text(room(1), "after"));
    one.events.publish(text(room(2), "new"));
    until(|| two.published.contents().len() >= 3, || format!("{:?}", two.published.contents())).await;
    let mut heard = two.published.contents();
    heard.sort();
    assert_eq!(heard, ["after", "before", "new"], "what was lost is old by now");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_up_later_is_found() {
    let mut nats = Nats::start();
    nats.kill();
    let begun = Instant::now();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[Interest::Room(room(1))]).await;
    one.events.publish(text(room(1), "nobody hears it"));
    assert!(begun.elapsed() < Duration::from_secs(10) && !one.bus.is_connected());
    nats.run();
    acquainted(&[&one, &two]).await;
    one.events.publish(text(room(1), "found"));
    two.hears(&["found"]).await;
}

/// Nothing waits for a server that hangs; when it goes on, or is given up and found again, all is as before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_holds_nobody_up() {
    let nats = Nats::start();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[Interest::Room(room(1))]).await;
    acquainted(&[&one, &two]).await;
    nats.pause();
    let large = "x".repeat(100_000);
    let mut longest = Duration::ZERO;
    for _ in 0..500 {
        let begun = Instant::now();
        one.events.publish(text(room(1), &large));
        longest = longest.max(begun.elapsed());
    }
    assert!(longest < AT_ONCE, "handed over or dropped: {longest:?}");
    let begun = Instant::now();
    two.listen(&[Interest::Room(room(2))]).await;
    assert!(begun.elapsed() < AT_ONCE, "a join does not wait for ever: {:?}", begun.elapsed());
    until(|| !one.bus.is_connected(), || "it counts as there".to_owned()).await;
    nats.resume();
    acquainted(&[&one, &two]).await;
    one.events.publish(text(room(2), "after"));
    until(|| two.published.contents().iter().any(|content| content == "after"), || "silence".to_owned())
        .await;
}

/// What waits for a server that hangs is bounded, also what the link was handed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_for_a_server_that_hangs_is_bounded() {
    const SENT: usize = 150;
    let nats = Nats::start();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[Interest::Room(room(1))]).await;
    acquainted(&[&one, &two]).await;
    nats.pause();
    let large = "x".repeat(900_000);
    for _ in 0..SENT {
        one.events.publish(text(room(1), &large));
        // There is time to take it.
        pace(Duration::from_millis(2)).await;
    }
    // A machine under load takes so long for this that the link is given up; what waited is dropped then.
    let is_kept = one.bus.is_connected();
    nats.resume();
    if is_kept {
        let came = || two.published.contents().len();
        until(|| came() >= 15, || format!("{} came", came())).await;
    } else {
        acquainted(&[&one, &two]).await;
    }
    one.events.publish(text(room(1), "the end"));
    let is_over = || two.published.contents().iter().any(|content| content == "the end");
    until(is_over, || "it is not told".to_owned()).await;
    // 16 MiB are 18, and the system takes some more.
    let came = two.published.contents().len();
    assert!(came < SENT / 2, "{came} of them have waited");
}

/// While it hangs, or is away, more is begun than the link has room for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_began_while_a_server_hung_is_heard() {
    let nats = Nats::start();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    acquainted(&[&one, &two]).await;
    let rooms = |numbers: std::ops::Range<u128>| numbers.map(|number| Interest::Room(room(number)));
    nats.pause();
    let begun = Instant::now();
    two.listen(&rooms(1..2_000).collect::<Vec<_>>()).await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    until(|| !two.bus.is_connected(), || "it counts as there".to_owned()).await;
    two.listen(&rooms(2_000..4_000).collect::<Vec<_>>()).await;
    two.bus.end(Interest::Room(room(1)));
    nats.resume();
    acquainted(&[&one, &two]).await;
    until(|| nats.subjects().len() == 3_998 + 4, || nats.subjects().len().to_string()).await;
    for number in [2, 300, 1_999, 2_000, 3_999] {
        one.events.publish(text(room(number), &number.to_string()));
    }
    let heard = || {
        let mut heard = two.published.contents();
        heard.sort();
        heard
    };
    until(|| heard() == ["1999", "2", "2000", "300", "3999"], || format!("{:?}", heard())).await;
}

/// Nodes know each other also over a NATS that takes only small messages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_as_small_as_nats_wants_them() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("nats.conf");
    std::fs::write(&file, "max_payload: 4096\n").unwrap();
    let nats = Nats::start_with(&["--config", file.to_str().unwrap()]);
    let two = Node::at(&nats.url()).await;
    let interests = (1..1_000).map(|number| Interest::RoomAsHuman(room(number))).collect::<Vec<_>>();
    two.listen(&interests[..900]).await;
    let one = Node::at(&nats.url()).await;
    acquainted(&[&one, &two]).await;
    assert!(one.bus.is_wanted(interests[899]), "the whole is known");
    two.listen(&interests[900..]).await;
    until(|| one.bus.is_wanted(interests[998]), || "what began is not known".to_owned()).await;
    for interest in &interests {
        two.bus.end(*interest);
    }
    until(|| !one.bus.is_wanted(interests[998]), || "what is over is not known".to_owned()).await;
    acquainted(&[&one]).await;
}

/// Somebody else who joins what is heard already does not release who waits to be heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_waits_for_its_own_confirmation() {
    let nats = Nats::start();
    let node = Node::at(&nats.url()).await;
    node.listen(&[Interest::Room(room(1))]).await;
    nats.pause();
    let begun = Instant::now();
    node.bus.begin(Interest::Room(room(2)));
    let first = async {
        node.bus.settled().await;
        begun.elapsed()
    };
    let second = async {
        // It joins while the other waits, and so must wait for longer.
        elapse(Duration::from_millis(100)).await;
        node.bus.begin(Interest::Room(room(1)));
        node.bus.settled().await;
        begun.elapsed()
    };
    let waited = tokio::join!(first, second);
    nats.resume();
    // Until they wait no longer.
    assert!(waited.0 >= Duration::from_millis(400) && waited.1 > waited.0, "{waited:?}");
}

/// A node that was stopped for longer than others believe in it hears everything again when it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_was_away_for_long_is_asked_again() {
    let nats = Nats::start();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    two.listen(&[Interest::Room(room(1))]).await;
    acquainted(&[&one, &two]).await;
    // As it is for others while a process is stopped: its link is there, and nothing is said.
    let mut two = two;
    two.tasks.shutdown().await;
    until(|| !one.bus.has_others(), || "its beat is not missed".to_owned()).await;
    let again = Node::at(&nats.url()).await;
    again.listen(&[Interest::Room(room(1))]).await;
    until(|| one.bus.has_others(), || "it is not heard".to_owned()).await;
    one.events.publish(text(room(1), "here again"));
    again.hears(&["here again"]).await;
}

/// A server whose subscriptions have ended would hear of nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_ends_with_its_subscriptions() {
    let nats = Nats::start();
    let mut node = Node::at(&nats.url()).await;
    until(|| node.bus.is_connected(), || "it is not connected".to_owned()).await;
    node.bus.announce_shutdown().await;
    tokio::time::timeout(Duration::from_secs(10), node.tasks.join_next()).await.unwrap().unwrap().unwrap();
}
