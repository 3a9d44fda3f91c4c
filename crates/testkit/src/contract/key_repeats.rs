//! Requests for keys that are sent twice: the secret that was lost is replaced.

use std::sync::Arc;

use domain::account::{
    AgentDescription, AgentName, AuthenticateError, CreateKey, CreateKeyError, KeyName, RegisterAgent,
    RegisterError, RegisteredAgent, RotateKeyError,
};
use domain::audit::AuditAction;
use domain::event::DomainEvent;
use domain::id::ParticipantId;
use domain::idempotency::IdempotentRequest;
use domain::page::{PageRequest, Slice};

use super::answers::once;
use super::audit::log_of;
use crate::{TestUser, World};

const ALL: PageRequest = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };

async fn register(
    world: &World,
    by: &TestUser,
    name: &str,
    once: Option<IdempotentRequest>,
) -> Result<RegisteredAgent, RegisterError> {
    let description = AgentDescription::new("For a test").unwrap();
    let command = RegisterAgent { name: AgentName::new(name).unwrap(), description };
    world.accounts.register_agent_once(by.caller, command, once).await
}

async fn is_good(world: &World, key: &str) -> bool {
    match world.accounts.authenticate(key).await {
        Ok(_) => true,
        Err(AuthenticateError::Unauthorized) => false,
        Err(other) => panic!("{other}"),
    }
}

async fn count(world: &World, holder: ParticipantId) -> usize {
    world.accounts.list_keys(holder, ALL).await.unwrap().rows.len()
}

/// One agent, with the key of the last answer; the audit log tells of each key.
pub async fn a_repeated_registration_replaces_the_lost_key(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let first = register(&world, &ann, "Bot", once("k", 1)).await.unwrap();
    world.publisher.take();
    let again = register(&world, &ann, "Bot", once("k", 1)).await.unwrap();
    assert_eq!((&again.agent, again.expires_at), (&first.agent, first.expires_at));
    let told = world.publisher.take();
    assert!(matches!(told[..], [DomainEvent::KeyRevoked { .. }]), "no event about an agent: {told:?}");
    let third = register(&world, &ann, "Bot", once("k", 1)).await.unwrap();
    let keys = [&first, &again, &third].map(|answer| answer.key.reveal().to_owned());
    assert_eq!(count(&world, ParticipantId::Agent(first.agent.id)).await, 1);
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let count_of = |action| log.iter().filter(|entry| entry.action == action).count();
    assert_eq!([AuditAction::KeyCreated, AuditAction::KeyRevoked].map(count_of), [2, 2]);

    let reused = register(&world, &ann, "Bot", once("k", 2)).await;
    assert!(matches!(reused, Err(RegisterError::KeyReused)), "{reused:?}");
    let taken = register(&world, &ann, "Bot", once("l", 1)).await;
    assert!(matches!(taken, Err(RegisterError::NameTaken)), "{taken:?}");
    let freed = register(&world, &ann, "Second", once("l", 3)).await.unwrap();
    assert_ne!(freed.agent.id, first.agent.id, "a refused request leaves its key free");
    let theirs = register(&world, &ben, "Bot", once("k", 1)).await.unwrap();
    assert_eq!(theirs.agent.owner, ben.id, "the same key of another user is another key");

    for (key, good) in keys.iter().zip([false, false, true]) {
        assert_eq!(is_good(&world, key).await, good);
    }
    world.accounts.write_uses().await.unwrap();
    let spent = register(&world, &ann, "Bot", once("k", 1)).await;
    assert!(matches!(spent, Err(RegisterError::KeySpent)), "a used key stays: {spent:?}");
    assert!(is_good(&world, &keys[2]).await);
}

/// Of many at once, one registers, and the key of one answer is good.
pub async fn concurrent_registrations_leave_one_agent_with_one_key(world: World) {
    let ann = world.user("ann").await;
    let world = Arc::new(world);
    let calls = (0..8).map(|_| {
        let (world, ann) = (world.clone(), ann.clone());
        tokio::spawn(async move { register(&world, &ann, "Bot", once("k", 1)).await.unwrap() })
    });
    let mut answers = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        answers.push(call.await.unwrap());
    }
    assert!(answers.iter().all(|answer| answer.agent == answers[0].agent), "{answers:?}");
    assert_eq!(count(&world, ParticipantId::Agent(answers[0].agent.id)).await, 1);
    let mut good = 0;
    for answer in &answers {
        good += usize::from(is_good(&world, answer.key.reveal()).await);
    }
    assert_eq!(good, 1);
}

/// While a lost key is replaced, by a repeated registration or rotation, no older key outlives a rotation.
pub async fn a_rotation_ends_a_key_that_is_being_replaced(world: World) {
    let ann = world.user("ann").await;
    let world = Arc::new(world);
    for round in 0..6 {
        let (name, registration) = (format!("Bot {round}"), format!("k{round}"));
        let bot = register(&world, &ann, &name, once(&registration, 1)).await.unwrap().agent.id;
        let calls = (0..8).map(|call| {
            let (world, ann, name, registration) =
                (world.clone(), ann.clone(), name.clone(), registration.clone());
            tokio::spawn(async move {
                // The key may be revoked by then.
                match call % 4 {
                    0 => drop(register(&world, &ann, &name, once(&registration, 1)).await),
                    1 | 2 => drop(world.accounts.rotate_key_once(ann.id, bot, once("r", 1)).await),
                    _ => drop(world.accounts.rotate_key(ann.id, bot).await.unwrap()),
                }
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
        assert_eq!(count(&world, ParticipantId::Agent(bot)).await, 1);
    }
}

/// The key of a human keeps its name and limits; that of an agent replaces what the first request replaced it by.
pub async fn repeated_requests_for_keys_replace_the_lost_key(world: World) {
    let ann = world.user("ann").await;
    let (bot, other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    let before = count(&world, ParticipantId::User(ann.id)).await;
    let create = |name: &str, once| {
        let name = Some(KeyName::new(name).unwrap());
        world.accounts.create_key_once(ann.id, CreateKey { name, ..CreateKey::default() }, once)
    };
    let first = create("laptop", once("k", 1)).await.unwrap();
    let again = create("laptop", once("k", 1)).await.unwrap();
    assert_eq!(again.record.name.as_deref(), Some("laptop"));
    assert_eq!((again.record.expires_at, again.record.scope), (first.record.expires_at, first.record.scope));
    assert_ne!(again.record.id, first.record.id);
    assert_eq!(count(&world, ParticipantId::User(ann.id)).await, before + 1);
    assert!(!is_good(&world, first.key.reveal()).await);
    assert!(is_good(&world, again.key.reveal()).await);
    let reused = create("phone", once("k", 2)).await;
    assert!(matches!(reused, Err(CreateKeyError::KeyReused)), "{reused:?}");
    world.accounts.revoke_key(ann.caller, again.record.id).await.unwrap();
    let spent = create("laptop", once("k", 1)).await;
    assert!(matches!(spent, Err(CreateKeyError::KeySpent)), "a revoked key stays revoked: {spent:?}");

    let rotate = |agent, once| world.accounts.rotate_key_once(ann.id, agent, once);
    let first = rotate(bot.id, once("k", 1)).await.unwrap();
    let again = rotate(bot.id, once("k", 1)).await.unwrap();
    assert_eq!(again.agent.id, bot.id);
    assert_eq!(rotate(other.id, once("k", 1)).await.unwrap().agent.id, other.id, "another agent has its own");
    let keys = [&bot.key, first.key.reveal(), again.key.reveal()];
    for (key, good) in keys.into_iter().zip([false, false, true]) {
        assert_eq!(is_good(&world, key).await, good);
    }
    let reused = rotate(bot.id, once("k", 2)).await;
    assert!(matches!(reused, Err(RotateKeyError::KeyReused)), "{reused:?}");
    let last = rotate(bot.id, once("l", 1)).await.unwrap();
    let spent = rotate(bot.id, once("k", 1)).await;
    assert!(matches!(spent, Err(RotateKeyError::KeySpent)), "a later rotation stays: {spent:?}");
    assert!(is_good(&world, last.key.reveal()).await);
}
