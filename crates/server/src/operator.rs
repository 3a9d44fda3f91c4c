//! What this server knows about itself, for the operator interface.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::delivery::AttemptOutcome;
use domain::id::NodeId;
use domain::operator::{
    Condition, Counts, Finding, OpenSocket, OperatorService, STEP, Series, ServerFacts, ServerProbe,
    StoreKind,
};
use domain::ports::Clock;
use domain::time::Timestamp;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::adapters::SystemClock;
use crate::commands::doctor;
use crate::config::Config;
use crate::disk::Disk;
use crate::store::StoreAt;
use crate::system::PROGRAM;
use crate::wiring::Wiring;

/// Looks at this server.
struct Probe {
    config: Arc<Config>,
    wiring: Wiring,
    disk: Arc<Disk>,
    /// By the steady clock.
    started_at: Timestamp,
}

/// The use cases of operators on this server; `None` if they are turned off.
pub(crate) fn service(config: &Config, wiring: &Wiring, disk: &Arc<Disk>) -> Option<Arc<OperatorService>> {
    if !config.operator_api {
        return None;
    }
    let (store, services) = (wiring.store.clone(), &wiring.services);
    let (administration, work) = (services.administration.clone(), services.work.clone());
    let probe = Probe {
        config: Arc::new(config.clone()),
        wiring: wiring.clone(),
        disk: disk.clone(),
        started_at: SystemClock.steady(),
    };
    let service = OperatorService::new(Arc::new(probe), store, administration, work, Arc::new(SystemClock));
    Some(Arc::new(service))
}

/// Records the throughput, as long as the server runs.
pub(crate) async fn record_throughput(service: Arc<OperatorService>) {
    let mut ticks = interval(STEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        service.record_throughput();
    }
}

impl Probe {
    fn uptime(&self) -> Duration {
        SystemClock.steady().since(self.started_at)
    }
}

#[async_trait]
impl ServerProbe for Probe {
    fn node(&self) -> Option<NodeId> {
        self.wiring.node.as_ref().map(|(node, _)| node.id())
    }

    fn facts(&self) -> ServerFacts {
        let figures = self.wiring.hub.figures();
        ServerFacts {
            version: PROGRAM.version,
            commit: PROGRAM.commit,
            uptime: self.uptime(),
            store: match &self.config.store {
                StoreAt::File(_) => StoreKind::Sqlite,
                StoreAt::Memory => StoreKind::Memory,
                StoreAt::Postgres(_) => StoreKind::Postgres,
            },
            user_sockets: figures.user_sockets as u64,
            agent_sockets: figures.agent_sockets as u64,
        }
    }

    async fn condition(&self) -> Condition {
        let config = self.config.clone();
        // It reads files, which may be on a slow disk.
        let findings = spawn_blocking(move || doctor::cheap_findings(&config)).await;
        Condition {
            is_bus_connected: self.wiring.bus.as_ref().map(|bus| bus.is_connected()),
            is_disk_short: self.disk.is_short(),
            findings: findings.unwrap_or_default().into_iter().map(Finding::from).collect(),
        }
    }

    fn counts(&self) -> Counts {
        let Wiring { hub, services, .. } = &self.wiring;
        let (figures, requests) = (hub.figures(), measure::request_totals());
        let counts = Counts::default()
            .with(Series::Messages, services.sent.messages())
            .with(Series::Deliveries, services.sent.deliveries())
            .with(Series::Events, services.sent.events())
            .with(Series::Requests, requests.requests)
            .with(Series::ClientErrors, requests.client_errors)
            .with(Series::ServerErrors, requests.server_errors)
            .with(Series::RateLimited, requests.rate_limited)
            .with(Series::LimitReached, requests.limit_reached)
            .with(Series::Pushes, figures.pushes)
            .with(Series::Redeliveries, figures.redeliveries)
            .with(Series::SocketsEnded, figures.ended.iter().sum())
            .with(Series::UserSockets, figures.user_sockets as u64)
            .with(Series::AgentSockets, figures.agent_sockets as u64);
        services.deliveries.attempts().read().into_iter().fold(counts, |counts, (outcome, number)| {
            let series = match outcome {
                AttemptOutcome::Success => Series::AttemptsSuccess,
                AttemptOutcome::Failed => Series::AttemptsFailed,
                AttemptOutcome::Superseded => Series::AttemptsSuperseded,
                AttemptOutcome::Intervention => Series::AttemptsIntervention,
            };
            counts.with(series, number)
        })
    }

    fn sockets(&self, before: u64, limit: usize) -> Vec<OpenSocket> {
        self.wiring.hub.open_sockets(before, limit)
    }
}
