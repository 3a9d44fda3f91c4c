//! Strangers: what follows from messages of other organizations.

use domain::account::AgentChanges;
use domain::audit::AuditAction;
use domain::budget::{Amount, Budget};
use domain::chat::{AddParticipantCommand, AddParticipantError, Role};
use domain::contact::{
    AnswerRequestError, Handle, RequestAction, SendRequest, SendRequestError, WhichRequest,
};
use domain::delivery::{DeliveryStatus, DeliveryStep, HeldBy};
use domain::event::DomainEvent;
use domain::foreign::{ForeignPolicy, Origin};
use domain::id::{AgentId, ChatId, ContactRequestId, MessageId, ParticipantId};
use domain::memory::{
    ChangeMemoryError, MemoryContent, MemoryMetadata, MemoryScope, MemoryStatus, MemoryStep, MemoryThought,
    StoreMemory, StoreMemoryError,
};
use domain::message::{Cause, HistoryFilter, Message, MessageKind, RecipientState, SendMessage, SentMessage};
use domain::organization::{Authority, OrganizationChanges};
use domain::work::{ChangeWorkError, ChangeWorkRefused, Resend, WorkChange, WorkScope};
use uuid::Uuid;

use super::audit::log_of;
use super::causes::a_thought;
use super::control::{next, take};
use super::messages::{ann_and_bot, first};
use crate::world::text;
use crate::{TestAgent, TestUser, World};

/// Ann's room with her agent Bot, Ben of another organization, and Ben's agent Guest.
struct House {
    ann: TestUser,
    bot: TestAgent,
    ben: TestUser,
    guest: TestAgent,
    chat: ChatId,
}

impl House {
    async fn of(world: &World) -> Self {
        let (ann, bot, chat) = ann_and_bot(world).await;
        let ben = world.user("ben").await;
        let guest = world.agent(&ben, "Guest").await;
        world.make_global(&guest).await;
        world.make_global(&bot).await;
        world.connect((ann.caller, "ann"), (ben.caller, "ben")).await;
        for id in [ben.id.into(), guest.id.into()] {
            world.add(ann.caller, chat, id, Role::Member).await;
        }
        Self { ann, bot, ben, guest, chat }
    }

    async fn stored(&self, world: &World, message: MessageId) -> Message {
        let read =
            world.messages.history(self.ann.caller, self.chat, HistoryFilter::default(), first(100)).await;
        read.unwrap().rows.into_iter().find(|row| row.id == message).unwrap()
    }

    async fn asks(&self, world: &World, human: &TestUser) -> MessageId {
        world.send(human.caller, self.chat, "go", &[agent(&self.bot)]).await.id
    }

    /// The origin of what Bot writes now: a text and an event, which agree, as do store and announcement.
    async fn origin(&self, world: &World) -> Origin {
        world.publisher.take();
        let sent =
            world.send(self.bot.caller, self.chat, "well", &[ParticipantId::User(self.ann.id)]).await.id;
        let event = world.messages.post_event(self.bot.caller, self.chat, a_thought()).await.unwrap();
        let origin = self.stored(world, sent).await.origin;
        assert_eq!((event.origin, self.stored(world, event.id).await.origin), (origin, origin));
        let announced = world.publisher.take().into_iter().filter_map(|event| match event {
            DomainEvent::MessageCreated { message, .. } | DomainEvent::EventCreated { message } => {
                Some(message.origin)
            }
            _ => None,
        });
        assert_eq!(announced.collect::<Vec<_>>(), [origin, origin]);
        origin
    }
}

fn agent(agent: &TestAgent) -> ParticipantId {
    ParticipantId::Agent(agent.id)
}

async fn set(world: &World, admin: &TestUser, policy: ForeignPolicy) {
    let changes = OrganizationChanges { foreign: Some(policy), ..OrganizationChanges::default() };
    let stored = world.organizations.rename(Authority::Admin(admin.caller), changes).await.unwrap();
    assert_eq!(stored.foreign, policy);
    let shown = world.organizations.show(admin.caller).await.unwrap().unwrap();
    assert_eq!(shown.foreign, policy);
}

/// Whoever sends it: what counts is who wrote the first message of the tree.
pub async fn what_others_began_is_labeled(world: World) {
    let house = House::of(&world).await;
    let House { ann, bot, ben, guest, chat } = &house;
    let origin_of = async |message| house.stored(&world, message).await.origin;
    assert_eq!(house.origin(&world).await, Origin::Own, "nothing is open");

    let own = house.asks(&world, ann).await;
    let foreign = house.asks(&world, ben).await;
    assert_eq!((origin_of(own).await, origin_of(foreign).await), (Origin::Own, Origin::Labeled));
    let offered = world.deliveries.next(bot.caller, *chat).await.unwrap().unwrap();
    assert_eq!((offered.id, offered.origin), (own, Origin::Own));
    take(&world, bot, *chat, own, DeliveryStep::Begin).await;
    assert_eq!(house.origin(&world).await, Origin::Own);
    take(&world, bot, *chat, foreign, DeliveryStep::Begin).await;
    assert_eq!(house.origin(&world).await, Origin::Labeled, "it is not known which");
    take(&world, bot, *chat, own, DeliveryStep::Succeed).await;
    assert_eq!(house.origin(&world).await, Origin::Labeled);
    let naming =
        |cause| SendMessage { in_reply_to: Some(cause), ..text("so", &[ParticipantId::User(ann.id)]) };
    let named = world.messages.send(bot.caller, *chat, naming(own)).await.unwrap();
    assert_eq!(origin_of(named.id).await, Origin::Labeled, "the name of another message hides nothing");
    take(&world, bot, *chat, foreign, DeliveryStep::Succeed).await;
    assert_eq!(house.origin(&world).await, Origin::Own);
    for (cause, origin) in [(own, Origin::Own), (foreign, Origin::Labeled)] {
        let named = world.messages.send(bot.caller, *chat, naming(cause)).await.unwrap();
        assert_eq!(origin_of(named.id).await, origin);
    }

    let said = world.send(guest.caller, *chat, "me too", &[agent(bot)]).await.id;
    assert_eq!(origin_of(said).await, Origin::Labeled);
    let asked = world.send(ann.caller, *chat, "and you?", &[agent(guest)]).await.id;
    take(&world, guest, *chat, asked, DeliveryStep::Begin).await;
    let said = world.send(guest.caller, *chat, "yes", &[agent(bot)]).await.id;
    assert_eq!(origin_of(said).await, Origin::Own, "Ann began it");

    let theirs = world.chat(ben.caller, &[bot.id.into()]).await;
    let at_home = world.send(ben.caller, theirs, "here", &[agent(bot)]).await.id;
    let offered = world.deliveries.next(bot.caller, theirs).await.unwrap().unwrap();
    assert_eq!((offered.id, offered.origin), (at_home, Origin::Own), "it is Ben's room");
}

/// The tree goes on to be foreign, so a later policy labels what follows.
pub async fn an_organization_may_allow_strangers(world: World) {
    let house = House::of(&world).await;
    let House { ann, bot, ben, chat, .. } = &house;
    // Often enough that a store could have cached it.
    for _ in 0..3 {
        let labeled = house.asks(&world, ben).await;
        assert_eq!(house.stored(&world, labeled).await.origin, Origin::Labeled);
    }
    set(&world, ann, ForeignPolicy::Allow).await;
    let allowed = house.asks(&world, ben).await;
    assert_eq!(house.stored(&world, allowed).await.origin, Origin::Allowed);
    take(&world, bot, *chat, allowed, DeliveryStep::Begin).await;
    assert_eq!(house.origin(&world).await, Origin::Allowed);
    set(&world, ann, ForeignPolicy::Label).await;
    assert_eq!(house.origin(&world).await, Origin::Labeled);
    let log = log_of(&world, None, None).await;
    let details = log.iter().filter(|entry| entry.action == AuditAction::OrganizationForeignSet);
    let details = details.map(|entry| entry.detail.as_deref()).collect::<Vec<_>>();
    assert_eq!(details.len(), 2, "{details:?}");
    assert!(details.contains(&Some("allow")) && details.contains(&Some("label")), "{details:?}");
}

fn memory(scope: MemoryScope) -> StoreMemory {
    StoreMemory {
        content: MemoryContent::new("a fact".to_owned()).unwrap(),
        system: None,
        kind: None,
        segment: None,
        scope: Some(scope),
        subject: None,
        thought: MemoryThought::default(),
        metadata: MemoryMetadata::default(),
    }
}

/// Returns whether what only the own organization may ask for is refused. Nothing of it succeeds, except memories.
async fn is_refused(world: &World, bot: &TestAgent, chat: ChatId) -> bool {
    let stored = world.memories.store(bot.caller, memory(MemoryScope::Organization)).await;
    assert!(world.memories.store(bot.caller, memory(MemoryScope::Agent)).await.is_ok(), "its own");
    let request = SendRequest { to: Handle::new("nobody-at-all").unwrap(), message: None };
    let nobody = AgentId::new(Uuid::from_u128(5));
    let candidate = AddParticipantCommand { candidate: nobody.into(), role: Role::Member };
    let unknown = WhichRequest::Id(ContactRequestId::new(Uuid::from_u128(6)));
    let answer = async |action| world.contacts.answer(bot.caller, unknown.clone(), action).await;
    let rejected = answer(RequestAction::Reject).await;
    assert!(matches!(rejected, Err(AnswerRequestError::NotFound)), "{rejected:?}");
    let all = [
        matches!(stored, Err(StoreMemoryError::Foreign(_))),
        matches!(world.contacts.send(bot.caller, request).await, Err(SendRequestError::Foreign(_))),
        matches!(answer(RequestAction::Approve).await, Err(AnswerRequestError::Foreign(_))),
        matches!(
            world.chats.add_participant(bot.caller, chat, candidate).await,
            Err(AddParticipantError::Foreign(_))
        ),
    ];
    assert_eq!(all, [all[0]; 4]);
    all[0]
}

/// It may do so before and after, and if its organization or its owner allows it.
pub async fn who_works_for_strangers_has_fewer_rights(world: World) {
    let house = House::of(&world).await;
    let House { ann, bot, ben, guest, chat } = &house;
    let refused = async || is_refused(&world, bot, *chat).await;
    let (own, foreign) = (house.asks(&world, ann).await, house.asks(&world, ben).await);
    assert!(!refused().await, "nothing is open");
    take(&world, bot, *chat, own, DeliveryStep::Begin).await;
    assert!(!refused().await, "its owner asks");
    take(&world, bot, *chat, foreign, DeliveryStep::Begin).await;
    assert!(refused().await, "one of two is enough");
    take(&world, bot, *chat, own, DeliveryStep::Succeed).await;
    assert!(refused().await);

    set(&world, ann, ForeignPolicy::Allow).await;
    assert!(!refused().await);
    set(&world, ann, ForeignPolicy::Hold).await;
    assert!(refused().await);
    set(&world, ann, ForeignPolicy::Label).await;
    let access = async |allowed| {
        let changes = AgentChanges { foreign_access: Some(allowed), ..AgentChanges::default() };
        let agent = world.accounts.update_agent(ann.caller, bot.id, changes).await.unwrap();
        assert_eq!(agent.foreign_access, allowed);
    };
    access(true).await;
    assert!(!refused().await);
    access(false).await;
    assert!(refused().await);
    take(&world, bot, *chat, foreign, DeliveryStep::Succeed).await;
    assert!(!refused().await);

    // What an agent of the same owner passes on is still Ben's.
    let scout = world.agent(ann, "Scout").await;
    world.add(ann.caller, *chat, scout.id.into(), Role::Member).await;
    let again = house.asks(&world, ben).await;
    take(&world, bot, *chat, again, DeliveryStep::Begin).await;
    let passed = world.send(bot.caller, *chat, "please", &[agent(&scout)]).await.id;
    take(&world, bot, *chat, again, DeliveryStep::Succeed).await;
    assert!(!is_refused(&world, &scout, *chat).await);
    take(&world, &scout, *chat, passed, DeliveryStep::Begin).await;
    assert!(is_refused(&world, &scout, *chat).await);

    // Work in a room of another organization is no cause elsewhere, but it is for others.
    let theirs = world.chat(ben.caller, &[bot.id.into(), guest.id.into()]).await;
    let there = world.send(guest.caller, theirs, "here", &[agent(bot)]).await.id;
    take(&world, bot, theirs, there, DeliveryStep::Begin).await;
    assert!(refused().await);
    assert_eq!(house.origin(&world).await, Origin::Own, "nothing shows it");
    world.chats.remove_participant(ben.caller, theirs, agent(bot)).await.unwrap();
    assert!(!refused().await, "it has left");
}

/// The status for each agent that the answer names.
fn statuses(sent: &SentMessage) -> Vec<DeliveryStatus> {
    let status = |state| match state {
        Some(RecipientState::Agent { status, .. }) => Some(status),
        _ => None,
    };
    sent.recipients.iter().filter_map(|recipient| status(recipient.state)).collect()
}

/// Only for the agents of the organization with the policy, and each text by itself.
pub async fn what_strangers_ask_is_held(world: World) {
    const NEW: DeliveryStatus = DeliveryStatus::New;
    const HELD: DeliveryStatus = DeliveryStatus::Held;
    let house = House::of(&world).await;
    let House { ann, bot, ben, guest, chat } = &house;
    let scout = world.agent(ann, "Scout").await;
    world.add(ann.caller, *chat, scout.id.into(), Role::Member).await;
    let both = [agent(bot), agent(guest)];
    // Often enough that a store could have cached it.
    for _ in 0..3 {
        assert_eq!(statuses(&world.send(ben.caller, *chat, "go", &both).await), [NEW, NEW]);
    }
    while let Some(message) = next(&world, bot, *chat).await {
        take(&world, bot, *chat, message, DeliveryStep::Begin).await;
        take(&world, bot, *chat, message, DeliveryStep::Succeed).await;
    }
    set(&world, ann, ForeignPolicy::Hold).await;
    world.publisher.take();
    let sent = world.send(ben.caller, *chat, "go", &both).await;
    assert_eq!(statuses(&sent), [HELD, NEW]);
    let recipients = world.publisher.take().into_iter().find_map(|event| match event {
        DomainEvent::MessageCreated { recipients, .. } => Some(recipients),
        _ => None,
    });
    assert_eq!(recipients, Some(vec![guest.id]), "it is pushed to the other");
    let stored = house.stored(&world, sent.id).await;
    let held_by = |of: &TestAgent| {
        let delivery = stored.deliveries.iter().find(|delivery| delivery.agent() == of.id).unwrap();
        delivery.held_by()
    };
    assert_eq!((held_by(bot), held_by(guest), stored.origin), (Some(HeldBy::Foreign), None, Origin::Labeled));
    assert_eq!(next(&world, bot, *chat).await, None);
    let of_ann = world.send(ann.caller, *chat, "go", &both).await;
    assert_eq!(statuses(&of_ann), [NEW, NEW]);
    take(&world, bot, *chat, of_ann.id, DeliveryStep::Begin).await;
    let passed = world.send(bot.caller, *chat, "please", &[agent(&scout)]).await;
    assert_eq!(statuses(&passed), [NEW], "it follows from Ann's");
    take(&world, bot, *chat, of_ann.id, DeliveryStep::Succeed).await;

    // Once for each originator.
    let events = async || {
        world.messages.notice_holds().await.unwrap();
        let filter = HistoryFilter { oldest_first: true, ..HistoryFilter::default() };
        let page = world.messages.history(ann.caller, *chat, filter, first(100)).await.unwrap();
        page.rows.into_iter().filter(|row| row.kind == MessageKind::Attention).collect::<Vec<_>>()
    };
    assert_eq!(statuses(&world.send(ben.caller, *chat, "go on", &both).await), [HELD, NEW]);
    let told = events().await;
    assert_eq!(told.len(), 1, "{told:?}");
    let metadata = told[0].metadata.as_ref().unwrap();
    assert_eq!(
        (&metadata["held_by"], &metadata["message_id"]),
        (&"foreign".into(), &sent.id.to_string().into())
    );
    assert_eq!(metadata["agents"], serde_json::json!([bot.id.to_string()]));
    assert!(told[0].content.contains("@ben, @ann/bot"), "{}", told[0].content);
    assert_eq!(statuses(&world.send(guest.caller, *chat, "and I", &both[..1]).await), [HELD]);
    assert_eq!((events().await.len(), events().await.len()), (2, 2));

    // Only the side of the agent releases it.
    let change = async |scope, change| world.work.change(scope, sent.id, bot.id, change, None).await;
    for scope in [WorkScope::OwnedBy(ben.id), WorkScope::Of(Authority::Admin(ben.caller))] {
        let refused = change(scope, WorkChange::Retry).await;
        assert!(
            matches!(refused, Err(ChangeWorkError::Refused(ChangeWorkRefused::NotFound))),
            "{scope:?}: {refused:?}"
        );
    }
    let released = change(WorkScope::Of(Authority::Admin(ann.caller)), WorkChange::Retry).await.unwrap();
    assert_eq!(released.delivery.status(), NEW);
    assert_eq!(next(&world, bot, *chat).await, Some(sent.id));
    take(&world, bot, *chat, sent.id, DeliveryStep::Begin).await;
    let passed = world.send(bot.caller, *chat, "please", &[agent(&scout)]).await;
    assert_eq!(statuses(&passed), [HELD], "it follows from Ben's");
    assert_eq!(events().await.len(), 3, "after a release, they are told again");
    take(&world, bot, *chat, sent.id, DeliveryStep::Succeed).await;

    // A human of the organization takes the responsibility.
    let answer = SendMessage { in_reply_to: Some(sent.id), ..text("do it", &both[..1]) };
    assert_eq!(statuses(&world.messages.send(ann.caller, *chat, answer).await.unwrap()), [NEW]);
    let resend = WorkChange::Resend(Resend { to: None, reason: None });
    let scope = WorkScope::OwnedBy(ann.id);
    let replaced = world.work.change(scope, passed.id, scout.id, resend, None).await.unwrap();
    let new = house.stored(&world, replaced.delivery.replaced_by().unwrap()).await;
    assert_eq!((new.deliveries[0].held_by(), new.origin), (None, Origin::Labeled));
    set(&world, ann, ForeignPolicy::Label).await;
    assert_eq!(statuses(&world.send(ben.caller, *chat, "go", &both).await), [NEW, NEW]);
}

/// The policy is that of the agent's organization, also in the rooms of others.
pub async fn strangers_are_held_in_their_own_rooms(world: World) {
    let house = House::of(&world).await;
    let House { ann, bot, ben, .. } = &house;
    let theirs = world.chat(ben.caller, &[bot.id.into()]).await;
    set(&world, ann, ForeignPolicy::Hold).await;
    let events = async || {
        world.messages.notice_holds().await.unwrap();
        let read = world.messages.history(ben.caller, theirs, HistoryFilter::default(), first(100)).await;
        read.unwrap().rows.into_iter().filter(|row| row.kind == MessageKind::Attention).count()
    };
    for number in 1..=2 {
        let sent = world.send(ben.caller, theirs, "go", &[agent(bot)]).await;
        assert_eq!(statuses(&sent), [DeliveryStatus::Held]);
        assert_eq!((events().await, next(&world, bot, theirs).await), (number, None));
        let scope = WorkScope::OwnedBy(ann.id);
        let released = world.work.change(scope, sent.id, bot.id, WorkChange::Retry, None).await.unwrap();
        assert_eq!(released.delivery.status(), DeliveryStatus::New);
        take(&world, bot, theirs, sent.id, DeliveryStep::Begin).await;
        take(&world, bot, theirs, sent.id, DeliveryStep::Succeed).await;
    }
}

/// Its originator is who sends it, an agent of the same organization; but one of its possible causes is foreign.
pub async fn an_unclear_cause_hides_no_stranger(world: World) {
    let house = House::of(&world).await;
    let House { ann, bot, ben, chat, .. } = &house;
    let scout = world.agent(ann, "Scout").await;
    world.add(ann.caller, *chat, scout.id.into(), Role::Member).await;
    for message in [house.asks(&world, ben).await, house.asks(&world, ben).await] {
        take(&world, bot, *chat, message, DeliveryStep::Begin).await;
    }
    let ask_scout = async || world.send(bot.caller, *chat, "please", &[agent(&scout)]).await;
    let passed = ask_scout().await;
    let stored = house.stored(&world, passed.id).await;
    assert!(matches!(stored.cause, Cause::Ambiguous { .. }), "{:?}", stored.cause);
    assert_eq!((stored.place().originator, stored.origin), (agent(bot), Origin::Labeled));
    assert_eq!(statuses(&passed), [DeliveryStatus::New]);
    take(&world, &scout, *chat, passed.id, DeliveryStep::Begin).await;
    assert!(is_refused(&world, &scout, *chat).await);
    set(&world, ann, ForeignPolicy::Hold).await;
    assert_eq!(statuses(&ask_scout().await), [DeliveryStatus::Held]);
    assert!(is_refused(&world, &scout, *chat).await);
    take(&world, &scout, *chat, passed.id, DeliveryStep::Succeed).await;
    assert!(!is_refused(&world, &scout, *chat).await);
}

/// Both would hold it: releasing the one releases no other, so it must be the same one in every store.
pub async fn a_stranger_comes_before_a_budget(world: World) {
    let house = House::of(&world).await;
    let House { ann, bot, ben, chat, .. } = &house;
    set(&world, ann, ForeignPolicy::Hold).await;
    let changes = vec![(Budget::AgentMessages, Amount::new(1))];
    world.budgets.set(Authority::Admin(ann.caller), changes).await.unwrap();
    world.budgets.check().await.unwrap();
    for _ in 0..2 {
        world.send(bot.caller, *chat, "well", &[ParticipantId::User(ann.id)]).await;
    }
    world.budgets.check().await.unwrap();
    let held_by = async |message| house.stored(&world, message).await.deliveries[0].held_by();
    let (of_ben, of_ann) = (house.asks(&world, ben).await, house.asks(&world, ann).await);
    let budget = Some(Budget::AgentMessages.held_by());
    assert_eq!((held_by(of_ben).await, held_by(of_ann).await), (Some(HeldBy::Foreign), budget));
    set(&world, ann, ForeignPolicy::Label).await;
    let of_ben = house.asks(&world, ben).await;
    assert_eq!(held_by(of_ben).await, budget, "it is over the budget as well");
}

/// An agent keeps those that only it reads. Which memories are those of others is no matter of strangers.
pub async fn strangers_have_no_memory_of_the_organization_changed(world: World) {
    let house = House::of(&world).await;
    let House { ann, bot, ben, chat, .. } = &house;
    let scout = world.agent(ann, "Scout").await;
    let stored =
        async |by: &TestAgent, scope| world.memories.store(by.caller, memory(scope)).await.unwrap().id;
    let shared = [stored(bot, MemoryScope::Organization).await, stored(bot, MemoryScope::Organization).await];
    let (own, of_scout) =
        (stored(bot, MemoryScope::Agent).await, stored(&scout, MemoryScope::Organization).await);
    let steps = [MemoryStep::Archive, MemoryStep::Supersede];
    let asked = house.asks(&world, ben).await;
    take(&world, bot, *chat, asked, DeliveryStep::Begin).await;
    for (memory, step) in shared.into_iter().zip(steps) {
        let refused = world.memories.change(bot.caller, memory, step).await;
        assert!(matches!(refused, Err(ChangeMemoryError::Foreign(_))), "{step:?}: {refused:?}");
        let kept = world.memories.find(bot.caller, memory).await.unwrap();
        assert_eq!(kept.status, MemoryStatus::Active);
    }
    let refused = world.memories.change(bot.caller, of_scout, MemoryStep::Archive).await;
    assert!(matches!(refused, Err(ChangeMemoryError::Forbidden)), "{refused:?}");
    world.memories.change(bot.caller, own, MemoryStep::Archive).await.unwrap();
    world.memories.change(scout.caller, of_scout, MemoryStep::Archive).await.unwrap();
    take(&world, bot, *chat, asked, DeliveryStep::Succeed).await;
    for (memory, step) in shared.into_iter().zip(steps) {
        world.memories.change(bot.caller, memory, step).await.unwrap();
    }
}
