//! Roles of participants, and changing them.

use std::sync::Arc;
use std::time::Duration;

use domain::audit::AuditAction;
use domain::chat::{Participant, Role, SetParticipantRoleError, SetParticipantRoleRefused};
use domain::event::DomainEvent;
use domain::id::{AccountId, ChatId, ParticipantId};

use super::audit::log_of;
use crate::{TestUser, World};

async fn set(
    world: &World,
    by: &TestUser,
    chat: ChatId,
    target: impl Into<AccountId>,
    role: Role,
) -> Result<Participant, SetParticipantRoleRefused> {
    match world.chats.set_participant_role(by.caller, chat, target, role).await {
        Ok(participant) => Ok(participant),
        Err(SetParticipantRoleError::Refused(refused)) => Err(refused),
        Err(SetParticipantRoleError::Store(error)) => panic!("{error}"),
    }
}

/// The change is stored, recorded, and told to the humans of the chat; a role that is held already changes nothing.
pub async fn a_role_is_changed_and_told(world: World) {
    let (ann, ben, cai) = (world.user("ann").await, world.user("ben").await, world.user("cai").await);
    world.connect((ann.caller, &ann.handle), (ben.caller, &ben.handle)).await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[ben.id.into(), bot.id.into()]).await;
    world.clock.advance(Duration::from_secs(1));
    world.publisher.take();
    let before = world.chats.find(ann.caller, chat).await.unwrap().updated_at;
    let same = set(&world, &ann, chat, ben.id, Role::Member).await.unwrap();
    assert_eq!(same.role, Role::Member);
    assert!(world.publisher.take().is_empty());
    assert_eq!(world.chats.find(ann.caller, chat).await.unwrap().updated_at, before);
    let admin = set(&world, &ann, chat, ben.id, Role::Admin).await.unwrap();
    assert_eq!((admin.id, admin.role), (ParticipantId::User(ben.id), Role::Admin));
    let told = world.publisher.take();
    let is_told = matches!(&told[..], [DomainEvent::ParticipantUpdated { chat_id, participant }]
        if *chat_id == chat && *participant == admin);
    assert!(is_told, "{told:?}");
    let roster = world.chats.roster(ann.caller, chat).await.unwrap().participants;
    assert!(roster.contains(&admin), "{roster:?}");
    assert!(world.chats.find(ann.caller, chat).await.unwrap().updated_at > before);

    assert_eq!(set(&world, &ben, chat, bot.id, Role::Admin).await.unwrap().role, Role::Admin);
    let too_low = Err(SetParticipantRoleRefused::RoleTooLow);
    assert_eq!(set(&world, &ben, chat, bot.id, Role::Member).await, too_low, "an admin demotes no admin");
    assert_eq!(set(&world, &ben, chat, ben.id, Role::Owner).await, too_low);
    assert_eq!(
        set(&world, &cai, chat, bot.id, Role::Member).await,
        Err(SetParticipantRoleRefused::ChatNotFound)
    );
    let missing = set(&world, &ann, chat, cai.id, Role::Admin).await;
    assert_eq!(missing, Err(SetParticipantRoleRefused::ParticipantNotFound));
    let sole = Err(SetParticipantRoleRefused::SoleOwner);
    assert_eq!(set(&world, &ann, chat, ann.id, Role::Admin).await, sole);
    set(&world, &ann, chat, ben.id, Role::Owner).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    set(&world, &ann, chat, ann.id, Role::Member).await.unwrap();
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let roles = log.iter().filter(|entry| entry.action == AuditAction::ParticipantRoleSet);
    let roles = roles.filter_map(|entry| entry.detail.as_deref()).collect::<Vec<_>>();
    assert_eq!(roles.len(), 4);
    assert_eq!(roles.last(), Some(&"member"));
}

/// Two owners who step down at the same time: one of them stays.
pub async fn a_chat_keeps_an_owner_under_concurrent_changes(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    world.connect((ann.caller, &ann.handle), (ben.caller, &ben.handle)).await;
    let chat = world.chat(ann.caller, &[ben.id.into()]).await;
    let world = Arc::new(world);
    for _ in 0..8 {
        for owner in [&ann, &ben] {
            let by = if set(&world, &ann, chat, ann.id, Role::Owner).await.is_ok() { &ann } else { &ben };
            set(&world, by, chat, owner.id, Role::Owner).await.unwrap();
        }
        let steps = [&ann, &ben].map(|owner| {
            let (world, owner) = (world.clone(), owner.clone());
            tokio::spawn(async move { set(&world, &owner, chat, owner.id, Role::Member).await })
        });
        let mut stepped = 0;
        for step in steps {
            stepped += usize::from(step.await.unwrap().is_ok());
        }
        assert_eq!(stepped, 1);
    }
}
