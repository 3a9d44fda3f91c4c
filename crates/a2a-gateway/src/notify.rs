//! The sender of push notifications: one task of a server.
//!
//! It works on what the store says is due. An event in a chat with configurations makes these due; a task without events
//! is read from time to time. A turn of a configuration reads the task as its caller, and sends what the receiver does
//! not know, one request after the other; after each, the store records what the receiver knows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use a2a::StreamResponse;
use domain::account::Standing;
use domain::id::PushConfigId;
use domain::push::{
    Known, LONGEST_REST, PushConfig, PushLease, PushRemoval, PushService, PushStep, PushTarget, PushTask,
    PushWakes, SHORTEST_REST, SettledPush,
};
use domain::store::StoreError;
use measure::Outage;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};
use webhooks::{Client, Outgoing, Phase, Rooms, Stop, result_of};

use crate::read;
use crate::session::Gateway;
use crate::task::{TaskId, Tree};

/// How often configurations that are due are searched.
const DUE_EVERY: Duration = Duration::from_secs(1);

/// How often the chats with configurations are read again.
const CHATS_EVERY: Duration = Duration::from_secs(30);

/// The shortest time between two looks at what has happened.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The pause before the store is asked again after it has failed.
const RETRY: Duration = Duration::from_secs(1);

/// The time limit of a read of a task. With that of a request, it is shorter than a lease.
const READ: Duration = Duration::from_secs(5);

/// The time limit of a request, from the connection to the response.
const REQUEST: Duration = Duration::from_secs(10);

/// The number of notifications that are sent in a turn.
const SENT_AT_ONCE: usize = 10;

/// The number of bytes after which a turn takes no further notification.
const BYTES_AT_ONCE: usize = 256 * 1024;

/// The pause after a turn, in which the configuration keeps its place among those of its user.
const PAUSE: Duration = Duration::from_millis(500);

/// The header with the token of a configuration.
const TOKEN: &str = "x-a2a-notification-token";

/// The sender of push notifications.
pub struct Notifier {
    gateway: Arc<Gateway>,
    client: Arc<Client>,
    woken: Arc<Notify>,
    turns: Rooms<PushConfigId>,
    working: JoinSet<(PushConfigId, Result<bool, StoreError>)>,
    leases: Leases,
    outage: Outage,
    phase: Arc<watch::Sender<Phase>>,
}

/// The leases of the configurations that are worked on.
#[derive(Clone, Default)]
struct Leases(Arc<Mutex<HashMap<PushConfigId, PushLease>>>);

impl Leases {
    fn locked(&self) -> MutexGuard<'_, HashMap<PushConfigId, PushLease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notifier {
    /// A sender, which does nothing until it runs.
    pub(crate) fn new(gateway: Arc<Gateway>, client: Arc<Client>) -> Self {
        let woken = Arc::new(Notify::new());
        let (waker, set) = (woken.clone(), gateway.services.pushes.set_of_chats());
        set.on_wake(move || waker.notify_one());
        set.request_reload();
        Self {
            gateway,
            client,
            woken,
            turns: Rooms::default(),
            working: JoinSet::new(),
            leases: Leases::default(),
            outage: Outage::default(),
            phase: Arc::new(watch::Sender::new(Phase::Taking)),
        }
    }

    /// What stops it in order.
    pub fn stop(&self) -> Stop {
        Stop(self.phase.clone())
    }

    /// Runs until it is dropped, which ends the requests that are in flight. They are repeated when their leases expire, or at
    /// once after [`Stop::drain`].
    pub async fn run(mut self) {
        self.work().await;
        self.working.shutdown().await;
        let leases = self.leases.locked().values().copied().collect::<Vec<_>>();
        for lease in leases {
            let released = self.pushes().step(lease, PushStep::More).await;
            self.log(&released);
        }
        self.phase.send_replace(Phase::Ended);
        // Until the server ends.
        std::future::pending::<()>().await;
    }

    fn pushes(&self) -> &PushService {
        &self.gateway.services.pushes
    }

    /// Works until it is to stop.
    async fn work(&mut self) {
        let every = |period| {
            let mut ticks = interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let (mut due, mut chats) = (every(DUE_EVERY), every(CHATS_EVERY));
        let (woken, mut phases) = (self.woken.clone(), self.phase.subscribe());
        let (mut looked_at, mut look_at) = (Instant::now(), None::<Instant>);
        loop {
            tokio::select! {
                () = woken.notified(), if look_at.is_none() => {
                    look_at = Some(looked_at + LOOK_EVERY);
                }
                () = sleep_until(look_at.unwrap_or(looked_at)), if look_at.is_some() => {
                    let has_looked = self.look().await;
                    looked_at = Instant::now();
                    look_at = (!has_looked).then(|| looked_at + RETRY);
                }
                Some(ended) = self.working.join_next() => match ended {
                    Ok((config, worked)) => self.worked(config, worked),
                    // A defect of the server, which must not be hidden.
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                _ = due.tick() => self.search().await,
                _ = chats.tick() => {
                    self.reload().await;
                }
                _ = phases.changed() => {}
            }
            let phase = *self.phase.borrow();
            match phase {
                Phase::Taking => self.begin(),
                Phase::Draining if !self.working.is_empty() => {}
                Phase::Draining | Phase::Cutting | Phase::Ended => break,
            }
        }
    }

    /// Looks at what has happened; returns whether the store could be asked.
    async fn look(&mut self) -> bool {
        let wakes = self.pushes().take_wakes();
        if (wakes.reload && !self.reload().await) || !self.wake(&wakes).await {
            self.pushes().set_of_chats().put_back(wakes);
            return false;
        }
        self.search().await;
        true
    }

    async fn wake(&mut self, wakes: &PushWakes) -> bool {
        let woken = self.pushes().wake(wakes.chats.iter().copied()).await;
        self.log(&woken);
        woken.is_ok()
    }

    async fn reload(&mut self) -> bool {
        let read = self.pushes().reload().await;
        self.log(&read);
        read.is_ok()
    }

    async fn search(&mut self) {
        let found = self.pushes().due().await;
        self.log(&found);
        for due in found.unwrap_or_default() {
            self.turns.add(due.id, due.owner);
        }
    }

    fn log<T>(&mut self, outcome: &Result<T, StoreError>) {
        self.outage.log(
            outcome,
            "push notifications waiting for the store, retrying",
            "push notifications working again",
        );
    }

    /// Begins with as many configurations as the limits allow.
    fn begin(&mut self) {
        while let Some(config) = self.turns.begin_next() {
            let (gateway, client, leases) = (self.gateway.clone(), self.client.clone(), self.leases.clone());
            self.working.spawn(async move { (config, work(&gateway, &client, &leases, config).await) });
        }
    }

    fn worked(&mut self, config: PushConfigId, worked: Result<bool, StoreError>) {
        self.log(&worked);
        // After a failure of the store, a search finds it again when its lease has ended.
        self.leases.locked().remove(&config);
        self.turns.done(config, worked.unwrap_or(false));
    }
}

/// A turn of a configuration; returns whether it is due again.
async fn work(
    gateway: &Arc<Gateway>,
    client: &Arc<Client>,
    leases: &Leases,
    id: PushConfigId,
) -> Result<bool, StoreError> {
    let pushes = &gateway.services.pushes;
    let Some(config) = pushes.take(id).await? else { return Ok(false) };
    let (task, lease) = (config.task, PushLease { config: id, attempt: config.attempts });
    leases.locked().insert(id, lease);
    let settled = match turn_apart(gateway.clone(), client.clone(), config).await? {
        Turn::Last(step) => pushes.step(lease, step).await?,
        Turn::Ended(settled) => settled.map(|settled| *settled),
    };
    leases.locked().remove(&id);
    report(task, settled.as_ref());
    sleep(PAUSE).await;
    Ok(settled.is_some_and(|settled| settled.removed.is_none() && settled.config.is_due(pushes.now())))
}

/// What came of a turn.
enum Turn {
    /// The last step, which is still to be recorded.
    Last(PushStep),
    /// The lease has ended, or the configuration was removed.
    Ended(Option<Box<SettledPush>>),
}

/// A turn as a task of its own, so that a defect that one task of A2A reveals ends the turn, and not the server.
async fn turn_apart(
    gateway: Arc<Gateway>,
    client: Arc<Client>,
    config: PushConfig,
) -> Result<Turn, StoreError> {
    let mut apart = JoinSet::new();
    apart.spawn(async move { turn(&gateway, &client, config).await });
    if let Some(Ok(done)) = apart.join_next().await {
        return done;
    }
    tracing::error!("a turn of push notifications ended in a panic");
    Ok(Turn::Last(PushStep::Later(LONGEST_REST)))
}

async fn turn(gateway: &Gateway, client: &Client, config: PushConfig) -> Result<Turn, StoreError> {
    let Batch { ready, has_more } = match tree(gateway, &config).await? {
        Ok(tree) => Batch::of(&tree, config.known.as_ref()),
        Err(step) => return Ok(Turn::Last(step)),
    };
    let (pushes, lease) =
        (&gateway.services.pushes, PushLease { config: config.id, attempt: config.attempts });
    for (body, sent) in ready {
        let Some(reply) = client.post(request(&config.target, body), pushes.now()).await else {
            return Ok(Turn::Last(PushStep::Later(SHORTEST_REST)));
        };
        measure::push_sent(result_of(&reply));
        if !reply.is_success() {
            return Ok(Turn::Last(PushStep::Failed(reply)));
        }
        match pushes.step(lease, sent).await? {
            Some(SettledPush { removed: None, .. }) => {}
            ended => return Ok(Turn::Ended(ended.map(Box::new))),
        }
    }
    Ok(Turn::Last(if has_more { PushStep::More } else { PushStep::Done }))
}

/// What is sent in a turn. It is all that is held in memory while receivers take their time.
struct Batch {
    /// The bodies, each with the step that follows when it was delivered.
    ready: Vec<(String, PushStep)>,
    has_more: bool,
}

impl Batch {
    fn of(tree: &Tree, known: Option<&Known>) -> Self {
        let mark = tree.mark();
        let mut news = news(tree, known).peekable();
        let (mut ready, mut bytes) = (Vec::new(), 0);
        while ready.len() < SENT_AT_ONCE
            && bytes < BYTES_AT_ONCE
            && let Some((event, known)) = news.next()
        {
            // Texts and numbers always serialize.
            let body = serde_json::to_string(&event).unwrap_or_default();
            bytes += body.len();
            let is_final = mark.is_final().filter(|_| known.state == mark.text());
            ready.push((body, PushStep::Sent { known, is_final }));
        }
        Self { ready, has_more: news.peek().is_some() }
    }
}

/// The task as its caller reads it, or what to do if it cannot be read.
async fn tree(gateway: &Gateway, config: &PushConfig) -> Result<Result<Tree, PushStep>, StoreError> {
    let PushTask { chat: room, first, agent } = config.task;
    let accounts = &gateway.services.accounts;
    let caller = match accounts.standing(config.caller).await? {
        Standing::Active(caller) => caller,
        Standing::Suspended => return Ok(Err(PushStep::Later(LONGEST_REST))),
        Standing::Gone => return Ok(Err(PushStep::Remove(PushRemoval::Unreadable))),
    };
    if accounts.a2a_agent(agent).await?.is_none() {
        return Ok(Err(PushStep::Later(LONGEST_REST)));
    }
    let reader = gateway.reader(caller, agent);
    Ok(match timeout(READ, read::tree_of(&reader, TaskId { room, first })).await {
        Ok(Ok(tree)) => Ok(tree),
        Ok(Err(failure)) if failure.is_of_task() || failure.is_forbidden() => {
            Err(PushStep::Remove(PushRemoval::Unreadable))
        }
        Ok(Err(_)) | Err(_) => Err(PushStep::Unread),
    })
}

/// What the receiver does not know, each with what it knows then: first the task, and later what is new.
fn news<'t>(tree: &'t Tree, known: Option<&'t Known>) -> impl Iterator<Item = (StreamResponse, Known)> {
    let state = tree.mark().text();
    // Without its history: the caller has written a part of it, and the artifacts have the rest.
    let first = known.is_none().then(|| {
        let task = StreamResponse::Task(tree.task(Some(0), true));
        (task, Known { sequence: tree.sequence(), state: state.clone() })
    });
    let updates = known.into_iter().flat_map(move |known| {
        let state = state.clone();
        tree.updates(known.sequence, known.state == state).map(move |update| {
            let is_of_state = matches!(update.event, StreamResponse::StatusUpdate(_));
            let state = if is_of_state { &state } else { &known.state };
            (update.event, Known { sequence: update.sequence, state: state.clone() })
        })
    });
    first.into_iter().chain(updates)
}

fn request(target: &PushTarget, body: String) -> Outgoing<'_> {
    let token = target.token.as_ref().map(|token| (TOKEN, token.reveal().to_owned()));
    let authorization = target.authentication.as_ref().and_then(|given| {
        let credentials = given.credentials.as_ref()?.reveal();
        Some(("authorization", format!("{} {credentials}", given.scheme)))
    });
    let headers = token.into_iter().chain(authorization).collect();
    Outgoing { headers, time_limit: REQUEST, ..Outgoing::json(&target.url, body.into_bytes()) }
}

/// Writes what became of a turn to the log.
fn report(task: PushTask, settled: Option<&SettledPush>) {
    let (agent, message) = (task.agent, task.first);
    let Some(SettledPush { config, removed }) = settled else {
        tracing::debug!(agent.id = %agent, message.id = %message, "a push notification configuration was changed or removed meanwhile");
        return;
    };
    let (error, failures) = (config.error.as_deref().unwrap_or_default(), config.failures);
    match removed {
        Some(PushRemoval::Ended) => {}
        Some(reason) => tracing::warn!(
            agent.id = %agent, message.id = %message, reason = reason.as_str(), error,
            "push notification configuration removed"
        ),
        None if failures > 0 => tracing::debug!(
            agent.id = %agent, message.id = %message, attempts = failures, error,
            "a push notification has failed, it will be repeated"
        ),
        None => {}
    }
}

#[cfg(test)]
mod tests;
