//! Pauses of agents.

use std::time::Duration;

use domain::audit::{Actor, AuditAction};
use domain::change::Change;
use domain::chat::{CreateChat, Role, WorkStatus};
use domain::control::{ControlMode, PauseAgentError, Paused};
use domain::delivery::{AdvanceError, DeliveryStatus, DeliveryStep};
use domain::event::DomainEvent;
use domain::id::ParticipantId;
use domain::message::SendMessageError;
use domain::organization::{Authority, Pause, PauseReason};
use domain::ports::Clock;

use super::audit::log_of;
use super::control::{answered, executions, halts, next, send, take, to, work};
use super::messages::ann_and_bot;
use super::redelivery::{found, listening, new_messages};
use crate::World;

fn why() -> PauseReason {
    PauseReason::new("wrong answers".to_owned()).unwrap()
}

/// As if all of its chats were stopped for it alone, also those that it enters later; independent of other stops.
pub async fn a_pause_stops_an_agent_in_all_of_its_chats(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let stopped = world.chat(ann.caller, &[bot.id.into()]).await;
    world.control.stop(ann.caller, stopped).await.unwrap();
    let mut sent = Vec::new();
    for chat in [chat, stopped] {
        sent.push(send(&world, &ann, chat, &bot).await);
    }
    let begun = send(&world, &ann, chat, &scout).await;
    // The members of the chat may be remembered by now.
    for _ in 0..3 {
        world.messages.send(bot.caller, chat, to(&ann)).await.unwrap();
    }
    let touched = world.chats.find(ann.caller, chat).await.unwrap().updated_at;
    world.clock.advance(Duration::from_secs(1));
    world.control.pause_agent(ann.id.into(), bot.id, why()).await.unwrap();
    assert_eq!(
        world.chats.find(ann.caller, chat).await.unwrap().updated_at,
        touched,
        "chats keep their order"
    );

    assert_ne!(
        work(&world, ann.caller, chat).await,
        WorkStatus::Stopped,
        "the chat is not stopped for others"
    );
    for chat in [chat, stopped] {
        assert_eq!(next(&world, &bot, chat).await, None);
        let refused = world.messages.send(bot.caller, chat, to(&ann)).await;
        assert!(matches!(refused, Err(SendMessageError::Stopped)), "{refused:?}");
        assert!(!world.activity.report(bot.caller, chat, true).await.unwrap());
    }
    let refused = world.deliveries.advance(bot.caller, chat, sent[0], DeliveryStep::Begin).await;
    assert!(matches!(refused, Err(AdvanceError::Stopped)), "{refused:?}");
    assert_eq!(found(&world, &[listening(&bot, chat, 0)], 10).await, []);
    assert_eq!(new_messages(&world, &bot, chat, [1]).await, []);
    assert_eq!(next(&world, &scout, chat).await, Some(begun), "other agents go on");
    world.messages.send(scout.caller, chat, to(&ann)).await.unwrap();

    let late = world.chat(ann.caller, &[bot.id.into()]).await;
    let made = world.chats.create(bot.caller, CreateChat::default()).await.unwrap().id;
    world.add(bot.caller, made, ann.id.into(), Role::Owner).await;
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    world.add(ann.caller, chat, bot.id.into(), Role::Member).await;
    world.publisher.take();
    let new = DeliveryStatus::New;
    for (chat, is_stopped) in [(chat, false), (stopped, true), (late, false), (made, false)] {
        let both = [ParticipantId::Agent(bot.id)];
        let sent = world.send(ann.caller, chat, "work", &both).await;
        assert_eq!(answered(&sent, &bot), (new, is_stopped, true));
        assert_eq!(halts(&world, &ann, &bot, chat, sent.id).await, (is_stopped, true));
        assert_eq!(next(&world, &bot, chat).await, None);
    }
    let is_pushed = |event: &DomainEvent| match event {
        DomainEvent::MessageCreated { recipients, .. } => !recipients.is_empty(),
        _ => false,
    };
    assert!(!world.publisher.take().iter().any(is_pushed), "the agent hears nothing");
    assert!(executions(&world, &ann, &bot).await.iter().all(|one| one.stopped_at.is_some()));
    let sent_on = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(scout.id)]).await;
    assert_eq!(answered(&sent_on, &scout), (new, false, false));

    world.control.play(ann.caller, chat).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, None, "a play of a chat ends no pause");
    world.organizations.pause(Authority::Admin(ann.caller), why()).await.unwrap();
    world.organizations.resume(Authority::Admin(ann.caller)).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, None, "nor does the end of another pause");
    world.control.resume_agent(ann.id.into(), bot.id).await.unwrap();
    assert_eq!(next(&world, &bot, chat).await, Some(sent[0]));
    take(&world, &bot, chat, sent[0], DeliveryStep::Begin).await;
    take(&world, &bot, chat, sent[0], DeliveryStep::Succeed).await;
    assert!(next(&world, &bot, late).await.is_some());
    assert!(next(&world, &bot, made).await.is_some());
    world.messages.send(bot.caller, chat, to(&ann)).await.unwrap();
    assert_eq!(next(&world, &bot, stopped).await, None, "a stop of a chat outlives a pause");
}

/// By its owner, admins of the owner's organization, and the operator; it keeps its beginning while it goes on.
pub async fn a_pause_of_an_agent_is_shown_and_recorded(world: World) {
    let (ann, bot, _) = ann_and_bot(&world).await;
    let (cai, ben) = (world.colleague("cai", "ann").await, world.user("ben").await);
    let of_cai = world.agent(&cai, "Own").await;
    let log = &world.stores.changes;
    let before = log.newest_change().await.unwrap();
    for stranger in [cai.id, ben.id] {
        let refused = world.control.pause_agent(stranger.into(), bot.id, why()).await;
        assert!(matches!(refused, Err(PauseAgentError::AgentNotFound)), "{refused:?}");
        let refused = world.control.resume_agent(stranger.into(), bot.id).await;
        assert!(matches!(refused, Err(PauseAgentError::AgentNotFound)), "{refused:?}");
    }
    world.publisher.take();
    assert_eq!(world.control.resume_agent(ann.id.into(), bot.id).await.unwrap().pause, None);
    let since = world.clock.now();
    world.control.pause_agent(Actor::Operator, bot.id, why()).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let still = PauseReason::new("still".to_owned()).unwrap();
    let paused = world.control.pause_agent(ann.id.into(), bot.id, still).await.unwrap();
    assert_eq!(paused.pause, Some(Pause { since, reason: "still".to_owned() }));
    let found = world.stores.accounts.find_agent(bot.id).await.unwrap().unwrap();
    assert_eq!(found, paused);
    let told = world.publisher.take();
    let is_told =
        |event: &DomainEvent| matches!(event, DomainEvent::AgentUpdated { agent } if *agent == paused);
    assert!(told.last().is_some_and(is_told), "{told:?}");
    assert_eq!(world.stores.status.status().await.unwrap().paused_agents, 1);
    world.clock.advance(Duration::from_secs(1));
    world.control.resume_agent(ann.id.into(), bot.id).await.unwrap();
    assert_eq!(world.stores.status.status().await.unwrap().paused_agents, 0);
    let changes = log.changes_after(before, 100).await.unwrap();
    let changes = changes.into_iter().filter_map(|entry| entry.change).collect::<Vec<_>>();
    assert_eq!(changes, [Change::AgentPauseChanged(bot.id); 3]);
    let entries = log_of(&world, Some(ann.caller.organization), None).await;
    let (paused, resumed) = (AuditAction::AgentPaused, AuditAction::AgentResumed);
    let entries = entries.iter().filter(|entry| [paused, resumed].contains(&entry.action));
    let entries = entries.map(|entry| (entry.action, entry.detail.as_deref())).collect::<Vec<_>>();
    assert_eq!(entries, [(paused, Some("wrong answers")), (paused, Some("still")), (resumed, None)]);

    world.control.pause_agent(ann.id.into(), of_cai.id, why()).await.unwrap();
    let shown = world.stores.accounts.find_agent(of_cai.id).await.unwrap().unwrap().pause;
    assert!(shown.is_some(), "an admin pauses an agent of a member");
    world.control.resume_agent(cai.id.into(), of_cai.id).await.unwrap();
}

/// The agent gets a signal for each chat that it listens to on the node, and loses its indicators.
pub async fn a_pause_of_an_agent_is_signaled_to_it(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    let second = world.chat(ann.caller, &[bot.id.into(), scout.id.into()]).await;
    for (agent, chat) in [(&bot, chat), (&scout, second)] {
        world.activity.report(agent.caller, chat, true).await.unwrap();
    }
    world.control.pause_agent(ann.id.into(), bot.id, why()).await.unwrap();
    let listening = [(bot.id, chat), (bot.id, second), (scout.id, second)];
    let follow = async || {
        let signals =
            world.control.signals_of_pause(Paused::Agent(bot.id), listening.to_vec()).await.unwrap();
        let signals = signals.into_iter().map(|(agent, signal)| (agent, signal.chat, signal.mode));
        let mut signals = signals.collect::<Vec<_>>();
        signals.sort_unstable_by_key(|(agent, chat, _)| (*agent, *chat));
        signals
    };
    let mut expected = [(bot.id, Some(chat)), (bot.id, Some(second))];
    expected.sort_unstable();
    assert_eq!(follow().await, expected.map(|(agent, chat)| (agent, chat, ControlMode::Stop)));
    let working = world.activity.working().into_iter().map(|(agent, _)| agent).collect::<Vec<_>>();
    assert_eq!(working, [scout.id]);
    world.control.stop(ann.caller, second).await.unwrap();
    world.control.resume_agent(ann.id.into(), bot.id).await.unwrap();
    let mode = |of| if of == Some(second) { ControlMode::Stop } else { ControlMode::Play };
    assert_eq!(follow().await, expected.map(|(agent, chat)| (agent, chat, mode(chat))));
}
