//! Texts over a limit, whose deliveries are held.

use std::time::Duration;

use domain::audit::AuditAction;
use domain::chat::{ChatChanges, Role};
use domain::delivery::{AdvanceError, DeliveryFilter, DeliveryStatus, DeliveryStep, HeldBy, Order};
use domain::event::DomainEvent;
use domain::id::{ChatId, MessageId, ParticipantId, SubjectId};
use domain::message::{
    Cause, HistoryFilter, MaxHops, MaxPairMessages, Message, MessageKind, PAIR_WINDOW, RecipientState,
    SendMessage, SentMessage,
};
use domain::organization::{Authority, OrganizationChanges};
use domain::services::{Ports, Services};
use domain::work::{WorkChange, WorkFilter, WorkFlag, WorkScope};

use super::audit::log_of;
use super::causes::a_thought;
use super::control::{next, take};
use super::messages::{ann_and_bot, first};
use crate::world::text;
use crate::{TestAgent, TestUser, World};

/// Ann's room with the agents Bot and Scout.
pub(super) struct Pair {
    pub(super) ann: TestUser,
    pub(super) agents: [TestAgent; 2],
    pub(super) chat: ChatId,
}

/// Its limit is this number of hops.
pub(super) async fn pair(world: &World, max_hops: u32) -> Pair {
    let (ann, bot, chat) = ann_and_bot(world).await;
    let agents = [bot, world.agent(&ann, "Scout").await];
    world.add(ann.caller, chat, agents[1].id.into(), Role::Member).await;
    limit(world, &ann, chat, Some(max_hops)).await;
    Pair { ann, agents, chat }
}

async fn limit(world: &World, ann: &TestUser, chat: ChatId, max_hops: Option<u32>) {
    let max_hops = Some(max_hops.map(|max| MaxHops::new(max).unwrap()));
    let changes = ChatChanges { max_hops, ..ChatChanges::default() };
    world.chats.rename(ann.caller, chat, changes).await.unwrap();
}

impl Pair {
    /// A text of Ann for Bot.
    pub(super) async fn root(&self, world: &World) -> MessageId {
        world.send(self.ann.caller, self.chat, "go", &[ParticipantId::Agent(self.agents[0].id)]).await.id
    }

    /// The agents answer each other, beginning with the agent of this number and its text `last`, until the text
    /// of this number or one that is held.
    pub(super) async fn talk(
        &self,
        world: &World,
        begin: usize,
        mut last: MessageId,
        texts: usize,
    ) -> Vec<SentMessage> {
        let mut sent = Vec::new();
        for turn in begin..begin + texts {
            let (from, to) = (&self.agents[turn % 2], &self.agents[(turn + 1) % 2]);
            take(world, from, self.chat, last, DeliveryStep::Begin).await;
            let text = world.send(from.caller, self.chat, "and you?", &[ParticipantId::Agent(to.id)]).await;
            take(world, from, self.chat, last, DeliveryStep::Succeed).await;
            last = text.id;
            let status = status(&text);
            sent.push(text);
            if status == Some(DeliveryStatus::Held) {
                break;
            }
        }
        sent
    }

    pub(super) async fn stored(&self, world: &World, message: MessageId) -> Message {
        let filter = HistoryFilter::default();
        let page = world.messages.history(self.ann.caller, self.chat, filter, first(100)).await.unwrap();
        page.rows.into_iter().find(|row| row.id == message).unwrap()
    }

    pub(super) async fn events(&self, world: &World) -> Vec<Message> {
        let filter = HistoryFilter { oldest_first: true, ..HistoryFilter::default() };
        let page = world.messages.history(self.ann.caller, self.chat, filter, first(100)).await.unwrap();
        page.rows.into_iter().filter(|row| row.kind == MessageKind::Attention).collect()
    }

    pub(super) fn scope(&self) -> WorkScope {
        WorkScope::OwnedBy(self.ann.id)
    }
}

/// What the answer to a send says about its only recipient.
pub(super) fn status(sent: &SentMessage) -> Option<DeliveryStatus> {
    match sent.recipients[..] {
        [ref only] => match only.state {
            Some(RecipientState::Agent { status, .. }) => Some(status),
            _ => None,
        },
        _ => panic!("one recipient: {sent:?}"),
    }
}

pub(super) fn held(root: Option<MessageId>) -> WorkFilter {
    WorkFilter { state: Some(DeliveryStatus::Held), root, ..WorkFilter::default() }
}

pub(super) async fn listed(world: &World, scope: WorkScope, filter: WorkFilter) -> Vec<MessageId> {
    let page = world.work.list(scope, filter, first(50)).await.unwrap();
    page.rows.iter().map(|item| item.message).collect()
}

/// The first text over the limit is stored and shown, and nothing offers it.
pub async fn agents_that_answer_each_other_stop(world: World) {
    let pair = pair(&world, 3).await;
    let root = pair.root(&world).await;
    world.publisher.take();
    let sent = pair.talk(&world, 0, root, 50).await;
    assert_eq!(sent.len(), 4);
    let states = sent.iter().map(status).collect::<Vec<_>>();
    let new = Some(DeliveryStatus::New);
    assert_eq!(states, [new, new, new, Some(DeliveryStatus::Held)]);
    let last = sent[3].id;
    let mut pushed = world.publisher.take().into_iter().filter_map(|event| match event {
        DomainEvent::MessageCreated { message, recipients } => Some((message.id, recipients.len())),
        _ => None,
    });
    assert_eq!(pushed.next_back(), Some((last, 0)), "humans see it, no agent");
    let message = pair.stored(&world, last).await;
    let Cause::Known(place) = message.cause else { panic!("{message:?}") };
    assert_eq!((place.root, place.hop), (root, 4));
    let delivery = &message.deliveries[0];
    assert_eq!((delivery.status(), delivery.held_by()), (DeliveryStatus::Held, Some(HeldBy::MaxHops)));
    assert_eq!(delivery.dead().map(|hold| hold.at), Some(message.created_at));

    let (bot, chat) = (&pair.agents[0], pair.chat);
    assert_eq!(next(&world, bot, chat).await, None);
    let open = world
        .deliveries
        .list(bot.caller, chat, DeliveryFilter::Open, Order::Ascending, first(50))
        .await
        .unwrap();
    assert_eq!(open.rows, []);
    let begun = world.deliveries.advance(bot.caller, chat, last, DeliveryStep::Begin).await;
    assert!(matches!(begun, Err(AdvanceError::Dead)), "{begun:?}");
    let receipts = world.deliveries.receipts(pair.ann.caller, chat, last).await.unwrap();
    assert_eq!((receipts[0].status, receipts[0].before), (DeliveryStatus::Held, None));

    let scope = pair.scope();
    let of_flag = |flag| WorkFilter { flag: Some(flag), ..WorkFilter::default() };
    let dead = WorkFilter { state: Some(DeliveryStatus::Dead), ..WorkFilter::default() };
    for (filter, found) in [
        (held(None), &[last][..]),
        (of_flag(WorkFlag::Held), &[last]),
        (WorkFilter::default(), &[]),
        (dead, &[]),
        (of_flag(WorkFlag::Dead), &[]),
    ] {
        assert_eq!(listed(&world, scope, filter.clone()).await, found, "{filter:?}");
    }
    let item = world.work.find(scope, last, bot.id).await.unwrap();
    assert_eq!(world.work.flags(&item, world.work.now()), [WorkFlag::Held]);
    let totals = world.work.totals().await.unwrap();
    assert_eq!((totals.held, totals.dead, totals.open()), (1, 0, 0));
}

/// So do those that answer once a minute.
pub async fn a_slow_loop_stops(world: World) {
    let pair = pair(&world, 5).await;
    let mut last = pair.root(&world).await;
    for turn in 0..50 {
        world.clock.advance(Duration::from_secs(60));
        let sent = pair.talk(&world, turn, last, 1).await;
        last = sent[0].id;
        if status(&sent[0]) == Some(DeliveryStatus::Held) {
            assert_eq!(turn, 5);
            return;
        }
    }
    panic!("they go on for ever");
}

/// One event for a tree, whoever looks for it, and another one for the next tree.
pub async fn the_humans_are_told_once_for_each_tree(world: World) {
    let pair = pair(&world, 1).await;
    let root = pair.root(&world).await;
    // Bot answers twice, so two texts of Scout are held.
    let sent = pair.talk(&world, 0, root, 2).await;
    take(&world, &pair.agents[1], pair.chat, sent[0].id, DeliveryStep::Begin).await;
    let bot = [ParticipantId::Agent(pair.agents[0].id)];
    let again = world.send(pair.agents[1].caller, pair.chat, "well?", &bot).await;
    take(&world, &pair.agents[1], pair.chat, sent[0].id, DeliveryStep::Succeed).await;
    assert_eq!((status(&sent[1]), status(&again)), (Some(DeliveryStatus::Held), Some(DeliveryStatus::Held)));
    let due = world.stores.messages.due_holds(100).await.unwrap();
    assert_eq!(
        due.iter().map(|due| (due.subject, due.message)).collect::<Vec<_>>(),
        [(SubjectId::new(root.uuid()), sent[1].id)]
    );
    world.publisher.take();
    for _ in 0..2 {
        world.messages.notice_holds().await.unwrap();
    }
    let [event] = &pair.events(&world).await[..] else { panic!("one event") };
    let metadata = event.metadata.as_ref().unwrap();
    let text = |name: &str| metadata[name].as_str().unwrap().to_owned();
    assert_eq!((text("kind"), text("held_by")), ("failure".to_owned(), "max_hops".to_owned()));
    assert_eq!((text("message_id"), text("root_id")), (sent[1].id.to_string(), root.to_string()));
    assert_eq!(event.place().root, root);
    let announced = world.publisher.take().into_iter().filter(
        |announced| matches!(announced, DomainEvent::EventCreated { message } if message.id == event.id),
    );
    assert_eq!(announced.count(), 1);

    let next = pair.root(&world).await;
    pair.talk(&world, 0, next, 2).await;
    world.messages.notice_holds().await.unwrap();
    assert_eq!(pair.events(&world).await.len(), 2);
    let after = world.stores.messages.due_holds(100).await.unwrap();
    assert_eq!(after, []);
}

/// The room may only be stricter than its organization.
pub async fn a_limit_counts_from_the_next_text(world: World) {
    let pair = pair(&world, 1).await;
    let by = Authority::Admin(pair.ann.caller);
    let organization = async |max_hops: Option<u32>| {
        let max_hops = Some(max_hops.map(|max| MaxHops::new(max).unwrap()));
        let changes = OrganizationChanges { max_hops, ..OrganizationChanges::default() };
        let stored = world.organizations.rename(by, changes).await.unwrap();
        assert_eq!(Some(stored.max_hops), max_hops);
    };
    let texts = async || {
        let root = pair.root(&world).await;
        pair.talk(&world, 0, root, 70).await.len()
    };
    assert_eq!(texts().await, 2);
    limit(&world, &pair.ann, pair.chat, Some(3)).await;
    assert_eq!(texts().await, 4);
    organization(Some(2)).await;
    assert_eq!(texts().await, 3, "the organization is stricter");
    organization(Some(5)).await;
    assert_eq!(texts().await, 4, "the room is");
    limit(&world, &pair.ann, pair.chat, None).await;
    assert_eq!(texts().await, 6);
    organization(None).await;
    assert_eq!(texts().await, 65, "that of the server");
    organization(Some(0)).await;
    assert_eq!(texts().await, 70, "no limit");
    let shown = world.organizations.show(pair.ann.caller).await.unwrap().unwrap();
    assert_eq!(shown.max_hops, Some(MaxHops::OFF));
    let log = log_of(&world, None, None).await;
    let details = |action| log.iter().filter(move |entry| entry.action == action).count();
    assert_eq!(details(AuditAction::OrganizationMaxHopsSet), 4);
    assert_eq!(details(AuditAction::ChatMaxHopsSet), 3);
}

/// Nor is what follows from a message of a human, who begins a tree each time.
pub async fn humans_and_fresh_work_are_never_held(world: World) {
    let pair = pair(&world, 2).await;
    for _ in 0..5 {
        let root = pair.root(&world).await;
        let sent = pair.talk(&world, 0, root, 2).await;
        assert_eq!(sent.len(), 2, "the first answer, and the answer to that");
        assert_eq!(sent.iter().filter_map(status).collect::<Vec<_>>(), [DeliveryStatus::New; 2]);
        let last = sent[1].id;
        take(&world, &pair.agents[0], pair.chat, last, DeliveryStep::Begin).await;
        take(&world, &pair.agents[0], pair.chat, last, DeliveryStep::Succeed).await;
        let command = SendMessage {
            in_reply_to: Some(last),
            ..text("go on", &[ParticipantId::Agent(pair.agents[0].id)])
        };
        let human = world.messages.send(pair.ann.caller, pair.chat, command).await.unwrap();
        assert_eq!(status(&human), Some(DeliveryStatus::New));
        let place = pair.stored(&world, human.id).await.place();
        assert_eq!((place.root, place.hop), (root, 0), "hops count from what a human says");
        take(&world, &pair.agents[0], pair.chat, human.id, DeliveryStep::Begin).await;
        take(&world, &pair.agents[0], pair.chat, human.id, DeliveryStep::Succeed).await;
    }
    assert_eq!(listed(&world, pair.scope(), held(None)).await, []);
}

/// Nor does it tell the humans of each text: one event for the room until something is released.
pub async fn an_ambiguous_cause_hides_no_hop(world: World) {
    let pair = pair(&world, 1).await;
    let [bot, scout] = &pair.agents;
    for _ in 0..2 {
        let root = pair.root(&world).await;
        let asked = pair.talk(&world, 0, root, 1).await[0].id;
        take(&world, scout, pair.chat, asked, DeliveryStep::Begin).await;
    }
    let say = async |from: &TestAgent, to: &TestAgent| {
        let sent = world.send(from.caller, pair.chat, "and you?", &[ParticipantId::Agent(to.id)]).await;
        (sent.id, status(&sent).unwrap())
    };
    let (first, of_first) = say(scout, bot).await;
    let (second, of_second) = say(scout, bot).await;
    assert_eq!((of_first, of_second), (DeliveryStatus::Held, DeliveryStatus::Held));
    let message = pair.stored(&world, first).await;
    assert_eq!(message.cause, Cause::Ambiguous { hop: 2 });
    assert_eq!(message.deliveries[0].held_by(), Some(HeldBy::MaxHops));
    for _ in 0..2 {
        world.messages.notice_holds().await.unwrap();
        let [event] = &pair.events(&world).await[..] else { panic!("one event") };
        assert_eq!(event.metadata.as_ref().unwrap()["root_id"], first.to_string());
    }

    let scope = pair.scope();
    world.work.change(scope, first, bot.id, WorkChange::Retry, None).await.unwrap();
    assert_eq!(listed(&world, scope, held(None)).await, [second]);
    take(&world, bot, pair.chat, first, DeliveryStep::Begin).await;
    assert_eq!(say(bot, scout).await.1, DeliveryStatus::New, "what follows from it");
    assert_eq!(say(scout, bot).await.1, DeliveryStatus::New, "the next one of its kind");
    world.messages.notice_holds().await.unwrap();
    assert_eq!(pair.events(&world).await.len(), 1);
}

/// Their clients open no attempts, so each text begins a tree. The pair is held for ten minutes; a release allows it as
/// many texts again.
pub async fn a_pair_without_attempts_stops(world: World) {
    let pair = pair(&world, 1).await;
    let limit = async |max: Option<u32>| {
        let max_pair_messages = Some(max.map(|max| MaxPairMessages::new(max).unwrap()));
        let changes = OrganizationChanges { max_pair_messages, ..OrganizationChanges::default() };
        let stored = world.organizations.rename(Authority::Admin(pair.ann.caller), changes).await.unwrap();
        assert_eq!(Some(stored.max_pair_messages), max_pair_messages);
    };
    let server = MaxPairMessages::new(6).unwrap();
    let services = Services::new(Ports { max_pair_messages: server, ..world.ports.clone() });
    let to = |agent: &TestAgent| [ParticipantId::Agent(agent.id)];
    let say = async |from: &TestAgent, to: &[ParticipantId]| {
        services.messages.send(from.caller, pair.chat, text("and you?", to)).await.unwrap()
    };
    let [bot, scout] = &pair.agents;
    // The number of texts of the pair until one is held.
    let talk = async || {
        for turn in 0..30 {
            let (from, other) = (&pair.agents[turn % 2], &pair.agents[(turn + 1) % 2]);
            let sent = say(from, &to(other)).await;
            if status(&sent) == Some(DeliveryStatus::Held) {
                return (turn, sent.id);
            }
        }
        panic!("they go on for ever");
    };
    let (number, first) = talk().await;
    assert_eq!(number, 7, "with the seventh, there are too many");
    let delivery = pair.stored(&world, first).await.deliveries.remove(0);
    assert_eq!(delivery.held_by(), Some(HeldBy::MaxPairMessages));
    for _ in 0..2 {
        world.messages.notice_holds().await.unwrap();
        let [event] = &pair.events(&world).await[..] else { panic!("one event") };
        assert_eq!(event.metadata.as_ref().unwrap()["held_by"], "max_pair_messages");
    }

    // Others are not held, nor is work with a cause.
    let third = world.agent(&pair.ann, "Third").await;
    world.add(pair.ann.caller, pair.chat, third.id.into(), Role::Member).await;
    assert_eq!(status(&say(&third, &to(bot)).await), Some(DeliveryStatus::New));
    assert_eq!(status(&say(bot, &to(&third)).await), Some(DeliveryStatus::New));
    for _ in 0..10 {
        assert_eq!(status(&say(&third, &to(bot)).await), Some(DeliveryStatus::New), "it gets no answer");
    }
    let root = pair.root(&world).await;
    take(&world, bot, pair.chat, root, DeliveryStep::Begin).await;
    assert_eq!(status(&say(bot, &to(scout)).await), Some(DeliveryStatus::New), "its cause is known");
    take(&world, bot, pair.chat, root, DeliveryStep::Succeed).await;

    let scope = pair.scope();
    let to_whom = delivery.agent();
    world.work.change(scope, first, to_whom, WorkChange::Retry, None).await.unwrap();
    let (number, _) = talk().await;
    assert_eq!(number, 5, "twelve are allowed, eight were sent");
    world.clock.advance(2 * PAIR_WINDOW);
    limit(Some(3)).await;
    let (number, _) = talk().await;
    assert_eq!(number, 13, "a release counts on");
    world.clock.advance(2 * PAIR_WINDOW);
    limit(Some(0)).await;
    for turn in 0..30 {
        let (from, other) = (&pair.agents[turn % 2], &pair.agents[(turn + 1) % 2]);
        assert_eq!(status(&say(from, &to(other)).await), Some(DeliveryStatus::New));
    }
    limit(None).await;
}

/// Also without a loop: the texts of two agents at one question each time.
pub async fn a_tree_with_too_many_messages_is_held(world: World) {
    let pair = pair(&world, 1_000).await;
    let services = Services::new(Ports { max_tree_messages: 5, ..world.ports.clone() });
    let root = pair.root(&world).await;
    take(&world, &pair.agents[0], pair.chat, root, DeliveryStep::Begin).await;
    let say = async || {
        let scout = [ParticipantId::Agent(pair.agents[1].id)];
        let sent =
            services.messages.send(pair.agents[0].caller, pair.chat, text("further", &scout)).await.unwrap();
        (sent.id, status(&sent))
    };
    for _ in 0..9 {
        services.messages.post_event(pair.agents[0].caller, pair.chat, a_thought()).await.unwrap();
    }
    for _ in 0..6 {
        assert_eq!(say().await.1, Some(DeliveryStatus::New), "events ask nobody, and do not count");
    }
    world.messages.notice_holds().await.unwrap();
    let [event] = &pair.events(&world).await[..] else { panic!("one event") };
    let held_by = |event: &Message| event.metadata.as_ref().unwrap()["held_by"].clone();
    assert_eq!(held_by(event), "max_tree_messages");
    let (first, status) = say().await;
    assert_eq!(status, Some(DeliveryStatus::Held));
    assert_eq!(say().await.1, status);
    let delivery = pair.stored(&world, first).await.deliveries.remove(0);
    assert_eq!(delivery.held_by(), Some(HeldBy::MaxTreeMessages));
    assert_eq!(delivery.dead().unwrap().reason, HeldBy::MaxTreeMessages.reason());

    let other = pair.root(&world).await;
    let human = services
        .messages
        .send(pair.ann.caller, pair.chat, text("go on", &[ParticipantId::Agent(pair.agents[1].id)]))
        .await;
    assert_eq!(self::status(&human.unwrap()), Some(DeliveryStatus::New), "a human, and another tree");
    assert_ne!(other, root);
    let retry = world.work.change_all(pair.scope(), held(Some(root)), false, WorkChange::Retry, None);
    assert_eq!(retry.await.unwrap().changed, 2);
    // There are eight texts, and ten are allowed.
    for _ in 0..3 {
        assert_eq!(say().await.1, Some(DeliveryStatus::New));
    }
    assert_eq!(say().await.1, Some(DeliveryStatus::Held));
    world.messages.notice_holds().await.unwrap();
    assert_eq!(pair.events(&world).await.len(), 2);
}
