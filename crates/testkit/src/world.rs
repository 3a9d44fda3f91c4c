//! Every service on a store in memory, and short ways to the things that tests begin with.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use adapters_objects::MemoryObjects;
use adapters_sqlite::{Location, SqliteStore};
use domain::account::{
    AccountRepository, AdministrationRepository, AgentDescription, AgentMarks, AgentName, CreateUser,
    CreateUserError, InitialOrganization, IssueToken, KeyRepository, MAX_TOKEN_LIFETIME, RegisterAgent,
    UserHandle, parse_email, parse_person_name,
};
use domain::archive::ArchiveRepository;
use domain::audit::AuditRepository;
use domain::board::DEFAULT_MAX_TASKS;
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::change::ChangeRepository;
use domain::chat::{AddParticipantCommand, ChatRepository, CreateChat, Named, Role};
use domain::contact::{ContactRepository, ContactRequest, Handle, RequestLifetime, SendRequest};
use domain::delivery::{ClaimLease, Claims, DeliveryRepository};
use domain::file::FileLimits;
use domain::id::{AccountId, AgentId, ChatId, MessageId, ParticipantId, UserId};
use domain::idempotency::IdempotencyRepository;
use domain::login::{Federation, LoginRepository, Registration};
use domain::memory::{MemoryContent, MemoryMetadata, MemoryRepository, MemoryThought, StoreMemory};
use domain::message::{
    BeginTraces, MAX_TREE_MESSAGES, MaxHops, MaxPairMessages, MentionKind, MessageContent, MessageKind,
    MessageRepository, NewMessage, RequestedMention, SendMessage, SentMessage,
};
use domain::organization::{OrganizationRepository, OrganizationRole};
use domain::peer::PeerRepository;
use domain::plan::{OrganizationName, Plan, PlanName, PlanRepository};
use domain::ports::{Clock, EventPublisher};
use domain::secret::SecretRepository;
use domain::services::{Ports, Repositories, Services};
use domain::status::StatusRepository;
use domain::time::Timestamp;
use domain::usage::Prices;
use domain::work::WorkThresholds;
use uuid::Uuid;

use crate::devices::FakeCeremonies;
use crate::fakes::{
    FixedClock, FixedHasher, FixedMint, FixedPresence, FixedWebhookMint, PlainTokens, RecordingPublisher,
    SequentialIds,
};

/// The time of a new world's clock: 2026-07-01, 12:00 UTC, in microseconds.
pub const NOON: i64 = 1_782_907_200_000_000;

/// Every service, wired on a store in memory, with open registration. The cache of callers is not used until a
/// test confirms that the change log is followed.
pub struct World {
    /// The clock, which moves only when a test advances it.
    pub clock: Arc<FixedClock>,
    /// The published events, unless another publisher was given.
    pub publisher: Arc<RecordingPublisher>,
    /// The users and agents that are online.
    pub presence: Arc<FixedPresence>,
    /// The store under it all.
    pub stores: Stores,
    /// The ports of the services.
    pub ports: Ports,
    /// The hasher of passwords.
    pub hasher: Arc<FixedHasher>,
    services: Services,
}

impl Deref for World {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

/// The ports of one store.
#[derive(Clone)]
pub struct Stores {
    /// All of them.
    pub all: Arc<dyn Repositories>,
    /// Users and agents.
    pub accounts: Arc<dyn AccountRepository>,
    /// The same for the operator.
    pub administration: Arc<dyn AdministrationRepository>,
    /// Their keys.
    pub keys: Arc<dyn KeyRepository>,
    /// The audit log.
    pub audit: Arc<dyn AuditRepository>,
    /// Passwords and sessions.
    pub logins: Arc<dyn LoginRepository>,
    /// The change log.
    pub changes: Arc<dyn ChangeRepository>,
    /// Rooms and participants.
    pub chats: Arc<dyn ChatRepository>,
    /// Messages and events.
    pub messages: Arc<dyn MessageRepository>,
    /// Deliveries and attempts.
    pub deliveries: Arc<dyn DeliveryRepository>,
    /// Peers and the directory.
    pub peers: Arc<dyn PeerRepository>,
    /// Requests that count once.
    pub idempotency: Arc<dyn IdempotencyRepository>,
    /// Contacts and contact requests.
    pub contacts: Arc<dyn ContactRepository>,
    /// The memories of agents.
    pub memories: Arc<dyn MemoryRepository>,
    /// Plans and organizations.
    pub plans: Arc<dyn PlanRepository>,
    /// Members, roles and invitations.
    pub organizations: Arc<dyn OrganizationRepository>,
    /// The secrets that servers on the same store share.
    pub secrets: Arc<dyn SecretRepository>,
    /// The summary of the store's content.
    pub status: Arc<dyn StatusRepository>,
    /// All of it as one thing.
    pub archive: Arc<dyn ArchiveRepository>,
    /// Closes the store, so that it answers as unavailable from then on.
    pub close: Arc<dyn Fn() + Send + Sync>,
}

impl Stores {
    /// All are the same object; `close` closes it.
    pub fn of<S: Repositories + 'static>(store: &Arc<S>, close: impl Fn(&S) + Send + Sync + 'static) -> Self {
        let closing = store.clone();
        Self {
            all: store.clone(),
            accounts: store.clone(),
            administration: store.clone(),
            keys: store.clone(),
            audit: store.clone(),
            changes: store.clone(),
            logins: store.clone(),
            chats: store.clone(),
            messages: store.clone(),
            deliveries: store.clone(),
            peers: store.clone(),
            memories: store.clone(),
            plans: store.clone(),
            organizations: store.clone(),
            secrets: store.clone(),
            status: store.clone(),
            idempotency: store.clone(),
            contacts: store.clone(),
            archive: store.clone(),
            close: Arc::new(move || close(&closing)),
        }
    }

    /// A SQLite store at this place.
    pub fn sqlite(location: &Location) -> Self {
        Self::of(&Arc::new(SqliteStore::open(location).unwrap()), SqliteStore::close)
    }

    /// A SQLite store in this file.
    pub fn in_file(file: &Path) -> Self {
        Self::sqlite(&Location::File(file.to_owned()))
    }

    /// A new SQLite store in memory.
    pub fn in_memory() -> Self {
        Self::sqlite(&Location::Memory)
    }
}

/// A user of a world.
#[derive(Clone, Debug)]
pub struct TestUser {
    /// Its id.
    pub id: UserId,
    /// As a caller.
    pub caller: UserCaller,
    /// Its API key.
    pub key: String,
    /// Its handle.
    pub handle: String,
}

/// An agent of a world.
#[derive(Clone, Debug)]
pub struct TestAgent {
    /// Its id.
    pub id: AgentId,
    /// As a caller.
    pub caller: AgentCaller,
    /// Its API key.
    pub key: String,
    /// Its handle.
    pub handle: String,
}

impl World {
    /// An empty world whose events are remembered.
    pub fn new() -> Self {
        Self::on(Stores::in_memory())
    }

    /// A world on these stores whose events are remembered.
    pub fn on(stores: Stores) -> Self {
        let publisher = Arc::new(RecordingPublisher::default());
        let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
        Self::build(stores, clock, publisher.clone(), publisher)
    }

    /// A world on the store in this file, whose clock shows so many microseconds since 1970.
    pub fn in_file(file: &Path, micros: i64) -> Self {
        let world = Self::on(Stores::in_file(file));
        world.clock.set(Timestamp::from_micros(micros));
        world
    }

    /// An empty world under this clock that publishes to `events`.
    pub fn with_publisher(clock: Arc<FixedClock>, events: Arc<dyn EventPublisher>) -> Self {
        Self::build(Stores::in_memory(), clock, events, Arc::new(RecordingPublisher::default()))
    }

    fn build(
        stores: Stores,
        clock: Arc<FixedClock>,
        events: Arc<dyn EventPublisher>,
        publisher: Arc<RecordingPublisher>,
    ) -> Self {
        let presence = Arc::<FixedPresence>::default();
        let hasher = Arc::<FixedHasher>::default();
        let ports = Ports {
            store: stores.all.clone(),
            callers: Arc::default(),
            events,
            presence: presence.clone(),
            clock: clock.clone(),
            ids: Arc::new(SequentialIds::default()),
            keys: Arc::new(FixedMint::default()),
            tokens: Arc::new(PlainTokens),
            hasher: hasher.clone(),
            registration: Registration::Open,
            federation: Federation::default(),
            passkeys: Some(Arc::new(FakeCeremonies::default())),
            plan: PlanName::enterprise(),
            key_days: 0,
            requests: RequestLifetime::default(),
            work: WorkThresholds::default(),
            claim_lease: ClaimLease::default(),
            prices: Prices::default(),
            max_hops: MaxHops::default(),
            max_tree_messages: MAX_TREE_MESSAGES,
            max_pair_messages: MaxPairMessages::default(),
            begin_traces: BeginTraces::default(),
            max_tasks: DEFAULT_MAX_TASKS,
            objects: Arc::new(MemoryObjects::default()),
            files: FileLimits::DEFAULT,
            webhooks: Some(Arc::new(FixedWebhookMint::default())),
            has_email: true,
            public_url: Some("https://chat.example".to_owned()),
            web_push_key: Some("B".repeat(87)),
        };
        let services = Services::new(ports.clone());
        Self { clock, publisher, presence, stores, ports, hasher, services }
    }

    /// A new user with this handle, in an organization of its own.
    pub async fn user(&self, handle: &str) -> TestUser {
        self.user_of(handle, InitialOrganization::Own, PlanName::enterprise()).await
    }

    /// A new user with this handle in the organization of this name.
    pub async fn colleague(&self, handle: &str, organization: &str) -> TestUser {
        let initial_organization = InitialOrganization::Named(
            OrganizationName::new(organization).unwrap(),
            OrganizationRole::Member,
        );
        self.user_of(handle, initial_organization, PlanName::enterprise()).await
    }

    /// A new user in an organization of its own that has this plan.
    pub async fn user_with_plan(&self, handle: &str, plan: Plan) -> TestUser {
        let name = plan.name.clone();
        self.plans.configure(vec![plan]).await.unwrap();
        self.user_of(handle, InitialOrganization::Own, name).await
    }

    /// A new user with this handle who comes by the invitation of this token.
    pub async fn guest(&self, handle: &str, token: &str) -> Result<TestUser, CreateUserError> {
        let initial_organization = InitialOrganization::Invited(self.ports.keys.digest(token));
        self.try_user(handle, initial_organization, PlanName::enterprise()).await
    }

    async fn user_of(
        &self,
        handle: &str,
        initial_organization: InitialOrganization,
        plan: PlanName,
    ) -> TestUser {
        self.try_user(handle, initial_organization, plan).await.unwrap()
    }

    async fn try_user(
        &self,
        handle: &str,
        initial_organization: InitialOrganization,
        plan: PlanName,
    ) -> Result<TestUser, CreateUserError> {
        let command = CreateUser {
            handle: UserHandle::new(handle).unwrap(),
            email: parse_email(&format!("{handle}@example.org")).unwrap(),
            name: parse_person_name(&format!("{handle} Example")).unwrap(),
            initial_organization,
            plan,
        };
        let created = self.accounts.create_user(command).await?;
        Ok(TestUser {
            id: created.user.id,
            caller: UserCaller { user: created.user.id, organization: created.user.organization },
            key: created.key.reveal().to_owned(),
            handle: handle.to_owned(),
        })
    }

    /// A token of `user` that is good for fifteen minutes.
    pub async fn token(&self, user: &TestUser) -> String {
        let command =
            IssueToken { user: UserHandle::new(&user.handle).unwrap(), lifetime: MAX_TOKEN_LIFETIME };
        self.tokens.issue(command).await.unwrap().token
    }

    /// A new agent of `owner` with this name.
    pub async fn agent(&self, owner: &TestUser, name: &str) -> TestAgent {
        let command = RegisterAgent {
            name: AgentName::new(name).unwrap(),
            description: AgentDescription::new(&format!("{name} of {}", owner.handle)).unwrap(),
        };
        let registered = self.accounts.register_agent(owner.caller, command).await.unwrap();
        TestAgent {
            id: registered.agent.id,
            caller: AgentCaller {
                agent: registered.agent.id,
                owner: owner.id,
                organization: owner.caller.organization,
                claims: Claims::default(),
            },
            key: registered.key.reveal().to_owned(),
            handle: registered.agent.handle.as_str().to_owned(),
        }
    }

    /// Makes an agent global.
    pub async fn make_global(&self, agent: &TestAgent) {
        let marks = AgentMarks { is_global: Some(true), ..AgentMarks::default() };
        self.accounts.mark_agent(&agent.handle, marks).await.unwrap().unwrap();
    }

    /// A new room of `creator` with these peers in it as members.
    pub async fn chat(&self, creator: impl Into<Caller>, members: &[AccountId]) -> ChatId {
        let creator = creator.into();
        let chat = self.chats.create(creator, CreateChat::default()).await.unwrap().id;
        for member in members {
            self.add(creator, chat, *member, Role::Member).await;
        }
        chat
    }

    /// Brings a peer of `by` into a room.
    pub async fn add(&self, by: impl Into<Caller>, chat: ChatId, candidate: AccountId, role: Role) {
        let command = AddParticipantCommand { candidate, role };
        self.chats.add_participant(by, chat, command).await.unwrap();
    }

    /// Sends a contact request to a handle.
    pub async fn ask(&self, by: impl Into<Caller>, handle: &str) -> ContactRequest {
        let command = SendRequest { to: Handle::new(handle).unwrap(), message: None };
        self.contacts.send(by, command).await.unwrap()
    }

    /// Makes the two contacts: each asks the other.
    pub async fn connect(&self, one: (impl Into<Caller>, &str), other: (impl Into<Caller>, &str)) {
        self.ask(one.0, other.1).await;
        self.ask(other.0, one.1).await;
    }

    /// Stores `number` memories of an agent about a subject, each nearly 200 kB as JSON.
    pub async fn remember_heavy_things(&self, agent: &TestAgent, subject: AccountId, number: usize) {
        let large = "\u{1}".repeat(MemoryContent::MAX_CHARS);
        for _ in 0..number {
            let command = StoreMemory {
                content: MemoryContent::new(large.clone()).unwrap(),
                system: None,
                kind: None,
                segment: None,
                scope: None,
                subject: Some(subject),
                thought: MemoryThought::new(large.clone()).unwrap(),
                metadata: MemoryMetadata::default(),
            };
            self.memories.store(agent.caller, command).await.unwrap();
        }
    }

    /// Sends a text that mentions `mentions`.
    pub async fn send(
        &self,
        sender: impl Into<Caller>,
        chat: ChatId,
        text: &str,
        mentions: &[ParticipantId],
    ) -> SentMessage {
        self.messages.send(sender, chat, self::text(text, mentions)).await.unwrap()
    }

    /// A new text as the store gets it, with an id that depends on the content only and is none of the world's own.
    pub fn new_text(&self, chat: ChatId, sender: ParticipantId, content: &str) -> NewMessage {
        let id = content.bytes().fold(7_u128, |id, byte| id.wrapping_mul(31).wrapping_add(byte.into()));
        let handle = if sender.agent().is_some() { "ann/bot" } else { "ann" }.to_owned();
        let sender = Named { id: sender, handle, name: "Sender".to_owned(), is_external: None };
        let (id, content) = (MessageId::new(Uuid::from_u128(id)), content.to_owned());
        let text = NewMessage::new(id, chat, sender, MessageKind::Text, content, self.clock.now());
        NewMessage { max_hops: MaxHops::default(), ..text }
    }
}

/// A text that mentions `mentions`.
pub(crate) fn text(text: &str, mentions: &[ParticipantId]) -> SendMessage {
    let mention = |id: &ParticipantId| RequestedMention {
        id: Some(id.to_string()),
        handle: None,
        kind: Some(MentionKind::Mention),
    };
    SendMessage {
        content: MessageContent::new(text.to_owned()).unwrap(),
        mentions: mentions.iter().map(mention).collect(),
        respond_by: None,
        in_reply_to: None,
        attachments: Vec::new(),
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}
