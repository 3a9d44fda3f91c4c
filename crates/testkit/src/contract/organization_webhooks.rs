//! Webhooks of organizations, which receive the entries of the audit log.

use std::time::Duration;

use domain::audit::{Actor, AuditAction, AuditEntry, RecordedActor};
use domain::change::{Change, ChangePosition};
use domain::id::OrganizationId;
use domain::organization::Authority;
use domain::page::{PageRequest, Slice};
use domain::plan::{OrganizationName, PlanName};
use domain::ports::Clock;
use domain::webhook::{
    Backlog, DisabledReason, DueEvent, ENTRIES_AT_ONCE, Ended, EventDelivery, EventFilter, KEPT_FOR, LEASE,
    Notice, OrganizationWebhook, OrganizationWebhookError, Reply, Settled, TakenEvent, WebhookOutcome,
};

use super::audit::log_of;
use super::messages::first;
use super::webhooks::{URL, answer, seconds, silence};
use crate::webhook_walk::take_event;
use crate::{TestUser, World};

const fn admin(user: &TestUser) -> Authority {
    Authority::Admin(user.caller)
}

fn told(names: &[&str]) -> EventFilter {
    EventFilter::new(names.iter().map(|name| (*name).to_owned()).collect())
}

async fn hook(world: &World, user: &TestUser, names: &[&str]) -> OrganizationWebhook {
    seal(world).await;
    let set = world.webhooks.set_of_organization(admin(user), URL, Some(told(names))).await.unwrap();
    world.webhooks.reload().await.unwrap();
    set.webhook
}

async fn seal(world: &World) {
    while world.audit.seal_some().await.unwrap() > 0 {}
}

/// Entries of one time with the action `plan.set`, and a later one with `token.issued`, if there is to be one.
async fn happens(world: &World, user: &TestUser, plans: u32, has_token: bool) {
    let (organization, plan) = (user.caller.organization, PlanName::enterprise());
    let now = world.clock.now();
    let entry = |_| AuditEntry::plan_set(organization, &plan, Actor::Operator, now);
    world.stores.audit.append_audit((0..plans).map(entry).collect()).await.unwrap();
    world.clock.advance(seconds(1));
    if has_token {
        let now = world.clock.now();
        let entry = AuditEntry::token_issued(user.id, now.plus(seconds(60)), now);
        world.stores.audit.append_audit(vec![entry]).await.unwrap();
    }
    world.clock.advance(seconds(1));
}

async fn take(world: &World, user: &TestUser) -> Option<DueEvent> {
    take_event(world, user.caller.organization).await
}

/// Takes what must be due.
async fn due(world: &World, user: &TestUser) -> DueEvent {
    take(world, user).await.expect("something is due")
}

async fn settle(world: &World, due: &DueEvent, reply: Reply) -> Settled<EventDelivery> {
    world.webhooks.settle_event(due, reply).await.unwrap().expect("the lease holds")
}

async fn deliveries(world: &World, user: &TestUser) -> Vec<EventDelivery> {
    world.webhooks.event_deliveries(admin(user), first(100)).await.unwrap().rows
}

async fn with_events(world: &World) -> Vec<OrganizationId> {
    world.webhooks.organizations_with_events().await.unwrap()
}

async fn changes(world: &World) -> Vec<OrganizationId> {
    let all = world.stores.changes.changes_after(ChangePosition::START, 1_000).await.unwrap();
    let changed = all.iter().filter_map(|entry| match entry.change {
        Some(Change::OrganizationWebhookChanged(organization)) => Some(organization),
        _ => None,
    });
    changed.collect()
}

/// Each change once, with an entry in both logs; nothing of what was refused or changed nothing.
pub async fn admins_manage_the_webhook_of_their_organization(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let cai = world.colleague("cai", "ann").await;
    let (hooks, by) = (&world.webhooks, admin(&ann));
    assert!(matches!(hooks.find_of_organization(by).await, Err(OrganizationWebhookError::NoWebhook)));
    assert!(matches!(hooks.enable_of_organization(by).await, Err(OrganizationWebhookError::NoWebhook)));
    let wrong = hooks.set_of_organization(by, "ftp://a", Some(told(&[]))).await;
    assert!(matches!(wrong, Err(OrganizationWebhookError::Url(_))));
    assert!(!world.stores.all.has_organization_webhooks().await.unwrap());
    assert_eq!(changes(&world).await, []);

    let made = hooks.set_of_organization(by, URL, Some(told(&["agent.*", "key.created"]))).await.unwrap();
    assert!(made.is_new && world.stores.all.has_organization_webhooks().await.unwrap());
    assert_eq!(hooks.find_of_organization(by).await.unwrap(), made.webhook);
    let member = admin(&cai);
    let refused = [
        hooks.find_of_organization(member).await.map(|_| ()),
        hooks.set_of_organization(member, URL, Some(told(&[]))).await.map(|_| ()),
        hooks.rotate_of_organization(member, true).await.map(|_| ()),
        hooks.remove_of_organization(member).await.map(|_| ()),
        hooks.event_deliveries(member, first(1)).await.map(|_| ()),
    ];
    assert!(refused.iter().all(|refused| matches!(refused, Err(OrganizationWebhookError::NotAdmin(_)))));
    let other = hooks.find_of_organization(admin(&ben)).await;
    assert!(matches!(other, Err(OrganizationWebhookError::NoWebhook)), "each organization has its own");

    let later = || world.clock.advance(seconds(1));
    later();
    let same = hooks.set_of_organization(by, URL, Some(told(&["key.created", "agent.*"]))).await.unwrap();
    assert_eq!((same.is_new, &same.webhook), (false, &made.webhook), "in any order");
    let all = hooks.set_of_organization(by, URL, Some(told(&[]))).await.unwrap().webhook;
    assert_eq!((all.events.names(), all.webhook.updated_at), (&[][..], world.clock.now()));
    assert_eq!((&all.webhook.secret, all.seen), (&made.webhook.webhook.secret, made.webhook.seen));
    later();
    let rotated = hooks.rotate_of_organization(by, false).await.unwrap();
    assert_eq!(rotated.webhook.secrets(world.clock.now()).len(), 2);
    assert_eq!(hooks.enable_of_organization(by).await.unwrap(), rotated, "it is not disabled");
    later();
    // The operator may do the same.
    let revoked = hooks.rotate_of_organization(Authority::Operator(ann.caller.organization), true).await;
    assert_eq!(revoked.unwrap().webhook.previous, []);
    later();
    hooks.remove_of_organization(by).await.unwrap();
    assert!(matches!(hooks.find_of_organization(by).await, Err(OrganizationWebhookError::NoWebhook)));
    assert!(!world.stores.all.has_organization_webhooks().await.unwrap());

    assert_eq!(changes(&world).await, [ann.caller.organization; 5]);
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let log = log.iter().filter(|entry| entry.action.as_str().starts_with("webhook."));
    let log = log.map(|entry| (entry.action, entry.detail.as_deref())).collect::<Vec<_>>();
    assert_eq!(
        log,
        [
            (AuditAction::WebhookSet, Some("https://hooks.example events=agent.*,key.created")),
            (AuditAction::WebhookSet, Some("https://hooks.example events=all")),
            (AuditAction::WebhookSecretRotated, None),
            (AuditAction::WebhookSecretRotated, Some("revoke_previous=true")),
            (AuditAction::WebhookRemoved, None),
        ]
    );
}

/// One at a time, from the creation of the webhook on, and none of another organization.
pub async fn events_are_sent_in_the_order_of_the_log(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    happens(&world, &ann, 2, true).await;
    hook(&world, &ann, &["plan.set", "token.*"]).await;
    assert_eq!((take(&world, &ann).await, take(&world, &ben).await), (None, None));
    happens(&world, &ann, 2, true).await;
    happens(&world, &ben, 1, true).await;
    assert_eq!((take(&world, &ann).await, with_events(&world).await), (None, vec![]), "nothing is sealed");
    seal(&world).await;
    assert_eq!(with_events(&world).await, [ann.caller.organization]);
    let sent = due(&world, &ann).await;
    assert_eq!((sent.record.action, sent.delivery.attempts), (AuditAction::PlanSet, 1));
    assert_eq!(sent.delivery.id.uuid(), sent.record.id.uuid(), "the id of the entry");
    assert_eq!((sent.record.organization, sent.webhook.url.as_str()), (Some(ann.caller.organization), URL));
    assert_eq!((take(&world, &ann).await, with_events(&world).await), (None, vec![]), "one at a time");
    let backlog = Backlog { deliveries: 1, oldest: Some(world.clock.now()) };
    assert_eq!(world.webhooks.backlog().await.unwrap(), backlog);
    let settled = settle(&world, &sent, answer(202)).await.delivery;
    let ended = Ended { at: world.clock.now(), outcome: WebhookOutcome::Delivered };
    assert_eq!((settled.ended, settled.status), (Some(ended), Some(202)));
    assert_eq!(world.webhooks.settle_event(&sent, answer(500)).await.unwrap(), None, "it has ended");
    assert_eq!(world.webhooks.backlog().await.unwrap(), Backlog::default());
    for action in [AuditAction::PlanSet, AuditAction::TokenIssued] {
        let sent = due(&world, &ann).await;
        assert_eq!((sent.record.action, sent.delivery.action.as_str()), (action, action.as_str()));
        settle(&world, &sent, answer(200)).await;
    }
    assert_eq!((take(&world, &ann).await, with_events(&world).await), (None, vec![]));

    let all = deliveries(&world, &ann).await;
    assert!(all.len() == 3 && all.is_sorted_by(|one, next| one.number > next.number), "{all:?}");
    let page = |after| PageRequest { slice: Slice::After { after, limit: 2 }, count: true };
    let begun = world.webhooks.event_deliveries(admin(&ann), page(None)).await.unwrap();
    let rest = world.webhooks.event_deliveries(admin(&ann), page(begun.next)).await.unwrap();
    assert_eq!((begun.total, [begun.rows, rest.rows].concat(), rest.next), (Some(3), all, None));
}

/// In bounded steps, however many there are.
pub async fn events_that_are_not_named_are_passed_over(world: World) {
    let ann = world.user("ann").await;
    let before = hook(&world, &ann, &["token.*"]).await;
    happens(&world, &ann, ENTRIES_AT_ONCE * 2 + 5, true).await;
    happens(&world, &ann, 3, false).await;
    seal(&world).await;
    let step = world.webhooks.take_event(ann.caller.organization).await.unwrap();
    assert_eq!(step, TakenEvent::Passed, "the sender may stop in between");
    let sent = due(&world, &ann).await;
    assert_eq!(sent.record.action, AuditAction::TokenIssued);
    let hook = world.webhooks.find_of_organization(admin(&ann)).await.unwrap();
    assert_eq!(hook.seen, sent.delivery.number);
    assert!(hook.seen > before.seen + i64::from(ENTRIES_AT_ONCE * 2 + 5));
    settle(&world, &sent, answer(200)).await;
    assert_eq!(with_events(&world).await, [ann.caller.organization]);
    assert_eq!(
        (take(&world, &ann).await, with_events(&world).await),
        (None, vec![]),
        "they are not read again"
    );
    assert_eq!(deliveries(&world, &ann).await.len(), 1);
}

/// With pauses, and with the same id; later events wait. A sender that dies leaves a lease, which ends.
pub async fn events_are_repeated_until_one_succeeds(world: World) {
    let ann = world.user("ann").await;
    hook(&world, &ann, &["plan.set"]).await;
    happens(&world, &ann, 2, false).await;
    seal(&world).await;
    let begun = world.clock.now();
    let lost = due(&world, &ann).await;
    world.clock.advance(LEASE / 2);
    world.webhooks.renew(vec![lost.lease()]).await.unwrap();
    world.clock.advance(LEASE * 3 / 4);
    assert_eq!((take(&world, &ann).await, with_events(&world).await), (None, vec![]), "it was renewed");
    world.clock.advance(LEASE);
    assert_eq!(with_events(&world).await, [ann.caller.organization]);
    let second = due(&world, &ann).await;
    assert_eq!((second.delivery.id, second.delivery.attempts), (lost.delivery.id, 2));
    assert_eq!(
        world.webhooks.settle_event(&lost, answer(200)).await.unwrap(),
        None,
        "of the earlier request"
    );
    world.clock.advance(seconds(1));
    world.webhooks.renew(vec![lost.lease()]).await.unwrap();
    let leased = deliveries(&world, &ann).await[0].leased_until;
    assert_eq!(leased, second.delivery.leased_until, "an earlier request renews nothing");

    let failed = settle(&world, &second, silence()).await.delivery;
    assert_eq!((failed.error.as_deref(), failed.leased_until), (Some("connection refused"), None));
    assert_eq!(
        (take(&world, &ann).await, with_events(&world).await),
        (None, vec![]),
        "neither does the next one"
    );
    world.clock.advance(failed.next_attempt_at.since(world.clock.now()));
    let third = due(&world, &ann).await;
    assert_eq!((third.delivery.id, third.delivery.attempts), (lost.delivery.id, 3));
    let asked = Reply::Answered { status: 503, retry_after: Some(Duration::from_secs(90)) };
    let failed = settle(&world, &third, asked).await.delivery;
    assert_eq!(failed.next_attempt_at, world.clock.now().plus(seconds(90)));
    let hook = world.webhooks.find_of_organization(admin(&ann)).await.unwrap().webhook;
    assert!(hook.failing_since > Some(begun) && hook.status() == "active");

    let sooner = world.webhooks.resend_event(admin(&ann), failed.id).await.unwrap();
    assert_eq!((sooner.next_attempt_at, sooner.attempts), (world.clock.now(), 3));
    let fourth = due(&world, &ann).await;
    settle(&world, &fourth, answer(204)).await;
    let hook = world.webhooks.find_of_organization(admin(&ann)).await.unwrap().webhook;
    assert_eq!(hook.failing_since, None);
    let next = due(&world, &ann).await;
    assert!(next.delivery.number > lost.delivery.number);
}

/// Several senders at the same time: each event has one, and none is left out.
pub async fn an_event_has_one_sender(world: World) {
    let ann = world.user("ann").await;
    hook(&world, &ann, &["plan.set"]).await;
    happens(&world, &ann, 3, false).await;
    seal(&world).await;
    for number in 0..3 {
        let tries = (0..6).map(|_| {
            let (webhooks, organization) = (world.webhooks.clone(), ann.caller.organization);
            tokio::spawn(async move { webhooks.take_event(organization).await.unwrap() })
        });
        let mut taken = Vec::new();
        for one in tries.collect::<Vec<_>>() {
            if let TakenEvent::Send(due) = one.await.unwrap() {
                taken.push(due);
            }
        }
        assert_eq!(taken.len(), 1, "of {number}");
        settle(&world, &taken[0], answer(200)).await;
    }
    assert_eq!(take(&world, &ann).await, None);
    assert_eq!(deliveries(&world, &ann).await.len(), 3);
}

/// An entry that the receiver refuses holds up the others until its action is taken out of the events.
pub async fn an_event_that_is_not_received_any_more_is_dropped(world: World) {
    let ann = world.user("ann").await;
    hook(&world, &ann, &[]).await;
    // The change of the webhook itself is the first one.
    seal(&world).await;
    let sent = due(&world, &ann).await;
    settle(&world, &sent, answer(200)).await;
    happens(&world, &ann, 1, true).await;
    seal(&world).await;
    let refused = due(&world, &ann).await;
    assert_eq!(refused.record.action, AuditAction::PlanSet);
    let narrow =
        async |names| world.webhooks.set_of_organization(admin(&ann), URL, Some(told(names))).await.unwrap();
    narrow(&["token.*"]).await;
    assert_eq!(take(&world, &ann).await, None, "its request is in flight");
    settle(&world, &refused, answer(422)).await;
    narrow(&["token.*", "key.*"]).await;
    assert_eq!(with_events(&world).await, [ann.caller.organization], "at once");
    let next = due(&world, &ann).await;
    assert_eq!(next.record.action, AuditAction::TokenIssued);
    let all = deliveries(&world, &ann).await;
    let dropped = all[1].ended.map(|ended| ended.outcome);
    assert_eq!((all[1].id, dropped), (refused.delivery.id, Some(WebhookOutcome::Dropped)));
    settle(&world, &next, answer(200)).await;
}

/// As those of agents. What waits is sent at once when it is enabled, or has another URL.
pub async fn webhooks_of_organizations_are_disabled(world: World) {
    let ann = world.user("ann").await;
    hook(&world, &ann, &["plan.set"]).await;
    happens(&world, &ann, 1, false).await;
    seal(&world).await;
    let sent = due(&world, &ann).await;
    let before = changes(&world).await.len();
    let settled = settle(&world, &sent, answer(410)).await;
    assert_eq!(settled.notice, Some(Notice::Disabled(DisabledReason::Gone)));
    assert_eq!(changes(&world).await.len(), before + 1);
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let last = log.iter().find(|entry| entry.action == AuditAction::WebhookDisabled).unwrap();
    assert_eq!((&last.actor, last.detail.as_deref()), (&RecordedActor::Server, Some("gone")));
    assert!(!world.stores.all.has_organization_webhooks().await.unwrap());
    world.clock.advance(seconds(60));
    assert_eq!(
        (take(&world, &ann).await, world.webhooks.backlog().await.unwrap()),
        (None, Backlog::default())
    );

    let refused = world.webhooks.resend_event(admin(&ann), sent.delivery.id).await;
    assert!(matches!(refused, Err(OrganizationWebhookError::Disabled)));
    let enabled = world.webhooks.enable_of_organization(admin(&ann)).await.unwrap();
    assert_eq!(enabled.webhook.disabled, None);
    let again = due(&world, &ann).await;
    assert_eq!((again.delivery.id, again.delivery.attempts), (sent.delivery.id, 2), "at once");
    settle(&world, &again, answer(500)).await;
    assert_eq!(take(&world, &ann).await, None);
    let moved = "https://other.example/";
    world.webhooks.set_of_organization(admin(&ann), moved, Some(told(&["plan.set"]))).await.unwrap();
    let there = due(&world, &ann).await;
    assert_eq!(there.webhook.url.as_str(), moved);
    // While the request is in flight, the receiver moves on: its failure says nothing about the new one.
    world.webhooks.set_of_organization(admin(&ann), URL, Some(told(&["plan.set"]))).await.unwrap();
    assert_eq!(settle(&world, &there, answer(410)).await.notice, None);
    assert_eq!(due(&world, &ann).await.webhook.url.as_str(), URL);
}

/// With the same id. The record is kept for a while, and ends with the webhook.
pub async fn events_are_sent_again(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let cai = world.colleague("cai", "ann").await;
    hook(&world, &ann, &["plan.set"]).await;
    happens(&world, &ann, 4, false).await;
    seal(&world).await;
    for _ in 0..3 {
        let sent = due(&world, &ann).await;
        settle(&world, &sent, answer(200)).await;
    }
    let hooks = &world.webhooks;
    let ids = deliveries(&world, &ann).await.iter().map(|sent| sent.id).collect::<Vec<_>>();
    let begun = due(&world, &ann).await;
    assert!(matches!(hooks.resend_event(admin(&ann), ids[2]).await, Err(OrganizationWebhookError::InFlight)));
    let refused = hooks.resend_event(admin(&ann), begun.delivery.id).await;
    assert!(matches!(refused, Err(OrganizationWebhookError::InFlight)), "its own request is in flight");
    settle(&world, &begun, answer(200)).await;
    assert!(matches!(
        hooks.resend_event(admin(&cai), ids[2]).await,
        Err(OrganizationWebhookError::NotAdmin(_))
    ));
    assert!(matches!(
        hooks.resend_event(admin(&ben), ids[2]).await,
        Err(OrganizationWebhookError::NoDelivery)
    ));
    world.clock.advance(seconds(1));
    let resent = hooks.resend_event(admin(&ann), ids[2]).await.unwrap();
    assert_eq!((resent.attempts, resent.ended, resent.created_at), (1, None, world.clock.now()));
    assert_eq!((resent.status, resent.attempted_at), (None, None), "nothing has been answered since");
    let again = due(&world, &ann).await;
    assert_eq!((again.delivery.id, again.delivery.attempts), (ids[2], 2), "its requests are counted on");
    settle(&world, &again, answer(200)).await;
    assert_eq!(take(&world, &ann).await, None, "the others are not sent again");
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let last = log.last().map(|entry| (entry.action, entry.detail.clone()));
    assert_eq!(last, Some((AuditAction::WebhookResent, Some(ids[2].to_string()))));

    let store = &world.stores.all;
    let long_ago = world.clock.now().minus(KEPT_FOR);
    assert_eq!(store.old_webhook_deliveries(long_ago, 4, 10).await.unwrap(), []);
    let mut surplus = store.old_webhook_deliveries(long_ago, 2, 10).await.unwrap();
    surplus.sort_by_key(|id| ids.iter().position(|one| one == id));
    assert_eq!(surplus, ids[1..]);
    store.forget_webhook_deliveries(surplus).await.unwrap();
    assert_eq!(deliveries(&world, &ann).await.len(), 2);
    world.clock.advance(KEPT_FOR * 2);
    hooks.forget_old(world.clock.now()).await.unwrap();
    assert_eq!(deliveries(&world, &ann).await, []);
    assert!(matches!(
        hooks.resend_event(admin(&ann), ids[0]).await,
        Err(OrganizationWebhookError::NoDelivery)
    ));

    happens(&world, &ann, 1, false).await;
    seal(&world).await;
    let open = due(&world, &ann).await;
    hooks.remove_of_organization(admin(&ann)).await.unwrap();
    assert_eq!(hooks.settle_event(&open, answer(200)).await.unwrap(), None, "it is gone");
    hook(&world, &ann, &[]).await;
    assert_eq!(deliveries(&world, &ann).await, []);
}

/// Its webhook receives nothing more.
pub async fn a_deleted_organization_has_no_webhook(world: World) {
    let name = OrganizationName::new("House").unwrap();
    let house = world.organizations.create(name, None).await.unwrap().id;
    let by = Authority::Operator(house);
    world.webhooks.set_of_organization(by, URL, Some(told(&[]))).await.unwrap();
    assert!(world.stores.all.has_organization_webhooks().await.unwrap());
    world.organizations.delete(&world.chats, house, true).await.unwrap();
    assert!(!world.stores.all.has_organization_webhooks().await.unwrap());
    assert!(matches!(
        world.webhooks.find_of_organization(by).await,
        Err(OrganizationWebhookError::NotAdmin(_))
    ));
    let again = world.webhooks.set_of_organization(by, URL, Some(told(&[]))).await;
    assert!(matches!(again, Err(OrganizationWebhookError::NotAdmin(_))));
}
