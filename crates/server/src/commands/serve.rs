//! `parlance serve`: opens the store, serves, and shuts down in order.

use std::sync::Arc;
use std::time::Duration;

use a2a_gateway::Notifier;
use actix_web::dev::Service;
use actix_web::{App, web};
use cluster::ClusterMember;
use domain::operator::OperatorService;
use domain::ports::Clock;
use http_console::CookieSecurity;
use http_human::RecentAnswers;
use http_wire::avatar;
use http_wire::disk_reserve::DiskReserve;
use http_wire::request_scope::RequestScope;
use http_wire::room_waiters::IsStopping;
use http_wire::services::register;
use notifications::{Mailer, Transports};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use webhooks::{Client, Sender, Stop, SystemResolver};
use ws_gateway::SocketContext;

use crate::adapters::SystemClock;
use crate::api_document;
use crate::config::Config;
use crate::disk::Disk;
use crate::erasure_clock::ErasureClock;
use crate::failure::Failure;
use crate::health::Readiness;
use crate::invitation_page::InvitationPage;
use crate::listen;
use crate::lock::StoreLock;
use crate::metrics::Metrics;
use crate::operator;
use crate::store::{self, Store, StoreAt};
use crate::system;
use crate::telemetry;
use crate::tls::Tls;
use crate::traces::Traces;
use crate::upkeep;
use crate::welcome;
use crate::wiring::{self, Wiring};

/// The time limit for storing acknowledgements after the last socket has ended.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// Serves until SIGTERM, SIGINT or SIGHUP. The first start repeats `store_flags` in the command that it
/// suggests.
pub(crate) async fn serve(config: Config, store_flags: &str) -> Result<(), Failure> {
    telemetry::start(&config);
    // Before any metric is recorded.
    let metrics = Metrics::install(&config)?;
    let _lock = match &config.store {
        StoreAt::File(path) => Some(StoreLock::take(path)?),
        StoreAt::Memory | StoreAt::Postgres(_) => None,
    };
    let store = store::open_or_create(&config).await?;
    report_unsafe_settings(&store).await?;
    take_up_plans(&config, &store).await?;
    let traces = Traces::start(&config.traces)?;
    let wiring = Wiring::new(&config, store, traces.as_ref()).await?;
    let outcome = run(&config, &wiring, metrics, store_flags).await;
    if let Some(traces) = traces {
        traces.stop().await;
    }
    wiring.store.close().await;
    outcome
}

/// Reports settings of the database that can lose acknowledged data in a crash.
async fn report_unsafe_settings(store: &Arc<dyn Store>) -> Result<(), Failure> {
    let settings = store.unsafe_settings().await;
    for setting in settings.map_err(|cause| Failure::new("cannot read the database's settings", cause))? {
        tracing::error!(
            setting,
            "database setting is off, so acknowledged data can be lost; turn it on in postgresql.conf"
        );
    }
    Ok(())
}

/// Writes the configured plans to the store.
async fn take_up_plans(config: &Config, store: &Arc<dyn Store>) -> Result<(), Failure> {
    let left = wiring::plans(store.clone()).configure(config.plans.clone()).await;
    let left = left.map_err(|cause| Failure::new("cannot store the configured plans", cause))?;
    for plan in left {
        tracing::warn!(
            plan = plan.as_str(),
            "plan is in use but no longer configured; its limits still apply"
        );
    }
    Ok(())
}

async fn run(
    config: &Config,
    wiring: &Wiring,
    metrics: Option<Metrics>,
    store_flags: &str,
) -> Result<(), Failure> {
    let no_signals = |cause| Failure::new("cannot listen for signals", cause);
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
    // Closing the terminal also shuts the server down in order.
    let mut hangup = signal(SignalKind::hangup()).map_err(no_signals)?;

    let disk = Disk::of(config);
    let readiness = web::Data::new(Readiness::new(wiring.store.clone(), wiring.bus.clone(), disk.clone()));
    let cluster_member = wiring.join_cluster().await?;
    let change_feed = wiring.begin_change_feed(cluster_member.clone()).await?;
    if wiring.services.files.is_on() {
        let begun = wiring.services.files.begin().await;
        begun.map_err(|error| config.files.at.failure(error))?;
    }
    let erasure_clock = ErasureClock::begin(wiring.store.clone(), Arc::new(SystemClock)).await?;
    let tls = config.tls.as_ref().map(Tls::open).transpose();
    let tls = tls.map_err(|fault| Failure::plain(format!("{}: {}", fault.setting, fault.problem)))?;
    let acceptor = tls.as_ref().map(Tls::acceptor);
    let operator = operator::service(config, wiring, &disk);
    let operator_data = operator.clone().map(web::Data::from);
    let stopping = readiness.clone();
    let is_stopping: IsStopping = Arc::new(move || stopping.is_draining());
    let a2a = config.a2a.then(|| {
        let Wiring { services, limits, cursors, waiters, .. } = wiring;
        a2a_gateway::Settings::new(services, limits, cursors, waiters, &is_stopping, config.tls.is_some())
    });
    let doors = Doors { a2a: a2a.clone(), is_stopping };
    let server =
        bind(config, acceptor, wiring.clone(), doors, readiness.clone(), disk.clone(), operator_data)?;
    let metrics = metrics.map(|metrics| metrics.bind(wiring, &readiness)).transpose()?;
    let is_first_start = welcome::greet(&wiring.services, config, store_flags).await?;
    let metrics = metrics.map(tokio::spawn);
    let handle = server.handle();
    let mut server = tokio::spawn(server);
    let mut upkeep =
        upkeep::start(config, wiring, change_feed, cluster_member.clone(), erasure_clock, is_first_start);
    upkeep.spawn(disk.watch());
    if let Some(operator) = operator {
        upkeep.spawn(operator::record_throughput(operator));
    }
    let senders = begin_senders(config, wiring, a2a.as_ref(), &mut upkeep)?;
    let mut others = wiring.spawn_bus_receiver();
    if let Some(tls) = tls {
        upkeep.spawn(tls.follow());
    }
    let (acknowledgements, deliveries) =
        (wiring.hub.acknowledgements().clone(), wiring.services.deliveries.clone());
    let mut delivered = tokio::spawn(async move { acknowledgements.run(&deliveries).await });
    tracing::info!(address = %config.listen, tls = config.tls.is_some(), "listening");

    let ended = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        _ = hangup.recv() => None,
        _ = &mut server => Some(Failure::plain("the server ended unexpectedly")),
        failure = task_failure(&mut upkeep, &mut others, &mut delivered) => Some(failure),
    };
    tracing::info!("stopping");
    readiness.drain();
    // After a failure, the sockets are closed at once; what is not stored yet is still written.
    if ended.is_none() {
        tokio::select! {
            () = drain(config, wiring, &senders) => {}
            // A second signal skips draining.
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
    wiring.hub.shut_down();
    // Stops accepting connections, and finishes requests in flight.
    handle.stop(true).await;
    // The server's own future ends once its workers have.
    if !server.is_finished() {
        let _ = server.await;
    }
    let _ = timeout(LAST_WRITES, upkeep.shutdown()).await;
    if let Some(cluster_member) = cluster_member {
        cluster_member.resync().log_last_loss().await;
        leave(&cluster_member).await;
    }
    if let Some(bus) = &wiring.bus {
        bus.announce_shutdown().await;
    }
    let _ = timeout(LAST_WRITES, others.shutdown()).await;
    wiring.hub.acknowledgements().close();
    if !delivered.is_finished() && timeout(LAST_WRITES, delivered).await.is_err() {
        tracing::warn!("last acknowledgements could not be stored; these messages will be redelivered");
    }
    if !matches!(timeout(LAST_WRITES, wiring.services.accounts.write_uses()).await, Ok(Ok(()))) {
        tracing::warn!("last uses of keys and interfaces could not be stored");
    }
    let written = wiring.hub.write_disconnects(&wiring.services.accounts);
    if !matches!(timeout(LAST_WRITES, written).await, Ok(Ok(()))) {
        tracing::warn!("last disconnects could not be stored");
    }
    wiring.limits.report_last_failures();
    if !matches!(timeout(LAST_WRITES, wiring.services.logins.write_last_failures()).await, Ok(Ok(()))) {
        tracing::warn!("last failed log-ins could not be written to the audit log");
    }
    if let Some(metrics) = metrics {
        metrics.abort();
    }
    tracing::info!("stopped");
    ended.map_or(Ok(()), Err)
}

/// Waits until a background task ends, and returns the failure: no task ends before the server stops. Without
/// one, a server would continue and, for example, miss revocations.
async fn task_failure(
    upkeep: &mut JoinSet<()>,
    others: &mut JoinSet<()>,
    delivered: &mut JoinHandle<()>,
) -> Failure {
    let ended = tokio::select! {
        Some(ended) = upkeep.join_next() => ended,
        Some(ended) = others.join_next() => ended,
        ended = delivered => ended,
    };
    match ended {
        Ok(()) => Failure::plain("a background task ended unexpectedly"),
        Err(cause) => Failure::new("a background task ended unexpectedly", cause),
    }
}

/// What the paths of MCP and A2A need beside the use cases.
struct Doors {
    a2a: Option<a2a_gateway::Settings>,
    is_stopping: IsStopping,
}

/// Builds the server; it accepts connections once it is polled.
fn bind(
    config: &Config,
    acceptor: Option<TlsAcceptor>,
    wiring: Wiring,
    Doors { a2a, is_stopping }: Doors,
    readiness: web::Data<Readiness>,
    disk: Arc<Disk>,
    operator: Option<web::Data<OperatorService>>,
) -> Result<actix_web::dev::Server, Failure> {
    let sockets = web::Data::new(SocketContext {
        hub: wiring.hub.clone(),
        accounts: wiring.services.accounts.clone(),
        tokens: wiring.services.tokens.clone(),
        chats: wiring.services.chats.clone(),
        activity: wiring.services.activity.clone(),
    });
    let origins = web::Data::new(config.http.origins.clone());
    let public_url = config.public_url.clone().map(web::Data::new);
    let invitation_page = InvitationPage::of(config)?;
    let responses = wiring.responses.clone();
    let (has_console, has_mcp) = (config.console, config.mcp);
    let security = CookieSecurity { has_tls: config.tls.is_some(), public_url: config.public_url.clone() };
    let security = web::Data::new(security);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let answers = web::Data::new(RecentAnswers::new(&clock));
    let reserve = disk.clone();
    let reserve = web::Data::new(DiskReserve::new(move |bytes| reserve.admit_bytes(bytes)));
    listen::bind(config, acceptor, responses, move || {
        let disk = disk.clone();
        let (public_url, invitation_page) = (public_url.clone(), invitation_page.clone());
        let operator = operator.clone();
        App::new()
            .wrap_fn(move |request, service| {
                let admitted = disk.admit(&request).map(|()| service.call(request));
                async move { admitted?.await }
            })
            .wrap(RequestScope)
            .app_data(readiness.clone())
            .app_data(origins.clone())
            .app_data(sockets.clone())
            .app_data(web::Data::from(wiring.responses.clone()))
            .configure(|config| {
                register(config, &wiring.services, &wiring.limits, &wiring.cursors, wiring.features);
            })
            .app_data(reserve.clone())
            // The first scope is matched first, and most requests are agents'.
            .configure(http_agent::configure)
            .configure(http_human::configure)
            .configure(http_human::configure_links)
            .configure(|app| {
                if let Some(operator) = operator {
                    app.app_data(operator)
                        .app_data(answers.clone())
                        .configure(http_human::configure_operator);
                }
            })
            .configure(ws_gateway::configure)
            .configure(|app| {
                if has_mcp {
                    let Wiring { services, limits, waiters, .. } = &wiring;
                    mcp_gateway::configure(app, services, limits, waiters, &is_stopping);
                }
                if let Some(settings) = &a2a {
                    a2a_gateway::configure(app, settings);
                }
            })
            .configure(|app| system::configure(app, has_console))
            .configure(api_document::configure)
            .configure(avatar::configure)
            .configure(|app| {
                if let Some(book) = &wiring.book {
                    book.clone().configure(app);
                }
                if let Some(url) = public_url {
                    app.app_data(url);
                }
                if let Some(page) = invitation_page {
                    page.configure(app);
                }
                if has_console {
                    app.app_data(security.clone()).configure(http_console::configure);
                }
            })
    })
}

/// What stops the senders: of requests to webhooks and of push notifications, if there are any, and of notifications to users.
struct Senders {
    webhooks: Option<Stop>,
    pushes: Option<Stop>,
    notifications: Stop,
}

/// Closes the sockets, and ends the requests to webhooks, the push notifications, and the notifications to users.
async fn drain(config: &Config, wiring: &Wiring, senders: &Senders) {
    let sent = async |sender: Option<&Stop>| {
        if let Some(sender) = sender {
            sender.drain(config.drain()).await;
        }
    };
    let Senders { webhooks, pushes, notifications } = senders;
    tokio::join!(
        wiring.hub.drain(config.drain()),
        sent(webhooks.as_ref()),
        sent(pushes.as_ref()),
        sent(Some(notifications))
    );
}

/// Starts the sender of notifications to users, and those of requests to webhooks and of push notifications, unless these are
/// off.
fn begin_senders(
    config: &Config,
    wiring: &Wiring,
    a2a: Option<&a2a_gateway::Settings>,
    upkeep: &mut JoinSet<()>,
) -> Result<Senders, Failure> {
    // Each sender has its own, so that neither takes the space for large requests of the other.
    let client = || {
        let client = Client::new(Arc::new(SystemResolver), wiring::webhook_networks(config));
        client.map(Arc::new).map_err(|cause| Failure::new("cannot send requests to webhooks", cause))
    };
    let has_requests = config.webhooks.is_on;
    let mailer = config.email.as_ref().map(|email| Mailer::new(&email.url, &email.from)).transpose();
    let mailer = mailer.map_err(|fault| Failure::plain(format!("cannot send email: {fault:?}")))?;
    let client_of_notifications = has_requests.then(client).transpose()?;
    let transports = Transports { client: client_of_notifications, mailer, vapid: wiring.vapid.clone() };
    let teller = notifications::Sender::new(wiring.services.notifications.clone(), transports);
    let notifications = teller.stop();
    upkeep.spawn(teller.run());
    if !has_requests {
        return Ok(Senders { webhooks: None, pushes: None, notifications });
    }
    let sender = Sender::new(wiring.services.webhooks.clone(), wiring.services.accounts.clone(), client()?);
    let webhooks = Some(sender.stop());
    upkeep.spawn(sender.run());
    let notifier = a2a.map(|a2a| Ok::<_, Failure>(a2a.notifier(client()?))).transpose()?;
    let pushes = notifier.as_ref().map(Notifier::stop);
    if let Some(notifier) = notifier {
        upkeep.spawn(notifier.run());
    }
    Ok(Senders { webhooks, pushes, notifications })
}

/// Unregisters the node of a cluster.
async fn leave(cluster_member: &ClusterMember) {
    if !matches!(timeout(LAST_WRITES, cluster_member.leave()).await, Ok(Ok(()))) {
        tracing::warn!(
            "could not announce to other nodes that this node stops; they will notice when its lease expires"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn a_background_task_that_ends_or_panics_is_a_failure() {
        for panics in [false, true] {
            let (mut upkeep, mut others) = (JoinSet::new(), JoinSet::new());
            let mut delivered = tokio::spawn(pending());
            upkeep.spawn(pending());
            upkeep.spawn(async move { assert!(!panics, "on purpose") });
            let failure = task_failure(&mut upkeep, &mut others, &mut delivered).await.to_string();
            assert!(failure.contains("background task ended unexpectedly"), "{failure}");
            assert_eq!(failure.contains("on purpose"), panics, "{failure}");
        }
    }
}
