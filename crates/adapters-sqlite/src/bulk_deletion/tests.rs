//! A bulk deletion on a store that fails for one item.

use std::sync::Arc;

use diesel::connection::SimpleConnection;
use domain::bulk_deletion::{BulkIds, BulkStatus, ITEM_RETRY_PAUSE, ITEM_TRIES, ItemFailure, ItemState};
use testkit::{Stores, World};

use crate::{Location, SqliteStore};

#[tokio::test]
async fn an_item_that_cannot_be_deleted_ends_the_job() {
    let store = Arc::new(SqliteStore::open(&Location::Memory).unwrap());
    let world = World::on(Stores::of(&store, SqliteStore::close));
    let ann = world.user("ann").await;
    let mut rooms = Vec::new();
    for _ in 0..3 {
        rooms.push(world.chat(ann.caller, &[]).await);
    }
    let fault = format!(
        "CREATE TRIGGER broken BEFORE UPDATE OF deleted_at ON chats WHEN NEW.id = x'{}' \
         BEGIN SELECT RAISE(ABORT, 'broken'); END",
        rooms[1].uuid().simple()
    );
    store.alter(move |connection| Ok(connection.batch_execute(&fault)?)).await.unwrap();
    let ids = BulkIds::new(rooms.iter().map(ToString::to_string).collect()).unwrap();
    let job = world.bulk_deletions.delete_chats(ann.caller, ids).await.unwrap().id;
    world.bulk_deletions.delete_next().await.unwrap().unwrap();
    for _ in 0..ITEM_TRIES {
        world.bulk_deletions.delete_next().await.unwrap_err();
        assert_eq!(world.bulk_deletions.delete_next().await.unwrap(), None);
        world.clock.advance(ITEM_RETRY_PAUSE);
    }
    let job = world.bulk_deletions.find(ann.caller, job).await.unwrap();
    let failed = [ItemFailure::DeleteFailed, ItemFailure::NotAttempted].map(ItemState::Failed);
    let states = job.items.iter().map(|item| item.state).collect::<Vec<_>>();
    assert_eq!(
        (job.status(), states),
        (BulkStatus::Failed, vec![ItemState::Succeeded, failed[0], failed[1]])
    );
    for room in &rooms[1..] {
        world.chats.find(ann.caller, *room).await.unwrap();
    }
}
