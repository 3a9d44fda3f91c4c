//! Where every port meets what stands behind it.

use std::sync::Arc;

use crate::bus::NatsBus;
use domain::account::cache::{CacheInvalidation, CallerCache};
use domain::account::{AccountService, AdministrationService, TokenService};
use domain::activity::ActivityService;
use domain::audit::AuditService;
use domain::bus::SharedEvents;
use domain::chat::ChatService;
use domain::contact::{ContactService, RequestLifetime};
use domain::delivery::DeliveryService;
use domain::id::NodeId;
use domain::login::{LoginPorts, LoginService};
use domain::memory::MemoryService;
use domain::message::MessageService;
use domain::organization::OrganizationService;
use domain::peer::PeerService;
use domain::plan::PlanService;
use domain::ports::{Clock, EventPublisher, IdGenerator, KeyMint, TokenMint};
use domain::secret::Secret;
use http_wire::answers::{AnswerBudget, AnswerLimit};
use http_wire::cursor::CursorSeal;
use http_wire::limit::{RateLimitConfig, RateLimits};
use tokio::task::JoinSet;
use ws_gateway::fault::LosesMessages;
use ws_gateway::{ClusterMember, Hub, HubConfig, RemoteEventSink};

use crate::config::Config;
use crate::failure::Failure;
use crate::passwords::Argon2Hasher;
use crate::ports::{NobodyListens, RandomIds, RandomKeys, SystemClock, random};
use crate::store::{Store, StoreAt};
use crate::token_keys::{self, KeyFile};

/// Everything that a running server needs, built once.
#[derive(Clone)]
pub(crate) struct Wiring {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) bus: Option<Arc<NatsBus>>,
    pub(crate) callers: Arc<CallerCache>,
    pub(crate) accounts: Arc<AccountService>,
    pub(crate) tokens: Arc<TokenService>,
    pub(crate) logins: Arc<LoginService>,
    pub(crate) limits: Arc<RateLimits>,
    pub(crate) answers: Arc<AnswerBudget>,
    pub(crate) cursors: CursorSeal,
    pub(crate) chats: Arc<ChatService>,
    pub(crate) messages: Arc<MessageService>,
    pub(crate) deliveries: Arc<DeliveryService>,
    pub(crate) activity: Arc<ActivityService>,
    pub(crate) peers: Arc<PeerService>,
    pub(crate) organizations: Arc<OrganizationService>,
    pub(crate) memories: Arc<MemoryService>,
    pub(crate) contacts: Arc<ContactService>,
    pub(crate) audit: Arc<AuditService>,
}

/// The account use cases alone, for commands.
pub(crate) fn accounts(store: Arc<dyn Store>) -> AccountService {
    let (events, clock) = (Arc::new(NobodyListens), Arc::new(SystemClock));
    AccountService::new(store.clone(), store, events, clock, Arc::new(RandomIds), Arc::new(RandomKeys))
}

/// What the operator does to accounts.
pub(crate) fn administration(store: Arc<dyn Store>) -> AdministrationService {
    AdministrationService::new(store, Arc::new(NobodyListens), Arc::new(SystemClock))
}

/// What signs tokens: the keys beside the store, or for a store in memory keys as short-lived.
pub(crate) fn token_mint(config: &Config) -> Result<Arc<dyn TokenMint>, Failure> {
    Ok(match &config.store {
        StoreAt::Memory => Arc::new(token_keys::ephemeral()),
        StoreAt::File(path) => Arc::new(KeyFile::beside(path)?),
        StoreAt::Postgres(_) => Arc::new(KeyFile::beside(&config.key_place()?)?),
    })
}

/// The same for a command, which uses what the server has made.
pub(crate) fn token_mint_of_server(config: &Config) -> Result<Arc<dyn TokenMint>, Failure> {
    if matches!(config.store, StoreAt::Postgres(_)) {
        config.refuse_missing_data_dir()?;
    }
    token_mint(config)
}

/// The limits. On PostgreSQL reads take at most half of the connections, so that changes find one.
fn rates(config: &Config) -> RateLimitConfig {
    let mut rates = config.rates.clone();
    if let StoreAt::Postgres(database) = &config.store {
        rates.reads.at_work = (database.connections / 2).max(1);
    }
    rates
}

/// The use cases on tokens alone, for commands.
pub(crate) fn tokens(store: Arc<dyn Store>, mint: Arc<dyn TokenMint>) -> TokenService {
    TokenService::new(store, Arc::new(SystemClock), mint)
}

/// The use cases on passwords and sessions.
pub(crate) fn logins(
    config: &Config,
    store: Arc<dyn Store>,
    tokens: Arc<TokenService>,
    events: Arc<dyn EventPublisher>,
) -> Result<LoginService, Failure> {
    Ok(LoginService::new(LoginPorts {
        logins: store.clone(),
        audit: store.clone(),
        accounts: store,
        tokens,
        hasher: Arc::new(Argon2Hasher::new(config.passwords)?),
        events,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        mint: Arc::new(RandomKeys),
        registration: config.registration,
        plan: config.default_plan.clone(),
    }))
}

/// The use cases on plans.
pub(crate) fn plans(store: Arc<dyn Store>) -> PlanService {
    PlanService::new(store, Arc::new(SystemClock))
}

/// The use cases on organizations alone, for commands.
pub(crate) fn organizations(config: &Config, store: Arc<dyn Store>) -> OrganizationService {
    let (events, clock) = (Arc::new(NobodyListens), Arc::new(SystemClock));
    let plan = config.default_plan.clone();
    OrganizationService::new(store, events, clock, Arc::new(RandomIds), Arc::new(RandomKeys), plan)
}

/// What the operator does to chats.
pub(crate) fn chats(store: Arc<dyn Store>) -> ChatService {
    let (nobody, clock) = (Arc::new(NobodyListens), Arc::new(SystemClock));
    ChatService::new(store, nobody.clone(), clock, Arc::new(RandomIds), nobody)
}

/// What cursors are sealed with: a secret of the store, made when it is first needed.
async fn cursor_seal(store: &dyn Store) -> Result<CursorSeal, Failure> {
    let secret = store.secret("cursors", Secret(random())).await;
    let secret = secret.map_err(|cause| Failure::new("cannot read the secret of cursors", cause))?;
    Ok(CursorSeal::new(secret))
}

/// The bus to the other servers, if there are any; signed with a secret of the store.
async fn bus(config: &Config, store: &dyn Store, hub: &Hub) -> Result<Option<Arc<NatsBus>>, Failure> {
    let Some(settings) = &config.bus else { return Ok(None) };
    let secret = store.secret("bus", Secret(random())).await;
    let secret = secret.map_err(|cause| Failure::new("cannot read the secret of the bus", cause))?;
    let node = NodeId::new(RandomIds.generate(SystemClock.now()));
    let bus = NatsBus::connect(settings, secret, node, Arc::new(SystemClock)).await;
    let bus = bus.map_err(|fault| {
        Failure::plain(fault.to_string()).next("see `nats_url` in `parlance config show`")
    })?;
    hub.share(bus.clone());
    Ok(Some(bus))
}

/// Where events go: to the own sockets and over the bus, unless some are to be lost on purpose.
fn events(config: &Config, hub: &Arc<Hub>, bus: Option<&Arc<NatsBus>>) -> Arc<dyn EventPublisher> {
    let events: Arc<dyn EventPublisher> = match bus {
        Some(bus) => Arc::new(SharedEvents::new(hub.clone(), bus.clone())),
        None => hub.clone(),
    };
    let Some(one_of) = config.sockets.lose_messages else { return events };
    tracing::warn!(one_of, "FOR TESTS ONLY: dropping new messages on their way to sockets");
    Arc::new(LosesMessages::new(events, one_of))
}

impl Wiring {
    /// Begins as one of several servers, if it is one.
    pub(crate) async fn cluster_member(
        &self,
        config: &Config,
    ) -> Result<Option<Arc<ClusterMember>>, Failure> {
        let nodes = config.is_one_of_several().then(|| self.store.clone().nodes()).flatten();
        let Some(nodes) = nodes else { return Ok(None) };
        let begun = ClusterMember::begin(self.hub.clone(), nodes, Arc::new(SystemClock), Arc::new(RandomIds));
        let cluster_member = begun.await.map_err(|cause| Failure::new("cannot join the cluster", cause))?;
        tracing::info!(node = %cluster_member.node(), "cluster mode: multi");
        Ok(Some(Arc::new(cluster_member)))
    }

    /// Begins to hear what other servers tell, if there are any: their events go to the own sockets, and make untrue
    /// what is known of callers.
    pub(crate) fn hear_others(&self) -> JoinSet<()> {
        let Some(bus) = &self.bus else { return JoinSet::new() };
        let others = Arc::new(RemoteEventSink::new(self.hub.clone()));
        let mut tasks = bus.start(Arc::new(CacheInvalidation::new(self.callers.clone(), others)));
        let (hub, chats) = (self.hub.clone(), self.chats.clone());
        tasks.spawn(async move { hub.revalidate_stale_chats(&chats).await });
        tasks
    }

    /// Builds every service on `store`.
    pub(crate) async fn new(config: &Config, store: Arc<dyn Store>) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids: Arc<dyn IdGenerator> = Arc::new(RandomIds);
        let keys: Arc<dyn KeyMint> = Arc::new(RandomKeys);
        let bounds = HubConfig {
            idle_timeout: config.sockets.idle_timeout,
            queue_bytes: config.sockets.queue_bytes,
            max_sockets_per_caller: config.sockets.per_caller,
            ..HubConfig::default()
        };
        let hub = Hub::new(bounds, clock.clone());
        let callers = Arc::<CallerCache>::default();
        let bus = bus(config, &*store, &hub).await?;
        let events = Arc::new(CacheInvalidation::new(callers.clone(), events(config, &hub, bus.as_ref())));
        let tokens = tokens(store.clone(), token_mint(config)?).with_cache(callers.clone());
        let tokens = Arc::new(tokens);
        Ok(Self {
            logins: Arc::new(logins(config, store.clone(), tokens.clone(), events.clone())?),
            answers: AnswerBudget::new(AnswerLimit {
                per_address: config.http.unread_per_address,
                total: config.http.unread_bytes,
                trusted_proxies: config.rates.trusted_proxies.clone(),
            }),
            limits: Arc::new(RateLimits::new(rates(config), clock.clone())),
            cursors: cursor_seal(&*store).await?,
            tokens,
            contacts: Arc::new(
                ContactService::new(store.clone(), hub.clone(), events.clone(), clock.clone(), ids.clone())
                    .with_lifetime(RequestLifetime::days(config.contact_request_days)),
            ),
            audit: Arc::new(AuditService::new(store.clone())),
            memories: Arc::new(MemoryService::new(store.clone(), clock.clone(), ids.clone())),
            accounts: Arc::new(
                AccountService::new(
                    store.clone(),
                    store.clone(),
                    events.clone(),
                    clock.clone(),
                    ids.clone(),
                    keys.clone(),
                )
                .with_cache(callers.clone())
                .with_key_days(config.key_ttl_days),
            ),
            organizations: Arc::new(OrganizationService::new(
                store.clone(),
                events.clone(),
                clock.clone(),
                ids.clone(),
                keys,
                config.default_plan.clone(),
            )),
            chats: Arc::new(ChatService::new(
                store.clone(),
                events.clone(),
                clock.clone(),
                ids.clone(),
                hub.clone(),
            )),
            messages: Arc::new(
                MessageService::new(store.clone(), store.clone(), events.clone(), clock.clone(), ids)
                    .with_cache(callers.clone()),
            ),
            deliveries: Arc::new(DeliveryService::new(
                store.clone(),
                store.clone(),
                events.clone(),
                clock.clone(),
            )),
            activity: Arc::new(ActivityService::new(store.clone(), events, clock)),
            peers: Arc::new(PeerService::new(store.clone(), hub.clone())),
            store,
            hub,
            bus,
            callers,
        })
    }
}
