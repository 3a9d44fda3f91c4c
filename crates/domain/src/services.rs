//! Builds every use case from its ports, in one place for the server and for tests.

use std::sync::Arc;

use crate::account::cache::{CacheInvalidation, CallerCache};
use crate::account::{
    AccountPorts, AccountRepository, AccountService, AdministrationRepository, AdministrationService,
    KeyRepository, TokenService,
};
use crate::activity::ActivityService;
use crate::archive::ArchiveRepository;
use crate::attention::{AttentionRepository, AttentionService};
use crate::audit::{AuditRepository, AuditService};
use crate::board::{BoardRepository, BoardService, CountedBoards};
use crate::budget::{BudgetRepository, BudgetService, BudgetWatch};
use crate::bulk_deletion::{BulkDeletionRepository, BulkDeletionService};
use crate::change::ChangeRepository;
use crate::chat::{ChatRepository, ChatService};
use crate::contact::{ContactRepository, ContactService, RequestLifetime};
use crate::control::{ControlRepository, ControlService};
use crate::delivery::{ClaimLease, DeliveryRepository, DeliveryService};
use crate::file::{FileLimits, FileRepository, FileService, ObjectStore};
use crate::foreign::ForeignRepository;
use crate::idempotency::IdempotencyRepository;
use crate::legal_hold::{LegalHoldRepository, LegalHoldService};
use crate::login::{
    Federation, LoginPorts, LoginRepository, LoginService, PasskeyCeremonies, PasswordHasher, Registration,
};
use crate::memory::{MemoryRepository, MemoryService};
use crate::message::{BeginTraces, MaxHops, MaxPairMessages, MessageRepository, MessageService};
use crate::notification::{
    NotificationEvents, NotificationPorts, NotificationRepository, NotificationService, NotificationSet,
};
use crate::operator::{CountedEvents, SentCounts};
use crate::organization::{OrganizationRepository, OrganizationService};
use crate::peer::{PeerRepository, PeerService};
use crate::plan::{PlanName, PlanRepository, PlanService};
use crate::ports::{Clock, EventPublisher, IdGenerator, KeyMint, Presence, TokenMint};
use crate::push::{PushEvents, PushPorts, PushRepository, PushService, PushSet};
use crate::reminder::{ReminderRepository, ReminderService};
use crate::search::{IndexQueue, IndexedEvents, SearchRepository, SearchService};
use crate::secret::SecretRepository;
use crate::status::StatusRepository;
use crate::transcript::TranscriptService;
use crate::usage::{Prices, UsageRepository, UsageService};
use crate::webhook::{
    OrganizationWebhookRepository, WebhookEvents, WebhookMint, WebhookPorts, WebhookRepository,
    WebhookService, WebhookSet,
};
use crate::work::{WorkPorts, WorkRepository, WorkService, WorkThresholds};

/// Declares a trait that every store with all of these ports has.
macro_rules! repositories {
    ($($port:ident),* $(,)?) => {
        /// Every port of a store.
        pub trait Repositories: $($port +)* {}

        impl<S: $($port +)* ?Sized> Repositories for S {}
    };
}

repositories!(
    AccountRepository,
    AdministrationRepository,
    ArchiveRepository,
    AttentionRepository,
    AuditRepository,
    BoardRepository,
    BudgetRepository,
    BulkDeletionRepository,
    ChangeRepository,
    ChatRepository,
    ContactRepository,
    ControlRepository,
    DeliveryRepository,
    FileRepository,
    ForeignRepository,
    IdempotencyRepository,
    KeyRepository,
    LegalHoldRepository,
    LoginRepository,
    MemoryRepository,
    MessageRepository,
    NotificationRepository,
    OrganizationRepository,
    OrganizationWebhookRepository,
    PeerRepository,
    PlanRepository,
    PushRepository,
    SearchRepository,
    ReminderRepository,
    SecretRepository,
    StatusRepository,
    UsageRepository,
    WebhookRepository,
    WorkRepository,
);

/// The dependencies of [`Services`].
#[derive(Clone)]
pub struct Ports {
    /// The store.
    pub store: Arc<dyn Repositories>,
    /// The cache of authenticated callers. Every event invalidates it before it is published.
    pub callers: Arc<CallerCache>,
    /// Receives every event.
    pub events: Arc<dyn EventPublisher>,
    /// Knows who is online.
    pub presence: Arc<dyn Presence>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Generates keys and tokens that are stored as digests.
    pub keys: Arc<dyn KeyMint>,
    /// Signs access tokens.
    pub tokens: Arc<dyn TokenMint>,
    /// Hashes passwords.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Who may register.
    pub registration: Registration,
    /// Identity providers.
    pub federation: Federation,
    /// Speaks with devices that hold passkeys; `None` if the address of the server does not allow it.
    pub passkeys: Option<Arc<dyn PasskeyCeremonies>>,
    /// The plan of new organizations.
    pub plan: PlanName,
    /// The days after which a new key expires if no expiry is requested; 0 for never.
    pub key_days: u32,
    /// The lifetime of contact requests.
    pub requests: RequestLifetime,
    /// The thresholds of the flags of work.
    pub work: WorkThresholds,
    /// How long a claim of a message lasts.
    pub claim_lease: ClaimLease,
    /// The prices of models.
    pub prices: Prices,
    /// The limit of hops of organizations that have none of their own.
    pub max_hops: MaxHops,
    /// The largest number of messages of a tree; 0 for no limit.
    pub max_tree_messages: u32,
    /// The limit of pairs of organizations that have none of their own.
    pub max_pair_messages: MaxPairMessages,
    /// Whether traces begin with texts.
    pub begin_traces: BeginTraces,
    /// The maximum number of tasks of a chat; 0 turns boards off.
    pub max_tasks: u32,
    /// The bytes of files.
    pub objects: Arc<dyn ObjectStore>,
    /// The limits of files.
    pub files: FileLimits,
    /// Checks the addresses of webhooks and of push notifications; `None` if they are off.
    pub webhooks: Option<Arc<dyn WebhookMint>>,
    /// Whether notifications can be sent by e-mail.
    pub has_email: bool,
    /// The address of the server from outside, without a slash at its end, with which links in notifications begin.
    pub public_url: Option<String>,
    /// The public key of Web Push; `None` if it is off.
    pub web_push_key: Option<String>,
}

/// Every use case, built once.
#[derive(Clone)]
pub struct Services {
    /// The cache of authenticated callers.
    pub callers: Arc<CallerCache>,
    /// Users, agents, and keys.
    pub accounts: Arc<AccountService>,
    /// All accounts, for the operator.
    pub administration: Arc<AdministrationService>,
    /// Access tokens of users.
    pub tokens: Arc<TokenService>,
    /// Passwords and sessions.
    pub logins: Arc<LoginService>,
    /// Chats and participants.
    pub chats: Arc<ChatService>,
    /// Messages and events.
    pub messages: Arc<MessageService>,
    /// Texts that are sent later.
    pub reminders: Arc<ReminderService>,
    /// Deliveries and attempts.
    pub deliveries: Arc<DeliveryService>,
    /// Activity indicators.
    pub activity: Arc<ActivityService>,
    /// Stop, play, and interrupt.
    pub control: Arc<ControlService>,
    /// Peers and the directory.
    pub peers: Arc<PeerService>,
    /// The goals and tasks of chats.
    pub boards: Arc<BoardService>,
    /// Deletions of many agents or chats.
    pub bulk_deletions: Arc<BulkDeletionService>,
    /// The files of chats.
    pub files: Arc<FileService>,
    /// Memories of agents.
    pub memories: Arc<MemoryService>,
    /// The audit log.
    pub audit: Arc<AuditService>,
    /// Plans.
    pub plans: Arc<PlanService>,
    /// Organizations, members, and invitations.
    pub organizations: Arc<OrganizationService>,
    /// Contacts and contact requests.
    pub contacts: Arc<ContactService>,
    /// What waits for a human.
    pub attention: Arc<AttentionService>,
    /// Searching messages.
    pub search: Arc<SearchService>,
    /// Legal holds.
    pub legal_holds: Arc<LegalHoldService>,
    /// Chats as documents.
    pub transcripts: Arc<TranscriptService>,
    /// The work that agents owe.
    pub work: Arc<WorkService>,
    /// What organizations let their agents use.
    pub budgets: Arc<BudgetService>,
    /// The tokens that agents report.
    pub usage: Arc<UsageService>,
    /// Webhooks of agents.
    pub webhooks: Arc<WebhookService>,
    /// Push notifications of A2A.
    pub pushes: Arc<PushService>,
    /// Notifications of users.
    pub notifications: Arc<NotificationService>,
    /// Counts the messages that are stored.
    pub sent: Arc<SentCounts>,
}

impl Services {
    /// Wires every service to its ports.
    #[expect(clippy::too_many_lines, reason = "it is one list")]
    pub fn new(ports: Ports) -> Self {
        let Ports { store, callers, presence, clock, ids, keys, plan, .. } = ports;
        let sent = Arc::<SentCounts>::default();
        let counted = Arc::new(CountedBoards::new(ports.max_tasks > 0));
        let events = Arc::new(CountedEvents::new(sent.clone(), counted.clone(), ports.events));
        let webhook_set = Arc::<WebhookSet>::default();
        let events = Arc::new(WebhookEvents::new(webhook_set.clone(), events));
        let push_set = Arc::<PushSet>::default();
        let events = Arc::new(PushEvents::new(push_set.clone(), events));
        let notification_set = Arc::<NotificationSet>::default();
        let events = Arc::new(NotificationEvents::new(notification_set.clone(), events));
        let to_index = Arc::<IndexQueue>::default();
        let events = Arc::new(IndexedEvents::new(to_index.clone(), events));
        let events: Arc<dyn EventPublisher> = Arc::new(CacheInvalidation::new(callers.clone(), events));
        let tokens = TokenService::new(store.clone(), clock.clone(), ports.tokens, callers.clone());
        let tokens = Arc::new(tokens);
        let accounts = AccountService::new(AccountPorts {
            accounts: store.clone(),
            keys: store.clone(),
            participants: store.clone(),
            events: events.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            mint: keys.clone(),
            callers: callers.clone(),
        });
        let contacts = ContactService::new(
            store.clone(),
            store.clone(),
            presence.clone(),
            events.clone(),
            clock.clone(),
            ids.clone(),
            ports.requests,
        );
        let organizations = OrganizationService::new(
            store.clone(),
            events.clone(),
            clock.clone(),
            ids.clone(),
            keys.clone(),
            plan.clone(),
        );
        let messages = MessageService::new(
            store.clone(),
            store.clone(),
            events.clone(),
            presence.clone(),
            clock.clone(),
            ids.clone(),
            callers.clone(),
        );
        let chats = ChatService::new(
            store.clone(),
            store.clone(),
            events.clone(),
            clock.clone(),
            ids.clone(),
            presence.clone(),
        );
        let deliveries = DeliveryService::new(
            store.clone(),
            store.clone(),
            events.clone(),
            presence.clone(),
            clock.clone(),
        );
        let deliveries = deliveries.with_lease(ports.claim_lease);
        let renewal = Arc::new(deliveries.renewal());
        let work = WorkPorts {
            work: store.clone(),
            chats: store.clone(),
            messages: store.clone(),
            events: events.clone(),
            presence: presence.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            attempts: deliveries.attempts().clone(),
        };
        let work = WorkService::new(work, ports.work);
        let deliveries = Arc::new(deliveries);
        let pushes = PushPorts {
            configs: store.clone(),
            set: push_set,
            mint: ports.webhooks.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
        };
        let urls = ports.webhooks.clone();
        let webhooks = WebhookPorts {
            webhooks: store.clone(),
            events: store.clone(),
            accounts: store.clone(),
            deliveries: deliveries.clone(),
            set: webhook_set,
            mint: ports.webhooks,
            clock: clock.clone(),
            ids: ids.clone(),
            stuck_after: ports.work.stuck_after,
        };
        let administration = AdministrationService::new(store.clone(), events.clone(), clock.clone());
        let activity = ActivityService::new(store.clone(), events.clone(), presence.clone(), clock.clone());
        let activity = Arc::new(activity.with_claims(renewal.clone()));
        let control =
            ControlService::new(store.clone(), activity.clone(), events.clone(), clock.clone(), ids.clone());
        let watch = Arc::<BudgetWatch>::default();
        let boards = BoardService::new(
            store.clone(),
            events.clone(),
            counted,
            clock.clone(),
            ids.clone(),
            ports.max_tasks,
        );
        let bulk_deletions =
            BulkDeletionService::new(store.clone(), events.clone(), clock.clone(), ids.clone());
        let files = FileService::new(store.clone(), ports.objects, clock.clone(), ids.clone(), ports.files);
        let named_tasks: Option<Arc<dyn BoardRepository>> = boards.is_on().then(|| store.clone() as _);
        let messages = messages
            .with_traces(ports.begin_traces)
            .with_boards(named_tasks)
            .with_files(&ports.files)
            .with_budgets(watch.clone())
            .with_claims(renewal)
            .with_limits(ports.max_hops, ports.max_tree_messages, ports.max_pair_messages);
        let (messages, contacts, work) = (Arc::new(messages), Arc::new(contacts), Arc::new(work));
        let organizations = Arc::new(organizations);
        let reminders =
            ReminderService::new(store.clone(), messages.clone(), events.clone(), clock.clone(), ids.clone());
        let attention = AttentionService::new(
            store.clone(),
            store.clone(),
            messages.clone(),
            contacts.clone(),
            work.clone(),
            clock.clone(),
        );
        let (attention, accounts) = (Arc::new(attention), Arc::new(accounts.with_key_days(ports.key_days)));
        let notifications = NotificationPorts {
            store: store.clone(),
            set: notification_set,
            attention: attention.clone(),
            accounts: accounts.clone(),
            mint: keys.clone(),
            urls,
            has_email: ports.has_email,
            public_url: ports.public_url.clone(),
            web_push_key: ports.web_push_key,
            clock: clock.clone(),
            ids: ids.clone(),
        };
        Self {
            callers,
            sent,
            accounts,
            administration: Arc::new(administration),
            tokens: tokens.clone(),
            chats: Arc::new(chats),
            messages,
            reminders: Arc::new(reminders),
            attention,
            notifications: Arc::new(NotificationService::new(notifications)),
            search: Arc::new(SearchService::new(store.clone(), to_index, clock.clone())),
            legal_holds: Arc::new(LegalHoldService::new(store.clone(), clock.clone())),
            transcripts: Arc::new(TranscriptService::new(
                store.clone(),
                store.clone(),
                store.clone(),
                clock.clone(),
            )),
            boards: Arc::new(boards),
            bulk_deletions: Arc::new(bulk_deletions),
            files: Arc::new(files),
            budgets: Arc::new(BudgetService::new(store.clone(), watch, clock.clone())),
            deliveries,
            webhooks: Arc::new(WebhookService::new(webhooks)),
            pushes: Arc::new(PushService::new(pushes)),
            activity,
            control: Arc::new(control),
            peers: Arc::new(PeerService::new(store.clone(), presence)),
            memories: Arc::new(MemoryService::new(store.clone(), store.clone(), clock.clone(), ids.clone())),
            audit: Arc::new(AuditService::new(store.clone())),
            plans: Arc::new(PlanService::new(store.clone(), clock.clone())),
            organizations: organizations.clone(),
            contacts,
            work,
            usage: Arc::new(UsageService::new(store.clone(), ports.prices, clock.clone())),
            logins: Arc::new(LoginService::new(LoginPorts {
                logins: store.clone(),
                users: store.clone(),
                audit: store,
                tokens,
                hasher: ports.hasher,
                events,
                clock,
                ids,
                mint: keys,
                registration: ports.registration,
                federation: ports.federation,
                passkeys: ports.passkeys,
                organizations: organizations.clone(),
                plan,
                public_url: ports.public_url,
            })),
        }
    }
}
