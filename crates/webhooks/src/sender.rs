//! The sender: one task of a server.
//!
//! It knows the rooms on which it works and those that wait for their turn, and nothing else: what is due is in the store. A
//! room is worked on until nothing in it is due. [`Rooms`] knows whose turn it is. The events of an organization are sent like
//! the messages of a room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::account::{AccountService, Door};
use domain::id::{AgentId, UserId};
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::webhook::{
    DueDelivery, DueEvent, EventDelivery, LEASE, Lease, Notice, Reply, RoomSearch, Settled, TakenEvent,
    Wakes, WebhookOwner, WebhookRoom, WebhookService,
};
use measure::Outage;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::request::{Client, result_of};
use crate::rooms::{Line, Rooms};
use crate::stop::{Phase, Stop};

/// How often deliveries that are due again are searched.
const DUE_EVERY: Duration = Duration::from_secs(1);

/// How often what waits is counted.
const COUNTED_EVERY: Duration = Duration::from_secs(10);

/// How often all waiting messages are searched, which finds what no event told.
const NEW_EVERY: Duration = Duration::from_secs(30);

/// The pause before the store is asked again after it has failed.
const RETRY: Duration = Duration::from_secs(1);

/// How often an answer is stored again before it is lost. The delivery is then repeated.
const STORE_TRIES: u32 = 10;

/// The sender.
pub struct Sender {
    webhooks: Arc<WebhookService>,
    accounts: Arc<AccountService>,
    client: Arc<Client>,
    woken: Arc<Notify>,
    rooms: Rooms<Line>,
    working: JoinSet<(Line, Result<Worked, StoreError>)>,
    leases: Leases,
    /// Set if everything is to be searched with the next search of what is due.
    everything: bool,
    outage: Outage,
    phase: Arc<watch::Sender<Phase>>,
}

/// The leases of the requests that are in flight.
#[derive(Clone, Default)]
struct Leases(Arc<Mutex<HashMap<Line, Lease>>>);

impl Leases {
    fn locked(&self) -> MutexGuard<'_, HashMap<Line, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.locked().len()
    }

    fn all(&self) -> Vec<Lease> {
        self.locked().values().copied().collect()
    }

    /// Renews them until it is dropped, whatever else waits for the store.
    async fn renew(self, webhooks: Arc<WebhookService>) {
        let mut outage = Outage::default();
        loop {
            sleep(LEASE / 4).await;
            let renewed = webhooks.renew(self.all()).await;
            outage.log(
                &renewed,
                "leases of webhooks cannot be renewed, retrying",
                "leases of webhooks renewed again",
            );
        }
    }
}

/// A delivery that was taken.
enum Due {
    Message(Box<DueDelivery>),
    Event(Box<DueEvent>),
}

impl Due {
    fn lease(&self) -> Lease {
        match self {
            Self::Message(due) => Lease { delivery: due.delivery.id, attempt: due.delivery.attempts },
            Self::Event(due) => due.lease(),
        }
    }
}

/// The result of a turn of a room.
enum Worked {
    /// Nothing is due.
    Nothing,
    /// A delivery was taken.
    Taken(Due),
    /// Entries were passed over. More may be due, in another turn.
    Passed,
    /// A request is done.
    Sent,
}

impl Sender {
    /// A sender, which does nothing until it runs.
    pub fn new(webhooks: Arc<WebhookService>, accounts: Arc<AccountService>, client: Arc<Client>) -> Self {
        let woken = Arc::new(Notify::new());
        let waker = woken.clone();
        webhooks.set().on_wake(move || waker.notify_one());
        webhooks.set().request_reload();
        Self {
            webhooks,
            accounts,
            client,
            woken,
            rooms: Rooms::default(),
            working: JoinSet::new(),
            leases: Leases::default(),
            everything: false,
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
        let renewing = self.leases.clone().renew(self.webhooks.clone());
        tokio::select! {
            () = self.work() => {}
            () = renewing => {}
        }
        self.working.shutdown().await;
        let leases = self.leases.all();
        let released = self.webhooks.release(leases).await;
        self.log(&released);
        measure::webhooks_in_flight(0);
        self.phase.send_replace(Phase::Ended);
        // Until the server ends.
        std::future::pending::<()>().await;
    }

    /// Works until it is to stop.
    async fn work(&mut self) {
        let every = |period| {
            let mut ticks = interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let (mut due, mut new, mut counting) = (every(DUE_EVERY), every(NEW_EVERY), every(COUNTED_EVERY));
        let (woken, mut phases) = (self.woken.clone(), self.phase.subscribe());
        loop {
            tokio::select! {
                () = woken.notified() => self.wake().await,
                Some(ended) = self.working.join_next() => match ended {
                    Ok((room, worked)) => self.worked(room, worked),
                    // A defect of the server, which must not be hidden.
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                _ = due.tick() => self.search_due().await,
                _ = new.tick() => self.search_everything().await,
                _ = counting.tick() => self.count().await,
                _ = phases.changed() => {}
            }
            let phase = *self.phase.borrow();
            match phase {
                Phase::Taking => self.begin(),
                Phase::Draining if !self.working.is_empty() => {}
                Phase::Draining | Phase::Cutting | Phase::Ended => break,
            }
            measure::webhooks_in_flight(self.leases.count());
        }
    }

    /// Looks at what has happened.
    async fn wake(&mut self) {
        let Wakes { rooms, everything, reload } = self.webhooks.take_wakes();
        if reload && !self.reload().await {
            // Again with the next search of everything, or sooner.
            self.webhooks.set().request_reload();
            sleep(RETRY).await;
            return;
        }
        for room in rooms {
            self.add(room);
        }
        // Not at once: many changes follow one another, and a search reads much.
        self.everything |= everything;
    }

    async fn search_due(&mut self) {
        self.search(RoomSearch::Due).await;
        if std::mem::take(&mut self.everything) {
            self.search(RoomSearch::New).await;
        }
        let found = self.webhooks.organizations_with_events().await;
        self.log(&found);
        for organization in found.unwrap_or_default() {
            // They are nobody's own.
            let owner = WebhookOwner { user: UserId::NIL, organization };
            self.rooms.add(Line::Events(organization), owner);
        }
    }

    async fn reload(&mut self) -> bool {
        let read = self.webhooks.reload().await;
        self.log(&read);
        read.is_ok()
    }

    async fn search_everything(&mut self) {
        if self.reload().await {
            self.search(RoomSearch::New).await;
        }
    }

    async fn search(&mut self, search: RoomSearch) {
        let found = self.webhooks.rooms(search).await;
        self.log(&found);
        for room in found.unwrap_or_default() {
            self.add(room);
        }
    }

    /// Adds a room in which something may be due. Those of an agent that is not known yet are found again.
    fn add(&mut self, room: WebhookRoom) {
        if let Some(owner) = self.webhooks.set().owner(room.agent) {
            self.rooms.add(Line::Room(room), owner);
        }
    }

    async fn count(&mut self) {
        let set = self.webhooks.set();
        if set.is_empty() && !set.has_events() {
            return measure::webhook_backlog(0, Duration::ZERO);
        }
        let counted = self.webhooks.backlog().await;
        self.log(&counted);
        if let Ok(backlog) = counted {
            let oldest = backlog.oldest.map(|at| self.webhooks.now().since(at));
            measure::webhook_backlog(backlog.deliveries, oldest.unwrap_or_default());
        }
    }

    fn log<T>(&mut self, outcome: &Result<T, StoreError>) {
        self.outage.log(outcome, "webhooks waiting for the store, retrying", "webhooks working again");
    }

    /// Begins work in as many rooms as the limits allow.
    fn begin(&mut self) {
        while let Some(room) = self.rooms.begin_next() {
            let webhooks = self.webhooks.clone();
            self.working.spawn(async move {
                let taken = match room {
                    Line::Room(room) => webhooks
                        .take(room)
                        .await
                        .map(|due| due.map_or(Worked::Nothing, |due| Worked::Taken(Due::Message(due)))),
                    Line::Events(of) => webhooks.take_event(of).await.map(|taken| match taken {
                        TakenEvent::Nothing => Worked::Nothing,
                        TakenEvent::Passed => Worked::Passed,
                        TakenEvent::Send(due) => Worked::Taken(Due::Event(due)),
                    }),
                };
                (room, taken)
            });
        }
    }

    fn worked(&mut self, room: Line, worked: Result<Worked, StoreError>) {
        self.log(&worked);
        match worked {
            Ok(Worked::Taken(due)) => {
                self.leases.locked().insert(room, due.lease());
                if *self.phase.borrow() != Phase::Taking {
                    // Taken while the server began to stop: left to the next sender.
                    return;
                }
                let (webhooks, accounts, client) =
                    (self.webhooks.clone(), self.accounts.clone(), self.client.clone());
                let due = Arc::new(due);
                self.working.spawn(async move { (room, deliver(&webhooks, &accounts, client, due).await) });
            }
            Ok(Worked::Nothing) => self.rooms.done(room, false),
            Ok(Worked::Passed) => self.rooms.done(room, true),
            Ok(Worked::Sent) => {
                self.leases.locked().remove(&room);
                self.rooms.done(room, true);
            }
            // A search finds the room again.
            Err(_) => {
                self.leases.locked().remove(&room);
                self.rooms.done(room, false);
            }
        }
    }
}

/// Sends a delivery, and stores the answer.
async fn deliver(
    webhooks: &WebhookService,
    accounts: &AccountService,
    client: Arc<Client>,
    due: Arc<Due>,
) -> Result<Worked, StoreError> {
    let reply = sent(client, due.clone(), webhooks.now()).await;
    if let Due::Message(due) = &*due {
        note(accounts, due.delivery.agent, &reply);
    }
    measure::webhook_sent(result_of(&reply));
    let mut tries = 1;
    while let Err(error) = settle(webhooks, &due, reply.clone()).await {
        if tries == STORE_TRIES {
            return Err(error);
        }
        tries += 1;
        sleep(RETRY).await;
    }
    Ok(Worked::Sent)
}

/// Stores the answer, and writes to the log what became of the request.
async fn settle(webhooks: &WebhookService, due: &Due, reply: Reply) -> Result<(), StoreError> {
    match due {
        Due::Message(due) => {
            let settled = webhooks.settle(due, reply).await?;
            report(due, settled.as_ref(), webhooks.now());
        }
        Due::Event(due) => {
            let settled = webhooks.settle_event(due, reply).await?;
            report_event(due, settled.as_ref(), webhooks.now());
        }
    }
    Ok(())
}

/// Notes the answer for the owner of the agent. A delivery tells only the last one.
fn note(accounts: &AccountService, agent: AgentId, reply: &Reply) {
    match reply {
        reply if reply.is_success() => accounts.note_call(agent, Door::Webhook),
        Reply::Answered { status, .. } => {
            accounts.note_failure(agent, Door::Webhook, format!("http_{status}"), None);
        }
        Reply::Unanswered { error } => {
            accounts.note_failure(agent, Door::Webhook, "no_response", Some(error.clone()));
        }
    }
}

/// Sends a delivery as a task of its own, so that a defect that one message reveals ends its request, and not the server.
async fn sent(client: Arc<Client>, due: Arc<Due>, now: Timestamp) -> Reply {
    let mut request = JoinSet::new();
    request.spawn(async move {
        match &*due {
            Due::Message(due) => client.send(due, now).await,
            Due::Event(due) => client.send_event(due, now).await,
        }
    });
    if let Some(Ok(reply)) = request.join_next().await {
        return reply;
    }
    tracing::error!("a request to a webhook ended in a panic");
    Reply::Unanswered { error: "the server failed to send the request".to_owned() }
}

/// Writes what became of a request to the log.
fn report(due: &DueDelivery, settled: Option<&Settled>, now: Timestamp) {
    let (agent, message) = (due.delivery.agent, due.delivery.message);
    let Some(Settled { delivery, notice }) = settled else {
        tracing::debug!(agent.id = %agent, message.id = %message, "a webhook was removed, or its delivery taken over, meanwhile");
        return;
    };
    let (status, error) = (delivery.status.unwrap_or(0), delivery.error.as_deref().unwrap_or_default());
    match delivery.ended {
        Some(_) => {
            tracing::debug!(agent.id = %agent, message.id = %message, status, "webhook delivered");
        }
        None if delivery.is_overdue(now) => tracing::warn!(
            agent.id = %agent, message.id = %message, attempts = delivery.attempts, status, error,
            "a webhook delivery has failed for a day; the room waits for it"
        ),
        None => tracing::debug!(
            agent.id = %agent, message.id = %message, attempts = delivery.attempts, status, error,
            "webhook delivery has not ended, its request will be repeated"
        ),
    }
    match notice {
        Some(Notice::Failing { since }) => {
            tracing::warn!(agent.id = %agent, %since, status, error, "all requests to a webhook have failed for a day");
        }
        Some(Notice::Disabled(reason)) => {
            tracing::warn!(agent.id = %agent, reason = reason.as_str(), status, error, "webhook disabled; its owner can enable it");
        }
        None => {}
    }
}

/// The same of a request to the webhook of an organization.
fn report_event(due: &DueEvent, settled: Option<&Settled<EventDelivery>>, now: Timestamp) {
    let (organization, action) = (due.delivery.organization, due.delivery.action.as_str());
    let Some(Settled { delivery, notice }) = settled else {
        tracing::debug!(organization.id = %organization, action, "a webhook was removed, or its delivery taken over, meanwhile");
        return;
    };
    let (status, error) = (delivery.status.unwrap_or(0), delivery.error.as_deref().unwrap_or_default());
    match delivery.ended {
        Some(_) => tracing::debug!(organization.id = %organization, action, status, "event delivered"),
        None if delivery.is_overdue(now) => tracing::warn!(
            organization.id = %organization, action, attempts = delivery.attempts, status, error,
            "the delivery of an event has failed for a day; later events wait for it"
        ),
        None => tracing::debug!(
            organization.id = %organization, action, attempts = delivery.attempts, status, error,
            "the delivery of an event has failed, its request will be repeated"
        ),
    }
    match notice {
        Some(Notice::Failing { since }) => {
            tracing::warn!(organization.id = %organization, %since, status, error, "all requests to the webhook of an organization have failed for a day");
        }
        Some(Notice::Disabled(reason)) => {
            tracing::warn!(organization.id = %organization, reason = reason.as_str(), status, error, "webhook of an organization disabled; an admin can enable it");
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::IpAddr;

    use async_trait::async_trait;

    use super::*;
    use crate::address::Allowed;
    use crate::request::tests::due;
    use crate::resolve::Resolve;

    struct Panicking;

    #[async_trait]
    impl Resolve for Panicking {
        async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            panic!("a defect")
        }
    }

    #[tokio::test]
    async fn a_panic_in_a_request_is_a_failure_of_the_request() {
        let client = Arc::new(Client::new(Arc::new(Panicking), Allowed::default()).unwrap());
        let due = due("https://receiver.example/").await;
        let now = due.delivery.created_at;
        let due = Arc::new(Due::Message(Box::new(due)));
        let Reply::Unanswered { error } = sent(client, due, now).await else { panic!("it has no answer") };
        assert_eq!(error, "the server failed to send the request");
    }
}
