//! Rooms and participants.

use std::time::Duration;

use domain::chat::{
    AddParticipant, AddRefused, DeleteChat, DeleteRefused, MemberState, ParticipantStatus, RemoveParticipant,
    RemoveRefused, Role,
};
use domain::id::{ChatId, ParticipantId};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::store::OnCommit;

use crate::{TestAgent, TestUser, World};

async fn ann_and_bot(world: &World) -> (TestUser, TestAgent, ChatId) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    (ann, bot, chat)
}

/// By creation, newest first; a room that one left or that was deleted is in no list.
pub async fn rooms_are_listed_newest_first_without_those_left_or_deleted(world: World) {
    let (ann, bot, first) = ann_and_bot(&world).await;
    let mut expected = vec![first];
    for number in 0..4 {
        world.clock.advance(Duration::from_secs(number / 2));
        expected.insert(0, world.chat(ann.caller, &[bot.id.into()]).await);
    }
    let left = world.chat(ann.caller, &[bot.id.into()]).await;
    world.chats.remove_participant(ann.caller, left, bot.id).await.unwrap();
    let deleted = world.chat(ann.caller, &[bot.id.into()]).await;
    world.chats.delete(ann.caller, deleted).await.unwrap();

    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.chats.list(bot.caller, page).await.unwrap();
        seen.extend(page.rows.iter().map(|chat| chat.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, expected);
    let page = PageRequest { slice: Slice::Numbered { number: 2, size: 3 }, count: true };
    let page = world.chats.list(bot.caller, page).await.unwrap();
    assert_eq!((page.rows.len(), page.total), (2, Some(5)));
    assert_eq!(
        world
            .chats
            .list(ann.caller, PageRequest { slice: Slice::Numbered { number: 1, size: 9 }, count: true })
            .await
            .unwrap()
            .total,
        Some(6)
    );
}

/// Only participants see a room; they see all participants, oldest first.
pub async fn rosters_are_for_participants(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let chats = &world.stores.chats;
    let stranger = ParticipantId::User(ben.id);
    assert_eq!(chats.roster(stranger, chat).await.unwrap(), None);
    assert_eq!(chats.find(stranger, chat).await.unwrap(), None);
    assert_eq!(chats.membership(stranger, chat).await.unwrap(), None);
    let roster = chats.roster(ParticipantId::Agent(bot.id), chat).await.unwrap().unwrap();
    assert_eq!(chats.roster_unchecked(chat).await.unwrap().as_ref(), Some(&roster));
    let [owner, member] = roster.participants.as_slice() else { panic!("{roster:?}") };
    assert_eq!(
        (owner.id, owner.role, owner.status),
        (ParticipantId::User(ann.id), Role::Owner, ParticipantStatus::Active)
    );
    assert_eq!((owner.name.as_str(), owner.handle.as_str(), owner.is_external), ("ann Example", "ann", None));
    assert_eq!((member.role, member.status), (Role::Member, ParticipantStatus::Inactive));
    assert_eq!(
        (member.name.as_str(), member.handle.as_str(), member.is_external),
        ("Bot", "ann/bot", Some(true))
    );
    chats.activate(bot.id, chat).await.unwrap();
    let own = chats.membership(ParticipantId::Agent(bot.id), chat).await.unwrap().unwrap();
    assert_eq!((own.role, own.state), (Role::Member, MemberState::playing(ParticipantStatus::Active)));
    assert_eq!(own.joined_at, member.joined_at);
}

/// A new role, status and time; and the deliveries that were left open.
pub async fn a_returning_participant_starts_anew(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let open = world.send(ann.caller, chat, "open", &[ParticipantId::Agent(bot.id)]).await.id;
    world.deliveries.next(bot.caller, chat).await.unwrap();
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert!(world.deliveries.next(bot.caller, chat).await.is_err());
    world.clock.advance(Duration::from_secs(60));
    world.add(ann.caller, chat, bot.id.into(), Role::Admin).await;
    let roster = world.chats.roster(ann.caller, chat).await.unwrap();
    let back = roster.find(ParticipantId::Agent(bot.id)).unwrap();
    assert_eq!(
        (back.role, back.status, back.joined_at),
        (Role::Admin, ParticipantStatus::Inactive, world.clock.now())
    );
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().map(|message| message.id), Some(open));
}

/// A refused change is neither stored nor announced.
pub async fn refusals_leave_no_trace(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let chats = &world.stores.chats;
    let before = chats.roster(ParticipantId::User(ann.id), chat).await.unwrap();
    let now = world.clock.now();
    let add =
        AddParticipant { chat, by: ann.caller.into(), candidate: ben.id.into(), role: Role::Member, now };
    let never = || OnCommit::new(|_| panic!("a refusal was announced"));
    assert_eq!(chats.add_participant(add.clone(), never()).await.unwrap(), Err(AddRefused::PeerNotFound));
    let present = AddParticipant { candidate: bot.id.into(), ..add.clone() };
    assert_eq!(chats.add_participant(present, never()).await.unwrap(), Err(AddRefused::AlreadyParticipant));
    let nowhere = AddParticipant { chat: ChatId::NIL, ..add };
    assert_eq!(chats.add_participant(nowhere, never()).await.unwrap(), Err(AddRefused::ChatNotFound));
    let never = || OnCommit::new(|_| panic!("a refusal was announced"));
    let remove = RemoveParticipant { chat, by: ann.caller.into(), target: ann.id.into(), now };
    assert_eq!(
        chats.remove_participant(remove.clone(), never()).await.unwrap(),
        Err(RemoveRefused::SoleOwner)
    );
    let absent = RemoveParticipant { target: ben.id.into(), ..remove };
    assert_eq!(
        chats.remove_participant(absent, never()).await.unwrap(),
        Err(RemoveRefused::ParticipantNotFound)
    );
    let never = || OnCommit::new(|_| panic!("a refusal was announced"));
    let delete = DeleteChat { chat, by: Some(bot.caller.into()), now };
    assert_eq!(chats.delete(delete, never()).await.unwrap(), Err(DeleteRefused::NotOwner));
    assert_eq!(chats.roster(ParticipantId::User(ann.id), chat).await.unwrap(), before);
}

/// No method of any port finds anything in it.
pub async fn a_deleted_room_is_not_found(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    world.send(ann.caller, chat, "hello", &[ParticipantId::Agent(bot.id)]).await;
    world.chats.delete(ann.caller, chat).await.unwrap();
    assert_eq!(world.stores.chats.roster_unchecked(chat).await.unwrap(), None);
    let page = PageRequest { slice: Slice::After { after: None, limit: 5 }, count: false };
    assert!(world.chats.find(ann.caller, chat).await.is_err());
    assert!(world.chats.roster(ann.caller, chat).await.is_err());
    assert!(
        world
            .messages
            .history(ann.caller, chat, domain::message::HistoryFilter::default(), page.clone())
            .await
            .is_err()
    );
    assert!(world.messages.context(bot.caller, chat, page).await.is_err());
    assert!(world.deliveries.next(bot.caller, chat).await.is_err());
    assert!(world.chats.delete(ann.caller, chat).await.is_err());
}
