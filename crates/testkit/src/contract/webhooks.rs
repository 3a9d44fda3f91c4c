//! Webhooks, and the deliveries to them.

use std::time::Duration;

use domain::audit::{AuditAction, AuditObject, RecordedActor};
use domain::change::Change;
use domain::delivery::{DeliveryStatus, DeliveryStep};
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, WebhookDeliveryId};
use domain::organization::PauseReason;
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::webhook::{
    Backlog, DisabledReason, DueDelivery, HALTED_PAUSE, KEPT_FOR, LEASE, Lease, Notice, OVERDUE_AFTER, Reply,
    ResendError, RoomSearch, Settled, WebhookDelivery, WebhookError, WebhookOutcome, WebhookOwner,
    WebhookRoom,
};
use domain::work::{WorkChange, WorkScope};

use super::audit::log_of;
use super::messages::{ann_and_bot, first};
use crate::{TestAgent, TestUser, World};

pub(super) const URL: &str = "https://hooks.example/in";

pub(super) fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

pub(super) async fn hook(world: &World, owner: &TestUser, agent: &TestAgent) {
    world.webhooks.set_url(owner.id.into(), owner.id, agent.id, URL).await.unwrap();
    world.webhooks.reload().await.unwrap();
}

pub(super) async fn send(world: &World, from: &TestUser, chat: ChatId, to: &TestAgent) -> MessageId {
    world.send(from.caller, chat, "hello", &[ParticipantId::Agent(to.id)]).await.id
}

pub(super) fn room(agent: &TestAgent, chat: ChatId) -> WebhookRoom {
    WebhookRoom { agent: agent.id, chat }
}

pub(super) async fn take(world: &World, agent: &TestAgent, chat: ChatId) -> Option<DueDelivery> {
    world.webhooks.take(room(agent, chat)).await.unwrap().map(|due| *due)
}

/// Takes what must be due.
pub(super) async fn due(world: &World, agent: &TestAgent, chat: ChatId) -> DueDelivery {
    take(world, agent, chat).await.expect("something is due")
}

pub(super) fn answer(status: u16) -> Reply {
    Reply::Answered { status, retry_after: None }
}

pub(super) fn silence() -> Reply {
    Reply::Unanswered { error: "connection refused".to_owned() }
}

pub(super) async fn settle(world: &World, due: &DueDelivery, reply: Reply) -> Settled {
    world.webhooks.settle(due, reply).await.unwrap().expect("the lease holds")
}

pub(super) async fn deliveries(world: &World, owner: &TestUser, agent: &TestAgent) -> Vec<WebhookDelivery> {
    world.webhooks.deliveries(owner.id, agent.id, first(100)).await.unwrap().rows
}

pub(super) async fn outcomes(
    world: &World,
    owner: &TestUser,
    agent: &TestAgent,
) -> Vec<Option<WebhookOutcome>> {
    let all = deliveries(world, owner, agent).await;
    all.iter().map(|sent| sent.ended.map(|ended| ended.outcome)).collect()
}

async fn status(world: &World, agent: &TestAgent, chat: ChatId, message: MessageId) -> DeliveryStatus {
    let all = domain::delivery::DeliveryFilter::All;
    let order = domain::page::Order::Ascending;
    let page = world.stores.deliveries.list(agent.id, chat, all, order, first(100)).await.unwrap().unwrap();
    let found = page.rows.into_iter().find(|row| row.id == message).unwrap();
    found.deliveries[0].status()
}

pub(super) async fn rooms(world: &World, search: RoomSearch) -> Vec<WebhookRoom> {
    world.webhooks.rooms(search).await.unwrap()
}

pub(super) async fn changes(world: &World) -> Vec<AgentId> {
    let start = domain::change::ChangePosition::START;
    let all = world.stores.changes.changes_after(start, 1_000).await.unwrap();
    all.iter()
        .filter_map(|entry| match entry.change {
            Some(Change::WebhookChanged(agent)) => Some(agent),
            _ => None,
        })
        .collect()
}

/// Each change once, with an entry in both logs; nothing of what was refused or changed nothing.
pub async fn owners_manage_webhooks(world: World) {
    let (ann, bot, _) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let (hooks, by) = (&world.webhooks, ann.id.into());
    assert!(matches!(hooks.find(ann.id, bot.id).await, Err(WebhookError::NoWebhook)));
    assert!(matches!(hooks.rotate(by, ann.id, bot.id, false).await, Err(WebhookError::NoWebhook)));
    assert!(matches!(hooks.remove(by, ann.id, bot.id).await, Err(WebhookError::NoWebhook)));
    let refused = hooks.set_url(ben.id.into(), ben.id, bot.id, URL).await;
    assert!(matches!(refused, Err(WebhookError::AgentNotFound)));
    assert!(matches!(hooks.set_url(by, ann.id, bot.id, "ftp://a").await, Err(WebhookError::Url(_))));
    assert_eq!(changes(&world).await, []);

    let made = hooks.set_url(by, ann.id, bot.id, URL).await.unwrap();
    assert!(made.is_new);
    assert_eq!(hooks.find(ann.id, bot.id).await.unwrap(), made.webhook);
    let owner = WebhookOwner { user: ann.id, organization: ann.caller.organization };
    assert_eq!(world.stores.all.agents_with_webhooks().await.unwrap(), [(bot.id, owner)]);
    world.clock.advance(seconds(1));
    let same = hooks.set_url(by, ann.id, bot.id, URL).await.unwrap();
    assert_eq!((same.is_new, &same.webhook), (false, &made.webhook));
    let moved = hooks.set_url(by, ann.id, bot.id, "https://other.example/").await.unwrap().webhook;
    assert_eq!((moved.url.as_str(), &moved.secret), ("https://other.example/", &made.webhook.secret));
    world.clock.advance(seconds(1));
    let rotate = async |revoke_previous| {
        world.clock.advance(seconds(1));
        hooks.rotate(by, ann.id, bot.id, revoke_previous).await.unwrap()
    };
    let (first, second) = (rotate(false).await, rotate(false).await);
    assert_eq!(second.secrets(world.clock.now()), [&second.secret, &first.secret, &made.webhook.secret]);
    assert_eq!(hooks.find(ann.id, bot.id).await.unwrap(), second);
    let rotated = rotate(true).await;
    assert_eq!(rotated.previous, [], "all earlier ones have ended");
    assert_eq!(hooks.find(ann.id, bot.id).await.unwrap(), rotated);
    assert_eq!(hooks.enable(by, ann.id, bot.id).await.unwrap(), rotated, "it is not disabled");
    assert!(matches!(hooks.find(ben.id, bot.id).await, Err(WebhookError::AgentNotFound)));
    world.clock.advance(seconds(1));
    hooks.remove(by, ann.id, bot.id).await.unwrap();
    assert!(matches!(hooks.find(ann.id, bot.id).await, Err(WebhookError::NoWebhook)));
    assert_eq!(world.stores.all.agents_with_webhooks().await.unwrap(), []);

    assert_eq!(changes(&world).await, [bot.id; 6]);
    let log = log_of(&world, None, None).await;
    let log = log.iter().filter(|entry| entry.action.as_str().starts_with("webhook."));
    let log = log.map(|entry| (entry.action, entry.detail.as_deref())).collect::<Vec<_>>();
    assert_eq!(
        log,
        [
            (AuditAction::WebhookSet, Some("https://hooks.example")),
            (AuditAction::WebhookSet, Some("https://other.example")),
            (AuditAction::WebhookSecretRotated, None),
            (AuditAction::WebhookSecretRotated, None),
            (AuditAction::WebhookSecretRotated, Some("revoke_previous=true")),
            (AuditAction::WebhookRemoved, None),
        ]
    );
}

/// One at a time in each room, the oldest first, and only of agents with a webhook.
pub async fn a_room_is_delivered_in_order(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    let elsewhere = world.chat(ann.caller, &[bot.id.into(), other.id.into()]).await;
    let (one, two) = (send(&world, &ann, chat, &bot).await, send(&world, &ann, chat, &bot).await);
    send(&world, &ann, elsewhere, &other).await;
    assert_eq!(rooms(&world, RoomSearch::New).await, []);
    hook(&world, &ann, &bot).await;
    assert_eq!(rooms(&world, RoomSearch::New).await, [room(&bot, chat)]);
    assert!(take(&world, &other, elsewhere).await.is_none(), "an agent without a webhook");
    assert!(take(&world, &bot, elsewhere).await.is_none(), "nothing waits there");

    let taken = due(&world, &bot, chat).await;
    assert_eq!((taken.message.id, taken.delivery.attempts, taken.webhook.url.as_str()), (one, 1, URL));
    assert_eq!(taken.message.deliveries.len(), 1, "its own record only");
    assert!(take(&world, &bot, chat).await.is_none(), "one at a time");
    assert_eq!(
        (rooms(&world, RoomSearch::New).await, rooms(&world, RoomSearch::Due).await),
        (vec![], vec![])
    );
    let backlog = Backlog { deliveries: 1, oldest: Some(world.clock.now()) };
    assert_eq!(world.webhooks.backlog().await.unwrap(), backlog);
    let third = send(&world, &ann, elsewhere, &bot).await;
    let there = due(&world, &bot, elsewhere).await;
    assert_eq!(there.message.id, third, "another room does not wait");

    world.clock.advance(seconds(1));
    let settled = settle(&world, &taken, answer(202)).await;
    assert_eq!(settled.delivery.ended.map(|ended| ended.outcome), Some(WebhookOutcome::Delivered));
    assert_eq!(status(&world, &bot, chat, one).await, DeliveryStatus::Delivered);
    assert!(world.webhooks.settle(&taken, answer(500)).await.unwrap().is_none(), "it has ended");
    let next = due(&world, &bot, chat).await;
    assert_eq!(next.message.id, two);
    settle(&world, &next, answer(200)).await;
    assert!(take(&world, &bot, chat).await.is_none());
    settle(&world, &there, answer(200)).await;
    assert_eq!(world.webhooks.backlog().await.unwrap(), Backlog::default());
    assert_eq!(outcomes(&world, &ann, &bot).await, [Some(WebhookOutcome::Delivered); 3]);
    assert_eq!(rooms(&world, RoomSearch::New).await, []);
}

/// With pauses, and for as long as the message waits; the room waits for it. The owner has it sent sooner.
pub async fn failures_are_repeated_until_one_succeeds(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let (one, two) = (send(&world, &ann, chat, &bot).await, send(&world, &ann, chat, &bot).await);
    let begun = world.clock.now();
    let failed = due(&world, &bot, chat).await;
    let settled = settle(&world, &failed, answer(503)).await.delivery;
    assert_eq!((settled.status, settled.attempts, settled.leased_until), (Some(503), 1, None));
    assert_eq!(deliveries(&world, &ann, &bot).await, std::slice::from_ref(&settled));
    assert!(take(&world, &bot, chat).await.is_none(), "neither this nor the one after it");
    assert_eq!(rooms(&world, RoomSearch::New).await, []);
    world.clock.advance(settled.next_attempt_at.since(world.clock.now()));
    assert_eq!(rooms(&world, RoomSearch::Due).await, [room(&bot, chat)]);
    let mut requests = 1;
    while world.clock.now().since(begun) < OVERDUE_AFTER * 2 {
        let again = due(&world, &bot, chat).await;
        requests += 1;
        let seen = (again.message.id, again.delivery.id, again.delivery.attempts);
        assert_eq!(seen, (one, settled.id, requests), "the id stays");
        let settled = settle(&world, &again, silence()).await.delivery;
        assert_eq!(settled.error.as_deref(), Some("connection refused"));
        world.clock.advance(settled.next_attempt_at.since(world.clock.now()));
    }
    assert!((12..=24).contains(&requests), "{requests}");
    assert_eq!(status(&world, &bot, chat, one).await, DeliveryStatus::New);
    let hook = world.webhooks.find(ann.id, bot.id).await.unwrap();
    assert_eq!((hook.failing_since, hook.warned_at.is_some()), (Some(begun), true));
    let again = due(&world, &bot, chat).await;
    settle(&world, &again, answer(500)).await;
    assert!(take(&world, &bot, chat).await.is_none());
    assert_eq!(world.webhooks.enable(ann.id.into(), ann.id, bot.id).await.unwrap().disabled, None);
    let last = due(&world, &bot, chat).await;
    assert_eq!(last.message.id, one, "at once");
    settle(&world, &last, answer(200)).await;
    assert_eq!(world.webhooks.find(ann.id, bot.id).await.unwrap().failing_since, None);
    assert_eq!(due(&world, &bot, chat).await.message.id, two);
}

/// What a receiver says about itself disables the webhook, and so does a series of failures.
pub async fn webhooks_are_disabled(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    send(&world, &ann, chat, &bot).await;
    let taken = due(&world, &bot, chat).await;
    let before = changes(&world).await.len();
    let settled = settle(&world, &taken, answer(410)).await;
    assert_eq!(settled.notice, Some(Notice::Disabled(DisabledReason::Gone)));
    assert_eq!(changes(&world).await.len(), before + 1);
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let last = log.iter().find(|entry| entry.action == AuditAction::WebhookDisabled).unwrap();
    assert_eq!((&last.actor, last.detail.as_deref()), (&RecordedActor::Server, Some("gone")));
    let disabled = world.webhooks.find(ann.id, bot.id).await.unwrap().disabled.unwrap();
    assert_eq!((disabled.at, disabled.reason), (world.clock.now(), DisabledReason::Gone));
    assert_eq!(world.stores.all.agents_with_webhooks().await.unwrap(), []);
    world.clock.advance(seconds(1));
    assert!(take(&world, &bot, chat).await.is_none());
    assert_eq!(rooms(&world, RoomSearch::Due).await, []);
    world.webhooks.enable(ann.id.into(), ann.id, bot.id).await.unwrap();
    world.webhooks.reload().await.unwrap();
    assert_eq!(rooms(&world, RoomSearch::Due).await, [room(&bot, chat)]);
    let again = due(&world, &bot, chat).await;
    assert_eq!(again.delivery.attempts, 2, "at once");
    settle(&world, &again, answer(500)).await;
    assert!(take(&world, &bot, chat).await.is_none());
    let moved = world.webhooks.set_url(ann.id.into(), ann.id, bot.id, "https://other.example/").await;
    assert_eq!(moved.unwrap().webhook.disabled, None);
    assert_eq!(due(&world, &bot, chat).await.webhook.url.as_str(), "https://other.example/");
}

/// A lease that is not renewed ends with its sender. Whether the request is repeated depends on what the agent does.
pub async fn a_lease_expires_with_its_sender(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let message = send(&world, &ann, chat, &bot).await;
    let lost = due(&world, &bot, chat).await;
    let lease = Lease { delivery: lost.delivery.id, attempt: 1 };
    world.clock.advance(LEASE / 2);
    world.webhooks.renew(vec![lease]).await.unwrap();
    world.clock.advance(LEASE * 3 / 4);
    assert!(take(&world, &bot, chat).await.is_none(), "it was renewed");
    assert_eq!(rooms(&world, RoomSearch::Due).await, []);
    world.clock.advance(LEASE);
    assert_eq!(rooms(&world, RoomSearch::Due).await, [room(&bot, chat)]);
    let second = due(&world, &bot, chat).await;
    assert_eq!((second.delivery.id, second.delivery.attempts), (lost.delivery.id, 2));
    assert!(world.webhooks.settle(&lost, answer(500)).await.unwrap().is_none(), "of the earlier request");
    world.webhooks.renew(vec![lease]).await.unwrap();

    // The agent is at work: it is left alone until it fails.
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    world.clock.advance(LEASE);
    assert!(take(&world, &bot, chat).await.is_none());
    world.clock.advance(seconds(29));
    assert!(take(&world, &bot, chat).await.is_none());
    let failure = domain::delivery::FailureText::new("no".to_owned()).unwrap();
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Fail(failure)).await.unwrap();
    world.clock.advance(HALTED_PAUSE);
    let third = due(&world, &bot, chat).await;
    assert_eq!(third.delivery.attempts, 3);

    // It is done although nobody has heard the answer.
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Succeed).await.unwrap();
    world.clock.advance(LEASE);
    assert!(take(&world, &bot, chat).await.is_none());
    assert_eq!(outcomes(&world, &ann, &bot).await, [Some(WebhookOutcome::Delivered)]);
    assert_eq!(status(&world, &bot, chat, message).await, DeliveryStatus::Processed);
}

/// As the next message is not offered to them either.
pub async fn stopped_agents_are_sent_nothing(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    send(&world, &ann, other, &bot).await;
    let failed = due(&world, &bot, other).await;
    settle(&world, &failed, answer(500)).await;
    world.clock.advance(seconds(10));
    send(&world, &ann, chat, &bot).await;
    let both = [room(&bot, chat), room(&bot, other)];
    let halted = async || {
        assert_eq!(rooms(&world, RoomSearch::New).await, []);
        for room in both {
            assert!(world.webhooks.take(room).await.unwrap().is_none());
        }
        world.clock.advance(HALTED_PAUSE);
    };
    world
        .control
        .pause_agent(ann.id.into(), bot.id, PauseReason::new("wrong".to_owned()).unwrap())
        .await
        .unwrap();
    halted().await;
    world.control.resume_agent(ann.id.into(), bot.id).await.unwrap();
    for who in [ParticipantId::Agent(bot.id), ParticipantId::User(ann.id)] {
        world.administration.set_disabled(who, true).await.unwrap();
        halted().await;
        world.administration.set_disabled(who, false).await.unwrap();
    }
    world.control.stop(ann.caller, chat).await.unwrap();
    world.control.stop(ann.caller, other).await.unwrap();
    halted().await;
    world.control.play(ann.caller, chat).await.unwrap();
    world.control.play(ann.caller, other).await.unwrap();
    assert_eq!(rooms(&world, RoomSearch::New).await, [both[0]]);
    assert_eq!(rooms(&world, RoomSearch::Due).await, [both[1]]);
    for one in both {
        assert!(world.webhooks.take(one).await.unwrap().is_some());
    }
}

/// A message that is gone, a room that was left, and an agent that was deleted.
pub async fn what_is_gone_is_not_sent(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let (gone, left) = (send(&world, &ann, chat, &bot).await, send(&world, &ann, chat, &bot).await);
    let failed = due(&world, &bot, chat).await;
    settle(&world, &failed, answer(500)).await;
    world.messages.delete(ann.caller, chat, gone).await.unwrap();
    world.clock.advance(seconds(10));
    let next = due(&world, &bot, chat).await;
    assert_eq!(next.message.id, left);
    assert_eq!(outcomes(&world, &ann, &bot).await, [None, Some(WebhookOutcome::Dropped)]);
    settle(&world, &next, answer(500)).await;
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    world.clock.advance(seconds(10));
    assert!(take(&world, &bot, chat).await.is_none());
    assert_eq!(outcomes(&world, &ann, &bot).await, [Some(WebhookOutcome::Dropped)], "forgotten");
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    assert_eq!(world.stores.all.webhook(bot.id).await.unwrap(), None);
    let page = world.stores.all.webhook_deliveries(bot.id, first(10)).await.unwrap();
    assert_eq!(page.rows, []);
}

/// With a new delivery, since it is offered as if it were new.
pub async fn retried_work_is_sent_again(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let message = send(&world, &ann, chat, &bot).await;
    let taken = due(&world, &bot, chat).await;
    settle(&world, &taken, answer(200)).await;
    assert!(take(&world, &bot, chat).await.is_none());
    world.clock.advance(seconds(5));
    let scope = WorkScope::OwnedBy(ann.id);
    world.work.change(scope, message, bot.id, WorkChange::Retry, None).await.unwrap();
    assert_eq!(rooms(&world, RoomSearch::New).await, [room(&bot, chat)]);
    let again = due(&world, &bot, chat).await;
    assert_eq!((again.message.id, again.delivery.attempts), (message, 1));
    assert_ne!(again.delivery.id, taken.delivery.id);
    assert_eq!(deliveries(&world, &ann, &bot).await.len(), 1, "in place of the earlier one");
}

/// By the owner, what has ended and still waits.
pub async fn deliveries_are_sent_again(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    hook(&world, &ann, &bot).await;
    let message = send(&world, &ann, chat, &bot).await;
    let taken = due(&world, &bot, chat).await;
    let resend =
        async |owner: &TestUser, id| world.webhooks.resend(owner.id.into(), owner.id, bot.id, id).await;
    let id = taken.delivery.id;
    assert!(matches!(resend(&ben, id).await, Err(ResendError::AgentNotFound)));
    assert!(matches!(resend(&ann, WebhookDeliveryId::NIL).await, Err(ResendError::NotFound)));
    assert!(matches!(resend(&ann, id).await, Err(ResendError::InFlight)));
    settle(&world, &taken, answer(200)).await;
    world.clock.advance(seconds(1));
    let again = resend(&ann, id).await.unwrap();
    assert_eq!((again.id, again.attempts, again.ended), (id, 1, None));
    assert_eq!(rooms(&world, RoomSearch::Due).await, [room(&bot, chat)]);
    let again = due(&world, &bot, chat).await;
    assert_eq!((again.delivery.id, again.delivery.attempts, again.message.id), (id, 2, message));
    settle(&world, &again, answer(500)).await;
    assert_eq!(outcomes(&world, &ann, &bot).await, [None], "it was delivered only before");
    assert!(take(&world, &bot, chat).await.is_none());
    assert_eq!(resend(&ann, id).await.unwrap().attempts, 2, "sooner");
    let again = due(&world, &bot, chat).await;
    assert_eq!((again.delivery.id, again.delivery.attempts), (id, 3), "its requests are counted on");
    settle(&world, &again, answer(204)).await;
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    world.deliveries.advance(bot.caller, chat, message, DeliveryStep::Succeed).await.unwrap();
    assert!(matches!(resend(&ann, id).await, Err(ResendError::Over)));
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let log = log.iter().filter(|entry| entry.action == AuditAction::WebhookResent);
    let log = log.map(|entry| (entry.actor.known().map(|by| by.object), entry.detail.clone()));
    let entry = (Some(AuditObject::User(ann.id)), Some(id.to_string()));
    assert_eq!(log.collect::<Vec<_>>(), [entry.clone(), entry], "nothing of what was refused");
}

/// Newest first, in pages; the oldest ones are erased.
pub async fn deliveries_are_listed_and_erased(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let mut ids = Vec::new();
    for number in 0..5 {
        send(&world, &ann, chat, &bot).await;
        let taken = due(&world, &bot, chat).await;
        for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
            world.deliveries.advance(bot.caller, chat, taken.message.id, step).await.unwrap();
        }
        settle(&world, &taken, answer(200)).await;
        ids.insert(0, taken.delivery.id);
        // Two of the same time.
        world.clock.advance(seconds(number % 2));
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let slice = Slice::After { after, limit: 2 };
        let page =
            world.webhooks.deliveries(ann.id, bot.id, PageRequest { slice, count: true }).await.unwrap();
        assert_eq!(page.total, Some(5));
        seen.extend(page.rows.iter().map(|sent| sent.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids);
    let store = &world.stores.all;
    let long_ago = world.clock.now().minus(KEPT_FOR);
    let old = async |before, kept, limit| {
        let mut old = store.old_webhook_deliveries(before, kept, limit).await.unwrap();
        old.sort_by_key(|old| ids.iter().position(|id| id == old));
        old
    };
    assert_eq!(old(long_ago, 5, 10).await, []);
    assert_eq!(old(long_ago, 1, 10).await, ids[1..]);
    assert_eq!(old(long_ago, 1, 2).await.len(), 2);
    assert_eq!(old(world.clock.now(), 5, 10).await, ids);
    store.forget_webhook_deliveries(ids[2..].to_vec()).await.unwrap();
    let left = deliveries(&world, &ann, &bot).await;
    assert_eq!(left.iter().map(|sent| sent.id).collect::<Vec<_>>(), ids[..2]);
    send(&world, &ann, chat, &bot).await;
    let open = due(&world, &bot, chat).await;
    store.forget_webhook_deliveries(vec![open.delivery.id]).await.unwrap();
    settle(&world, &open, answer(200)).await;
    world.clock.advance(KEPT_FOR * 2);
    world.webhooks.forget_old(world.clock.now()).await.unwrap();
    assert!(take(&world, &bot, chat).await.is_none(), "it is not sent again");
    assert_eq!(
        outcomes(&world, &ann, &bot).await,
        [Some(WebhookOutcome::Delivered)],
        "the others are erased"
    );
}
