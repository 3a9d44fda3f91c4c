//! The background tasks of a server, such as expiry, redelivery, the change log, and the node's lease.

mod reminders;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use cluster::{ChangeFeed, ClusterMember, forget_changes};
use domain::account::AccountService;
use domain::activity::ActivityService;
use domain::audit::{AuditService, ChainLink};
use domain::board::BoardService;
use domain::budget::BudgetService;
use domain::bulk_deletion::BulkDeletionService;
use domain::contact::ContactService;
use domain::delivery::RedeliveryPolicy;
use domain::file::{FileService, SweepWalk, Swept};
use domain::idempotency::forget_old_answers;
use domain::login::LoginService;
use domain::message::{DeadlineWalk, MessageService, Retention};
use domain::notification::NotificationService;
use domain::plan::PlanService;
use domain::ports::Clock;
use domain::store::StoreError;
use domain::webhook::WebhookService;
use domain::work::WorkService;
use http_wire::limit::RateLimits;
use measure::Outage;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use ws_gateway::{Hub, Redeliverer, RoomChanges};

use crate::adapters::SystemClock;
use crate::config::Config;
use crate::erasure_clock::ErasureClock;
use crate::metrics;
use crate::search_index::keep_index;
use crate::store::Store;
use crate::wiring::Wiring;

/// The pause between two steps of an erasing walk, so that requests hardly wait for it.
const ERASE_PAUSE: Duration = Duration::from_millis(20);

/// The minimum time between two log lines with the newest seal of the audit log.
const ANCHOR_EVERY: Duration = Duration::from_secs(60 * 60);

/// Starts the tasks, which run until they are aborted. On the first start, the first anchor of the audit log
/// is logged an hour later, so that only the greeting is printed.
pub(crate) fn start(
    config: &Config,
    wiring: &Wiring,
    change_feed: ChangeFeed,
    cluster_member: Option<Arc<ClusterMember>>,
    erasure_clock: ErasureClock,
    is_first_start: bool,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let clock = Arc::new(erasure_clock);
    tasks.spawn(sweep(wiring.services.activity.clone(), wiring.hub.clone()));
    tasks.spawn(erase_deleted(wiring.services.accounts.clone(), wiring.services.boards.clone()));
    tasks.spawn(forget_answers(wiring.store.clone(), clock.clone()));
    if let Some(in_doubt) = wiring.store.commits_in_doubt() {
        tasks.spawn(end_sockets_after_doubt(in_doubt, wiring.clone(), cluster_member.clone()));
    }
    if let Some(cluster_member) = cluster_member {
        let (writer, keeper) = (cluster_member.clone(), cluster_member.clone());
        tasks.spawn(async move { writer.run().await });
        tasks.spawn(async move { keeper.keep_lease().await });
        tasks.spawn(async move { cluster_member.resync().run().await });
    }
    let anchored_at = is_first_start.then(Instant::now);
    tasks.spawn(keep_audit(wiring.services.audit.clone(), wiring.services.logins.clone(), anchored_at));
    tasks.spawn(report_failures(wiring.limits.clone()));
    tasks.spawn(expire_requests(wiring.services.contacts.clone(), clock.clone()));
    if wiring.services.files.is_on() {
        tasks.spawn(sweep_files(wiring.services.files.clone(), clock.clone()));
    }
    if wiring.services.boards.is_on() {
        tasks.spawn(announce_counts(wiring.services.boards.clone()));
    }
    tasks.spawn(keep_index(wiring.services.search.clone()));
    tasks.spawn(delete_in_bulk(wiring.services.bulk_deletions.clone()));
    tasks.spawn(forget_bulk_deletions(wiring.services.bulk_deletions.clone(), clock.clone()));
    tasks.spawn(check_deadlines(wiring.services.messages.clone()));
    tasks.spawn(reminders::send(wiring.services.reminders.clone(), clock.clone()));
    tasks.spawn(reminders::forget(wiring.services.reminders.clone(), clock.clone()));
    tasks.spawn(notice_holds(wiring.services.messages.clone(), wiring.services.budgets.clone()));
    tasks.spawn(change_feed.follow());
    tasks.spawn(forget_changes(wiring.store.clone()));
    tasks.spawn(write_uses(wiring.services.accounts.clone()));
    tasks.spawn(write_disconnects(wiring.hub.clone(), wiring.services.accounts.clone()));
    tasks.spawn(count_bytes(wiring.services.plans.clone()));
    if config.metrics_listen.is_some() {
        tasks.spawn(count_work(wiring.services.work.clone()));
    }
    tasks.spawn(forget_logins(wiring.services.logins.clone(), clock.clone()));
    for walk in config.retention.clone() {
        tasks.spawn(erase_old(wiring.services.messages.clone(), clock.clone(), walk));
    }
    tasks.spawn(forget_webhook_deliveries(wiring.services.webhooks.clone(), clock.clone()));
    tasks.spawn(forget_notifications(wiring.services.notifications.clone(), clock.clone()));
    let services = &wiring.services;
    let changes = RoomChanges::new(wiring.hub.clone(), services.chats.clone(), services.activity.clone());
    tasks.spawn(changes.run());
    let rule = RedeliveryPolicy::usual(config.sockets.redelivery_after, config.work.stuck_after);
    tasks.spawn(Redeliverer::new(wiring.hub.clone(), wiring.services.deliveries.clone(), rule).run());
    tasks
}

/// Closes all sockets after a commit with an unknown outcome, once the store answers again. The
/// change was not announced, so a socket may still be subscribed to a chat that its user was
/// removed from. Clients reconnect on their own.
async fn end_sockets_after_doubt(
    mut in_doubt: watch::Receiver<u64>,
    wiring: Wiring,
    cluster_member: Option<Arc<ClusterMember>>,
) {
    while in_doubt.changed().await.is_ok() {
        if let Some(cluster_member) = &cluster_member {
            // Other servers may have missed it as well.
            cluster_member.resync().record_send_loss();
        }
        while wiring.store.ping().await.is_err() {
            sleep(Duration::from_millis(200)).await;
        }
        tracing::warn!("closing all sockets: outcome of a commit was unknown, so events may be missing");
        wiring.hub.end_sockets();
    }
}

/// Repeats a step. Logs once when it fails, and once when it works again.
async fn repeat<T, E: Debug, F: Future<Output = Result<T, E>>>(
    period: Duration,
    (failing, works_again): (&'static str, &'static str),
    step: impl Fn() -> F,
) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut outage = Outage::default();
    loop {
        ticks.tick().await;
        outage.log(&step().await, failing, works_again);
    }
}

/// Publishes changed task counts, at most once a second for each room.
async fn announce_counts(boards: Arc<BoardService>) {
    let words = ("task counts cannot be published, retrying", "task counts published again");
    repeat(Duration::from_secs(1), words, || boards.announce_counts()).await;
}

/// Deletes expired idempotency records, once a minute, in batches so small that no other write
/// waits for long.
async fn forget_answers(store: Arc<dyn Store>, clock: Arc<ErasureClock>) {
    const BATCH: u32 = 200;
    let mut ticks = interval(Duration::from_secs(60));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(now) = clock.now().await else { continue };
        match forget_old_answers(&*store, now, BATCH).await {
            Ok(0) => {}
            Ok(count) => tracing::debug!(count, "removed old idempotency records"),
            Err(error) => tracing::warn!(error = %error, "old idempotency records could not be removed"),
        }
    }
}

/// Publishes the absence of clients that did not reconnect, clears the activity indicators of agents that have
/// gone and those that were not renewed, and ends the sockets whose credentials have expired, once a second.
async fn sweep(activity: Arc<ActivityService>, hub: Arc<Hub>) {
    let mut ticks = interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        hub.expire_presence();
        activity.clear_gone(&hub.take_gone(), &*hub);
        activity.expire(&*hub);
        hub.expire_credentials();
    }
}

/// Removes files that have expired, and bytes without a record, in a small step every ten seconds: all bytes are looked at
/// within an hour. All servers on one store do so.
async fn sweep_files(files: Arc<FileService>, clock: Arc<ErasureClock>) {
    let mut ticks = interval(Duration::from_secs(10));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut outage, mut walk) = (Outage::default(), SweepWalk::default());
    loop {
        ticks.tick().await;
        let Some(now) = clock.now().await else { continue };
        loop {
            let swept = files.sweep(&mut walk, now).await;
            outage.log(&swept, "expired files cannot be removed, retrying", "expired files removed again");
            let Ok(Swept { expired, orphans, has_more }) = swept else { break };
            measure::files_removed(expired as u64, orphans as u64);
            if orphans > 0 {
                tracing::info!(files = orphans, "removed orphaned contents of files");
            }
            if !has_more {
                break;
            }
            sleep(ERASE_PAUSE).await;
        }
    }
}

/// Writes log lines on failed authentication, once a second, whatever the store does.
async fn report_failures(limits: Arc<RateLimits>) {
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        limits.report_failures();
    }
}

/// Deletes expired sessions and reset tokens, once a minute, in small batches.
async fn forget_logins(logins: Arc<LoginService>, clock: Arc<ErasureClock>) {
    let mut ticks = interval(Duration::from_secs(60));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut outage = Outage::default();
    loop {
        ticks.tick().await;
        let Some(now) = clock.now().await else { continue };
        let forgotten = async {
            while logins.forget_some(now).await? > 0 {
                tokio::task::yield_now().await;
            }
            Ok::<_, StoreError>(())
        };
        outage.log(
            &forgotten.await,
            "expired sessions cannot be removed, retrying",
            "expired sessions removed again",
        );
    }
}

/// The pause after a count that took this long: at least `shortest`, and longer after a long one, so that
/// counting takes a fiftieth of the time, but at most five minutes.
fn pause_after(took: Duration, shortest: Duration) -> Duration {
    const LONGEST: Duration = Duration::from_secs(5 * 60);
    (took * 50).clamp(shortest, LONGEST)
}

/// Counts the open work of agents for metrics, ten seconds after the last time, or later after a long count. A
/// failure does not count as a duration.
async fn count_work(work: Arc<WorkService>) {
    const PAUSE: Duration = Duration::from_secs(10);
    let mut outage = Outage::default();
    loop {
        let begun = Instant::now();
        let counted = work.totals().await;
        outage.log(&counted, "open work cannot be counted, retrying", "open work counted again");
        let pause = match counted {
            Ok(totals) => {
                metrics::take_up_work(totals, work.now());
                pause_after(begun.elapsed(), PAUSE)
            }
            Err(_) => PAUSE,
        };
        sleep(pause).await;
    }
}

/// Adds up the bytes of organizations, five seconds after the last time, or later after a long count. A
/// failure does not count as a duration.
async fn count_bytes(plans: Arc<PlanService>) {
    const PAUSE: Duration = Duration::from_secs(5);
    let mut outage = Outage::default();
    loop {
        let begun = Instant::now();
        let counted = plans.count_bytes().await;
        outage.log(&counted, "content bytes cannot be counted, retrying", "content bytes counted again");
        let pause = match counted {
            Ok(bytes) => {
                measure::content_bytes(bytes);
                pause_after(begun.elapsed(), PAUSE)
            }
            Err(_) => PAUSE,
        };
        sleep(pause).await;
    }
}

/// Writes the last uses of keys and doors, every ten seconds.
async fn write_uses(accounts: Arc<AccountService>) {
    let words = (
        "last uses of keys and interfaces cannot be stored, retrying",
        "last uses of keys and interfaces stored again",
    );
    repeat(Duration::from_secs(10), words, || accounts.write_uses()).await;
}

/// Writes why the last sockets of agents have ended, once a second.
async fn write_disconnects(hub: Arc<Hub>, accounts: Arc<AccountService>) {
    let words = ("disconnects cannot be stored, retrying", "disconnects stored again");
    repeat(Duration::from_secs(1), words, || hub.write_disconnects(&accounts)).await;
}

/// Writes failed log-ins, and seals the entries of the audit log, once a second. The newest seal is
/// logged once an hour: kept with the log, away from the store, it is an anchor to check the audit
/// log against. It also checks that the chain still contains the newest seal of a second ago.
async fn keep_audit(audit: Arc<AuditService>, logins: Arc<LoginService>, mut anchored_at: Option<Instant>) {
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut outage, mut unsealed, mut seen) = (Outage::default(), Outage::default(), None::<ChainLink>);
    let mut anchor = None;
    loop {
        ticks.tick().await;
        let kept = async {
            logins.write_failures().await?;
            while audit.seal_some().await? > 0 {
                tokio::task::yield_now().await;
            }
            let holds = match seen {
                Some(seal) => audit.goes_through(seal).await?,
                None => true,
            };
            Ok::<_, StoreError>((holds, audit.state().await?))
        };
        let kept = kept.await;
        outage.log(&kept, "audit log not up to date, retrying", "audit log up to date again");
        let Ok((holds, state)) = kept else { continue };
        if let (false, Some(seal)) = (holds, seen) {
            tracing::error!(audit.anchor = %seal, "the audit log was changed: it no longer has this seal");
        }
        seen = state.head;
        if let Some(since) = state.overdue(SystemClock.now()) {
            if unsealed.begins() {
                tracing::error!(count = state.unsealed, %since, "entries of the audit log are not sealed");
            }
        } else if let Some(lasted) = unsealed.ends() {
            tracing::info!(duration_ms = lasted.as_millis(), "entries of the audit log sealed again");
        }
        if anchored_at.is_none_or(|at| at.elapsed() >= ANCHOR_EVERY)
            && let Some(head) = state.head
        {
            anchored_at = Some(Instant::now());
            if anchor.replace(head) != Some(head) {
                tracing::info!(audit.anchor = %head, "audit log sealed");
            }
        }
    }
}

/// Erases, in small steps, the records of deleted agents and the boards of deleted rooms. An interrupted erasure continues
/// after the next start.
async fn erase_deleted(accounts: Arc<AccountService>, boards: Arc<BoardService>) {
    let words = (
        "records of deleted agents and rooms cannot be erased, retrying",
        "records of deleted agents and rooms erased again",
    );
    let erase = async || {
        // Both in turn, so that neither waits for the other.
        while accounts.erase_some().await? | boards.erase_some().await? {
            tokio::task::yield_now().await;
        }
        Ok::<_, StoreError>(())
    };
    repeat(Duration::from_secs(1), words, erase).await;
}

/// Deletes the items of bulk deletions, one after the other. An interrupted job continues after the next start. All
/// servers on one store do so, but never on the same job at the same time.
async fn delete_in_bulk(jobs: Arc<BulkDeletionService>) {
    const PAUSE: Duration = Duration::from_millis(10);
    let mut ticks = interval(Duration::from_millis(250));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut outage = Outage::default();
    loop {
        ticks.tick().await;
        let deleted = loop {
            match jobs.delete_next().await {
                Ok(Some(item)) => metrics::bulk_item(&item),
                done => break done,
            }
            sleep(PAUSE).await;
        };
        outage.log(&deleted, "bulk deletions failing, retrying", "bulk deletions working again");
    }
}

/// Erases bulk deletions that can no longer be read, once a minute.
async fn forget_bulk_deletions(jobs: Arc<BulkDeletionService>, clock: Arc<ErasureClock>) {
    let words =
        ("finished bulk deletions cannot be removed, retrying", "finished bulk deletions removed again");
    let forget = async || match clock.now().await {
        Some(now) => jobs.forget_old(now).await,
        None => Ok(0),
    };
    repeat(Duration::from_secs(60), words, forget).await;
}

/// Erases old deliveries to webhooks, every ten minutes.
async fn forget_webhook_deliveries(webhooks: Arc<WebhookService>, clock: Arc<ErasureClock>) {
    let words = (
        "old deliveries to webhooks cannot be removed, retrying",
        "old deliveries to webhooks removed again",
    );
    let forget = async || match clock.now().await {
        Some(now) => webhooks.forget_old(now).await,
        None => Ok(()),
    };
    repeat(Duration::from_secs(10 * 60), words, forget).await;
}

/// Erases old notifications, every ten minutes.
async fn forget_notifications(notifications: Arc<NotificationService>, clock: Arc<ErasureClock>) {
    let words = ("old notifications cannot be removed, retrying", "old notifications removed again");
    let forget = async || match clock.now().await {
        Some(now) => notifications.forget_old(now).await,
        None => Ok(()),
    };
    repeat(Duration::from_secs(10 * 60), words, forget).await;
}

/// Marks unanswered contact requests as expired once a minute, so that both sides are notified.
async fn expire_requests(contacts: Arc<ContactService>, clock: Arc<ErasureClock>) {
    let mut ticks = interval(Duration::from_secs(60));
    loop {
        ticks.tick().await;
        let Some(now) = clock.now().await else { continue };
        if let Err(error) = contacts.expire(now).await {
            tracing::warn!(error = %error, "expired contact requests could not be stored");
        }
    }
}

/// Checks the texts whose deadlines have passed, once a second. All servers on one store do so; the first to
/// reach a text checks it.
async fn check_deadlines(messages: Arc<MessageService>) {
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut outage, mut walk) = (Outage::default(), DeadlineWalk::default());
    metrics::overdue_texts(0);
    loop {
        ticks.tick().await;
        let checked = loop {
            let step = messages.check_deadlines(&mut walk).await.and_then(|mut checked| {
                metrics::overdue_texts(checked.missed);
                checked.failed.pop().map_or(Ok(()), |(message, error)| {
                    tracing::debug!(message.id = %message, error = %error, "deadline of a message could not be checked");
                    Err(error)
                })
            });
            if step.is_err() || !walk.is_under_way() {
                break step;
            }
            sleep(ERASE_PAUSE).await;
        };
        outage.log(&checked, "deadlines cannot be checked, retrying", "deadlines checked again");
    }
}

/// Counts what is used of budgets, and tells the humans of chats what is held, once a second. All servers on one store do
/// so; the first one posts the event.
async fn notice_holds(messages: Arc<MessageService>, budgets: Arc<BudgetService>) {
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut uncounted, mut outage) = (Outage::default(), Outage::default());
    loop {
        ticks.tick().await;
        uncounted.log(&budgets.check().await, "budgets cannot be counted, retrying", "budgets counted again");
        outage.log(&messages.notice_holds().await, "hold notices failing, retrying", "hold notices restored");
    }
}

/// Erases the messages that exceed their maximum age.
async fn erase_old(messages: Arc<MessageService>, clock: Arc<ErasureClock>, mut walk: Retention) {
    let mut ticks = interval(Duration::from_secs(60));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(now) = clock.now().await else { continue };
        let mut all = 0;
        loop {
            match messages.erase_old(&mut walk, now).await {
                Ok(Some(erased)) => all += erased,
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(error = %error, "old messages could not be erased");
                    break;
                }
            }
            sleep(ERASE_PAUSE).await;
        }
        if all > 0 {
            tracing::info!(messages = all, "retention erased messages");
        }
    }
}
