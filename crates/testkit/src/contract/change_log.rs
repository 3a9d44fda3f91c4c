//! The log of what every server must hear of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::account::{AgentChanges, AgentMarks, AgentName, CreateKey, WhichKeys};
use domain::change::{Change, ChangePosition, ChangeRepository};
use domain::id::ParticipantId;
use domain::page::{PageRequest, Slice};
use domain::plan::{AssignPlan, Plan, PlanName, WhichOrganization};
use domain::ports::Clock;

use crate::World;

/// All that is behind a place, read two at a time; and the place behind it.
async fn behind(log: &dyn ChangeRepository, mut position: ChangePosition) -> (Vec<Change>, ChangePosition) {
    let mut all = Vec::new();
    loop {
        let part = log.changes_after(position, 2).await.unwrap();
        let Some(last) = part.last() else { return (all, position) };
        let places = part.iter().map(|entry| entry.position);
        assert!(part.len() <= 2 && part[0].position > position && places.is_sorted());
        position = last.position;
        all.extend(part.into_iter().map(|entry| entry.change.unwrap()));
    }
}

/// Whatever ends, once; nothing of what was refused.
pub async fn what_ends_is_logged(world: World) {
    let log = &*world.stores.changes;
    let start = log.newest_change().await.unwrap();
    let ann = world.user("ann").await;
    let (bot, other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    let key_of =
        async |key: &str| world.accounts.authenticate(key).await.unwrap().presented.key().unwrap().id;
    let (anns, bots, others) = (key_of(&ann.key).await, key_of(&bot.key).await, key_of(&other.key).await);
    let more = world.accounts.create_key(ann.id, CreateKey::default()).await.unwrap();
    assert_eq!(behind(log, start).await, (vec![], start));

    let rotated = world.accounts.rotate_key(ann.id, bot.id).await.unwrap().key.reveal().to_owned();
    let rotated = key_of(&rotated).await;
    world.accounts.revoke_key(ann.caller, more.record.id).await.unwrap();
    world.accounts.revoke_key(ann.caller, more.record.id).await.unwrap_err();
    world.accounts.revoke_key(ann.caller, others).await.unwrap_err();
    world.accounts.delete_agent(ann.caller, bot.id, false).await.unwrap();
    world.accounts.delete_agent(ann.caller, bot.id, false).await.unwrap_err();
    world.accounts.revoke_keys(WhichKeys::AllOf(ParticipantId::User(ann.id))).await.unwrap();
    let expected = [
        Change::KeyRevoked(bots),
        Change::KeyRevoked(more.record.id),
        Change::KeyRevoked(rotated),
        Change::AgentDeleted(bot.id),
        Change::KeyRevoked(anns),
    ];
    let (all, end) = behind(log, start).await;
    assert_eq!(all, expected);
    assert_eq!(log.newest_change().await.unwrap(), end);
    assert_eq!(behind(log, end).await, (vec![], end));
}

/// A change of an agent, of an organization's plan, or of the plans' limits is logged once. A change that is
/// refused, or has no effect, is not logged.
pub async fn what_callers_carry_is_logged(world: World) {
    let log = &*world.stores.changes;
    let ann = world.user("ann").await;
    let (bot, _other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    let start = log.newest_change().await.unwrap();
    let named = |name: &str| AgentChanges { name: AgentName::new(name).ok(), ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, bot.id, named("Robot")).await.unwrap();
    world.accounts.update_agent(ann.caller, bot.id, named("Other")).await.unwrap_err();
    let marks = AgentMarks { is_global: Some(true), ..AgentMarks::default() };
    assert!(world.accounts.mark_agent("ann/bot", marks).await.unwrap().is_some());
    assert!(world.accounts.mark_agent("ann/none", marks).await.unwrap().is_none());
    let mute = PlanName::new("mute").unwrap();
    let plans = || vec![Plan { name: mute.clone(), human_interface: false, ..Plan::enterprise() }];
    world.plans.configure(plans()).await.unwrap();
    world.plans.configure(plans()).await.unwrap();
    for (handle, is_there) in [("ann", true), ("zoe", false)] {
        let organization = WhichOrganization::OfUser(handle.to_owned());
        let assigned = world.plans.assign(AssignPlan { organization, plan: mute.clone() }).await.unwrap();
        assert_eq!(assigned.is_ok(), is_there);
    }
    let expected = [
        Change::AgentUpdated(bot.id),
        Change::AgentUpdated(bot.id),
        Change::PlansConfigured,
        Change::PlanAssigned(ann.caller.organization),
    ];
    assert_eq!(behind(log, start).await.0, expected);
}

/// A room that lost a participant or was deleted has one entry each; refusals and additions have none.
pub async fn who_leaves_a_room_is_logged(world: World) {
    let log = &*world.stores.changes;
    let (ann, ben) = (world.user("ann").await, world.colleague("ben", "ann").await);
    let (one, two) = (world.agent(&ann, "One").await, world.agent(&ann, "Two").await);
    let start = log.newest_change().await.unwrap();
    let chat = world.chat(ann.caller, &[one.id.into(), two.id.into(), ben.id.into()]).await;
    let other = world.chat(ann.caller, &[]).await;
    assert_eq!(behind(log, start).await.0, []);
    world.chats.remove_participant(ann.caller, chat, one.id).await.unwrap();
    world.chats.remove_participant(ann.caller, chat, one.id).await.unwrap_err();
    world.chats.remove_participant(ann.caller, chat, ann.id).await.unwrap_err();
    world.chats.remove_participant(ben.caller, chat, ben.id).await.unwrap();
    world.chats.delete(ben.caller, other).await.unwrap_err();
    world.chats.delete(ann.caller, other).await.unwrap();
    world.chats.delete(ann.caller, other).await.unwrap_err();
    let expected = [chat, chat, other].map(Change::ParticipantsRemoved);
    assert_eq!(behind(log, start).await.0, expected);
}

/// A reader who goes on from where it was sees every entry once, however many write at the same time.
pub async fn a_reader_of_the_log_misses_nothing(world: World) {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    let log = world.stores.changes.clone();
    let start = log.newest_change().await.unwrap();
    let written = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn({
        let written = written.clone();
        async move {
            let (mut seen, mut position) = (Vec::new(), start);
            loop {
                let is_last = written.load(Ordering::SeqCst);
                let (part, end) = behind(&*log, position).await;
                seen.extend(part);
                position = end;
                if is_last {
                    return seen;
                }
            }
        }
    });
    let ann = world.user("ann").await;
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let bot = world.agent(&ann, &format!("Bot {number}")).await;
        let (accounts, owner) = (world.accounts.clone(), ann.id);
        writers.push(tokio::spawn(async move {
            for _ in 0..EACH {
                accounts.rotate_key(owner, bot.id).await.unwrap();
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    written.store(true, Ordering::SeqCst);
    let seen = reader.await.unwrap();
    assert_eq!(seen, behind(&*world.stores.changes, start).await.0);
    assert_eq!(seen.len(), WRITERS * EACH);
}

/// In batches, the oldest first, whatever the clock of their writer said; what is written afterwards is behind
/// all that ever was.
pub async fn old_entries_are_forgotten(world: World) {
    let log = &*world.stores.changes;
    let start = log.newest_change().await.unwrap();
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let begun = world.clock.now();
    for hours in [0, 2, 48, 1, 3] {
        world.clock.jump(begun.plus(Duration::from_secs(hours * 60 * 60)));
        world.accounts.rotate_key(ann.id, bot.id).await.unwrap();
    }
    let (all, end) = behind(log, start).await;
    let fourth = log.changes_after(start, 4).await.unwrap()[3].position;
    assert_eq!(log.forget_changes(fourth, 2).await.unwrap(), 2);
    assert_eq!(behind(log, start).await, (all[2..].to_vec(), end));
    assert_eq!(log.forget_changes(fourth, 2).await.unwrap(), 1);
    assert_eq!(log.forget_changes(fourth, 2).await.unwrap(), 0);
    assert!(log.has_change(fourth).await.unwrap());
    assert_eq!(log.forget_changes(end, 3).await.unwrap(), 1);
    assert!(!log.has_change(fourth).await.unwrap());
    assert!(log.has_change(end).await.unwrap(), "the newest is kept");
    assert_eq!(behind(log, start).await, (all[4..].to_vec(), end));
    world.accounts.rotate_key(ann.id, bot.id).await.unwrap();
    assert_eq!(behind(log, end).await.0.len(), 1);
    let page = PageRequest { slice: Slice::Numbered { number: 1, size: 2 }, count: false };
    assert_eq!(world.accounts.list_keys(ParticipantId::Agent(bot.id), page).await.unwrap().rows.len(), 1);
}
