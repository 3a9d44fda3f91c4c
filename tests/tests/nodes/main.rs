//! Several servers on one database: one live socket per agent, consistent presence, and servers that are killed,
//! paused, or stopped.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod proxy;

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Api, Closed, Fleet, Server, Socket, elapse, is_full, until};
use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::postgres::{Cluster, Options};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

/// Within this what one server knows of sockets, all know.
const SOON: Duration = Duration::from_secs(8);

/// Within this a server that died is cleared; while other tests run, twice as much is allowed.
fn dead() -> Duration {
    Duration::from_secs(if is_full() { 15 } else { 30 })
}

const CHANGED: &str = "participant_presence_changed";

/// They know of each other by the database alone.
const SETTINGS: [(&str, &str); 3] =
    [("PARLANCE_CLUSTER_MODE", "multi"), ("PARLANCE_RATE_LIMITS", "false"), ("PARLANCE_DRAIN_MS", "1500")];

async fn several(count: usize) -> Fleet {
    Fleet::start(count, &SETTINGS).await
}

/// Returns whether the list of participants on a server shows a participant as online.
async fn is_online(at: &Server, viewer: &Api, room: &str, who: &Api) -> bool {
    let roster = viewer.on(at).get(&format!("/chats/{room}/participants")).await.data();
    let row = roster.as_array().unwrap().iter().find(|row| row["id"] == who.id.as_str()).cloned();
    row.unwrap()["online"].as_bool().unwrap()
}

/// Waits until all of these servers say so; how long that took.
async fn until_online(at: &[&Server], cast: &Cast, who: &Api, online: bool, within: Duration) -> Duration {
    let since = Instant::now();
    for server in at {
        let what = format!("online is not {online} at {}", server.address());
        until(&what, async || is_online(server, &cast.u1, &cast.r1, who).await == online).await;
        assert!(since.elapsed() < within, "{what} after {:?}", since.elapsed());
    }
    since.elapsed()
}

/// Waits until so many rows of the store that the servers share are as this says: `nodes WHERE …`.
async fn until_stored(url: &str, rows: &str, expected: i64) {
    let (store, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let query = format!("SELECT count(*) FROM {rows}");
    let is_so = async || store.query_one(&query, &[]).await.unwrap().get::<_, i64>(0) == expected;
    until(&format!("{rows} are not {expected}"), is_so).await;
}

fn people_of(cast: &Cast) -> String {
    format!("room_participants:{}", cast.r1)
}

/// Expects both events about an agent that came or went.
async fn reported(human: &mut Socket, cast: &Cast, who: &Api, online: bool) -> Value {
    let topic = people_of(cast);
    let said = human.event("1", &topic, CHANGED).await;
    assert_eq!((&said["id"], &said["online"]), (&json!(who.id), &json!(online)));
    human.event("1", &topic, if online { "agent_connected" } else { "agent_disconnected" }).await;
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_socket_on_another_server_takes_over() {
    let fleet = several(2).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    let cast = Cast::on(here).await;
    let topic = format!("agent_control:{}", cast.a1.id);
    let mut first = Socket::of(here, &cast.a1).await;
    first.join("1", &topic).await;
    let mut second = Socket::of(there, &cast.a1).await;
    let reported = first.event("1", &topic, "supersede").await;
    assert_eq!(
        (&reported["reason"], &reported["retryable"]),
        (&json!("session.already_connected"), &json!(false))
    );
    assert_eq!(first.closed().await, Closed::Code(1001));
    second.join("1", &topic).await;

    let key = [("x-api-key", cast.a1.key.as_str())];
    let giving_way = async |at| Socket::connect(at, "vsn=2.0.0&on_conflict=reject", &key).await;
    assert_eq!(giving_way(here).await.err(), Some(409));
    assert_eq!(giving_way(there).await.err(), Some(409));
    second.alive().await;
    // Who says good-bye leaves the place free at once, on all servers.
    for (old, new) in [(there, here), (here, there), (there, here)] {
        second.send_message(Message::Close(None)).await.unwrap();
        assert!(matches!(second.closed().await, Closed::Code(_)), "{}", old.address());
        second = giving_way(new).await.unwrap_or_else(|status| panic!("{status}"));
    }
    second.join("2", &format!("chat_room:{}", cast.r1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_sockets_over_three_servers_one_stays() {
    let fleet = several(3).await;
    let servers = &fleet.servers[..];
    let cast = Cast::on(&servers[0]).await;
    let sockets = join_all((0..100).map(|number| Socket::of(&servers[number % 3], &cast.a1))).await;
    let left = join_all(sockets.into_iter().map(|socket| socket.stays(SOON))).await;
    let mut left = left.into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(left.len(), 1);
    left[0].join("1", &format!("chat_room:{}", cast.r1)).await;
    let all = servers.iter().collect::<Vec<_>>();
    until_online(&all, &cast, &cast.a1, true, SOON).await;
    let key = [("x-api-key", cast.a1.key.as_str())];
    for server in servers {
        let late = Socket::connect(server, "vsn=2.0.0&on_conflict=reject", &key).await;
        assert_eq!(late.err(), Some(409));
    }
}

/// On REST and on sockets; also for a server that starts later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_servers_say_the_same_of_who_is_there() {
    let mut fleet = several(2).await;
    let servers = &mut fleet.servers[..];
    let cast = Cast::on(&servers[0]).await;
    let (mut here, mut there) =
        (Socket::of(&servers[0], &cast.u1).await, Socket::of(&servers[1], &cast.u1).await);
    here.join("1", &people_of(&cast)).await;
    there.join("1", &people_of(&cast)).await;
    let mut agent = Socket::of(&servers[0], &cast.a1).await;
    let said = reported(&mut here, &cast, &cast.a1, true).await;
    assert_eq!(reported(&mut there, &cast, &cast.a1, true).await, said);
    for server in servers.iter() {
        assert!(is_online(server, &cast.u1, &cast.r1, &cast.a1).await);
        assert!(is_online(server, &cast.u1, &cast.r1, &cast.u1).await);
        assert!(!is_online(server, &cast.u1, &cast.r1, &cast.a2).await);
    }
    servers[1].kill9();
    servers[1].run().await;
    assert!(is_online(&servers[1], &cast.u1, &cast.r1, &cast.a1).await, "at once");
    agent.send_message(Message::Close(None)).await.unwrap();
    assert!(matches!(agent.closed().await, Closed::Code(_)));
    let said = reported(&mut here, &cast, &cast.a1, false).await;
    assert_eq!(said["connection_status"], "disconnected");
    let all = servers.iter().collect::<Vec<_>>();
    until_online(&all, &cast, &cast.a1, false, SOON).await;
}

/// Ten seconds to come back, on whichever server. An indicator that is not renewed ends meanwhile by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_back_on_another_server_was_never_away() {
    let fleet = several(2).await;
    let servers = &fleet.servers[..];
    let cast = Cast::on(&servers[0]).await;
    let mut human = Socket::of(&servers[0], &cast.u1).await;
    let (moves, stays_away) =
        (Socket::of(&servers[0], &cast.a1).await, Socket::of(&servers[1], &cast.a2).await);
    until_online(&[&servers[0]], &cast, &cast.a2, true, SOON).await;
    human.join("1", &people_of(&cast)).await;
    let (mut watching, activity) =
        (Socket::of(&servers[0], &cast.u1).await, format!("room_activity:{}", cast.r1));
    watching.join_with("1", &activity, json!({"working_agents": []})).await;
    let working = json!({"working": true});
    assert_eq!(cast.a1.post(&format!("/chats/{}/activity", cast.r1), working).await.status, 200);
    drop(moves);
    until_stored(&fleet.database().url(), "agent_sockets WHERE lost_at IS NOT NULL", 1).await;
    let _back = Socket::of(&servers[1], &cast.a1).await;
    drop(stays_away);
    let took = until_online(&[&servers[0]], &cast, &cast.a2, false, dead()).await;
    assert!(took > Duration::from_secs(9), "{took:?}");
    // The first that is told is of who stays away.
    reported(&mut human, &cast, &cast.a2, false).await;
    watching.event("1", &activity, "agent_activity_started").await;
    watching.event("1", &activity, "agent_activity_stopped").await;
    human.alive().await;
    let all = servers.iter().collect::<Vec<_>>();
    until_online(&all, &cast, &cast.a1, true, SOON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_is_cleared_within_fifteen_seconds() {
    let mut fleet = several(2).await;
    let servers = &mut fleet.servers[..];
    let cast = Cast::on(&servers[0]).await;
    let mut human = Socket::of(&servers[0], &cast.u1).await;
    let (_one, _two) = (Socket::of(&servers[1], &cast.a1).await, Socket::of(&servers[1], &cast.a2).await);
    for who in [&cast.a1, &cast.a2] {
        until_online(&[&servers[0]], &cast, who, true, SOON).await;
    }
    human.join("1", &people_of(&cast)).await;
    servers[1].kill9();
    // Its agent reconnects to another server without a conflict.
    let _back = Socket::of(&servers[0], &cast.a1).await;
    let took = until_online(&[&servers[0]], &cast, &cast.a2, false, dead()).await;
    assert!(took > Duration::from_secs(5), "it was believed for as long as its lease held: {took:?}");
    reported(&mut human, &cast, &cast.a2, false).await;
    human.alive().await;
    assert!(is_online(&servers[0], &cast.u1, &cast.r1, &cast.a1).await);
}

/// Stopped for longer than its lease, and continued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_stopped_for_long_comes_back() {
    let fleet = several(2).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    let cast = Cast::on(here).await;
    let (mut kept, mut taken) = (Socket::of(there, &cast.a1).await, Socket::of(there, &cast.a2).await);
    for who in [&cast.a1, &cast.a2] {
        until_online(&[here], &cast, who, true, SOON).await;
    }
    there.signal("-STOP");
    until_online(&[here], &cast, &cast.a1, false, dead()).await;
    let mut newer = Socket::of(here, &cast.a2).await;
    there.signal("-CONT");
    until_online(&[here, there], &cast, &cast.a1, true, dead()).await;
    assert_eq!(taken.closed().await, Closed::Code(1001));
    kept.alive().await;
    newer.alive().await;
    let key = [("x-api-key", cast.a1.key.as_str())];
    for server in [here, there] {
        let late = Socket::connect(server, "vsn=2.0.0&on_conflict=reject", &key).await;
        assert_eq!(late.err(), Some(409));
    }
}

/// A server that is stopped until shortly before its lease ends goes on as if nothing had happened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_stopped_for_ten_seconds_goes_on() {
    let fleet = several(2).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    let cast = Cast::on(here).await;
    let mut socket = Socket::of(there, &cast.a1).await;
    until_online(&[here], &cast, &cast.a1, true, SOON).await;
    there.signal("-STOP");
    let left = if is_full() { 2 } else { 5 };
    let nearly_over = format!("nodes WHERE lease_until < clock_timestamp() + interval '{left} seconds'");
    until_stored(&fleet.database().url(), &nearly_over, 1).await;
    there.signal("-CONT");
    socket.alive().await;
    until_online(&[here, there], &cast, &cast.a1, true, SOON).await;
    let _newer = Socket::of(here, &cast.a1).await;
    assert_eq!(socket.closed().await, Closed::Code(1001));
}

/// All leases have expired when the database is back, and no node clears another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_the_database_takes_nobody_away() {
    let cluster = Cluster::own(Options::default());
    let fleet = Fleet::start_on(cluster.server().database(), 2, &SETTINGS).await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    let cast = Cast::on(here).await;
    let mut human = Socket::of(here, &cast.u1).await;
    let (mut near, mut far) = (Socket::of(here, &cast.a1).await, Socket::of(there, &cast.a2).await);
    until_online(&[here], &cast, &cast.a2, true, SOON).await;
    human.join("1", &people_of(&cast)).await;
    tokio::task::block_in_place(|| cluster.stop_immediately());
    // Longer than a lease. The stopped database cannot be asked whether it is over.
    elapse(Duration::from_secs(13)).await;
    let key = [("x-api-key", cast.a1.key.as_str())];
    assert_eq!(Socket::connect(here, "vsn=2.0.0", &key).await.err(), Some(503), "who is unknown waits");
    tokio::task::block_in_place(|| cluster.start());
    let url = fleet.database().url();
    let renewed = "nodes WHERE lease_until > clock_timestamp()";
    let from_before = "entered_at < clock_timestamp() - interval '13 seconds'";
    until_stored(&url, &format!("{renewed} AND {from_before}"), 2).await;
    for socket in [&mut human, &mut near, &mut far] {
        socket.alive().await;
    }
    for who in [&cast.a1, &cast.a2] {
        until_online(&[here, there], &cast, who, true, SOON).await;
    }
    // And all goes on as before.
    let _newer = Socket::of(there, &cast.a1).await;
    assert_eq!(near.closed().await, Closed::Code(1001));
}

/// One after the other is stopped in order and started again; agents come back elsewhere and are never away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_is_no_news() {
    let mut fleet = several(2).await;
    let url = fleet.database().url();
    let servers = &mut fleet.servers[..];
    let cast = Cast::on(&servers[0]).await;
    let mut human = Socket::of(&servers[0], &cast.u1).await;
    let mut one = Socket::of(&servers[1], &cast.a1).await;
    let mut two = Socket::of(&servers[1], &cast.a2).await;
    for who in [&cast.a1, &cast.a2] {
        until_online(&[&servers[0]], &cast, who, true, SOON).await;
    }
    human.join("1", &people_of(&cast)).await;
    servers[1].signal("-TERM");
    let key = [("x-api-key", cast.a1.key.as_str())];
    for (socket, who) in [(&mut one, &cast.a1), (&mut two, &cast.a2)] {
        assert_eq!(socket.closed().await, Closed::Code(1012));
        *socket = Socket::of(&servers[0], who).await;
    }
    servers[1].ended().await;
    servers[1].run().await;
    let giving_way = Socket::connect(&servers[1], "vsn=2.0.0&on_conflict=reject", &key).await;
    assert_eq!(giving_way.err(), Some(409));
    // The lease of the one that ended is over.
    until_stored(&url, "nodes WHERE ended_at IS NULL", 2).await;
    human.alive().await;
    let all = servers.iter().collect::<Vec<_>>();
    for who in [&cast.a1, &cast.a2] {
        until_online(&all, &cast, who, true, SOON).await;
    }
    one.alive().await;
    two.alive().await;
}
