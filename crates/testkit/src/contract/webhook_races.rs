//! What several senders and several people do to a webhook.

use std::collections::HashMap;

use domain::audit::AuditObject;
use domain::webhook::{ResendError, RoomSearch, WebhookError, WebhookOutcome};

use super::audit::log_of;
use super::messages::ann_and_bot;
use super::webhooks::{URL, answer, changes, deliveries, due, hook, outcomes, room, seconds, send, settle};
use crate::{TestUser, World};

/// Several senders at the same time: each delivery has one.
pub async fn a_delivery_has_one_sender(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    for _ in 0..3 {
        send(&world, &ann, chat, &bot).await;
    }
    for number in 0..3 {
        let tries = (0..6).map(|_| {
            let webhooks = world.webhooks.clone();
            let one = room(&bot, chat);
            tokio::spawn(async move { webhooks.take(one).await.unwrap() })
        });
        let mut taken = Vec::new();
        for one in tries.collect::<Vec<_>>() {
            taken.extend(one.await.unwrap());
        }
        assert_eq!(taken.len(), 1, "of {number}");
        settle(&world, &taken[0], answer(200)).await;
    }
    assert_eq!(outcomes(&world, &ann, &bot).await, [Some(WebhookOutcome::Delivered); 3]);
}

/// Several senders that take and settle at the same time, while the owner has some sent again: a request for each.
pub async fn racing_senders_send_each_message_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    hook(&world, &ann, &bot).await;
    let mut messages = Vec::new();
    for _ in 0..12 {
        messages.push(send(&world, &ann, chat, &bot).await);
    }
    let senders = (0..4).map(|_| {
        let (webhooks, one) = (world.webhooks.clone(), room(&bot, chat));
        tokio::spawn(async move {
            let mut sent = Vec::new();
            // Another sender may have what is due.
            for _ in 0..40 {
                if let Some(due) = webhooks.take(one).await.unwrap() {
                    sent.push(due.message.id);
                    webhooks.settle(&due, answer(200)).await.unwrap().expect("the lease holds");
                }
                tokio::task::yield_now().await;
            }
            sent
        })
    });
    let mut requests = HashMap::new();
    for sender in senders.collect::<Vec<_>>() {
        for message in sender.await.unwrap() {
            *requests.entry(message).or_insert(0) += 1;
        }
    }
    while let Some(due) = world.webhooks.take(room(&bot, chat)).await.unwrap() {
        *requests.entry(due.message.id).or_insert(0) += 1;
        settle(&world, &due, answer(200)).await;
    }
    let once = messages.into_iter().map(|message| (message, 1)).collect::<HashMap<_, _>>();
    assert_eq!(requests, once);
    assert_eq!(outcomes(&world, &ann, &bot).await, [Some(WebhookOutcome::Delivered); 12]);

    let all = deliveries(&world, &ann, &bot).await;
    let resends = all.iter().take(4).map(|sent| {
        let (webhooks, owner, agent, id) = (world.webhooks.clone(), ann.id, bot.id, sent.id);
        tokio::spawn(async move { webhooks.resend(owner.into(), owner, agent, id).await })
    });
    let mut accepted = 0;
    for resend in resends.collect::<Vec<_>>() {
        match resend.await.unwrap() {
            Ok(_) => accepted += 1,
            Err(refused) => assert!(matches!(refused, ResendError::InFlight), "{refused}"),
        }
    }
    assert_eq!(accepted, 1, "the others wait for it");
}

/// Colleagues, and the admins of other organizations, see and change nothing.
pub async fn a_webhook_is_its_owners(world: World) {
    let (ann, cora) = (world.colleague("ann", "House").await, world.colleague("cora", "House").await);
    let ben = world.user("ben").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into(), cora.id.into()]).await;
    hook(&world, &ann, &bot).await;
    send(&world, &ann, chat, &bot).await;
    let taken = due(&world, &bot, chat).await;
    settle(&world, &taken, answer(500)).await;
    world.clock.advance(seconds(1));
    let state = async || {
        let webhook = world.webhooks.find(ann.id, bot.id).await.unwrap();
        (
            webhook,
            deliveries(&world, &ann, &bot).await,
            changes(&world).await,
            log_of(&world, None, None).await,
        )
    };
    let before = state().await;
    let hooks = &world.webhooks;
    for other in [&cora, &ben] {
        let (by, other) = (other.id.into(), other.id);
        let first = super::messages::first(10);
        let refused = [
            hooks.find(other, bot.id).await.err(),
            hooks.set_url(by, other, bot.id, URL).await.err(),
            hooks.rotate(by, other, bot.id, true).await.err(),
            hooks.enable(by, other, bot.id).await.err(),
            hooks.remove(by, other, bot.id).await.err(),
            hooks.deliveries(other, bot.id, first).await.err(),
        ];
        for refused in refused {
            assert!(matches!(refused, Some(WebhookError::AgentNotFound)), "{refused:?}");
        }
        let refused = hooks.resend(by, other, bot.id, taken.delivery.id).await;
        assert!(matches!(refused, Err(ResendError::AgentNotFound)), "{refused:?}");
    }
    assert_eq!(state().await, before);

    // Nor is the delivery of one agent that of another.
    let of_ben = world.agent(&ben, "Other").await;
    hook(&world, &ben, &of_ben).await;
    let resend = async |owner: &TestUser, agent, id| hooks.resend(owner.id.into(), owner.id, agent, id).await;
    let refused = resend(&ben, of_ben.id, taken.delivery.id).await;
    assert!(matches!(refused, Err(ResendError::NotFound)), "{refused:?}");
    assert_eq!(deliveries(&world, &ben, &of_ben).await, []);
    let seen = log_of(&world, Some(ben.caller.organization), None).await;
    assert!(seen.iter().all(|entry| entry.subject.object != AuditObject::Agent(bot.id)), "{seen:?}");
    world.clock.advance(seconds(10));
    assert_eq!(world.webhooks.rooms(RoomSearch::Due).await.unwrap(), [room(&bot, chat)]);
}
