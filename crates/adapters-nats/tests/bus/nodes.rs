//! Nodes, the interests of their sockets, and the events that reach them.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use adapters_nats::{ConnectFault, NatsBus, NatsServer, Settings};
use domain::activity::AgentActivity;
use domain::bus::{EventBus, Interest, RunningBus, SharedEvents};
use domain::chat::Named;
use domain::event::DomainEvent;
use domain::id::{AgentId, ChatId, MessageId, NodeId, ParticipantId, Sequence, UserId};
use domain::message::{Mention, MentionKind, Message, MessageKind, NewMessage};
use domain::ports::{Clock, EventPublisher};
use domain::secret::Secret;
use domain::time::Timestamp;
use tokio::task::JoinSet;
use uuid::Uuid;

pub(crate) const SECRET: Secret = Secret([7; 32]);

/// The machine's clock.
pub(crate) struct Now;

impl Clock for Now {
    #[expect(clippy::disallowed_methods, reason = "nodes of a test are on one machine")]
    fn now(&self) -> Timestamp {
        let micros = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
        Timestamp::from_micros(i64::try_from(micros).unwrap())
    }

    fn steady(&self) -> Timestamp {
        self.now()
    }
}

/// What was told to a node's sockets.
#[derive(Default)]
pub(crate) struct Published(Mutex<Vec<DomainEvent>>);

impl EventPublisher for Published {
    fn publish(&self, event: DomainEvent) {
        self.0.lock().unwrap().push(event);
    }

    fn has_human_subscribers(&self, _: ChatId) -> bool {
        false
    }
}

impl Published {
    /// The contents of the messages, in the order in which they came.
    pub(crate) fn contents(&self) -> Vec<String> {
        let published = self.0.lock().unwrap();
        let content = |event: &DomainEvent| match event {
            DomainEvent::MessageCreated { message, .. } | DomainEvent::EventCreated { message } => {
                Some(message.content.clone())
            }
            _ => None,
        };
        published.iter().filter_map(content).collect()
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|event| format!("{event:?}")).collect()
    }
}

/// A node.
pub(crate) struct Node {
    pub(crate) id: Uuid,
    pub(crate) bus: Arc<NatsBus>,
    /// What came from others.
    pub(crate) published: Arc<Published>,
    /// Where its own events go.
    pub(crate) events: SharedEvents,
    pub(crate) tasks: JoinSet<()>,
}

impl Node {
    pub(crate) async fn at(url: &str) -> Self {
        Self::with(&settings(url), SECRET).await.unwrap()
    }

    pub(crate) async fn with(settings: &Settings, secret: Secret) -> Result<Self, ConnectFault> {
        let id = random();
        let bus = NatsBus::connect(settings, secret, NodeId::new(id), Arc::new(Now)).await?;
        let published = Arc::<Published>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(bus.clone().run(published.clone()));
        let events = SharedEvents::new(Arc::<Published>::default(), bus.clone());
        Ok(Self { id, bus, published, events, tasks })
    }

    /// Begins to listen, and waits until others know it.
    pub(crate) async fn listen(&self, interests: &[Interest]) {
        for interest in interests {
            self.bus.begin(*interest);
        }
        self.bus.settled().await;
    }

    /// Waits until its messages are these.
    pub(crate) async fn hears(&self, contents: &[&str]) {
        until(|| self.published.contents() == contents, || format!("{:?}", self.published.contents())).await;
    }
}

pub(crate) fn settings(url: &str) -> Settings {
    let servers = vec![NatsServer::parse(url).unwrap()];
    Settings { servers, credentials: None, ca: None, prefix: "test.chat".to_owned() }
}

/// Waits until nobody believes any more that there may be nodes which were not heard of.
pub(crate) async fn acquainted(nodes: &[&Node]) {
    let nowhere = Interest::Room(room(0xdead));
    let is_so = || nodes.iter().all(|node| node.bus.is_connected() && !node.bus.is_wanted(nowhere));
    until(is_so, || "the nodes do not know each other".to_owned()).await;
}

pub(crate) async fn until(is_so: impl Fn() -> bool, otherwise: impl Fn() -> String) {
    testkit::until_or(otherwise, async || is_so()).await;
}

pub(crate) fn room(number: u128) -> ChatId {
    ChatId::new(Uuid::from_u128(number))
}

pub(crate) fn agent(number: u128) -> AgentId {
    AgentId::new(Uuid::from_u128(number))
}

/// A text in a room, for an agent.
pub(crate) fn text(room: ChatId, content: &str) -> DomainEvent {
    DomainEvent::MessageCreated { message: message(room, content), recipients: vec![agent(1)] }
}

pub(crate) fn message(room: ChatId, content: &str) -> Message {
    let at = Timestamp::from_micros(1_700_000_000_000_000);
    let id = ParticipantId::Agent(agent(1));
    let (handle, name) = ("ann/bot".to_owned(), "Bot".to_owned());
    let mentions = vec![Mention { id, handle, name, kind: MentionKind::Mention }];
    let id = ParticipantId::User(UserId::new(Uuid::from_u128(9)));
    let ann = Named { id, handle: "ann".to_owned(), name: "Ann".to_owned(), is_external: None };
    let id = MessageId::new(random());
    let text = NewMessage::new(id, room, ann, MessageKind::Text, content.to_owned(), at);
    Message { mentions, ..text.into_message(Sequence::new(1), at) }
}

pub(crate) fn activity(room: ChatId) -> DomainEvent {
    let activity = AgentActivity { agent: agent(1), execution: None, working: true, doing: None };
    DomainEvent::ActivityChanged { chat_id: room, activity }
}

/// An id that nobody else has.
pub(crate) fn random() -> Uuid {
    use std::hash::{BuildHasher, RandomState};
    let half = || u128::from(RandomState::new().hash_one(1));
    Uuid::from_u128(half() << 64 | half())
}
