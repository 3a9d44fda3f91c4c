//! Budgets: what is held when they are used up, and what ends that.

use std::time::Duration;

use domain::audit::AuditAction;
use domain::budget::{Amount, Budget, BudgetScope, BudgetUse, Budgets, ExceededBudgets, SetBudgetsError};
use domain::chat::Role;
use domain::delivery::{DeadLetterReason, DeliveryStatus, DeliveryStep};
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::message::{HistoryFilter, Message, MessageKind, RecipientState, SentMessage};
use domain::organization::Authority;
use domain::plan::OrganizationName;
use domain::ports::Clock;
use domain::services::Services;
use domain::usage::Day;
use domain::work::{WorkChange, WorkScope};

use super::audit::log_of;
use super::control::take;
use super::holds::{held, listed};
use super::messages::first;
use super::usage::report;
use crate::world::text;
use crate::{TestAgent, TestUser, World};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A user's room with the agents Bot and Scout.
struct Office {
    ann: TestUser,
    bot: TestAgent,
    scout: TestAgent,
    chat: ChatId,
}

async fn office(world: &World, handle: &str) -> Office {
    let ann = world.user(handle).await;
    let (bot, scout) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Scout").await);
    let chat = world.chat(ann.caller, &[bot.id.into(), scout.id.into()]).await;
    Office { ann, bot, scout, chat }
}

impl Office {
    /// Sets a budget; 0 for none.
    async fn set(&self, world: &World, budget: Budget, amount: u64) {
        let changes = vec![(budget, Amount::new(amount))];
        let stored = world.budgets.set(Authority::Admin(self.ann.caller), changes).await.unwrap();
        assert_eq!(stored.get(budget), Amount::new(amount));
        world.budgets.check().await.unwrap();
    }

    /// The states of the recipients of a text of Ann.
    async fn ask(&self, world: &World, agents: &[AgentId]) -> Vec<DeliveryStatus> {
        states(&self.say(world, agents).await)
    }

    async fn say(&self, by: &Services, agents: &[AgentId]) -> SentMessage {
        let to = agents.iter().map(|agent| ParticipantId::Agent(*agent)).collect::<Vec<_>>();
        by.messages.send(self.ann.caller, self.chat, text("go", &to)).await.unwrap()
    }

    async fn events(&self, world: &World) -> Vec<Message> {
        let filter = HistoryFilter { oldest_first: true, ..HistoryFilter::default() };
        let page = world.messages.history(self.ann.caller, self.chat, filter, first(100)).await.unwrap();
        page.rows.into_iter().filter(|row| row.kind == MessageKind::Attention).collect()
    }

    async fn change(&self, world: &World, scope: WorkScope, message: MessageId, change: WorkChange) {
        world.work.change(scope, message, self.bot.id, change, None).await.unwrap();
        world.budgets.check().await.unwrap();
    }
}

fn states(sent: &SentMessage) -> Vec<DeliveryStatus> {
    let state = |state: Option<RecipientState>| match state {
        Some(RecipientState::Agent { status, .. }) => status,
        _ => panic!("an agent: {sent:?}"),
    };
    sent.recipients.iter().map(|recipient| state(recipient.state)).collect()
}

const NEW: DeliveryStatus = DeliveryStatus::New;
const HELD: DeliveryStatus = DeliveryStatus::Held;

/// Only the deliveries of what has the budget, to the last one.
pub async fn each_budget_holds_what_it_limits(world: World) {
    let ben = world.user("ben").await;
    let guest = world.agent(&ben, "Guest").await;
    world.make_global(&guest).await;
    for budget in Budget::ALL {
        let office = office(&world, &budget.as_str().replace('_', "-")).await;
        let Office { ann, bot, scout, chat } = &office;
        world.add(ann.caller, *chat, guest.id.into(), Role::Member).await;
        let other = world.chat(ann.caller, &[bot.id.into(), scout.id.into()]).await;
        office.set(&world, budget, if budget.counts_tokens() { 100 } else { 3 }).await;
        let root = office.say(&world, &[bot.id]).await.id;
        take(&world, bot, *chat, root, DeliveryStep::Begin).await;
        let to_scout = [ParticipantId::Agent(scout.id)];
        let further = async || states(&world.send(bot.caller, *chat, "further", &to_scout).await);
        for tokens in [[10, 20, 30, 0], [0, 0, 0, 40]] {
            assert_eq!(further().await, [NEW], "{budget:?}");
            report(&world, bot, *chat, tokens).await;
            assert_eq!(further().await, [NEW], "{budget:?}");
            if tokens[0] > 0 && budget.counts_tokens() {
                world.budgets.check().await.unwrap();
                assert_eq!(further().await, [NEW], "60 of 100: {budget:?}");
            }
        }
        world.budgets.check().await.unwrap();
        let in_other = states(&world.send(ann.caller, other, "go", &to_scout).await);
        let (in_tree, asked) = (further().await, office.ask(&world, &[bot.id, scout.id, guest.id]).await);
        let (tree, of_guest, agents) = match budget.scope() {
            BudgetScope::Tree => (HELD, NEW, [NEW, NEW]),
            BudgetScope::Room => (HELD, HELD, [HELD, HELD]),
            BudgetScope::Agent => (NEW, NEW, [HELD, NEW]),
            BudgetScope::Organization => (HELD, NEW, [HELD, HELD]),
        };
        assert_eq!((in_tree, asked), (vec![tree], vec![agents[0], agents[1], of_guest]), "{budget:?}");
        let everywhere = budget.scope() == BudgetScope::Organization;
        assert_eq!(in_other, [if everywhere { HELD } else { NEW }], "{budget:?}");
        let items = world.work.list(WorkScope::OwnedBy(ann.id), held(None), first(50)).await.unwrap().rows;
        let held_by = items.iter().filter_map(|item| item.delivery.held_by());
        assert!(
            !items.is_empty() && held_by.clone().all(|by| by == budget.held_by()),
            "{budget:?} {items:?}"
        );
        assert_eq!(items[0].delivery.dead().unwrap().reason, budget.held_by().reason());
    }
}

/// It may use the amount again, however far it is over, and no more.
pub async fn a_tree_far_over_its_budget_is_released(world: World) {
    let office = office(&world, "ann").await;
    let Office { ann, bot, scout, chat } = &office;
    office.set(&world, Budget::TreeMessages, 3).await;
    let root = office.say(&world, &[bot.id]).await.id;
    take(&world, bot, *chat, root, DeliveryStep::Begin).await;
    let further = async || {
        let sent = world.send(bot.caller, *chat, "further", &[ParticipantId::Agent(scout.id)]).await;
        (sent.id, states(&sent)[0])
    };
    for _ in 0..20 {
        assert_eq!(further().await.1, NEW, "not counted yet");
    }
    world.budgets.check().await.unwrap();
    let held = further().await;
    assert_eq!(held.1, HELD);
    world.budgets.check().await.unwrap();
    let scope = WorkScope::OwnedBy(ann.id);
    world.work.change(scope, held.0, scout.id, WorkChange::Retry, None).await.unwrap();
    world.budgets.check().await.unwrap();
    for _ in 0..3 {
        assert_eq!(further().await.1, NEW, "22 were used");
        world.budgets.check().await.unwrap();
    }
    assert_eq!(further().await.1, HELD);
    assert_eq!(office.ask(&world, &[bot.id]).await, [NEW], "another tree");
}

/// As a day's budget does the next day.
pub async fn a_tree_without_texts_for_a_month_is_forgotten(world: World) {
    let office = office(&world, "ann").await;
    let Office { ann, bot, scout, chat } = &office;
    office.set(&world, Budget::TreeMessages, 3).await;
    let root = office.say(&world, &[bot.id]).await.id;
    take(&world, bot, *chat, root, DeliveryStep::Begin).await;
    let further =
        async || states(&world.send(bot.caller, *chat, "further", &[ParticipantId::Agent(scout.id)]).await);
    for _ in 0..3 {
        assert_eq!(further().await, [NEW]);
    }
    for (days, state) in [(0, HELD), (29, HELD), (29, HELD), (40, NEW)] {
        world.clock.advance(DAY * days);
        world.send(ann.caller, *chat, "another tree", &[]).await;
        world.budgets.check().await.unwrap();
        assert_eq!(further().await, [state], "after {days} days");
        world.budgets.check().await.unwrap();
    }
}

/// One event each, whoever looks for them, and however much more is used.
pub async fn humans_are_told_of_a_budget_twice(world: World) {
    let office = office(&world, "ann").await;
    office.set(&world, Budget::RoomMessages, 5).await;
    let other = Services::new(world.ports.clone());
    let mut last = None;
    for (texts, events) in [(3, 0), (1, 1), (1, 2), (2, 2)] {
        for _ in 0..texts {
            last = Some(office.say(&world, &[office.bot.id]).await.id);
        }
        for services in [&*world, &other] {
            services.budgets.check().await.unwrap();
            services.messages.notice_holds().await.unwrap();
        }
        assert_eq!(office.events(&world).await.len(), events, "{last:?}");
    }
    let told = office.events(&world).await;
    let metadata = told.iter().map(|event| event.metadata.clone().unwrap()).collect::<Vec<_>>();
    let kinds = metadata.iter().map(|data| (data["kind"].as_str(), data["blocking"].as_bool()));
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [(Some("review"), Some(false)), (Some("failure"), Some(true))],
        "{metadata:?}"
    );
    for data in &metadata {
        assert_eq!((&data["budget"], &data["amount"]), (&"room_messages".into(), &5.into()));
    }
    assert_eq!((metadata[0].get("held_by"), &metadata[1]["held_by"]), (None, &"room_messages".into()));
    assert_eq!(world.budgets.watch().events(), [1, 1]);
    assert_eq!(world.stores.messages.due_holds(100).await.unwrap(), []);
}

/// An end of what is held does not.
pub async fn a_release_lets_the_amount_be_used_again(world: World) {
    let office = office(&world, "ann").await;
    let (bot, scope) = (office.bot.id, WorkScope::OwnedBy(office.ann.id));
    office.set(&world, Budget::RoomMessages, 5).await;
    let say = async || {
        let sent = office.say(&world, &[bot]).await;
        world.budgets.check().await.unwrap();
        world.messages.notice_holds().await.unwrap();
        (sent.id, states(&sent)[0])
    };
    for _ in 0..5 {
        assert_eq!(say().await.1, NEW);
    }
    let (ended, released) = (say().await, say().await);
    assert_eq!((ended.1, released.1), (HELD, HELD));
    let end = WorkChange::DeadLetter(DeadLetterReason::new("too much".to_owned()).unwrap());
    office.change(&world, scope, ended.0, end).await;
    let waits = say().await;
    assert_eq!(waits.1, HELD);
    office.change(&world, scope, released.0, WorkChange::Retry).await;
    assert_eq!(listed(&world, scope, held(None)).await, [waits.0], "it stays held");
    for _ in 0..5 {
        assert_eq!(say().await.1, NEW);
    }
    assert_eq!(say().await.1, HELD);
    let told = office.events(&world).await.into_iter().map(|event| event.metadata.unwrap()["kind"].clone());
    assert_eq!(told.collect::<Vec<_>>(), ["review", "failure", "review", "failure"]);
}

/// So does its removal. What is held stays so.
pub async fn a_larger_amount_or_a_new_day_ends_a_budgets_hold(world: World) {
    let office = office(&world, "ann").await;
    let bot = [office.bot.id];
    let exceed = async || {
        for _ in 0..3 {
            office.ask(&world, &bot).await;
        }
        world.budgets.check().await.unwrap();
        assert_eq!(office.ask(&world, &bot).await, [HELD]);
    };
    office.set(&world, Budget::AgentMessages, 9).await;
    office.set(&world, Budget::RoomMessages, 3).await;
    exceed().await;
    office.set(&world, Budget::RoomMessages, 6).await;
    assert_eq!(office.ask(&world, &bot).await, [NEW], "the fifth");
    exceed().await;
    office.set(&world, Budget::RoomMessages, 0).await;
    assert_eq!(office.ask(&world, &bot).await, [NEW]);
    office.set(&world, Budget::RoomMessages, 1).await;
    exceed().await;
    world.clock.advance(DAY);
    assert_eq!(office.ask(&world, &bot).await, [NEW], "at once");
    world.budgets.check().await.unwrap();
    assert_eq!(office.ask(&world, &bot).await, [HELD], "the budget of the new day");
    assert_eq!(listed(&world, WorkScope::OwnedBy(office.ann.id), held(None)).await.len(), 7);
}

/// What an agent of another organization uses is told in a room of its own organization only.
pub async fn no_other_organization_is_told_of_a_budget(world: World) {
    let (office, own) = (office(&world, "ann").await, office(&world, "ben").await);
    let guest = &own.bot;
    world.make_global(guest).await;
    world.add(office.ann.caller, office.chat, guest.id.into(), Role::Member).await;
    own.set(&world, Budget::AgentMessages, 2).await;
    own.set(&world, Budget::OrganizationMessages, 2).await;
    for (room, events) in [(&office, 0), (&own, 2)] {
        for _ in 0..2 {
            world.send(guest.caller, room.chat, "hello", &[ParticipantId::User(room.ann.id)]).await;
        }
        world.budgets.check().await.unwrap();
        world.messages.notice_holds().await.unwrap();
        assert_eq!(states(&office.say(&world, &[guest.id]).await), [HELD]);
        assert_eq!((office.events(&world).await.len(), own.events(&world).await.len()), (0, events));
    }
}

/// What one process has counted holds at another, and they count together.
pub async fn processes_share_budgets(world: World) {
    let office = office(&world, "ann").await;
    let other = Services::new(world.ports.clone());
    office.set(&world, Budget::OrganizationMessages, 4).await;
    other.budgets.check().await.unwrap();
    for services in [&*world, &other] {
        for _ in 0..2 {
            assert_eq!(states(&office.say(services, &[office.bot.id]).await), [NEW]);
        }
        services.budgets.check().await.unwrap();
    }
    assert_eq!(states(&office.say(&other, &[office.bot.id]).await), [HELD]);
    world.budgets.check().await.unwrap();
    assert_eq!(office.ask(&world, &[office.bot.id]).await, [HELD]);
    let shown = world.budgets.show(office.ann.caller.organization).await.unwrap();
    assert_eq!((shown.messages, shown.tokens), (4, 0), "what is held counts at the next check");
}

/// Another process may have counted with an older amount, or fewer messages.
pub async fn an_older_count_changes_nothing(world: World) {
    let office = office(&world, "ann").await;
    let (store, now) = (&world.stores.all, world.clock.now());
    let amount = |amount| Amount::new(amount).unwrap();
    office.set(&world, Budget::RoomMessages, 5).await;
    let found = |amount, used| BudgetUse {
        subject: office.chat.into(),
        budget: Budget::RoomMessages,
        organization: office.ann.caller.organization,
        day: Day::of(now),
        last: None,
        amount,
        used,
    };
    let holds = async |used: [BudgetUse; 2]| {
        for of in used {
            store.record_budgets(vec![of], now).await.unwrap();
        }
        world.budgets.check().await.unwrap();
        office.ask(&world, &[office.bot.id]).await == [HELD]
    };
    assert!(holds([found(amount(5), 6), found(amount(5), 4)]).await, "fewer");
    office.set(&world, Budget::RoomMessages, 20).await;
    assert!(!holds([found(amount(5), 6), found(amount(5), 7)]).await, "an older amount");
    assert!(holds([found(amount(5), 20), found(amount(50), 20)]).await, "one of more");
    office.set(&world, Budget::RoomMessages, 0).await;
    office.set(&world, Budget::AgentTokens, 9).await;
    assert!(!holds([found(amount(5), 6); 2]).await, "a removed one");
    office.set(&world, Budget::RoomMessages, 30).await;
    assert!(!holds([found(amount(30), 25); 2]).await);
}

/// They are audited; members read them.
pub async fn only_admins_set_budgets(world: World) {
    let office = office(&world, "ann").await;
    let cai = world.colleague("cai", "ann").await;
    let changes = vec![(Budget::TreeTokens, Amount::new(7)), (Budget::AgentTokens, None)];
    let refused = world.budgets.set(Authority::Admin(cai.caller), changes.clone()).await;
    assert!(matches!(refused, Err(SetBudgetsError::NotAdmin(_))), "{refused:?}");
    world.budgets.set(Authority::Admin(office.ann.caller), changes).await.unwrap();
    let shown = world.budgets.show(cai.caller.organization).await.unwrap();
    assert_eq!(shown.budgets.get(Budget::TreeTokens), Amount::new(7));
    let log = log_of(&world, None, None).await;
    let set = log.iter().filter(|entry| entry.action == AuditAction::OrganizationBudgetSet);
    let mut details = set.filter_map(|entry| entry.detail.as_deref()).collect::<Vec<_>>();
    details.sort_unstable();
    assert_eq!(details, ["agent_tokens none", "tree_tokens 7"]);
}

/// They go with their organization, and nothing is counted without any.
pub async fn a_deleted_organization_has_no_budgets(world: World) {
    let name = OrganizationName::new("Empty").unwrap();
    let empty = world.organizations.create(name, None).await.unwrap().id;
    let changes = vec![(Budget::RoomMessages, Amount::new(1))];
    world.budgets.set(Authority::Operator(empty), changes).await.unwrap();
    let day = Day::of(world.clock.now());
    let known = world.stores.all.exceeded_budgets(day).await.unwrap();
    assert_eq!(known, Some(ExceededBudgets::none(day)));
    world.organizations.delete(&world.chats, empty, false).await.unwrap();
    assert_eq!(world.stores.all.exceeded_budgets(day).await.unwrap(), None);
    assert_eq!(world.budgets.show(empty).await.unwrap().budgets, Budgets::default());
}

/// A member releases what an own agent is asked, and no more.
pub async fn admins_lift_the_budget_of_their_organization(world: World) {
    let office = office(&world, "ann").await;
    office.set(&world, Budget::OrganizationMessages, 1).await;
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(office.say(&world, &[office.bot.id]).await);
        world.budgets.check().await.unwrap();
    }
    assert_eq!((states(&sent[1]), states(&sent[2])), (vec![HELD], vec![HELD]));
    office.change(&world, WorkScope::OwnedBy(office.ann.id), sent[1].id, WorkChange::Retry).await;
    assert_eq!(office.ask(&world, &[office.bot.id]).await, [HELD]);
    world.budgets.check().await.unwrap();
    let admin = WorkScope::Of(Authority::Admin(office.ann.caller));
    office.change(&world, admin, sent[2].id, WorkChange::Retry).await;
    assert_eq!(office.ask(&world, &[office.bot.id]).await, [NEW]);
}
