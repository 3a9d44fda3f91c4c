//! The work ledger.

use std::time::Duration;

use domain::account::{Connection, Disconnect, EndReason, LastDisconnect, UpdateAgentError};
use domain::chat::{ChatParts, Role, WorkStatus};
use domain::delivery::{DeliveryKey, DeliveryStatus, DeliveryStep, FailureText};
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::message::{Ageing, Retention};
use domain::organization::{Authority, OrganizationRole};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::work::{
    AgentWork, FindWorkError, ListWorkError, WorkFilter, WorkFlag, WorkItem, WorkScope, WorkTotals,
};

use uuid::Uuid;

use super::messages::{ann_and_bot, first};
use crate::{TestAgent, TestUser, World};

pub(super) fn failed(error: &str) -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new(error.to_owned()).unwrap())
}

/// Sends a text for an agent, who then takes these steps; a minute passes before each of them.
pub(super) async fn work(
    world: &World,
    (sender, chat): (&TestUser, ChatId),
    agent: &TestAgent,
    text: &str,
    steps: &[DeliveryStep],
) -> MessageId {
    let message = world.send(sender.caller, chat, text, &[ParticipantId::Agent(agent.id)]).await.id;
    for step in steps {
        minutes(world, 1);
        world.deliveries.advance(agent.caller, chat, message, step.clone()).await.unwrap();
    }
    message
}

pub(super) fn minutes(world: &World, number: u64) {
    world.clock.advance(Duration::from_secs(60 * number));
}

/// The items of a scope, read in pages of two.
pub(super) async fn items(world: &World, scope: WorkScope, filter: &WorkFilter) -> Vec<WorkItem> {
    let (mut items, mut after) = (Vec::new(), None);
    loop {
        let request = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.work.list(scope, filter.clone(), request).await.unwrap();
        assert_eq!(page.total, None);
        items.extend(page.rows);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let whole = world.work.list(scope, filter.clone(), first(100)).await.unwrap().rows;
    assert_eq!(items, whole, "in pages as on one page");
    items
}

/// The text of an item without the mentions before it.
fn text(item: &WorkItem) -> &str {
    item.text.as_deref().and_then(|text| text.rsplit("]] ").next()).unwrap_or_default()
}

async fn texts(world: &World, scope: WorkScope, filter: &WorkFilter) -> Vec<String> {
    items(world, scope, filter).await.iter().map(|item| text(item).to_owned()).collect()
}

/// By the age of the message, over all agents and rooms; what is processed is not open, but found.
pub async fn open_work_is_listed_oldest_first(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    let other = world.chat(ann.caller, &[scout.id.into(), bot.id.into()]).await;
    let (begin, done) = (DeliveryStep::Begin, DeliveryStep::Succeed);
    work(&world, (&ann, chat), &bot, "one", &[begin.clone(), failed("it broke")]).await;
    work(&world, (&ann, other), &scout, "two", &[]).await;
    work(&world, (&ann, other), &bot, "three", std::slice::from_ref(&begin)).await;
    let finished = work(&world, (&ann, chat), &bot, "four", &[begin.clone(), done]).await;
    let long = "ä".repeat(300);
    work(&world, (&ann, chat), &bot, &long, &[]).await;
    let both = [ParticipantId::Agent(bot.id), ParticipantId::Agent(scout.id)];
    world.send(ann.caller, other, "for both", &both).await;
    // Work on what does not mention the agent is owed as well, once it has begun.
    let unasked = world.send(ann.caller, chat, "for nobody", &[]).await.id;
    world.deliveries.advance(bot.caller, chat, unasked, begin).await.unwrap();
    let mine = WorkScope::OwnedBy(ann.id);
    let listed = items(&world, mine, &WorkFilter::default()).await;
    let shown = listed.iter().map(|item| {
        (text(item), item.agent.name.as_str(), item.chat == chat, item.delivery.status().as_str())
    });
    assert_eq!(listed[3].text.as_ref().unwrap().chars().count(), 200);
    assert!(listed[3].text_with_handles().unwrap().starts_with("@ann/bot ä"));
    let cut = "ä".repeat(200 - "@[[]] ".len() - bot.id.to_string().len());
    let mut pair = [("for both", "Bot", false, "new"), ("for both", "Scout", false, "new")];
    pair.sort_by_key(|(_, name, ..)| if *name == "Bot" { bot.id } else { scout.id });
    let expected = [
        ("one", "Bot", true, "failed"),
        ("two", "Scout", false, "new"),
        ("three", "Bot", false, "processing"),
        (cut.as_str(), "Bot", true, "new"),
        pair[0],
        pair[1],
        ("for nobody", "Bot", true, "processing"),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    let one = &listed[0];
    assert_eq!((one.sender, one.sender_name.as_str()), (ParticipantId::User(ann.id), "ann Example"));
    assert_eq!((one.sequence.get(), one.agent.handle.as_str()), (1, bot.handle.as_str()));
    assert!(one.agent.is_external && one.title.is_some());
    assert_eq!(one.delivery.attempts()[0].error(), Some("it broke"));
    assert_eq!(world.work.find(mine, one.message, bot.id).await.unwrap(), *one);
    let found = world.work.find(mine, finished, bot.id).await.unwrap();
    assert_eq!(found.delivery.status(), DeliveryStatus::Processed);
    let never = world.work.find(mine, finished, scout.id).await;
    assert!(matches!(never, Err(FindWorkError::NotFound)), "it is not for this agent");
}

/// Every filter, and all of them together.
pub async fn work_is_narrowed(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    let other = world.chat(ann.caller, &[scout.id.into(), bot.id.into()]).await;
    let begin = || DeliveryStep::Begin;
    work(&world, (&ann, chat), &bot, "new", &[]).await;
    let taken = work(&world, (&ann, chat), &bot, "taken", &[]).await;
    let taken = DeliveryKey { message: taken, agent: bot.id };
    world.deliveries.mark_delivered(vec![taken]).await.unwrap();
    minutes(&world, 1);
    work(&world, (&ann, other), &scout, "begun", &[begin()]).await;
    let twice = [begin(), failed("OPENAI_API_KEY is not set"), begin(), failed("100% Ärger_")];
    work(&world, (&ann, other), &scout, "twice", &twice).await;
    let again = [begin(), failed("Rate limit"), begin()];
    work(&world, (&ann, chat), &scout_in(&world, &ann, chat, &scout).await, "again", &again).await;
    minutes(&world, 1);
    let cases: Vec<(WorkFilter, &[&str])> = vec![
        (WorkFilter::default(), &["new", "taken", "begun", "twice", "again"]),
        (WorkFilter { agent: Some(bot.id), ..WorkFilter::default() }, &["new", "taken"]),
        (WorkFilter { chat: Some(other), ..WorkFilter::default() }, &["begun", "twice"]),
        (WorkFilter { chat: Some(chat), agent: Some(scout.id), ..WorkFilter::default() }, &["again"]),
        (WorkFilter { state: Some(DeliveryStatus::New), ..WorkFilter::default() }, &["new"]),
        (WorkFilter { state: Some(DeliveryStatus::Delivered), ..WorkFilter::default() }, &["taken"]),
        (
            WorkFilter { state: Some(DeliveryStatus::Processing), ..WorkFilter::default() },
            &["begun", "again"],
        ),
        (WorkFilter { state: Some(DeliveryStatus::Failed), ..WorkFilter::default() }, &["twice"]),
        (WorkFilter { state: Some(DeliveryStatus::Processed), ..WorkFilter::default() }, &[]),
        (WorkFilter { min_attempts: 1, ..WorkFilter::default() }, &["begun", "twice", "again"]),
        (WorkFilter { min_attempts: 2, ..WorkFilter::default() }, &["twice", "again"]),
        (WorkFilter { min_attempts: 3, ..WorkFilter::default() }, &[]),
        (
            WorkFilter { min_age: Some(Duration::from_secs(0)), ..WorkFilter::default() },
            &["new", "taken", "begun", "twice", "again"],
        ),
        (
            WorkFilter { min_age: Some(Duration::from_secs(4 * 60)), ..WorkFilter::default() },
            &["new", "taken", "begun", "twice", "again"],
        ),
        (
            WorkFilter { min_age: Some(Duration::from_secs(4 * 60 + 1)), ..WorkFilter::default() },
            &["new", "taken", "begun", "twice"],
        ),
        (WorkFilter { min_age: Some(Duration::from_secs(3600)), ..WorkFilter::default() }, &[]),
        // The last error is that of the newest attempt that has ended; only ASCII letters match in any case.
        (WorkFilter { error: Some("openai".to_owned()), ..WorkFilter::default() }, &[]),
        (WorkFilter { error: Some("100% ".to_owned()), ..WorkFilter::default() }, &["twice"]),
        (WorkFilter { error: Some("ÄRGER_".to_owned()), ..WorkFilter::default() }, &["twice"]),
        (WorkFilter { error: Some("ärger_".to_owned()), ..WorkFilter::default() }, &[]),
        (WorkFilter { error: Some("rate LIMIT".to_owned()), ..WorkFilter::default() }, &["again"]),
        (
            WorkFilter {
                error: Some("%".to_owned()),
                state: Some(DeliveryStatus::New),
                ..WorkFilter::default()
            },
            &[],
        ),
        (WorkFilter { error: Some("\0".to_owned()), ..WorkFilter::default() }, &[]),
        (
            WorkFilter {
                agent: Some(scout.id),
                chat: Some(other),
                root: None,
                state: Some(DeliveryStatus::Failed),
                flag: None,
                min_age: Some(Duration::from_secs(60)),
                min_attempts: 2,
                error: Some("100".to_owned()),
            },
            &["twice"],
        ),
    ];
    for (filter, expected) in cases {
        for scope in [WorkScope::OwnedBy(ann.id), WorkScope::Of(Authority::Admin(ann.caller))] {
            assert_eq!(texts(&world, scope, &filter).await, expected, "{filter:?}");
        }
        let everything = items(&world, WorkScope::Everything, &filter).await;
        assert_eq!(everything.len(), expected.len(), "{filter:?}");
        assert!(everything.iter().all(|item| item.text.is_none()));
    }
}

/// Brings an agent into another room.
async fn scout_in(world: &World, ann: &TestUser, chat: ChatId, scout: &TestAgent) -> TestAgent {
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    scout.clone()
}

/// The store finds the items with a flag that the rule finds, whatever happened to them.
pub async fn flags_are_found_as_they_are_shown(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (begin, done) = (|| DeliveryStep::Begin, || DeliveryStep::Succeed);
    let histories = [
        vec![],
        vec![begin()],
        vec![begin(), failed("x")],
        vec![begin(), begin(), begin()],
        vec![begin(), begin(), begin(), begin()],
        vec![begin(), failed("x"), begin(), failed("x"), begin(), failed("x")],
        vec![begin(), failed("x"), begin(), done(), begin(), failed("x"), begin(), failed("x")],
        vec![begin(), failed("x"), begin(), done(), begin(), failed("x"), begin(), begin(), failed("x")],
        [vec![begin(), done()], vec![begin(); 60]].concat(),
        vec![begin(), begin(), begin(), begin(), done()],
    ];
    for steps in &histories {
        work(&world, (&ann, chat), &bot, "work", steps).await;
    }
    let mine = WorkScope::OwnedBy(ann.id);
    let mut seen = std::collections::BTreeSet::new();
    for wait in [0, 4, 1, 10, 1, 100] {
        minutes(&world, wait);
        let all = items(&world, mine, &WorkFilter::default()).await;
        assert_eq!(all.len(), histories.len() - 1);
        for flag in WorkFlag::ALL {
            let shown = all.iter().filter(|item| world.work.flags(item, world.work.now()).contains(&flag));
            let shown = shown.cloned().collect::<Vec<_>>();
            seen.extend(shown.iter().map(|item| (flag.as_str(), item.sequence)));
            let filter = WorkFilter { flag: Some(flag), ..WorkFilter::default() };
            assert_eq!(items(&world, mine, &filter).await, shown, "{flag:?} after {wait} more minutes");
            let of_flag = |totals: WorkTotals| totals.by_flag().into_iter().find(|(of, _)| *of == flag);
            let counted = (flag, shown.len() as u64);
            assert_eq!(of_flag(world.work.totals().await.unwrap()), Some(counted));
            assert_eq!(of_flag(of_agent(&world, &bot).await.totals), Some(counted));
        }
    }
    let number = |flag: WorkFlag| seen.iter().filter(|(of, _)| *of == flag.as_str()).count();
    assert_eq!((number(WorkFlag::Unanswered), number(WorkFlag::Stuck), number(WorkFlag::Failing)), (1, 4, 4));
}

async fn of_agent(world: &World, agent: &TestAgent) -> AgentWork {
    world.work.of_agents(vec![agent.id]).await.unwrap()[0]
}

/// Each agent has its own numbers, in the order of the request, without what is in chats that it has left.
pub async fn the_work_of_agents_is_counted(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (scout, idle) = (world.agent(&ann, "Scout").await, world.agent(&ann, "Idle").await);
    let other = world.chat(ann.caller, &[scout.id.into(), bot.id.into()]).await;
    let (begin, done) = (|| DeliveryStep::Begin, || DeliveryStep::Succeed);
    let begun_at = world.clock.now();
    work(&world, (&ann, chat), &bot, "done", &[begin(), done()]).await;
    work(&world, (&ann, other), &bot, "done later", &[begin(), done()]).await;
    let finished_at = world.clock.now();
    assert_eq!(finished_at, begun_at.plus(Duration::from_secs(4 * 60)));
    let seen = of_agent(&world, &bot).await;
    let begun_last = finished_at.minus(Duration::from_secs(60));
    assert_eq!((seen.totals, seen.seen_at, seen.is_connected), (WorkTotals::default(), None, None));
    assert_eq!((seen.taken_at, seen.finished_at), (Some(begun_last), Some(finished_at)));

    work(&world, (&ann, chat), &bot, "new", &[]).await;
    work(&world, (&ann, other), &scout, "failed", &[begin(), failed("it broke")]).await;
    work(&world, (&ann, chat), &bot, "begun", &[begin()]).await;
    let taken_at = world.clock.now();
    minutes(&world, 1);
    world.accounts.authenticate(&bot.key).await.unwrap();
    world.accounts.write_uses().await.unwrap();
    let all = world.work.of_agents(vec![scout.id, idle.id, bot.id]).await.unwrap();
    assert_eq!(all.iter().map(|work| work.agent).collect::<Vec<_>>(), [scout.id, idle.id, bot.id]);
    assert_eq!(all[1], AgentWork::none(idle.id));
    assert_eq!((all[0].totals.open(), all[0].totals.failed), (1, 1));
    assert_eq!((all[0].taken_at.is_some(), all[0].finished_at), (true, None), "a failure is no end");
    let of_bot = all[2];
    assert_eq!((of_bot.totals.new, of_bot.totals.processing, of_bot.totals.open()), (1, 1, 2));
    assert_eq!(of_bot.totals.oldest, Some(finished_at));
    assert_eq!((of_bot.taken_at, of_bot.finished_at), (Some(taken_at), Some(finished_at)));
    assert_eq!((of_bot.seen_at, of_bot.disconnect), (Some(world.clock.now()), None));
    assert_eq!(world.work.of_agents(Vec::new()).await.unwrap(), []);

    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert_eq!(of_agent(&world, &bot).await.totals, WorkTotals::default());
    assert_eq!(world.work.totals().await.unwrap(), all[0].totals);
}

/// The newest end of an agent's last socket is stored, and shown with its work. That a server has gone says less
/// than what the server itself has stored shortly before.
pub async fn the_last_disconnect_is_shown_with_the_work(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    work(&world, (&ann, chat), &bot, "new", &[]).await;
    let begun = world.clock.now();
    let at = |seconds| begun.plus(Duration::from_secs(seconds));
    let note = async |seconds, reason| {
        let last = LastDisconnect { at: at(seconds), reason };
        let gone = Disconnect { agent: AgentId::new(Uuid::from_u128(7)), began_at: None, last };
        let ended = Disconnect { agent: bot.id, began_at: Some(begun), last };
        world.accounts.note_disconnects(vec![gone, ended]).await.unwrap();
        let items = items(&world, WorkScope::OwnedBy(ann.id), &WorkFilter::default()).await;
        let shown = items[0].agent.disconnect.unwrap();
        assert_eq!(of_agent(&world, &bot).await.disconnect, Some(shown));
        (shown.at, shown.reason)
    };
    let slow = (at(10), EndReason::SlowConsumer);
    assert_eq!(note(10, EndReason::SlowConsumer).await, slow);
    assert_eq!(note(9, EndReason::ClientClosed).await, slow, "never backwards");
    let said = (at(70), EndReason::SlowConsumer);
    assert_eq!(note(70, EndReason::ServerLost).await, said, "the server has stored why");
    assert_eq!(note(131, EndReason::ServerLost).await, (at(131), EndReason::ServerLost));
    assert_eq!(note(132, EndReason::IdleTimeout).await, (at(132), EndReason::IdleTimeout));
    world.accounts.note_disconnects(Vec::new()).await.unwrap();
    let shown = world.accounts.connections(ann.caller, bot.id).await.unwrap();
    let shown = shown.iter().map(|one| (one.began_at, one.end.at, one.end.reason)).collect::<Vec<_>>();
    let of = |seconds, reason| (Some(begun), at(seconds), reason);
    let reasons = [EndReason::IdleTimeout, EndReason::ServerLost, EndReason::SlowConsumer];
    assert_eq!(shown, [of(132, reasons[0]), of(131, reasons[1]), of(10, reasons[2])]);
}

/// The newest connections of an agent are kept, for its owner, until it is deleted.
pub async fn the_newest_connections_are_kept(world: World) {
    let (ann, bot, _) = ann_and_bot(&world).await;
    let idle = world.agent(&ann, "Idle").await;
    let begun = world.clock.now();
    let ended = |agent: AgentId, number: u32| {
        let at = begun.plus(Duration::from_secs(u64::from(number)));
        let began_at = number.is_multiple_of(2).then_some(begun);
        Disconnect { agent, began_at, last: LastDisconnect { at, reason: EndReason::ConnectionLost } }
    };
    world.accounts.note_disconnects(vec![ended(idle.id, 1)]).await.unwrap();
    for number in 1..=Connection::KEPT + 2 {
        // A write that is repeated adds nothing.
        for _ in 0..2 {
            world.accounts.note_disconnects(vec![ended(bot.id, number)]).await.unwrap();
        }
    }
    let kept = world.accounts.connections(ann.caller, bot.id).await.unwrap();
    let expected = (3..=Connection::KEPT + 2).rev().map(|number| ended(bot.id, number));
    let expected =
        expected.map(|one| Connection { began_at: one.began_at, end: one.last }).collect::<Vec<_>>();
    assert_eq!(kept, expected);
    assert_eq!(world.accounts.connections(ann.caller, idle.id).await.unwrap().len(), 1);
    let bob = world.user("bob").await;
    let foreign = world.accounts.connections(bob.caller, bot.id).await;
    assert!(matches!(foreign, Err(UpdateAgentError::AgentNotFound)), "{foreign:?}");

    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    world.accounts.note_disconnects(vec![ended(bot.id, Connection::KEPT + 3)]).await.unwrap();
    assert_eq!(world.stores.accounts.list_connections(bot.id).await.unwrap(), []);
}

/// An attempt that was open when its agent disconnected counts only while the agent is connected again.
pub async fn an_interrupted_attempt_is_no_work(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    work(&world, (&ann, chat), &bot, "begun", &[DeliveryStep::Begin]).await;
    let status = async || {
        let details = world
            .chats
            .find_with_details(ann.caller, chat, ChatParts::ALL, false)
            .await
            .unwrap()
            .listed
            .details
            .unwrap();
        (details.work, world.activity.work_status(chat, &details))
    };
    assert_eq!(status().await, (WorkStatus::Working, WorkStatus::Working), "it may have no socket");
    let disconnect = async || {
        let last = LastDisconnect { at: world.clock.now(), reason: EndReason::ConnectionLost };
        world
            .accounts
            .note_disconnects(vec![Disconnect { agent: bot.id, began_at: None, last }])
            .await
            .unwrap();
    };
    disconnect().await;
    assert_eq!(status().await, (WorkStatus::Idle, WorkStatus::Idle));
    work(&world, (&ann, chat), &bot, "begun later", &[DeliveryStep::Begin]).await;
    assert_eq!(status().await, (WorkStatus::Working, WorkStatus::Working), "this one it began afterwards");
    disconnect().await;
    assert_eq!(status().await, (WorkStatus::Idle, WorkStatus::Idle));
    world.presence.connect(ParticipantId::Agent(bot.id));
    assert_eq!(status().await, (WorkStatus::Idle, WorkStatus::Working), "it goes on");
    world.administration.set_disabled(ParticipantId::Agent(bot.id), true).await.unwrap();
    assert_eq!(status().await, (WorkStatus::Idle, WorkStatus::Idle), "disabled");
}

/// Owners see the work of their own agents, admins that of their organization's. Texts and titles are
/// for those who may read the room.
pub async fn work_is_for_those_who_answer_for_it(world: World) {
    let ann = world.colleague("ann", "Acme").await;
    let cat = world.colleague("cat", "Acme").await;
    let ben = world.user("ben").await;
    let (anns, cats, bens) =
        (world.agent(&ann, "Anns").await, world.agent(&cat, "Cats").await, world.agent(&ben, "Bens").await);
    for agent in [&anns, &cats, &bens] {
        world.make_global(agent).await;
    }
    // Of Ben's room, his organization pays for; the agents of Ann and Cat work in it.
    let room = world.chat(ben.caller, &[anns.id.into(), cats.id.into(), bens.id.into()]).await;
    let agents = [&anns, &cats, &bens].map(|agent| ParticipantId::Agent(agent.id));
    let message = world.send(ben.caller, room, "ben's secret", &agents).await.id;
    for agent in [&anns, &cats, &bens] {
        for step in [DeliveryStep::Begin, failed("why it failed")] {
            world.deliveries.advance(agent.caller, room, message, step).await.unwrap();
        }
    }
    let admin = |user: &TestUser| WorkScope::Of(Authority::Admin(user.caller));
    let seen = async |scope| {
        let items = items(&world, scope, &WorkFilter::default()).await;
        let mut seen = items
            .into_iter()
            .map(|item| {
                assert_eq!(item.delivery.attempts()[0].error(), Some("why it failed"));
                (item.agent.name, item.text.is_some(), item.title.is_some())
            })
            .collect::<Vec<_>>();
        seen.sort_unstable();
        seen
    };
    let row = |name: &str, text, title| (name.to_owned(), text, title);
    assert_eq!(seen(WorkScope::OwnedBy(ann.id)).await, [row("Anns", true, true)]);
    assert_eq!(seen(WorkScope::OwnedBy(cat.id)).await, [row("Cats", true, true)]);
    assert_eq!(seen(WorkScope::OwnedBy(ben.id)).await, [row("Bens", true, true)]);
    // Ann reads the room through her own agent, and so the item of Cat's agent there.
    assert_eq!(seen(admin(&ann)).await, [row("Anns", true, true), row("Cats", true, true)]);
    assert_eq!(seen(admin(&ben)).await, [row("Bens", true, true)]);
    let everybody = [row("Anns", false, true), row("Bens", false, true), row("Cats", false, true)];
    assert_eq!(seen(WorkScope::Everything).await, everybody);
    let refused = world.work.list(admin(&cat), WorkFilter::default(), first(10)).await;
    assert!(matches!(refused, Err(ListWorkError::NotAdmin(_))), "{refused:?}");
    let refused = world.work.find(admin(&cat), message, cats.id).await;
    assert!(matches!(refused, Err(FindWorkError::NotAdmin(_))), "{refused:?}");

    // Without an agent there, Ann still answers for Cat's, but reads neither text nor title.
    world.chats.remove_participant(ben.caller, room, anns.id).await.unwrap();
    assert_eq!(seen(admin(&ann)).await, [row("Cats", false, false)]);
    assert_eq!(seen(WorkScope::OwnedBy(ann.id)).await, [], "an agent that left owes nothing");
    let gone = async |scope, agent: &TestAgent| {
        let found = world.work.find(scope, message, agent.id).await;
        matches!(found, Err(FindWorkError::NotFound))
    };
    assert!(gone(WorkScope::OwnedBy(ann.id), &anns).await);
    assert!(gone(WorkScope::OwnedBy(ann.id), &cats).await, "it is Cat's");
    assert!(gone(WorkScope::OwnedBy(ben.id), &cats).await, "it is Cat's, though in Ben's room");
    assert!(gone(admin(&ben), &cats).await, "it is of another organization");
    let found = world.work.find(admin(&ann), message, cats.id).await.unwrap();
    assert_eq!((found.text, found.title), (None, None));
    assert!(world.work.find(WorkScope::Everything, message, cats.id).await.unwrap().text.is_none());

    // A room of the organization tells its title to the admin, but no text.
    let own = world.chat(cat.caller, &[cats.id.into()]).await;
    world.send(cat.caller, own, "cat's secret", &[ParticipantId::Agent(cats.id)]).await;
    let filter = WorkFilter { chat: Some(own), ..WorkFilter::default() };
    let item = items(&world, admin(&ann), &filter).await.remove(0);
    assert_eq!((item.text, item.title.is_some()), (None, true));

    world
        .organizations
        .set_role(Authority::Admin(ann.caller), cat.id, OrganizationRole::Admin)
        .await
        .unwrap();
    assert_eq!(items(&world, admin(&cat), &WorkFilter::default()).await.len(), 2);
    world.chats.delete(ben.caller, room).await.unwrap();
    assert_eq!(items(&world, WorkScope::OwnedBy(cat.id), &WorkFilter::default()).await.len(), 1);
    assert!(gone(WorkScope::OwnedBy(cat.id), &cats).await, "the room is deleted");
    world.accounts.delete_agent(cat.caller, cats.id, true).await.unwrap();
    assert_eq!(items(&world, WorkScope::Everything, &WorkFilter::default()).await, []);
}

/// What was deleted or erased is owed by nobody.
pub async fn a_text_that_is_gone_is_no_work(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let deleted = work(&world, (&ann, chat), &bot, "deleted", &[]).await;
    work(&world, (&ann, chat), &bot, "old", &[DeliveryStep::Begin]).await;
    world.messages.delete(ann.caller, chat, deleted).await.unwrap();
    let mine = WorkScope::OwnedBy(ann.id);
    assert_eq!(texts(&world, mine, &WorkFilter::default()).await, ["old"]);
    assert!(matches!(world.work.find(mine, deleted, bot.id).await, Err(FindWorkError::NotFound)));
    world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    let mut walk = Retention::days(Ageing::Texts, 2);
    while world.messages.erase_old(&mut walk, world.work.now()).await.unwrap().is_some() {}
    assert_eq!(items(&world, mine, &WorkFilter::default()).await, []);
}
