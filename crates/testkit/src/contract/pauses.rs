//! Pauses of organizations.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::archive::{Table, Value};
use domain::audit::AuditAction;
use domain::change::Change;
use domain::chat::WorkStatus;
use domain::control::{ControlMode, Paused};
use domain::delivery::{AdvanceError, DeliveryStatus, DeliveryStep};
use domain::event::DomainEvent;
use domain::id::{ChatId, ParticipantId};
use domain::message::SendMessageError;
use domain::organization::{Authority, Pause, PauseError, PauseReason};
use domain::ports::Clock;
use uuid::Uuid;

use super::archives::all_rows;
use super::audit::log_of;
use super::control::{answered, executions, halts, next, send, take, to, work};
use super::messages::ann_and_bot;
use super::redelivery::{found, listening, new_messages};
use crate::{TestUser, World};

fn why() -> PauseReason {
    PauseReason::new("runaway costs".to_owned()).unwrap()
}

/// As if all of its chats were stopped, and independent of their stops; chats of other organizations go on.
pub async fn a_pause_stops_every_agent_in_the_chats_of_an_organization(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let stopped = world.chat(ann.caller, &[bot.id.into()]).await;
    world.control.stop(ann.caller, stopped).await.unwrap();
    let ben = world.user("ben").await;
    world.connect((ann.caller, &ann.handle), (ben.caller, &ben.handle)).await;
    world.connect((ben.caller, &ben.handle), (bot.caller, &bot.handle)).await;
    let abroad = world.chat(ben.caller, &[bot.id.into()]).await;
    let mut sent = Vec::new();
    for (from, chat) in [(&ann, chat), (&ann, stopped), (&ben, abroad)] {
        sent.push(send(&world, from, chat, &bot).await);
    }
    // The members of the chat may be remembered by now.
    for _ in 0..3 {
        world.messages.send(bot.caller, chat, to(&ann)).await.unwrap();
    }
    let by = Authority::Admin(ann.caller);
    world.organizations.pause(by, why()).await.unwrap();
    for (chat, status) in [(chat, WorkStatus::Stopped), (stopped, WorkStatus::Stopped)] {
        assert_eq!(work(&world, ann.caller, chat).await, status);
        assert_eq!(next(&world, &bot, chat).await, None);
        let refused = world.messages.send(bot.caller, chat, to(&ann)).await;
        assert!(matches!(refused, Err(SendMessageError::Stopped)), "{refused:?}");
        assert!(!world.activity.report(bot.caller, chat, true).await.unwrap());
    }
    let refused = world.deliveries.advance(bot.caller, chat, sent[0], DeliveryStep::Begin).await;
    assert!(matches!(refused, Err(AdvanceError::Stopped)), "{refused:?}");
    assert_eq!(found(&world, &[listening(&bot, chat, 0), listening(&bot, abroad, 0)], 10).await, [(1, 1)]);
    assert_eq!(new_messages(&world, &bot, chat, [1]).await, []);
    let to_bot = [ParticipantId::Agent(bot.id)];
    let answer = async |from: &TestUser, chat| {
        let sent = world.send(from.caller, chat, "work", &to_bot).await;
        (sent.id, answered(&sent, &bot))
    };
    let new = DeliveryStatus::New;
    assert_eq!(answer(&ann, stopped).await.1, (new, true, true));
    assert_eq!(answer(&ben, abroad).await.1, (new, false, false));
    world.publisher.take();
    let (late, state) = answer(&ann, chat).await;
    assert_eq!(state, (new, false, true));
    assert_eq!(halts(&world, &ann, &bot, chat, late).await, (false, true));
    assert_eq!(halts(&world, &ann, &bot, stopped, sent[1]).await, (true, true));
    assert_eq!(halts(&world, &ann, &bot, abroad, sent[2]).await, (false, false));
    let is_pushed = |event: &DomainEvent| match event {
        DomainEvent::MessageCreated { recipients, .. } => !recipients.is_empty(),
        _ => false,
    };
    assert!(!world.publisher.take().iter().any(is_pushed), "humans go on, and agents hear nothing");
    let all = executions(&world, &ann, &bot).await;
    let stops = all.iter().map(|one| (one.chat, one.stopped_at.is_some())).collect::<Vec<_>>();
    assert_eq!(stops, [(abroad, false), (stopped, true), (chat, true)]);
    assert_eq!(next(&world, &bot, abroad).await, Some(sent[2]));
    take(&world, &bot, abroad, sent[2], DeliveryStep::Begin).await;

    world.publisher.take();
    world.control.play(ann.caller, chat).await.unwrap();
    let is_play = |event: &DomainEvent| match event {
        DomainEvent::AgentControlled { signal, .. } => signal.mode == ControlMode::Play,
        _ => false,
    };
    assert!(!world.publisher.take().iter().any(is_play), "no agent is told to play during a pause");
    assert_eq!(next(&world, &bot, chat).await, None, "a play of a chat ends no pause");
    world.organizations.resume(by).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, Some(sent[0]));
    assert_eq!(found(&world, &[listening(&bot, chat, 0)], 10).await.len(), 2);
    take(&world, &bot, chat, sent[0], DeliveryStep::Begin).await;
    take(&world, &bot, chat, sent[0], DeliveryStep::Succeed).await;
    assert_eq!(next(&world, &bot, chat).await, Some(late));
    world.messages.send(bot.caller, chat, to(&ann)).await.unwrap();
    assert_eq!(next(&world, &bot, stopped).await, None, "a stop of a chat outlives a pause");
    assert_eq!(work(&world, ann.caller, stopped).await, WorkStatus::Stopped);
}

/// By admins and the operator; it keeps its beginning while it goes on.
pub async fn a_pause_is_shown_and_recorded(world: World) {
    let ann = world.user("ann").await;
    let ben = world.colleague("ben", "ann").await;
    let log = &world.stores.changes;
    let before = log.newest_change().await.unwrap();
    let (admin, operator) = (Authority::Admin(ann.caller), Authority::Operator(ann.caller.organization));
    let refused = world.organizations.pause(Authority::Admin(ben.caller), why()).await;
    assert!(matches!(refused, Err(PauseError::NotAdmin(_))), "{refused:?}");
    assert_eq!(world.organizations.resume(admin).await.unwrap().pause, None);
    let since = world.clock.now();
    world.organizations.pause(operator, why()).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let other = PauseReason::new("still".to_owned()).unwrap();
    let paused = world.organizations.pause(admin, other).await.unwrap().pause;
    assert_eq!(paused, Some(Pause { since, reason: "still".to_owned() }));
    let shown = world.organizations.show(ben.caller).await.unwrap().unwrap().pause;
    assert_eq!(shown, paused);
    assert!(world.plans.organizations().await.unwrap().iter().any(|one| one.pause == paused));
    assert_eq!(world.stores.status.status().await.unwrap().paused_organizations, 1);
    let refused = world.organizations.resume(Authority::Admin(ben.caller)).await;
    assert!(matches!(refused, Err(PauseError::NotAdmin(_))), "{refused:?}");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(world.organizations.resume(admin).await.unwrap().pause, None);
    assert_eq!(world.stores.status.status().await.unwrap().paused_organizations, 0);
    let changes = log.changes_after(before, 100).await.unwrap();
    let changes = changes.into_iter().filter_map(|entry| entry.change).collect::<Vec<_>>();
    assert_eq!(changes, [Change::PauseChanged(ann.caller.organization); 3]);
    let entries = log_of(&world, Some(ann.caller.organization), None).await;
    let of_pauses = [AuditAction::OrganizationPaused, AuditAction::OrganizationResumed];
    let entries = entries.iter().filter(|entry| of_pauses.contains(&entry.action));
    let entries = entries.map(|entry| (entry.action, entry.detail.as_deref())).collect::<Vec<_>>();
    let [paused, resumed] = of_pauses;
    assert_eq!(entries, [(paused, Some("runaway costs")), (paused, Some("still")), (resumed, None)]);
}

/// The agents of one node that are in chats of the organization get signals, and lose their indicators.
pub async fn a_pause_is_signaled_to_connected_agents(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    let second = world.chat(ann.caller, &[bot.id.into(), scout.id.into()]).await;
    let ben = world.user("ben").await;
    let own = world.agent(&ben, "Own").await;
    let abroad = world.chat(ben.caller, &[own.id.into()]).await;
    for (agent, chat) in [(&bot, chat), (&scout, second), (&own, abroad)] {
        world.activity.report(agent.caller, chat, true).await.unwrap();
    }
    let organization = Paused::Organization(ann.caller.organization);
    world.organizations.pause(Authority::Admin(ann.caller), why()).await.unwrap();
    let listening = [(bot.id, chat), (bot.id, second), (own.id, abroad), (own.id, chat)];
    let follow = async || {
        let signals = world.control.signals_of_pause(organization, listening.to_vec()).await.unwrap();
        let signals = signals.into_iter().map(|(agent, signal)| (agent, signal.chat, signal.mode));
        let mut signals = signals.collect::<Vec<_>>();
        signals.sort_unstable_by_key(|(agent, chat, _)| (*agent, *chat));
        signals
    };
    let mut expected = [(bot.id, Some(chat)), (bot.id, Some(second))];
    expected.sort_unstable();
    assert_eq!(follow().await, expected.map(|(agent, chat)| (agent, chat, ControlMode::Stop)));
    let working = world.activity.working().into_iter().map(|(agent, _)| agent).collect::<Vec<_>>();
    assert_eq!(working, [own.id]);
    world.control.stop(ann.caller, second).await.unwrap();
    world.organizations.resume(Authority::Admin(ann.caller)).await.unwrap();
    let mode = |of| if of == Some(second) { ControlMode::Stop } else { ControlMode::Play };
    assert_eq!(follow().await, expected.map(|(agent, chat)| (agent, chat, mode(chat))));
}

/// Chats that are older than organizations have none, so only a pause of their agents concerns them.
pub async fn a_pause_of_an_organization_concerns_no_chat_without_one(world: World) {
    let (ann, bot, own) = ann_and_bot(&world).await;
    let old = ChatId::new(Uuid::from_u128(1));
    for (name, key) in [("chats", "id"), ("participants", "chat_id")] {
        let table = Table::named(name).unwrap();
        let place = |name: &str| table.columns.iter().position(|column| column.name == name);
        let all = all_rows(&*world.stores.archive, 100).await;
        let mut rows = all.into_iter().find(|(of, _)| of.name == name).unwrap().1;
        for row in &mut rows {
            row[place(key).unwrap()] = Value::Id(old.uuid());
            if let Some(organization) = place("organization_id") {
                row[organization] = Value::Null;
            }
        }
        assert!(world.stores.archive.write(table, rows).await.unwrap().is_ok());
    }
    let both = vec![(bot.id, own), (bot.id, old)];
    let concerned = async |paused| {
        let signals = world.control.signals_of_pause(paused, both.clone()).await.unwrap();
        signals.into_iter().filter_map(|(_, signal)| signal.chat).collect::<BTreeSet<_>>()
    };
    let organization = ann.caller.organization;
    assert_eq!(concerned(Paused::Organization(organization)).await, BTreeSet::from([own]));
    assert_eq!(concerned(Paused::Agent(bot.id)).await, BTreeSet::from([own, old]));
}
