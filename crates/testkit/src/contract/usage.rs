//! Sums of reported tokens.

use std::time::Duration;

use domain::account::{AgentChanges, ModelType};
use domain::archive::{TABLES, Value};
use domain::delivery::DeliveryStep;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest};
use domain::message::{EventContent, EventMetadata, MessageKind, PostEvent};
use domain::organization::Authority;
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::usage::{
    Day, MAX_REPORT_TOKENS, MAX_TOKENS, ModelPrice, Prices, TokenCounts, UsageFilter, UsageGroup, UsageKey,
    UsageList, UsageRow, UsageService, UsageSum,
};
use domain::work::{ListWorkError, WorkScope};
use serde_json::json;

use super::control::take;
use super::messages::{ann_and_bot, first};
use crate::{TestAgent, TestUser, World};

const ALL: UsageFilter = UsageFilter { since: None, until: None, agent: None, chat: None, root: None };

fn event(kind: MessageKind, usage: serde_json::Value) -> PostEvent {
    let metadata = json!({ "band_usage": usage }).as_object().unwrap().clone();
    let content = EventContent::new("Token usage: input=1 output=1".to_owned()).unwrap();
    PostEvent { kind, content, metadata: EventMetadata::new(metadata).unwrap(), in_reply_to: None }
}

/// Reports as band-sdk does.
pub(super) async fn report(world: &World, agent: &TestAgent, chat: ChatId, tokens: [u64; 4]) -> MessageId {
    let [input, output, read, write] = tokens;
    let usage = json!({
        "input_tokens": input, "output_tokens": output, "cache_read_tokens": read, "cache_write_tokens": write,
    });
    let event = event(MessageKind::Task, usage);
    world.messages.post_event(agent.caller, chat, event).await.unwrap().id
}

async fn list(world: &World, user: &TestUser, filter: UsageFilter, group: UsageGroup) -> UsageList {
    world.usage.list(WorkScope::OwnedBy(user.id), filter, group, first(100)).await.unwrap()
}

fn counts([input, output, cache_read, cache_write]: [u64; 4]) -> TokenCounts {
    TokenCounts { input, output, cache_read, cache_write }
}

/// Key, tokens, and number of reports of each row.
fn read(list: &UsageList) -> Vec<(String, TokenCounts, u64)> {
    let row = |row: &UsageRow| {
        let key = match &row.key {
            UsageKey::Record(id) => id.uuid().to_string(),
            UsageKey::Day(day) => day.to_string(),
            UsageKey::Model(model) => model.clone().unwrap_or_default(),
        };
        (key, row.tokens(), row.reports())
    };
    list.page.rows.iter().map(row).collect()
}

fn total(list: &UsageList) -> (TokenCounts, u64) {
    list.sums.iter().flatten().fold((TokenCounts::default(), 0), |(tokens, reports), sum| {
        (tokens.plus(sum.tokens), reports + sum.reports)
    })
}

async fn state_model(world: &World, owner: &TestUser, agent: &TestAgent, model: &str) {
    let model_type = Some(Some(ModelType::new(model).unwrap()));
    let changes = AgentChanges { model_type, ..AgentChanges::default() };
    world.accounts.update_agent(owner.caller, agent.id, changes).await.unwrap();
}

pub async fn reports_are_summed_by_everything(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    let other = world.chat(ann.caller, &[bot.id.into(), scout.id.into()]).await;
    let root = world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
    take(&world, &bot, chat, root, DeliveryStep::Begin).await;
    let today = Day::of(world.clock.now()).to_string();
    report(&world, &bot, chat, [100, 10, 1, 0]).await;
    report(&world, &bot, chat, [50, 5, 0, 2]).await;
    take(&world, &bot, chat, root, DeliveryStep::Succeed).await;
    state_model(&world, &ann, &scout, "large").await;
    world.clock.advance(Duration::from_secs(24 * 60 * 60));
    let tomorrow = Day::of(world.clock.now()).to_string();
    let alone = report(&world, &scout, other, [7, 700, 0, 0]).await;

    let (of_bot, of_scout) = (counts([150, 15, 1, 2]), counts([7, 700, 0, 0]));
    let together = of_bot.plus(of_scout);
    let id = |id: uuid::Uuid| id.to_string();
    for (group, expected) in [
        (UsageGroup::Agent, vec![(id(scout.id.uuid()), of_scout, 1), (id(bot.id.uuid()), of_bot, 2)]),
        (UsageGroup::Room, vec![(id(other.uuid()), of_scout, 1), (id(chat.uuid()), of_bot, 2)]),
        (UsageGroup::Tree, vec![(id(alone.uuid()), of_scout, 1), (id(root.uuid()), of_bot, 2)]),
        (UsageGroup::Owner, vec![(id(ann.id.uuid()), together, 3)]),
        (UsageGroup::Organization, vec![(id(ann.caller.organization.uuid()), together, 3)]),
        (UsageGroup::Day, vec![(tomorrow.clone(), of_scout, 1), (today.clone(), of_bot, 2)]),
        (UsageGroup::Model, vec![("large".to_owned(), of_scout, 1), (String::new(), of_bot, 2)]),
    ] {
        let all = list(&world, &ann, ALL, group).await;
        assert_eq!((read(&all), total(&all)), (expected, (together, 3)), "{group:?}");
    }
    let (today, tomorrow) = (Day::parse(&today), Day::parse(&tomorrow));
    for (filter, expected) in [
        (UsageFilter { since: tomorrow, ..ALL }, of_scout),
        (UsageFilter { until: today, ..ALL }, of_bot),
        (UsageFilter { since: tomorrow, until: today, ..ALL }, TokenCounts::default()),
        (UsageFilter { agent: Some(scout.id), ..ALL }, of_scout),
        (UsageFilter { chat: Some(chat), ..ALL }, of_bot),
        (UsageFilter { chat: Some(chat), agent: Some(scout.id), ..ALL }, TokenCounts::default()),
        (UsageFilter { root: Some(root), ..ALL }, of_bot),
        (UsageFilter { root: Some(alone), until: tomorrow, ..ALL }, of_scout),
    ] {
        let found = list(&world, &ann, filter, UsageGroup::Agent).await;
        assert_eq!(total(&found).0, expected, "{filter:?}");
        assert_eq!(found.page.rows.len(), usize::from(expected != TokenCounts::default()), "{filter:?}");
    }
    let of_tree = world.usage.of_tree(chat, root).await.unwrap();
    assert_eq!(of_tree, UsageSum { model: None, tokens: of_bot, reports: 2 });
    let elsewhere = world.usage.of_tree(other, root).await.unwrap();
    assert_eq!(elsewhere, UsageSum::default(), "nothing of it is there");
}

/// Only a `task` event with a report of tokens, however wrong the rest of it is; and only once.
pub async fn only_reports_count_and_each_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let report_of_one = json!({"input_tokens": 1});
    for (kind, usage) in [
        (MessageKind::Thought, report_of_one.clone()),
        (MessageKind::ToolResult, report_of_one.clone()),
        (MessageKind::Task, json!({"input_tokens": -1, "output_tokens": "5", "cache_read_tokens": 1.5})),
        (MessageKind::Task, json!([1])),
        (MessageKind::Task, json!({"input_tokens": u64::MAX, "output_tokens": MAX_REPORT_TOKENS + 1})),
    ] {
        world.messages.post_event(bot.caller, chat, event(kind, usage)).await.unwrap();
    }
    assert!(list(&world, &ann, ALL, UsageGroup::Agent).await.page.rows.is_empty());
    let once = IdempotentRequest {
        key: IdempotencyKey::new("turn").unwrap(),
        fingerprint: Fingerprint::new([7; 32]),
    };
    for _ in 0..3 {
        let task = event(MessageKind::Task, json!({"input_tokens": 2, "output_tokens": null}));
        world.messages.post_event_once(bot.caller, chat, task, Some(once.clone())).await.unwrap();
    }
    let all = list(&world, &ann, ALL, UsageGroup::Agent).await;
    assert_eq!(total(&all), (counts([2, 0, 0, 0]), 1));
    let reported = world.messages.reported_tokens().read().map(|(_, number)| number);
    assert_eq!(reported, [2, 0, 0, 0]);
    let next = || report(&world, &bot, chat, [1, 1, 1, 1]);
    for _ in 0..4 {
        tokio::join!(next(), next(), next(), next(), next());
    }
    let all = list(&world, &ann, ALL, UsageGroup::Agent).await;
    assert_eq!(total(&all), (counts([22, 20, 20, 20]), 21), "at the same time");
}

/// Stores a sum of nearly as many tokens as a sum can hold, in one report.
async fn store_sum(
    world: &World,
    user: &TestUser,
    agent: &TestAgent,
    (chat, root): (ChatId, MessageId),
    model: &str,
) {
    let tokens = Value::Integer((MAX_TOKENS - MAX_REPORT_TOKENS).cast_signed());
    let row = vec![
        Value::Id(user.caller.organization.uuid()),
        Value::Integer(Day::of(world.clock.now()).number()),
        Value::Id(user.id.uuid()),
        Value::Id(agent.id.uuid()),
        Value::Id(chat.uuid()),
        Value::Id(root.uuid()),
        Value::Text(model.to_owned()),
        tokens.clone(),
        tokens.clone(),
        tokens.clone(),
        tokens,
        Value::Integer(1),
    ];
    let table = TABLES.iter().find(|table| table.name == "token_usage").unwrap();
    world.stores.archive.write(table, vec![row]).await.unwrap().unwrap();
}

/// The largest numbers in one row, in several, and in the sums of lists.
pub async fn sums_of_tokens_saturate(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let most = [MAX_TOKENS; 4];
    let report_most = [MAX_REPORT_TOKENS; 4];
    for model in ["one", "two"] {
        state_model(&world, &ann, &bot, model).await;
        let root = world.send(ann.caller, chat, "go", &[ParticipantId::Agent(bot.id)]).await.id;
        take(&world, &bot, chat, root, DeliveryStep::Begin).await;
        store_sum(&world, &ann, &bot, (chat, root), model).await;
        for tokens in [report_most, [1, 1, 1, 1], report_most] {
            report(&world, &bot, chat, tokens).await;
        }
        take(&world, &bot, chat, root, DeliveryStep::Succeed).await;
    }
    for group in UsageGroup::ALL {
        let all = list(&world, &ann, ALL, group).await;
        assert!(all.page.rows.iter().all(|row| row.tokens() == counts(most)), "{group:?}");
        assert_eq!(total(&all), (counts(most), 8), "{group:?}");
    }
}

pub async fn usage_is_for_those_who_answer_for_it(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (cai, ben) = (world.colleague("cai", "ann").await, world.user("ben").await);
    report(&world, &bot, chat, [5, 5, 0, 0]).await;
    let of = |user: &TestUser| WorkScope::Of(Authority::Admin(user.caller));
    let organization = ann.caller.organization;
    for (scope, is_seen) in [
        (WorkScope::OwnedBy(ann.id), true),
        (WorkScope::OwnedBy(cai.id), false),
        (WorkScope::OwnedBy(ben.id), false),
        (of(&ann), true),
        (of(&ben), false),
        (WorkScope::Of(Authority::Operator(organization)), true),
        (WorkScope::Everything, true),
    ] {
        for group in UsageGroup::ALL {
            let found = world.usage.list(scope, ALL, group, first(9)).await.unwrap();
            assert_eq!(!found.page.rows.is_empty(), is_seen, "{scope:?} {group:?}");
            assert_eq!(!found.sums.unwrap().is_empty(), is_seen);
        }
    }
    let refused = world.usage.list(of(&cai), ALL, UsageGroup::Agent, first(9)).await;
    assert!(matches!(refused, Err(ListWorkError::NotAdmin(_))), "no admin");
}

/// Owners read a room through their agent. After it has left, they still see its usage there, but nothing of the room.
pub async fn rooms_of_others_are_not_named(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    world.make_global(&bot).await;
    let room = world.chat(ben.caller, &[bot.id.into()]).await;
    let asked = world.send(ben.caller, room, "ben's secret", &[ParticipantId::Agent(bot.id)]).await.id;
    take(&world, &bot, room, asked, DeliveryStep::Begin).await;
    report(&world, &bot, room, [1, 0, 0, 0]).await;
    let shown = async |scope| {
        let trees = world.usage.list(scope, ALL, UsageGroup::Tree, first(9)).await.unwrap();
        let rooms = world.usage.list(scope, ALL, UsageGroup::Room, first(9)).await.unwrap();
        let (tree, of_room) = (&trees.page.rows[0], &rooms.page.rows[0]);
        (tree.name.is_some(), tree.chat, of_room.name.is_some())
    };
    let scopes = [WorkScope::OwnedBy(ann.id), WorkScope::Of(Authority::Admin(ann.caller))];
    for scope in scopes {
        assert_eq!(shown(scope).await, (true, Some(room), true), "{scope:?}");
    }
    world.chats.remove_participant(ben.caller, room, bot.id).await.unwrap();
    for scope in scopes {
        assert_eq!(shown(scope).await, (false, None, false), "{scope:?}");
    }
    assert_eq!(shown(WorkScope::Everything).await, (false, Some(room), true));
}

/// What it refers to may be deleted: the sums stay. Names are shown to those who may see them.
pub async fn sums_outlive_what_they_are_about(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let root = world.send(ann.caller, chat, "the question", &[ParticipantId::Agent(bot.id)]).await.id;
    take(&world, &bot, chat, root, DeliveryStep::Begin).await;
    report(&world, &bot, chat, [3, 2, 1, 0]).await;
    take(&world, &bot, chat, root, DeliveryStep::Succeed).await;
    let names = async |scope, group| {
        let found = world.usage.list(scope, ALL, group, first(9)).await.unwrap();
        let row = found.page.rows.into_iter().next().unwrap();
        assert_eq!(row.tokens(), counts([3, 2, 1, 0]));
        (row.name, row.handle, row.chat)
    };
    let (own, admins) = (WorkScope::OwnedBy(ann.id), WorkScope::Of(Authority::Admin(ann.caller)));
    let operators = WorkScope::Everything;
    assert_eq!(names(own, UsageGroup::Agent).await, (Some("Bot".to_owned()), Some(bot.handle.clone()), None));
    assert_eq!(names(admins, UsageGroup::Owner).await.1, Some(ann.handle.clone()));
    let name = world.organizations.show(ann.caller).await.unwrap().unwrap().name;
    assert_eq!(names(operators, UsageGroup::Organization).await, (Some(name), None, None));
    for scope in [own, admins, operators] {
        assert!(names(scope, UsageGroup::Room).await.0.is_some(), "{scope:?}");
        let (text, _, at) = names(scope, UsageGroup::Tree).await;
        let is_shown = text.is_some_and(|text| text.contains("the question"));
        assert_eq!(is_shown, scope != operators, "the operator reads no texts");
        assert_eq!(at, Some(chat));
    }
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    world.messages.delete(ann.caller, chat, root).await.unwrap();
    assert_eq!(names(own, UsageGroup::Tree).await, (None, None, None), "the message is gone");
    world.chats.delete(ann.caller, chat).await.unwrap();
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    while world.accounts.erase_some().await.unwrap() {}
    for group in UsageGroup::ALL {
        for scope in [own, admins, operators] {
            names(scope, group).await;
        }
    }
    assert_eq!(
        names(own, UsageGroup::Agent).await.1,
        Some(bot.handle.clone()),
        "a deleted agent keeps its name"
    );
}

pub async fn pages_of_usage_are_exact(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    for number in 0..7_u64 {
        state_model(&world, &ann, &bot, &format!("model-{number}")).await;
        // Equal sums as well.
        report(&world, &bot, chat, [number / 2, 1, 0, 0]).await;
        world.clock.advance(Duration::from_secs(24 * 60 * 60));
    }
    for (group, number) in
        [(UsageGroup::Model, 7), (UsageGroup::Day, 7), (UsageGroup::Tree, 7), (UsageGroup::Agent, 1)]
    {
        let whole = read(&list(&world, &ann, ALL, group).await);
        assert_eq!(whole.len(), number, "{group:?}");
        let (mut parts, mut after) = (Vec::new(), None);
        loop {
            let is_first = after.is_none();
            let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
            let part = world.usage.list(WorkScope::OwnedBy(ann.id), ALL, group, page).await.unwrap();
            let sums = is_first.then(|| total(&part).1);
            assert_eq!(
                (sums.unwrap_or(7), part.sums.is_some()),
                (7, is_first),
                "those of the whole list, once"
            );
            parts.extend(read(&part));
            after = part.page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(parts, whole, "{group:?}");
    }
    let models = read(&list(&world, &ann, ALL, UsageGroup::Model).await);
    let models = models.iter().map(|(model, ..)| model.as_str()).collect::<Vec<_>>();
    assert_eq!(models, ["model-6", "model-4", "model-5", "model-2", "model-3", "model-0", "model-1"]);
}

/// Without a first day, a list has 30 days.
pub async fn lists_of_usage_have_thirty_days(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let day = Day::of(world.clock.now());
    report(&world, &bot, chat, [1, 0, 0, 0]).await;
    let found = async |filter| total(&list(&world, &ann, filter, UsageGroup::Agent).await).1;
    world.clock.advance(Duration::from_secs(29 * 24 * 60 * 60));
    assert_eq!(found(ALL).await, 1);
    world.clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(found(ALL).await, 0);
    assert_eq!(found(UsageFilter { since: Some(day), ..ALL }).await, 1);
    for (days, number) in [(0, 1), (29, 1), (30, 0)] {
        let until = Some(Day::new(day.number() + days));
        assert_eq!(found(UsageFilter { until, ..ALL }).await, number, "{days}");
    }
}

/// The model at the time of the report counts, and only those with a price are kept apart.
pub async fn tokens_have_the_price_of_their_model(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    report(&world, &bot, chat, [1_000_000, 0, 0, 0]).await;
    for model in ["small", "large", "large", "Large"] {
        state_model(&world, &ann, &bot, model).await;
        report(&world, &bot, chat, [1_000_000, 1_000_000, 0, 0]).await;
    }
    let named = event(MessageKind::Task, json!({"output_tokens": 500_000, "model": "small"}));
    world.messages.post_event(bot.caller, chat, named).await.unwrap();
    let price = |input, output| ModelPrice {
        input,
        output,
        cache_read: None,
        cache_write: None,
        input_includes_cache: false,
    };
    let models =
        [("small", price(100_000, 200_000)), ("large", price(3_000_000, 15_000_000)), ("other", price(1, 1))];
    let models = models.into_iter().map(|(name, price)| (name.to_owned(), price)).collect();
    let prices = Prices { currency: Some("EUR".to_owned()), models };
    let usage = UsageService::new(world.stores.all.clone(), prices.clone(), world.clock.clone());
    let all = usage.list(WorkScope::OwnedBy(ann.id), ALL, UsageGroup::Agent, first(9)).await.unwrap();
    let sum = |model: Option<&str>, input, output, reports| UsageSum {
        model: model.map(str::to_owned),
        tokens: counts([input, output, 0, 0]),
        reports,
    };
    let sums = [
        sum(None, 2_000_000, 1_000_000, 2),
        sum(Some("large"), 2_000_000, 2_000_000, 2),
        sum(Some("small"), 1_000_000, 1_500_000, 2),
    ];
    assert_eq!((all.sums.as_deref(), all.page.rows[0].sums.as_slice()), (Some(&sums[..]), &sums[..]));
    let cost = prices.cost(&sums);
    assert_eq!((cost.amount.unwrap().to_string(), cost.unpriced_tokens), ("36.400000".to_owned(), 3_000_000));
}
