//! Connects every port with its implementation.

use std::sync::Arc;

use crate::book::Book;
use crate::bus;
use adapters_objects::{Directory, MemoryObjects, Sharing};
use cluster::{ChangeFeed, ClusterMember, LocalNode, NodeEvents};
use domain::account::cache::CacheInvalidation;
use domain::account::{AccountPorts, AccountService, AdministrationService, TokenService};
use domain::activity::ActivityService;
use domain::attention::AttentionService;
use domain::budget::BudgetService;
use domain::bus::{EventBus, RunningBus, SharedEvents};
use domain::chat::ChatService;
use domain::contact::{ContactService, RequestLifetime};
use domain::control::ControlService;
use domain::delivery::DeliveryService;
use domain::file::{ObjectError, ObjectStore};
use domain::id::NodeId;
use domain::legal_hold::LegalHoldService;
use domain::login::{Federation, PasskeyCeremonies, Provider};
use domain::message::MessageService;
use domain::organization::OrganizationService;
use domain::plan::PlanService;
use domain::ports::{Clock, EventPublisher, IdGenerator, Presence, TokenMint};
use domain::reminder::ReminderService;
use domain::secret::Secret;
use domain::services::{Ports, Services};
use domain::transcript::TranscriptService;
use domain::usage::UsageService;
use domain::webhook::{WebhookMint, WebhookPorts, WebhookService};
use domain::work::{WorkPorts, WorkService};
use http_wire::cursor::CursorSeal;
use http_wire::features::Features;
use http_wire::limit::{RateLimitConfig, RateLimits, ReadLimit};
use http_wire::response_budget::{ResponseBudget, ResponseLimit};
use http_wire::room_waiters::{RoomEvents, RoomWaiters};
use notifications::Vapid;
use passkeys::RelyingParty;
use tokio::task::JoinSet;
use ws_gateway::lossy_publisher::LossyPublisher;
use ws_gateway::other_nodes::OtherNodes;
use ws_gateway::topic::Topic;
use ws_gateway::{Hub, HubConfig};

use crate::adapters::{NobodyListens, RandomIds, RandomKeys, SystemClock, random};
use crate::config::{Config, FilesAt, ProviderConfig};
use crate::failure::Failure;
use crate::passwords::Argon2Hasher;
use crate::store::{Store, StoreAt};
use crate::token_keys::{self, KeyFile};
use crate::traces::Traces;

/// The dependencies of a running server, built once.
#[derive(Clone)]
pub(crate) struct Wiring {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) hub: Arc<Hub>,
    /// Set if the server is one of several.
    pub(crate) node: Option<(Arc<LocalNode>, Arc<NodeEvents>)>,
    pub(crate) bus: Option<Arc<dyn RunningBus>>,
    pub(crate) services: Services,
    pub(crate) limits: Arc<RateLimits>,
    pub(crate) responses: Arc<ResponseBudget>,
    pub(crate) cursors: CursorSeal,
    pub(crate) features: Features,
    pub(crate) waiters: Arc<RoomWaiters>,
    /// The documentation, if it is served.
    pub(crate) book: Option<Arc<Book>>,
    /// The key of Web Push, unless it is off.
    pub(crate) vapid: Option<Arc<Vapid>>,
}

/// The account use cases alone, for commands.
pub(crate) fn accounts(store: Arc<dyn Store>) -> AccountService {
    let (events, clock) = (Arc::new(NobodyListens), Arc::new(SystemClock));
    AccountService::new(AccountPorts {
        accounts: store.clone(),
        keys: store.clone(),
        participants: store,
        events,
        clock,
        ids: Arc::new(RandomIds),
        mint: Arc::new(RandomKeys),
        callers: Arc::default(),
    })
}

/// The use cases of operators on accounts.
pub(crate) fn administration(store: Arc<dyn Store>) -> AdministrationService {
    AdministrationService::new(store, Arc::new(NobodyListens), Arc::new(SystemClock))
}

/// The signer of tokens: the keys beside the store, or ephemeral keys for a store in memory.
pub(crate) fn token_mint(config: &Config) -> Result<Arc<dyn TokenMint>, Failure> {
    Ok(match &config.store {
        StoreAt::Memory => Arc::new(token_keys::ephemeral()),
        StoreAt::File(path) => Arc::new(KeyFile::beside(path)?),
        StoreAt::Postgres(_) => Arc::new(KeyFile::beside(&config.token_key_base()?)?),
    })
}

/// The signer for a command, with the keys that the server has created.
pub(crate) fn token_mint_of_server(config: &Config) -> Result<Arc<dyn TokenMint>, Failure> {
    if matches!(config.store, StoreAt::Postgres(_)) {
        config.refuse_missing_data_dir()?;
    }
    token_mint(config)
}

/// The limits. On PostgreSQL, reads take at most half of the connections, so that changes find one. Some of this half are
/// for groups of requests for the next message.
fn rates(config: &Config) -> RateLimitConfig {
    let mut rates = config.rates.clone();
    if let StoreAt::Postgres(database) = &config.store {
        rates.reads.at_work = (database.connections / 2).saturating_sub(database.group_connections()).max(1);
        rates.next_reads = Some(ReadLimit::GROUPED);
    }
    rates
}

/// The use cases on tokens alone, for commands.
pub(crate) fn tokens(store: Arc<dyn Store>, mint: Arc<dyn TokenMint>) -> TokenService {
    TokenService::new(store, Arc::new(SystemClock), mint, Arc::default())
}

/// The ports of a server, or of a command that uses the server's keys.
pub(crate) fn ports(
    config: &Config,
    store: Arc<dyn Store>,
    tokens: Arc<dyn TokenMint>,
    events: Arc<dyn EventPublisher>,
    presence: Arc<dyn Presence>,
) -> Result<Ports, Failure> {
    Ok(Ports {
        store,
        callers: Arc::default(),
        events,
        presence,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        keys: Arc::new(RandomKeys),
        tokens,
        hasher: Arc::new(Argon2Hasher::new(config.passwords)?),
        registration: config.registration,
        federation: federation(config)?,
        passkeys: passkeys(config),
        plan: config.default_plan.clone(),
        key_days: config.key_ttl_days,
        requests: RequestLifetime::days(config.contact_request_days),
        work: config.work,
        claim_lease: config.claim_lease,
        prices: config.prices.clone(),
        max_hops: config.max_hops,
        max_tree_messages: config.max_tree_messages,
        max_pair_messages: config.max_pair_messages,
        begin_traces: config.traces.begin_traces(),
        max_tasks: config.max_tasks,
        objects: objects(config)?,
        files: config.files.limits,
        webhooks: config.webhooks.is_on.then(|| webhook_mint(config)),
        has_email: config.email.is_some(),
        public_url: config.public_url.as_ref().map(ToString::to_string),
        web_push_key: None,
    })
}

/// The identity providers.
fn federation(config: &Config) -> Result<Federation, Failure> {
    let provider = |configured: &ProviderConfig| {
        let client = oidc::Client::new(configured.settings.clone(), Arc::new(SystemClock));
        let client =
            client.map_err(|problem| Failure::plain(format!("oidc.{}: {problem}", configured.name)))?;
        Ok(Provider {
            name: configured.name.clone(),
            label: configured.label.clone(),
            policy: configured.policy.clone(),
            session_lifetime: configured.session_lifetime,
            client: Arc::new(client),
        })
    };
    let providers = config.oidc.providers.iter().map(provider).collect::<Result<_, Failure>>()?;
    Ok(Federation { providers, is_only: config.oidc.is_only })
}

/// What speaks with devices that hold passkeys; `None` if browsers allow none at the public URL.
fn passkeys(config: &Config) -> Option<Arc<dyn PasskeyCeremonies>> {
    let relying_party = RelyingParty::of(&config.public_url.as_ref()?.to_string())?;
    Some(Arc::new(relying_party))
}

/// The key of Web Push: a secret of the store, created on first use. `None` if webhooks are off, which Web Push then is as well.
async fn vapid(config: &Config, store: &dyn Store) -> Result<Option<Arc<Vapid>>, Failure> {
    if !config.webhooks.is_on {
        return Ok(None);
    }
    // Push services want to know whom to ask about the messages of a server.
    let subject = config.public_url.as_ref().map(ToString::to_string);
    let subject = subject.filter(|url| url.starts_with("https://"));
    let subject = subject.unwrap_or_else(|| "mailto:parlance@localhost".to_owned());
    let fresh = loop {
        let fresh = Secret(random());
        if Vapid::new(&fresh, subject.clone()).is_some() {
            break fresh;
        }
    };
    let secret = store.secret("web_push", fresh).await;
    let secret = secret.map_err(|cause| Failure::new("cannot read the key of Web Push", cause))?;
    let vapid = Vapid::new(&secret, subject);
    vapid.map(Arc::new).map(Some).ok_or_else(|| Failure::plain("the key of Web Push in the store is damaged"))
}

/// The use cases on webhooks alone, for commands.
pub(crate) fn webhooks(config: &Config, store: Arc<dyn Store>) -> WebhookService {
    let (nobody, clock) = (Arc::new(NobodyListens), Arc::new(SystemClock));
    let deliveries =
        DeliveryService::new(store.clone(), store.clone(), nobody.clone(), nobody, clock.clone());
    WebhookService::new(WebhookPorts {
        webhooks: store.clone(),
        events: store.clone(),
        accounts: store,
        deliveries: Arc::new(deliveries),
        set: Arc::default(),
        mint: config.webhooks.is_on.then(|| webhook_mint(config)),
        clock,
        ids: Arc::new(RandomIds),
        stuck_after: config.work.stuck_after,
    })
}

/// What checks the URLs of webhooks.
fn webhook_mint(config: &Config) -> Arc<dyn WebhookMint> {
    Arc::new(webhooks::Mint::new(webhook_networks(config), random))
}

/// The private networks that requests to webhooks may go to.
pub(crate) fn webhook_networks(config: &Config) -> webhooks::Allowed {
    webhooks::Allowed::new(&config.webhooks.allow_private)
}

/// The store of the bytes of files.
pub(crate) fn objects(config: &Config) -> Result<Arc<dyn ObjectStore>, Failure> {
    objects_at(config).map_err(|error| config.files.at.failure(error))
}

/// The same, with the cause of a failure alone.
pub(crate) fn objects_at(config: &Config) -> Result<Arc<dyn ObjectStore>, ObjectError> {
    Ok(match &config.files.at {
        FilesAt::Memory => Arc::new(MemoryObjects::default()),
        FilesAt::Directory { path, is_shared } => {
            let sharing = if *is_shared { Sharing::Shared } else { Sharing::Alone };
            Arc::new(Directory::new(path.clone(), sharing))
        }
        #[cfg(feature = "bucket")]
        FilesAt::Bucket { name, variables } => {
            let largest = config.files.limits.file_bytes;
            Arc::new(adapters_objects::Bucket::new(name, largest, variables.iter())?)
        }
        #[cfg(not(feature = "bucket"))]
        FilesAt::Bucket { .. } => return Err(ObjectError::unavailable("this program has no buckets")),
    })
}

/// The use cases on control alone, for commands.
pub(crate) fn control(store: Arc<dyn Store>) -> ControlService {
    let (nobody, clock) = (Arc::new(NobodyListens), Arc::new(SystemClock));
    let activity = ActivityService::new(store.clone(), nobody.clone(), nobody.clone(), clock.clone());
    ControlService::new(store, Arc::new(activity), nobody, clock, Arc::new(RandomIds))
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

/// The use cases on work alone, for commands, which do not know who is connected.
pub(crate) fn work(config: &Config, store: Arc<dyn Store>) -> WorkService {
    let nobody = Arc::new(NobodyListens);
    let ports = WorkPorts {
        work: store.clone(),
        chats: store.clone(),
        messages: store,
        events: nobody.clone(),
        presence: nobody,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        attempts: Arc::default(),
    };
    WorkService::new(ports, config.work)
}

/// The use cases on what waits for humans alone, for commands.
pub(crate) fn attention(config: &Config, store: Arc<dyn Store>) -> AttentionService {
    let (nobody, clock, ids) = (Arc::new(NobodyListens), Arc::new(SystemClock), Arc::new(RandomIds));
    let messages = messages(store.clone());
    let contacts = ContactService::new(
        store.clone(),
        store.clone(),
        nobody.clone(),
        nobody,
        clock.clone(),
        ids,
        RequestLifetime::days(config.contact_request_days),
    );
    let work = Arc::new(work(config, store.clone()));
    AttentionService::new(store.clone(), store, Arc::new(messages), Arc::new(contacts), work, clock)
        .of_command()
}

/// The use cases on reminders alone, for commands, which send none.
pub(crate) fn reminders(store: Arc<dyn Store>) -> ReminderService {
    let (nobody, clock, ids) = (Arc::new(NobodyListens), Arc::new(SystemClock), Arc::new(RandomIds));
    ReminderService::new(store.clone(), Arc::new(messages(store)), nobody, clock, ids)
}

/// The use cases on legal holds alone, for commands.
pub(crate) fn legal_holds(store: Arc<dyn Store>) -> LegalHoldService {
    LegalHoldService::new(store, Arc::new(SystemClock))
}

/// The use cases on messages alone, for commands.
pub(crate) fn messages(store: Arc<dyn Store>) -> MessageService {
    let (nobody, clock, ids) = (Arc::new(NobodyListens), Arc::new(SystemClock), Arc::new(RandomIds));
    MessageService::new(store.clone(), store, nobody.clone(), nobody, clock, ids, Arc::default())
}

/// The use cases on budgets alone, for commands.
pub(crate) fn budgets(store: Arc<dyn Store>) -> BudgetService {
    BudgetService::new(store, Arc::default(), Arc::new(SystemClock))
}

/// The use cases on usage alone, for commands.
pub(crate) fn usage(config: &Config, store: Arc<dyn Store>) -> UsageService {
    UsageService::new(store, config.prices.clone(), Arc::new(SystemClock))
}

/// The use cases of operators on chats.
pub(crate) fn chats(store: Arc<dyn Store>) -> ChatService {
    let (nobody, clock) = (Arc::new(NobodyListens), Arc::new(SystemClock));
    ChatService::new(store.clone(), store, nobody.clone(), clock, Arc::new(RandomIds), nobody)
}

/// The use cases on transcripts alone, for commands.
pub(crate) fn transcripts(store: Arc<dyn Store>) -> TranscriptService {
    TranscriptService::new(store.clone(), store.clone(), store, Arc::new(SystemClock))
}

/// The seal of cursors: a secret of the store, created on first use.
async fn cursor_seal(store: &dyn Store) -> Result<CursorSeal, Failure> {
    let secret = store.secret("cursors", Secret(random())).await;
    let secret = secret.map_err(|cause| Failure::new("cannot read the secret of cursors", cause))?;
    Ok(CursorSeal::new(secret))
}

/// The bus to the other servers, if there are any; signed with a secret of the store.
async fn bus(config: &Config, store: &dyn Store) -> Result<Option<Arc<dyn RunningBus>>, Failure> {
    let Some(settings) = &config.bus else { return Ok(None) };
    let secret = store.secret("bus", Secret(random())).await;
    let secret = secret.map_err(|cause| Failure::new("cannot read the secret of the bus", cause))?;
    let bus = bus::connect(settings, secret, node_id(), Arc::new(SystemClock)).await;
    let bus = bus
        .map_err(|fault| Failure::plain(fault.to_string()).next("see `nats_url` in `parlance config show`"));
    bus.map(Some)
}

fn node_id() -> NodeId {
    NodeId::new(RandomIds.generate(SystemClock.now()))
}

/// The publisher of events: to the local sockets and over the bus, unless some are dropped on
/// purpose.
fn events(
    config: &Config,
    own: Arc<dyn EventPublisher>,
    bus: Option<&Arc<dyn RunningBus>>,
) -> Arc<dyn EventPublisher> {
    let events: Arc<dyn EventPublisher> = match bus {
        Some(bus) => Arc::new(SharedEvents::new(own, bus.clone())),
        None => own,
    };
    let Some(one_of) = config.sockets.lose_messages else { return events };
    tracing::warn!(one_of, "FOR TESTS ONLY: dropping new messages on their way to sockets");
    Arc::new(LossyPublisher::new(events, one_of))
}

impl Wiring {
    /// Registers the node, if the server is part of a cluster.
    pub(crate) async fn join_cluster(&self) -> Result<Option<Arc<ClusterMember>>, Failure> {
        let (Some((node, events)), Some(nodes)) = (self.node.clone(), self.store.clone().nodes()) else {
            return Ok(None);
        };
        let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds));
        let begun = ClusterMember::begin(node, events, nodes, self.bus.clone(), clock, ids);
        let cluster_member = begun.await.map_err(|cause| Failure::new("cannot join the cluster", cause))?;
        tracing::info!(node = %cluster_member.node(), "cluster mode: multi");
        Ok(Some(Arc::new(cluster_member)))
    }

    /// Begins to read the change log.
    pub(crate) async fn begin_change_feed(
        &self,
        cluster_member: Option<Arc<ClusterMember>>,
    ) -> Result<ChangeFeed, Failure> {
        let (log, hub, clock) = (self.store.clone(), self.hub.clone(), Arc::new(SystemClock));
        let begun = ChangeFeed::begin(log, hub, self.services.clone(), clock, cluster_member);
        begun.await.map_err(|cause| Failure::new("cannot read the change log", cause))
    }

    /// Starts to receive the events of other servers, if there is a bus: they go to the local
    /// sockets, and invalidate cached callers.
    pub(crate) fn spawn_bus_receiver(&self) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        if let (Some((_, events)), Some(bus)) = (&self.node, &self.bus) {
            let others = events.of_others(self.services.activity.clone());
            let others = RoomEvents::new(self.waiters.clone(), Arc::new(others));
            let others = CacheInvalidation::new(self.services.callers.clone(), Arc::new(others));
            tasks.spawn(bus.clone().run(Arc::new(others)));
        }
        tasks
    }

    /// Builds every service on `store`; `traces` is set if spans are exported.
    pub(crate) async fn new(
        config: &Config,
        store: Arc<dyn Store>,
        traces: Option<&Traces>,
    ) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let book = config.docs_directory.as_deref().and_then(Book::served);
        let features = Features {
            boards: config.max_tasks > 0,
            files: config.files.limits.file_bytes > 0,
            webhooks: config.webhooks.is_on,
            a2a: config.a2a,
            docs: book.is_some(),
            // It stays the same as long as the process lives.
            pictures: config.public_url.clone().map(|url| &*Box::leak(Box::new(url))),
        };
        let bounds = HubConfig {
            idle_timeout: config.sockets.idle_timeout,
            queue_bytes: config.sockets.queue_bytes,
            max_sockets_per_caller: config.sockets.per_caller,
            features,
            ..HubConfig::default()
        };
        let bus = bus(config, &*store).await?;
        let (hub, node) = if config.is_one_of_several() {
            let node = LocalNode::new(node_id(), bus.clone().map(|bus| bus as Arc<dyn EventBus>));
            let hub = Hub::in_cluster(bounds, clock.clone(), node.clone());
            (hub.clone(), Some((node, NodeEvents::new(hub, clock.clone()))))
        } else {
            (Hub::new(bounds, clock.clone()), None)
        };
        let own: Arc<dyn EventPublisher> = match &node {
            Some((_, events)) => events.clone(),
            None => hub.clone(),
        };
        let events = events(config, own, bus.as_ref());
        let events = match traces {
            Some(traces) => traces.around(events),
            None => events,
        };
        let waiters = Arc::<RoomWaiters>::default();
        if let Some((node, _)) = node.clone() {
            waiters.on_interest(move |room| node.take_interest(Topic::ChatRoom(room), true));
        }
        let events = Arc::new(RoomEvents::new(waiters.clone(), events));
        let vapid = vapid(config, &*store).await?;
        let web_push_key = vapid.as_ref().map(|vapid| vapid.public_key());
        let ports = ports(config, store.clone(), token_mint(config)?, events, hub.clone())?;
        let ports = Ports { web_push_key, ..ports };
        Ok(Self {
            services: Services::new(ports),
            responses: ResponseBudget::new(ResponseLimit {
                per_address: config.http.unread_per_address,
                total: config.http.unread_bytes,
                trusted_proxies: config.rates.trusted_proxies.clone(),
            }),
            limits: Arc::new(RateLimits::new(rates(config), clock)),
            cursors: cursor_seal(&*store).await?,
            features,
            waiters,
            book,
            vapid,
            store,
            hub,
            node,
            bus,
        })
    }
}
