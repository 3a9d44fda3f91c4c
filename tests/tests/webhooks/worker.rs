//! An agent that is woken by requests, and that can be held while it has some.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use e2e::{Api, Server, pace, until};
use reqwest::Method;
use tokio::sync::watch;

use crate::receiver::{Answer, Delivery, Received, Receiver};

/// What an agent and its test share.
struct Shared {
    /// The agent on a server that runs.
    bot: Mutex<Api>,
    /// The rooms in which it does nothing while it is held; in the others it begins with a message, and ends later.
    silent: Mutex<BTreeSet<String>>,
    begun: Mutex<BTreeSet<String>>,
    goes_on: watch::Sender<bool>,
}

/// An agent behind a receiver. It marks each message, and responds when it is done.
pub(crate) struct Worker {
    pub(crate) receiver: Receiver,
    shared: Arc<Shared>,
}

impl Worker {
    /// One that is held in all its turns.
    pub(crate) async fn held(bot: Api) -> Self {
        let (goes_on, _) = watch::channel(false);
        let shared =
            Shared { bot: Mutex::new(bot), silent: Mutex::default(), begun: Mutex::default(), goes_on };
        let shared = Arc::new(shared);
        let own = shared.clone();
        let receiver = Receiver::start(move |request| Box::pin(work(own.clone(), request))).await;
        Self { receiver, shared }
    }

    /// Has it do nothing in these rooms while it is held, as if its request had not arrived.
    pub(crate) fn ignores(&self, rooms: &[String]) {
        self.shared.silent.lock().unwrap().extend(rooms.iter().cloned());
    }

    /// Has it talk to this server.
    pub(crate) fn moves_to(&self, server: &Server) {
        let mut bot = self.shared.bot.lock().unwrap();
        *bot = bot.on(server);
    }

    /// Waits until it holds so many requests, and has begun with so many messages.
    pub(crate) async fn holds(&self, requests: usize, begun: usize) {
        self.receiver.wait(requests).await;
        until("the agent has not begun", async || self.shared.begun.lock().unwrap().len() == begun).await;
    }

    /// Lets it go on, and holds it no more.
    pub(crate) fn goes_on(&self) {
        self.shared.goes_on.send_replace(true);
    }

    /// The messages of each room as they came, and how many requests came for each.
    pub(crate) fn came(&self) -> (BTreeMap<String, Vec<String>>, BTreeMap<String, usize>) {
        let (mut rooms, mut requests) = (BTreeMap::<String, Vec<String>>::new(), BTreeMap::new());
        for request in self.receiver.received() {
            let (room, message) = (rooms.entry(request.room()).or_default(), request.message());
            *requests.entry(message.clone()).or_default() += 1;
            if room.last() != Some(&message) {
                room.push(message);
            }
        }
        (rooms, requests)
    }
}

async fn work(shared: Arc<Shared>, request: Received) -> Answer {
    let is_held = !*shared.goes_on.borrow();
    let mut goes_on = shared.goes_on.subscribe();
    if is_held && shared.silent.lock().unwrap().contains(&request.room()) {
        goes_on.wait_for(|goes_on| *goes_on).await.unwrap();
        return (500, "");
    }
    let path = format!("/chats/{}/messages/{}", request.room(), request.message());
    if !is_accepted(&shared, &format!("{path}/processing")).await {
        return (500, "");
    }
    shared.begun.lock().unwrap().insert(request.message());
    goes_on.wait_for(|goes_on| *goes_on).await.unwrap();
    (if is_accepted(&shared, &format!("{path}/processed")).await { 200 } else { 500 }, "")
}

/// Whether the server accepts a step; waits for one that is being started.
async fn is_accepted(shared: &Shared, path: &str) -> bool {
    for _ in 0..1_000 {
        let bot = shared.bot.lock().unwrap().clone();
        match bot.try_call(Method::POST, path, None).await {
            Ok(answer) if answer.status != 503 => return answer.status < 300,
            _ => pace(Duration::from_millis(20)).await,
        }
    }
    false
}
