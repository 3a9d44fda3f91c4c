//! The sender of notifications: one task of a server.
//!
//! It knows the channels on which it works and those that wait for their turn, and nothing else: what is due is in the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::id::{NotificationChannelId, NotificationId};
use domain::notification::{
    ChannelKind, ChannelTarget, NotificationLease, NotificationService, Prepared, SendResult, Settled,
};
use domain::store::StoreError;
use domain::time::Timestamp;
use measure::{NotificationResult, Outage};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use webhooks::{Client, Phase, Rooms, Stop, signed};

use crate::email::Mailer;
use crate::web_push::Vapid;
use crate::{hook, ntfy};

/// How often channels that are due are searched.
const DUE_EVERY: Duration = Duration::from_secs(1);

/// How often it is read whether there are channels, which another server may have made.
const ANY_EVERY: Duration = Duration::from_secs(5);

/// How often messages are searched that were not told, in all rooms.
const ALL_EVERY: Duration = Duration::from_secs(30);

/// The shortest time between two looks at what has happened.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The pause before an answer is stored again.
const RETRY: Duration = Duration::from_secs(1);

/// How often an answer is stored again before it is lost. The notification is then repeated.
const STORE_TRIES: u32 = 10;

/// The time limit of a request, from the connection to the response.
const REQUEST: Duration = Duration::from_secs(15);

/// The pause of a channel that cannot be reached by the settings of this server.
const NOT_HERE: Duration = Duration::from_secs(10 * 60);

/// The ways in which this server can send.
pub struct Transports {
    /// Requests; `None` if they are off.
    pub client: Option<Arc<Client>>,
    /// E-mail; `None` if it is off.
    pub mailer: Option<Mailer>,
    /// The key of Web Push; `None` if it is off.
    pub vapid: Option<Arc<Vapid>>,
}

/// The sender of notifications.
pub struct Sender {
    notifications: Arc<NotificationService>,
    transports: Arc<Transports>,
    woken: Arc<Notify>,
    turns: Rooms<NotificationChannelId>,
    working: JoinSet<(NotificationChannelId, Result<bool, StoreError>)>,
    leases: Leases,
    outage: Outage,
    phase: Arc<watch::Sender<Phase>>,
}

/// What is being sent.
#[derive(Clone, Default)]
struct Leases(Arc<Mutex<HashMap<NotificationChannelId, Leased>>>);

/// A lease, and what is sent under it.
type Leased = (NotificationLease, Vec<NotificationId>);

impl Leases {
    fn locked(&self) -> MutexGuard<'_, HashMap<NotificationChannelId, Leased>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sender {
    /// A sender, which does nothing until it runs.
    pub fn new(notifications: Arc<NotificationService>, transports: Transports) -> Self {
        let woken = Arc::new(Notify::new());
        let waker = woken.clone();
        notifications.set().on_wake(move || waker.notify_one());
        Self {
            notifications,
            transports: Arc::new(transports),
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

    /// Runs until it is dropped, which ends what is being sent. That is repeated when its lease expires, or at once after
    /// [`Stop::drain`].
    pub async fn run(mut self) {
        self.work().await;
        self.working.shutdown().await;
        let leases = self.leases.locked().drain().map(|(_, lease)| lease).collect::<Vec<_>>();
        for (lease, sent) in leases {
            let released = self.notifications.settle(lease, sent, SendResult::Later(Duration::ZERO)).await;
            self.log(&released);
        }
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
        let (mut due, mut any, mut all) = (every(DUE_EVERY), every(ANY_EVERY), every(ALL_EVERY));
        let (woken, mut phases) = (self.woken.clone(), self.phase.subscribe());
        let (mut looked_at, mut look_at) = (Instant::now(), None::<Instant>);
        loop {
            tokio::select! {
                () = woken.notified(), if look_at.is_none() => {
                    look_at = Some(looked_at + LOOK_EVERY);
                }
                () = sleep_until(look_at.unwrap_or(looked_at)), if look_at.is_some() => {
                    self.look().await;
                    (looked_at, look_at) = (Instant::now(), None);
                }
                Some(ended) = self.working.join_next() => match ended {
                    Ok((channel, worked)) => self.worked(channel, worked),
                    // A defect of the server, which must not be hidden.
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                _ = due.tick() => self.search().await,
                _ = any.tick() => self.reload().await,
                _ = all.tick() => self.look_at_all().await,
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

    /// Looks at what has happened. What the store does not tell now, the search of all rooms finds.
    async fn look(&mut self) {
        let wakes = self.notifications.take_wakes();
        if wakes.reload {
            self.reload().await;
        }
        for chat in wakes.chats {
            let collected = self.notifications.collect(Some(chat)).await;
            self.log(&collected);
            if collected.is_err() {
                break;
            }
        }
        self.search().await;
    }

    /// Reads whether there are channels. The events before the first one were not looked at.
    async fn reload(&mut self) {
        let had_any = self.notifications.set().has_any();
        let read = self.notifications.reload().await;
        self.log(&read);
        if !had_any && self.notifications.set().has_any() {
            self.look_at_all().await;
        }
    }

    async fn look_at_all(&mut self) {
        let collected = self.notifications.collect(None).await;
        self.log(&collected);
    }

    async fn search(&mut self) {
        let found = self.notifications.due().await;
        self.log(&found);
        for due in found.unwrap_or_default() {
            self.turns.add(due.id, due.owner);
        }
    }

    fn log<T>(&mut self, outcome: &Result<T, StoreError>) {
        self.outage.log(
            outcome,
            "notifications waiting for the store, retrying",
            "notifications working again",
        );
    }

    /// Begins with as many channels as the limits allow.
    fn begin(&mut self) {
        while let Some(channel) = self.turns.begin_next() {
            let (notifications, transports) = (self.notifications.clone(), self.transports.clone());
            let leases = self.leases.clone();
            self.working
                .spawn(async move { (channel, turn(&notifications, transports, &leases, channel).await) });
        }
    }

    fn worked(&mut self, channel: NotificationChannelId, worked: Result<bool, StoreError>) {
        self.log(&worked);
        // After a failure of the store, a search finds it again when its lease has ended.
        self.leases.locked().remove(&channel);
        self.turns.done(channel, worked.unwrap_or(false));
    }
}

/// A turn of a channel; returns whether more may be due.
async fn turn(
    notifications: &NotificationService,
    transports: Arc<Transports>,
    leases: &Leases,
    channel: NotificationChannelId,
) -> Result<bool, StoreError> {
    let prepared = match notifications.take(channel).await? {
        None => return Ok(false),
        Some(None) => return Ok(true),
        Some(Some(prepared)) => Arc::new(prepared),
    };
    let lease = prepared.taken.lease();
    let sent = prepared.taken.subjects.iter().map(|subject| subject.notification.id).collect::<Vec<_>>();
    leases.locked().insert(channel, (lease, sent.clone()));
    let kind = prepared.taken.channel.target.kind();
    let result = send_apart(transports, prepared.clone(), notifications.now()).await;
    measure::notification_sent(kind.as_str(), result_of(&result));
    let mut tries = 1;
    let settled = loop {
        match notifications.settle(lease, sent.clone(), result.clone()).await {
            Ok(settled) => break settled,
            Err(error) if tries == STORE_TRIES => return Err(error),
            Err(_) => {
                tries += 1;
                sleep(RETRY).await;
            }
        }
    };
    leases.locked().remove(&channel);
    report(&prepared, kind, &result, settled.as_ref());
    Ok(matches!(result, SendResult::Delivered { .. }))
}

/// Sends as a task of its own, so that a defect that one notification reveals ends its try, and not the server.
async fn send_apart(transports: Arc<Transports>, prepared: Arc<Prepared>, now: Timestamp) -> SendResult {
    let mut apart = JoinSet::new();
    apart.spawn(async move { transports.send(&prepared, now).await });
    if let Some(Ok(result)) = apart.join_next().await {
        return result;
    }
    tracing::error!("sending a notification ended in a panic");
    let error = "the server failed to send the notification".to_owned();
    SendResult::Failed { status: None, error, retry_after: None }
}

impl Transports {
    async fn send(&self, prepared: &Prepared, now: Timestamp) -> SendResult {
        let target = &prepared.taken.channel.target;
        let refused = |error: &str| SendResult::Refused { status: None, error: error.to_owned() };
        let server;
        let request = match target {
            ChannelTarget::Email => {
                return match &self.mailer {
                    Some(mailer) => mailer.send(prepared).await,
                    None => SendResult::Later(NOT_HERE),
                };
            }
            ChannelTarget::Ntfy { url, token } => {
                let Some(found) = ntfy::server(url) else { return refused("the URL names no topic") };
                server = found;
                ntfy::request(&server, url, token.as_ref(), prepared, REQUEST)
            }
            ChannelTarget::WebPush { url, keys } => {
                let Some(vapid) = &self.vapid else { return SendResult::Later(NOT_HERE) };
                match vapid.request(url, keys, prepared, REQUEST, now) {
                    Some(request) => request,
                    None => return refused("the keys of the browser cannot be used"),
                }
            }
            ChannelTarget::Webhook { url, secret } => {
                let first = prepared.taken.subjects.first();
                let id = first.map(|subject| subject.notification.id.to_string()).unwrap_or_default();
                match signed(url, &[secret], id, hook::body(prepared, now), REQUEST, now) {
                    Ok(request) => request,
                    Err(error) => return refused(error),
                }
            }
        };
        let Some(client) = &self.client else { return SendResult::Later(NOT_HERE) };
        match client.post(request, now).await {
            Some(reply) => SendResult::of_reply(target.kind(), &reply),
            None => SendResult::Later(RETRY),
        }
    }
}

const fn result_of(result: &SendResult) -> NotificationResult {
    match result {
        SendResult::Delivered { .. } => NotificationResult::Delivered,
        SendResult::Failed { .. } => NotificationResult::Failed,
        SendResult::Refused { .. } => NotificationResult::Refused,
        SendResult::Later(_) => NotificationResult::Postponed,
    }
}

/// Writes what became of a try to the log.
fn report(prepared: &Prepared, kind: ChannelKind, result: &SendResult, settled: Option<&Settled>) {
    let channel = &prepared.taken.channel;
    let (id, user, kind) = (channel.id, channel.user, kind.as_str());
    let Some(Settled { channel }) = settled else {
        tracing::debug!(channel.id = %id, "notification channel changed or removed while sending");
        return;
    };
    let (_, error) = result.record();
    let error = error.unwrap_or_default();
    match &channel.off {
        Some(off) => tracing::warn!(
            channel.id = %id, user.id = %user, kind, reason = off.reason.as_str(), error,
            "notification channel switched off"
        ),
        None if channel.failures > 0 => tracing::debug!(
            channel.id = %id, kind, failures = channel.failures, error,
            "notification not sent, retrying"
        ),
        None => tracing::debug!(channel.id = %id, kind, "notification sent"),
    }
}
