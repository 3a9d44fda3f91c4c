//! Bulk deletions.

use std::time::Duration;

use domain::audit::{AuditAction, AuditObject};
use domain::bulk_deletion::{
    BulkDeletion, BulkIds, BulkStatus, DeletedItem, FINISHED_JOBS_ARE_KEPT, ITEM_RETRY_PAUSE, ITEM_TRIES,
    ItemFailure, ItemKey, ItemState, ReadBulkDeletionError, RecordItemFault,
};
use domain::caller::{Caller, UserCaller};
use domain::chat::{DeleteChatError, Role};
use domain::event::DomainEvent;
use domain::id::{BulkDeletionId, ChatId, ParticipantId};
use domain::ports::Clock;
use domain::store::OnCommit;

use super::audit::log_of;
use super::files::{find, upload};
use super::task_rules::finds_no_board;
use super::tasks::create;
use crate::{TestUser, World};

const DONE: ItemState = ItemState::Succeeded;
const NOT_FOUND: ItemState = ItemState::Failed(ItemFailure::NotFound);
const FORBIDDEN: ItemState = ItemState::Failed(ItemFailure::Forbidden);

fn ids(ids: &[&dyn ToString]) -> BulkIds {
    BulkIds::new(ids.iter().map(|id| id.to_string()).collect()).unwrap()
}

/// Lets the jobs run until nothing is to be done; returns the results.
async fn run(world: &World) -> Vec<DeletedItem> {
    let mut done = Vec::new();
    while let Some(item) = world.bulk_deletions.delete_next().await.unwrap() {
        done.push(item);
    }
    done
}

async fn found(world: &World, by: UserCaller, job: BulkDeletionId) -> BulkDeletion {
    world.bulk_deletions.find(by, job).await.unwrap()
}

fn states(job: &BulkDeletion) -> Vec<ItemState> {
    job.items.iter().map(|item| item.state).collect()
}

async fn rooms<const N: usize>(world: &World, owner: &TestUser) -> [ChatId; N] {
    let mut rooms = [ChatId::NIL; N];
    for room in &mut rooms {
        *room = world.chat(owner.caller, &[]).await;
    }
    rooms
}

/// Item by item, in the order of the request, each as the single deletion would do it.
pub async fn rooms_are_deleted_as_one_by_one(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    let own = world.chat(ann.caller, &[bot.id.into()]).await;
    let of_agent = world.chat(bot.caller, &[]).await;
    world.connect((ann.caller, &ann.handle), (ben.caller, &ben.handle)).await;
    let as_member = world.chat(ben.caller, &[ann.id.into()]).await;
    let foreign = world.chat(ben.caller, &[]).await;
    let gone = world.chat(ann.caller, &[]).await;
    world.chats.delete(ann.caller, gone).await.unwrap();
    let task = create(&world, bot.caller, own, "of the room").await;
    let file = upload(&world, bot.caller, own, "of the room", b"x").await;
    world.clock.advance(Duration::from_secs(1));
    let since = world.clock.now();

    let upper = own.to_string().to_uppercase();
    let asked = ids(&[&upper, &foreign, &of_agent, &as_member, &"nonsense", &gone]);
    let job = world.bulk_deletions.delete_chats(ann.caller, asked).await.unwrap();
    assert_eq!((job.status(), job.inserted_at), (BulkStatus::Queued, since));
    let pending = ItemState::Pending;
    assert_eq!(states(&job), [pending, NOT_FOUND, pending, FORBIDDEN, NOT_FOUND, NOT_FOUND]);
    assert_eq!(found(&world, ann.caller, job.id).await, job);
    world.chats.find(ann.caller, own).await.unwrap();
    world.publisher.take();

    world.clock.advance(Duration::from_secs(1));
    world.bulk_deletions.delete_next().await.unwrap().unwrap();
    let half = found(&world, ann.caller, job.id).await;
    assert_eq!((half.status(), half.succeeded(), half.failed()), (BulkStatus::Processing, 1, 4));
    assert_eq!((half.started_at, half.completed_at), (Some(world.clock.now()), None));
    let removed = |event: &DomainEvent| match event {
        DomainEvent::RoomDeleted { chat_id } => (*chat_id, None),
        DomainEvent::RoomRemoved { from, chat, .. } => (chat.id, Some(*from)),
        other => panic!("{other:?}"),
    };
    let told = world.publisher.take().iter().map(removed).collect::<Vec<_>>();
    let people = [ParticipantId::User(ann.id), ParticipantId::Agent(bot.id)].map(|id| (own, Some(id)));
    assert_eq!(told, [&[(own, None)][..], &people].concat());
    assert!(matches!(world.chats.delete(ann.caller, own).await, Err(DeleteChatError::ChatNotFound)));
    for by in [Caller::from(ann.caller), bot.caller.into()] {
        finds_no_board(&world, by, own, task.number).await;
        assert_eq!(find(&world, by, own, file.id).await, None);
    }

    world.clock.advance(Duration::from_secs(1));
    assert_eq!(run(&world).await.len(), 1);
    let done = found(&world, ann.caller, job.id).await;
    assert_eq!((done.status(), done.completed_at), (BulkStatus::Completed, Some(world.clock.now())));
    assert_eq!(states(&done), [DONE, NOT_FOUND, DONE, FORBIDDEN, NOT_FOUND, NOT_FOUND]);
    assert_eq!(done.items[0].id, upper, "as it was sent");
    world.chats.find(ben.caller, foreign).await.unwrap();
    let log = log_of(&world, Some(ann.caller.organization), Some(since)).await;
    let log = log
        .iter()
        .map(|record| (record.action, record.actor.known().unwrap().object, record.subject.object))
        .collect::<Vec<_>>();
    let by = AuditObject::User(ann.id);
    let entry = |chat| (AuditAction::ChatDeleted, by, AuditObject::Chat(chat));
    assert_eq!(log, [entry(own), entry(of_agent)]);

    let stranger = world.bulk_deletions.find(ben.caller, job.id).await;
    assert!(matches!(stranger, Err(ReadBulkDeletionError::NotFound)), "{stranger:?}");
    let hopeless = world.bulk_deletions.delete_chats(ann.caller, ids(&[&own, &foreign])).await.unwrap();
    assert_eq!((hopeless.status(), hopeless.failed()), (BulkStatus::Completed, 2));
    assert_eq!(found(&world, ann.caller, hopeless.id).await, hopeless);
}

pub async fn agents_that_have_worked_are_deleted_with_force(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let (bot, idle) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Idle").await);
    let foreign = world.agent(&ben, "Foreign").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    world.send(bot.caller, chat, "hello", &[ParticipantId::User(ann.id)]).await;
    let asked = || ids(&[&bot.id, &idle.id, &foreign.id, &ann.id]);
    let job = world.bulk_deletions.delete_agents(ann.caller, asked(), false).await.unwrap();
    run(&world).await;
    let done = found(&world, ann.caller, job.id).await;
    let worked = ItemState::Failed(ItemFailure::ExecutionHistoryExists);
    assert_eq!((states(&done), done.force), (vec![worked, DONE, NOT_FOUND, NOT_FOUND], false));
    world.accounts.authenticate(&bot.key).await.unwrap();
    world.accounts.authenticate(&idle.key).await.unwrap_err();

    world.publisher.take();
    let job = world.bulk_deletions.delete_agents(ann.caller, asked(), true).await.unwrap();
    run(&world).await;
    let done = found(&world, ann.caller, job.id).await;
    assert_eq!((states(&done), done.force), (vec![DONE, NOT_FOUND, NOT_FOUND, NOT_FOUND], true));
    world.accounts.authenticate(&bot.key).await.unwrap_err();
    world.accounts.authenticate(&foreign.key).await.unwrap();
    let told = world.publisher.take();
    let [DomainEvent::ParticipantRemoved { .. }, DomainEvent::RoomRemoved { .. }, last] = &told[..] else {
        panic!("{told:?}")
    };
    assert!(matches!(last, DomainEvent::AgentDeleted { agent } if agent.id == bot.id), "{last:?}");
}

/// A right must exist when the job is accepted, and when the turn of the item comes.
pub async fn rights_count_twice(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    world.connect((ann.caller, &ann.handle), (ben.caller, &ben.handle)).await;
    let lost = world.chat(ann.caller, &[ben.id.into()]).await;
    let left = world.chat(ann.caller, &[ben.id.into()]).await;
    let gained = world.chat(ben.caller, &[ann.id.into()]).await;
    let [kept] = rooms(&world, &ann).await;
    let asked = ids(&[&lost, &left, &gained, &kept]);
    let job = world.bulk_deletions.delete_chats(ann.caller, asked).await.unwrap();
    for chat in [lost, left] {
        world.chats.set_participant_role(ann.caller, chat, ben.id, Role::Owner).await.unwrap();
    }
    world.chats.set_participant_role(ben.caller, lost, ann.id, Role::Member).await.unwrap();
    world.chats.remove_participant(ben.caller, left, ann.id).await.unwrap();
    world.chats.set_participant_role(ben.caller, gained, ann.id, Role::Owner).await.unwrap();
    run(&world).await;
    let done = found(&world, ann.caller, job.id).await;
    assert_eq!(states(&done), [FORBIDDEN, NOT_FOUND, FORBIDDEN, DONE]);
    for chat in [lost, left, gained] {
        world.chats.find(ben.caller, chat).await.unwrap();
    }
}

/// What is left of the job of a disabled user is forbidden.
pub async fn a_disabled_user_deletes_nothing_more(world: World) {
    let ann = world.user("ann").await;
    let [first, second] = rooms(&world, &ann).await;
    let job = world.bulk_deletions.delete_chats(ann.caller, ids(&[&first, &second, &"x"])).await.unwrap();
    world.bulk_deletions.delete_next().await.unwrap().unwrap();
    world.administration.set_disabled(ParticipantId::User(ann.id), true).await.unwrap();
    run(&world).await;
    assert_eq!(states(&found(&world, ann.caller, job.id).await), [DONE, FORBIDDEN, NOT_FOUND]);
}

/// The jobs of one user run one after the other, those of several users take turns.
pub async fn jobs_take_turns(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let [one, two, three] = rooms(&world, &ann).await;
    let [four, five] = rooms(&world, &ben).await;
    let first = world.bulk_deletions.delete_chats(ann.caller, ids(&[&one, &two])).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    let second = world.bulk_deletions.delete_chats(ann.caller, ids(&[&two, &three])).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    let other = world.bulk_deletions.delete_chats(ben.caller, ids(&[&four, &five])).await.unwrap();
    let mut order = Vec::new();
    loop {
        world.clock.advance(Duration::from_millis(1));
        let Some(next) = world.stores.all.next_item(world.clock.now()).await.unwrap() else { break };
        order.push((next.job, next.index));
        world.bulk_deletions.delete_next().await.unwrap().unwrap();
    }
    let turns = [(first.id, 0), (other.id, 0), (first.id, 1), (second.id, 0), (other.id, 1), (second.id, 1)];
    assert_eq!(order, turns);
    assert_eq!(states(&found(&world, ann.caller, first.id).await), [DONE, DONE]);
    assert_eq!(states(&found(&world, ann.caller, second.id).await), [NOT_FOUND, DONE], "each chat once");
}

/// However many servers run the jobs.
pub async fn an_item_is_deleted_once(world: World) {
    let ann = world.user("ann").await;
    let rooms = rooms::<20>(&world, &ann).await;
    let asked = BulkIds::new(rooms.map(|room| room.to_string()).to_vec()).unwrap();
    let job = world.bulk_deletions.delete_chats(ann.caller, asked).await.unwrap();
    let server = async || {
        let mut done = 0;
        while found(&world, ann.caller, job.id).await.completed_at.is_none() {
            done += usize::from(world.bulk_deletions.delete_next().await.unwrap().is_some());
        }
        done
    };
    let (one, two, three) = tokio::join!(server(), server(), server());
    assert_eq!(one + two + three, rooms.len());
    let first = ItemKey { job: job.id, index: 0 };
    let again = world.stores.all.delete_item(first, world.clock.now(), OnCommit::nothing()).await.unwrap();
    assert_eq!(again, None);
    let fault = RecordItemFault { item: first, now: world.clock.now() };
    assert_eq!(world.stores.all.record_item_fault(fault).await.unwrap(), None);
    assert_eq!(states(&found(&world, ann.caller, job.id).await), [DONE; 20]);
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let deleted = log.iter().filter(|record| record.action == AuditAction::ChatDeleted);
    assert_eq!(deleted.count(), rooms.len());
}

/// A job ends when the store cannot delete an item, and those behind it may be sent again.
pub async fn an_item_is_tried_a_few_times(world: World) {
    let ann = world.user("ann").await;
    let [first, second, third] = rooms(&world, &ann).await;
    let asked = ids(&[&first, &second, &third]);
    let job = world.bulk_deletions.delete_chats(ann.caller, asked).await.unwrap();
    world.bulk_deletions.delete_next().await.unwrap().unwrap();
    let item = ItemKey { job: job.id, index: 1 };
    for tries in 1..=ITEM_TRIES {
        let now = world.clock.now();
        assert_eq!(world.stores.all.next_item(now).await.unwrap(), Some(item));
        let after = world.stores.all.record_item_fault(RecordItemFault { item, now }).await.unwrap().unwrap();
        assert_eq!(found(&world, ann.caller, job.id).await, after);
        assert_eq!(after.faults, tries % ITEM_TRIES);
        assert_eq!(run(&world).await, [], "it waits");
        world.clock.advance(ITEM_RETRY_PAUSE);
    }
    let broken = found(&world, ann.caller, job.id).await;
    let failed = [ItemFailure::DeleteFailed, ItemFailure::NotAttempted].map(ItemState::Failed);
    assert_eq!((broken.status(), states(&broken)), (BulkStatus::Failed, vec![DONE, failed[0], failed[1]]));
    assert_eq!(run(&world).await, []);
    let again = world.bulk_deletions.delete_chats(ann.caller, ids(&[&second, &third])).await.unwrap();
    run(&world).await;
    assert_eq!(states(&found(&world, ann.caller, again.id).await), [DONE, DONE]);
}

pub async fn finished_jobs_are_kept_for_a_month(world: World) {
    let ann = world.user("ann").await;
    let [room] = rooms(&world, &ann).await;
    let open = world.bulk_deletions.delete_chats(ann.caller, ids(&[&room])).await.unwrap();
    let finished = world.bulk_deletions.delete_chats(ann.caller, ids(&[&"x"])).await.unwrap();
    let moment = Duration::from_micros(1);
    world.clock.advance(FINISHED_JOBS_ARE_KEPT.checked_sub(moment).unwrap());
    assert_eq!(world.bulk_deletions.forget_old(world.clock.now()).await.unwrap(), 0);
    world.clock.advance(moment);
    assert_eq!(world.bulk_deletions.forget_old(world.clock.now()).await.unwrap(), 1);
    let gone = world.bulk_deletions.find(ann.caller, finished.id).await;
    assert!(matches!(gone, Err(ReadBulkDeletionError::NotFound)), "{gone:?}");
    assert_eq!(found(&world, ann.caller, open.id).await, open);
    run(&world).await;
    assert_eq!(states(&found(&world, ann.caller, open.id).await), [DONE]);
}
