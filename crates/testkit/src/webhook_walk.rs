//! Everything that a store does for webhooks, for tests that look at its statements.

use std::time::Duration;

use domain::id::{ChatId, ParticipantId};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::webhook::{Lease, Reply, RoomSearch, WebhookRoom};

use crate::{TestAgent, TestUser, World};

/// The operation that is none on webhooks.
pub const PREPARED: &str = "prepared";

/// Does everything with the webhook of an agent that takes what waits in `chat`; `after` is called after each operation with
/// its name, and with [`PREPARED`] after others.
pub async fn walk(
    world: &World,
    ann: &TestUser,
    bot: &TestAgent,
    chat: ChatId,
    mut after: impl AsyncFnMut(&'static str),
) {
    let (store, hooks, by) = (&world.stores.all, &world.webhooks, ann.id.into());
    let (room, to) = (WebhookRoom { agent: bot.id, chat }, [ParticipantId::Agent(bot.id)]);
    let answer = |status| Reply::Answered { status, retry_after: None };
    hooks.reload().await.unwrap();
    after("read the agents").await;
    store.webhook(bot.id).await.unwrap().unwrap();
    after("find a webhook").await;
    hooks.rooms(RoomSearch::New).await.unwrap();
    after("find rooms with new messages").await;
    world.send(ann.caller, chat, "hello", &to).await;
    after(PREPARED).await;
    let due = hooks.take(room).await.unwrap().unwrap();
    after("take a new message").await;
    let lease = Lease { delivery: due.delivery.id, attempt: due.delivery.attempts };
    hooks.renew(vec![lease]).await.unwrap();
    after("renew leases").await;
    hooks.settle(&due, answer(500)).await.unwrap().unwrap();
    after("settle").await;
    hooks.backlog().await.unwrap();
    after("count what waits").await;
    world.clock.advance(Duration::from_secs(60));
    hooks.rooms(RoomSearch::Due).await.unwrap();
    after("find rooms that are due").await;
    let again = hooks.take(room).await.unwrap().unwrap();
    assert_eq!(again.delivery.id, due.delivery.id);
    after("take a message again").await;
    hooks.settle(&again, answer(200)).await.unwrap().unwrap();
    after("settle a success").await;
    assert!(hooks.take(room).await.unwrap().is_none());
    after("take nothing").await;
    let slice = |after| PageRequest { slice: Slice::After { after, limit: 10 }, count: false };
    let page = hooks.deliveries(ann.id, bot.id, slice(None)).await.unwrap();
    hooks.deliveries(ann.id, bot.id, slice(Some(page.rows[0].position()))).await.unwrap();
    after("list deliveries").await;
    hooks.resend(by, ann.id, bot.id, due.delivery.id).await.unwrap();
    after("resend").await;
    store.old_webhook_deliveries(world.clock.now(), 1_000, 100).await.unwrap();
    after("find old deliveries").await;
    store.forget_webhook_deliveries(vec![due.delivery.id]).await.unwrap();
    after("forget deliveries").await;
    hooks.enable(by, ann.id, bot.id).await.unwrap();
    after("enable").await;
    hooks.rotate(by, ann.id, bot.id, false).await.unwrap();
    after("replace the secret").await;
    hooks.remove(by, ann.id, bot.id).await.unwrap();
    after("remove").await;
}
