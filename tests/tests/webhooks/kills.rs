//! Servers that are killed or stopped while requests are in flight. Requests are counted: one that was lost is repeated, and
//! no other.

use std::collections::BTreeMap;

use e2e::{Fleet, Server, until};
use serde_json::Value;

use crate::scene::{FAST, LOCAL, Scene};
use crate::worker::Worker;

/// Rooms of an agent that is held in all of them, with the messages that it was sent. It has begun with the first message of
/// half of the rooms.
struct Held {
    scene: Scene,
    worker: Worker,
    /// The rooms in which it has not begun.
    silent: Vec<String>,
    sent: BTreeMap<String, Vec<String>>,
}

impl Held {
    /// In so many rooms, with three messages in each; these servers send them in turn.
    async fn on(servers: &[Server], count: usize) -> Self {
        let scene = Scene::on(&servers[0]).await;
        let mut rooms = vec![scene.chat.clone()];
        while rooms.len() < count {
            rooms.push(scene.another_room().await);
        }
        let silent = rooms.split_off(count / 2);
        let worker = Worker::held(scene.bot.clone()).await;
        worker.ignores(&silent);
        scene.hook(&worker.receiver.url()).await;
        rooms.extend(silent.iter().cloned());
        let mut held = Self { scene, worker, silent, sent: BTreeMap::new() };
        for server in servers.iter().cycle().take(3) {
            for room in &rooms {
                held.send(server, room).await;
            }
        }
        held.worker.holds(count, count / 2).await;
        held
    }

    async fn send(&mut self, server: &Server, room: &str) {
        let message = self.scene.ann.on(server).sent(room, "hello", &[&self.scene.bot.id]).await;
        self.sent.entry(room.to_owned()).or_default().push(message);
    }

    /// The agent is done with everything, in the order of each room. A request came twice only where it had not begun.
    async fn is_done(&self) {
        for message in self.sent.values().flatten() {
            self.scene.becomes(message, "delivered").await;
        }
        let (came, requests) = self.worker.came();
        assert_eq!(came, self.sent, "in the order of each room");
        let lost = self.silent.iter().map(|room| &self.sent[room][0]).collect::<Vec<_>>();
        for (message, count) in requests {
            let expected = if lost.contains(&&message) { 2 } else { 1 };
            assert_eq!(count, expected, "requests for {message}, of {lost:?}");
        }
        for delivery in self.scene.deliveries().await {
            let is_lost = lost.iter().any(|lost| delivery["message_id"] == **lost);
            assert_eq!(delivery["attempts"], if is_lost { 2 } else { 1 }, "{delivery}");
        }
        for room in self.sent.keys() {
            assert_eq!(self.scene.bot.next(room).await, None, "all are processed");
            let listed = self.scene.bot.get(&format!("/chats/{room}/messages?status=processed")).await.data();
            for row in listed.as_array().unwrap() {
                let attempts = &row["metadata"]["delivery_status"][&self.scene.bot.id]["attempts"];
                assert_eq!(attempts.as_array().map(Vec::len), Some(1), "{row}");
                assert_eq!(attempts[0]["status"], "success", "{row}");
            }
        }
    }
}

#[tokio::test]
async fn a_killed_server_loses_and_doubles_nothing() {
    let mut server = [Server::start_alone(&[LOCAL, FAST]).await];
    let mut held = Held::on(&server, 6).await;
    server[0].kill9();
    server[0].run().await;
    held.worker.goes_on();
    for room in held.sent.keys().cloned().collect::<Vec<_>>() {
        held.send(&server[0], &room).await;
    }
    held.is_done().await;
}

/// Two servers on one database, which do not hear of each other but by the store. One is killed, and the other takes over.
#[tokio::test]
async fn two_servers_send_each_message_once() {
    let mut fleet = Fleet::start(2, &[LOCAL, FAST]).await;
    let mut held = Held::on(&fleet.servers, 8).await;
    let mut in_flight = [0.0; 2];
    until("the requests are not in flight", async || {
        for (index, count) in in_flight.iter_mut().enumerate() {
            *count = fleet.figure(index, "parlance_webhook_requests_in_flight").await;
        }
        in_flight.iter().sum::<f64>() > 7.5
    })
    .await;
    assert!(in_flight.iter().sum::<f64>() < 8.5, "each by one server: {in_flight:?}");
    let killed = usize::from(in_flight[1] > in_flight[0]);
    fleet.servers[killed].kill9();
    let survivor = &fleet.servers[1 - killed];
    held.scene.ann = held.scene.ann.on(survivor);
    held.scene.bot = held.scene.bot.on(survivor);
    held.worker.moves_to(survivor);
    held.worker.goes_on();
    for room in held.sent.keys().cloned().collect::<Vec<_>>() {
        held.send(survivor, &room).await;
    }
    held.is_done().await;
}

/// It takes nothing more, and waits for the requests that are in flight.
#[tokio::test]
async fn a_server_that_stops_waits_for_its_requests() {
    let mut server = Server::start_alone(&[LOCAL, FAST, ("PARLANCE_DRAIN_MS", "15000")]).await;
    let scene = Scene::on(&server).await;
    let other = scene.another_room().await;
    let worker = Worker::held(scene.bot.clone()).await;
    scene.hook(&worker.receiver.url()).await;
    let first = scene.send().await;
    worker.holds(1, 1).await;
    server.signal("-TERM");
    until("the server does not drain", async || {
        reqwest::get(format!("http://{}/ready", server.address())).await.unwrap().status() == 503
    })
    .await;
    let second = scene.ann.sent(&other, "hello", &[&scene.bot.id]).await;
    worker.goes_on();
    server.ended().await;
    assert_eq!(worker.came().1, BTreeMap::from([(first.clone(), 1)]));
    server.run().await;
    scene.becomes(&second, "delivered").await;
    scene.becomes(&first, "delivered").await;
    assert_eq!(worker.came().1, BTreeMap::from([(first, 1), (second, 1)]));
}

/// It cuts off a request that takes longer than it may, and leaves it to the next one at once.
#[tokio::test]
async fn a_server_that_stops_leaves_its_requests_to_the_next() {
    let mut server = Server::start_alone(&[LOCAL, FAST, ("PARLANCE_DRAIN_MS", "100")]).await;
    let scene = Scene::on(&server).await;
    let worker = Worker::held(scene.bot.clone()).await;
    worker.ignores(std::slice::from_ref(&scene.chat));
    scene.hook(&worker.receiver.url()).await;
    let message = scene.send().await;
    worker.holds(1, 0).await;
    assert_eq!(scene.deliveries().await[0]["status"], "sending");
    server.terminate().await;
    let listed = server.command().args(["webhook", "deliveries", "ann/bot", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["deliveries"][0]["status"], "waiting", "without the lease of a server: {listed}");
    worker.goes_on();
    server.run().await;
    let delivery = scene.becomes(&message, "delivered").await;
    assert_eq!((&delivery["attempts"], worker.came().1[&message]), (&2.into(), 2));
}
