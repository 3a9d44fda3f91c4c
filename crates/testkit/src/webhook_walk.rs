//! Everything that a store does for webhooks, for tests that look at its statements.

use std::time::Duration;

use domain::audit::{Actor, AuditEntry};
use domain::id::{ChatId, OrganizationId, ParticipantId};
use domain::organization::Authority;
use domain::page::{PageRequest, Slice};
use domain::plan::PlanName;
use domain::ports::Clock;
use domain::webhook::{DueEvent, EventFilter, Lease, Reply, RoomSearch, TakenEvent, WebhookRoom};

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
    store.failing_webhooks(ann.id, 100).await.unwrap();
    after("find failing webhooks").await;
    hooks.enable(by, ann.id, bot.id).await.unwrap();
    after("enable").await;
    hooks.rotate(by, ann.id, bot.id, false).await.unwrap();
    after("replace the secret").await;
    hooks.remove(by, ann.id, bot.id).await.unwrap();
    after("remove").await;
}

/// Takes what is due for the webhook of an organization, after whatever is passed over.
pub async fn take_event(world: &World, organization: OrganizationId) -> Option<DueEvent> {
    loop {
        match world.webhooks.take_event(organization).await.unwrap() {
            TakenEvent::Nothing => return None,
            TakenEvent::Passed => {}
            TakenEvent::Send(due) => return Some(*due),
        }
    }
}

/// Does everything with the webhook of an organization, in the same way.
pub async fn walk_events(world: &World, ann: &TestUser, mut after: impl AsyncFnMut(&'static str)) {
    let (hooks, by) = (&world.webhooks, Authority::Admin(ann.caller));
    let (organization, url) = (ann.caller.organization, "https://hooks.example/");
    let answer = |status| Reply::Answered { status, retry_after: None };
    let events = EventFilter::new(vec!["plan.set".to_owned()]);
    hooks.set_of_organization(by, url, Some(events)).await.unwrap();
    after("set that of an organization").await;
    hooks.reload().await.unwrap();
    after("read whether there are any").await;
    hooks.find_of_organization(by).await.unwrap();
    after("find that of an organization").await;
    let entry =
        AuditEntry::plan_set(organization, &PlanName::enterprise(), Actor::Operator, world.clock.now());
    world.stores.audit.append_audit(vec![entry]).await.unwrap();
    while world.audit.seal_some().await.unwrap() > 0 {}
    after(PREPARED).await;
    assert_eq!(hooks.organizations_with_events().await.unwrap(), [organization]);
    after("find organizations with events").await;
    let due = take_event(world, organization).await.unwrap();
    after("take an event").await;
    hooks.settle_event(&due, answer(200)).await.unwrap().unwrap();
    after("settle an event").await;
    let slice = |after| PageRequest { slice: Slice::After { after, limit: 10 }, count: false };
    let page = hooks.event_deliveries(by, slice(None)).await.unwrap();
    hooks.event_deliveries(by, slice(Some(page.rows[0].position()))).await.unwrap();
    after("list deliveries of events").await;
    hooks.resend_event(by, due.delivery.id).await.unwrap();
    after("resend an event").await;
    hooks.enable_of_organization(by).await.unwrap();
    after("enable that of an organization").await;
    hooks.remove_of_organization(by).await.unwrap();
    after("remove that of an organization").await;
}
