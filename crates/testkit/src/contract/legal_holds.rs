//! What a legal hold keeps, and erasing what a user has written.

use std::time::Duration;

use domain::account::{DeleteAgentError, DeleteUserError};
use domain::audit::AuditAction;
use domain::chat::DeleteChatError;
use domain::id::{ChatId, ParticipantId};
use domain::legal_hold::{HoldError, HoldReason, HoldSubject, NotHeld, PlaceHoldRefused};
use domain::message::{
    Ageing, ChangeMessageError, ChangeMessageRefused, HistoryFilter, Message, MessageContent, Retention,
    SendMessage, TextsErasure,
};
use domain::organization::DeleteOrganizationError;
use domain::page::{PageRequest, Slice};
use domain::plan::WhichOrganization;
use domain::ports::Clock;

use super::audit::log_of;
use super::files::upload;
use super::messages::ann_and_bot;
use crate::world::text;
use crate::{TestUser, World};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn place(world: &World, subject: HoldSubject) {
    world.legal_holds.place(subject, HoldReason::new("a case".to_owned()).unwrap()).await.unwrap();
}

fn words(content: &str) -> MessageContent {
    MessageContent::new(content.to_owned()).unwrap()
}

async fn erase_old(world: &World, walk: &mut Retention) -> u64 {
    let mut erased = 0;
    while let Some(some) = world.messages.erase_old(walk, world.clock.now()).await.unwrap() {
        erased += some;
    }
    erased
}

async fn history(world: &World, by: &TestUser, chat: ChatId) -> Vec<Message> {
    let all = PageRequest { slice: Slice::After { after: None, limit: 1000 }, count: false };
    let page = world.messages.history(by.caller, chat, HistoryFilter::default(), all).await.unwrap();
    page.rows.into_iter().rev().collect()
}

/// Nobody removes anything of a room that is held, or of a room of an organization that is.
pub async fn what_is_held_is_kept(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[]).await;
    let sent = world.send(ann.caller, chat, "first", &[ParticipantId::Agent(bot.id)]).await.id;
    world.send(ann.caller, other, "elsewhere", &[]).await;
    let organization = HoldSubject::Organization(ann.caller.organization);
    for subject in [HoldSubject::Chat(chat), organization] {
        place(&world, subject).await;
        let edited = world.messages.edit(ann.caller, chat, sent, words("changed")).await;
        let deleted = world.messages.delete(ann.caller, chat, sent).await;
        for refused in [edited, deleted] {
            let refused = refused.unwrap_err();
            let expected = matches!(refused, ChangeMessageError::Refused(ChangeMessageRefused::UnderHold(_)));
            assert!(expected, "{refused:?}");
        }
        let by_operator = world.chats.delete_any(chat).await;
        for refused in [world.chats.delete(ann.caller, chat).await, by_operator] {
            assert!(matches!(refused, Err(DeleteChatError::UnderHold(_))), "{refused:?}");
        }
        let refused = world.accounts.delete_agent(ann.caller, bot.id, true).await;
        assert!(matches!(refused, Err(DeleteAgentError::UnderHold(_))), "{refused:?}");
        let refused = world.administration.delete_user(&world.accounts, ann.id, true).await;
        assert!(matches!(refused, Err(DeleteUserError::UnderHold(_))), "{refused:?}");
        let refused = world.organizations.delete(&world.chats, ann.caller.organization, true).await;
        assert!(matches!(refused, Err(DeleteOrganizationError::UnderHold(_))), "{refused:?}");
        // Who may not do it anyway is not told of the hold.
        let ben = world.user(if subject == organization { "ben" } else { "cem" }).await;
        let refused = world.messages.delete(ben.caller, chat, sent).await.unwrap_err();
        let expected = matches!(refused, ChangeMessageError::Refused(ChangeMessageRefused::ChatNotFound));
        assert!(expected, "{refused:?}");
        world.send(ann.caller, chat, "life goes on", &[]).await;
        if subject != organization {
            world.legal_holds.release(subject).await.unwrap();
        }
    }
    let refused = world.chats.delete(ann.caller, other).await;
    assert!(matches!(refused, Err(DeleteChatError::UnderHold(_))), "{refused:?}");
    world.legal_holds.release(organization).await.unwrap();
    world.messages.edit(ann.caller, chat, sent, words("changed")).await.unwrap();
    world.messages.delete(ann.caller, chat, sent).await.unwrap();
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    for chat in [chat, other] {
        world.chats.delete(ann.caller, chat).await.unwrap();
    }
    world.administration.delete_user(&world.accounts, ann.id, true).await.unwrap();
}

/// Retention passes over what is held, and comes back within a day after the release.
pub async fn retention_comes_back_for_what_was_held(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    let (other, deleted) = (world.chat(ann.caller, &[]).await, world.chat(ann.caller, &[]).await);
    for room in [chat, other, deleted] {
        for content in ["one", "two"] {
            world.send(ann.caller, room, content, &[]).await;
        }
    }
    world.chats.delete(ann.caller, deleted).await.unwrap();
    for room in [chat, deleted] {
        place(&world, HoldSubject::Chat(room)).await;
    }
    let mut walk = Retention::days(Ageing::Texts, 2);
    world.clock.advance(3 * DAY);
    assert_eq!(erase_old(&world, &mut walk).await, 2, "those that are not held");
    assert_eq!(history(&world, &ann, chat).await.len(), 2);
    for room in [chat, deleted] {
        world.legal_holds.release(HoldSubject::Chat(room)).await.unwrap();
    }
    assert_eq!(erase_old(&world, &mut walk).await, 0);
    world.clock.advance(DAY);
    assert_eq!((erase_old(&world, &mut walk).await, erase_old(&world, &mut walk).await), (0, 4));
    assert!(history(&world, &ann, chat).await.is_empty());
}

/// Holds are listed in their order, each once, and audited.
pub async fn holds_are_listed_and_audited(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    let organization = HoldSubject::Organization(ann.caller.organization);
    let room = HoldSubject::Chat(chat);
    place(&world, organization).await;
    world.clock.advance(Duration::from_secs(1));
    place(&world, room).await;
    let again = world.legal_holds.place(room, HoldReason::new("more".to_owned()).unwrap()).await;
    assert!(matches!(again, Err(HoldError::Place(PlaceHoldRefused::IsHeld))), "{again:?}");
    let nothing = HoldSubject::Chat(ChatId::new(uuid::Uuid::from_u128(7)));
    let unknown = world.legal_holds.place(nothing, HoldReason::new("more".to_owned()).unwrap()).await;
    assert!(matches!(unknown, Err(HoldError::Place(PlaceHoldRefused::NotFound))), "{unknown:?}");
    let first = world.legal_holds.list(None, 1).await.unwrap();
    let second = world.legal_holds.list(first.last(), 10).await.unwrap();
    let listed = first.iter().chain(&second).map(|hold| (hold.subject, hold.reason.as_str()));
    assert_eq!(listed.collect::<Vec<_>>(), [(organization, "a case"), (room, "a case")]);
    let found = WhichOrganization::OfUser("ann".to_owned());
    let found = world.organizations.find(found).await.unwrap().unwrap();
    assert_eq!(first[0].name, Some(found.name));
    assert!(world.legal_holds.list(second.last(), 10).await.unwrap().is_empty());
    world.clock.advance(Duration::from_secs(1));
    world.legal_holds.release(room).await.unwrap();
    let again = world.legal_holds.release(room).await;
    assert!(matches!(again, Err(HoldError::Release(NotHeld))), "{again:?}");
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let steps = log.iter().map(|entry| (entry.action, entry.detail.as_deref()));
    let steps = steps.filter(|(action, _)| action.as_str().starts_with("legal_hold."));
    let placed = (AuditAction::LegalHoldPlaced, Some("a case"));
    assert_eq!(steps.collect::<Vec<_>>(), [placed, placed, (AuditAction::LegalHoldReleased, None)]);
}

/// A room stays readable when a user's texts are erased; nothing of them is left, and what others wrote stays.
pub async fn texts_of_a_user_are_erased(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (held, left) = (world.chat(ann.caller, &[]).await, world.chat(ann.caller, &[bot.id.into()]).await);
    let file = upload(&world, ann.caller, chat, "secret.txt", b"a secret").await;
    let to_bot = [ParticipantId::Agent(bot.id)];
    let shown = SendMessage { attachments: vec![file.id], ..text("a secret of Ann", &to_bot) };
    world.messages.send(ann.caller, chat, shown).await.unwrap();
    world.send(bot.caller, chat, "an answer", &[ParticipantId::User(ann.id)]).await;
    for _ in 0..600 {
        world.send(ann.caller, left, "chatter", &[]).await;
    }
    world.send(ann.caller, held, "kept", &[]).await;
    place(&world, HoldSubject::Chat(held)).await;
    assert!(world.chats.find(ann.caller, chat).await.unwrap().title.is_some());
    let before = history(&world, &ann, chat).await;

    let erased = world.messages.erase_texts(ann.id).await.unwrap();
    assert_eq!(erased, TextsErasure { erased: 601, held: vec![held] });
    let rows = history(&world, &ann, chat).await;
    let contents = rows.iter().map(|message| message.content.as_str()).collect::<Vec<_>>();
    assert_eq!(contents, [format!("@[[{}]] (erased)", bot.id).as_str(), contents[1]]);
    assert!(contents[1].ends_with("an answer"), "{contents:?}");
    assert_eq!((before[0].attachments.len(), rows[0].attachments.len()), (1, 0));
    assert_eq!((rows[0].id, &rows[0].deliveries), (before[0].id, &before[0].deliveries));
    assert_eq!(rows[1], before[1]);
    assert_eq!(world.chats.find(ann.caller, chat).await.unwrap().title, None);
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().unwrap().content, contents[0]);
    assert_eq!(history(&world, &ann, held).await[0].content, "kept");
    assert!(world.files.find(ann.caller, chat, file.id).await.is_err());
    assert_eq!(
        world.messages.erase_texts(ann.id).await.unwrap(),
        TextsErasure { erased: 0, held: vec![held] }
    );

    world.legal_holds.release(HoldSubject::Chat(held)).await.unwrap();
    world.administration.delete_user(&world.accounts, ann.id, true).await.unwrap();
    let erased = world.messages.erase_texts(ann.id).await.unwrap();
    assert_eq!(erased, TextsErasure { erased: 602, held: Vec::new() }, "the name goes as well");
    assert_eq!(world.messages.erase_texts(ann.id).await.unwrap(), TextsErasure::default());
}
